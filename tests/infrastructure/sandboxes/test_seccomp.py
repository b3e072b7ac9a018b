"""The filter of system calls, decided as the kernel decides it."""

from __future__ import annotations

import errno
import struct

import pytest

from awf.infrastructure.sandboxes.seccomp import MACHINES, SocketRules, seccomp_filter

OPEN = SocketRules(internet=True, unix=True)
NUMBERS = {
    "x86_64": {
        "read": 0,
        "ptrace": 101,
        "mount": 165,
        "socket": 41,
        "connect": 42,
        "clone": 56,
        "ioctl": 16,
        "unshare": 272,
        "socketpair": 53,
        "prlimit64": 302,
        "setrlimit": 160,
        "setpriority": 141,
        "ioprio_set": 251,
        "shmget": 29,
        "shmat": 30,
        "shmctl": 31,
        "shmdt": 67,
        "semget": 64,
        "semop": 65,
        "semtimedop": 220,
        "semctl": 66,
        "msgget": 68,
        "msgsnd": 69,
        "msgrcv": 70,
        "msgctl": 71,
        "mq_open": 240,
        "mq_unlink": 241,
    },
    "aarch64": {
        "read": 63,
        "ptrace": 117,
        "mount": 40,
        "socket": 198,
        "connect": 203,
        "clone": 220,
        "ioctl": 29,
        "unshare": 97,
        "socketpair": 199,
        "prlimit64": 261,
        "setrlimit": 164,
        "setpriority": 140,
        "ioprio_set": 30,
        "shmget": 194,
        "shmat": 196,
        "shmctl": 195,
        "shmdt": 197,
        "semget": 190,
        "semop": 193,
        "semtimedop": 192,
        "semctl": 191,
        "msgget": 186,
        "msgsnd": 189,
        "msgrcv": 188,
        "msgctl": 187,
        "mq_open": 180,
        "mq_unlink": 181,
    },
}
CLONE3, IO_URING_SETUP = 435, 425
OF_THE_MACHINE = sorted(name for name in NUMBERS["x86_64"] if name[:3] in {"shm", "sem", "msg", "mq_"})


def decided(program: bytes, mark: int, number: int, *arguments: int) -> str:
    """A machine for classic BPF, as far as filters use it."""
    seen = struct.pack("=iIQ6Q", number, mark, 0, *(*arguments, *[0] * (6 - len(arguments))))
    code = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    at, register = 0, 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        if kind == 0x20:
            (register,) = struct.unpack_from("I", seen, value)
        elif kind == 0x54:
            register &= value
        elif kind == 0x06:
            return {0x7FFF0000: "allow", 0x80000000: "kill"}.get(value) or errno.errorcode[value & 0xFFFF]
        else:
            holds = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}[kind]
            at += yes if holds else no


@pytest.fixture(params=sorted(MACHINES))
def machine(request):
    return request.param


@pytest.fixture
def asked(machine):
    mark, _ = MACHINES[machine]

    def asked(name: str | int, *arguments: int, sockets: SocketRules = OPEN, namespaces: bool = False) -> str:
        number = NUMBERS[machine][name] if isinstance(name, str) else name
        return decided(seccomp_filter(machine, sockets, namespaces=namespaces), mark, number, *arguments)

    return asked


def test_ordinary_calls_pass(asked):
    assert asked("read") == "allow"
    assert asked("clone", 0x3D0F00) == "allow"  # a thread
    assert asked("ioctl", 1, 0x5401) == "allow"
    assert asked("unshare", 0x400) == "allow"


def test_calls_of_those_who_break_out_end_the_program(asked):
    assert asked("ptrace", 16) == "kill"


def test_calls_that_honest_programs_try_are_refused(asked):
    assert asked("mount") == "EPERM"
    assert asked(IO_URING_SETUP) == "EPERM"


def test_no_namespaces_are_made(asked):
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert asked("clone", flag | 17) == asked("unshare", flag) == "EPERM"
    assert asked(CLONE3) == "ENOSYS"  # what it asks for stands behind a pointer; libraries fall back on clone


def test_nobody_types_into_a_terminal_of_others(asked):
    assert asked("ioctl", 0, 0x5412) == "EPERM"
    assert asked("ioctl", 0, 0xDEADBEEF_00005412) == "EPERM"  # the kernel looks at the lower half as well


def test_another_set_of_numbers_is_no_way_round(machine):
    program = seccomp_filter(machine, OPEN)
    assert decided(program, 0x40000003, 26) == "kill"  # i386: 26 is its ptrace
    if machine == "x86_64":
        assert decided(program, MACHINES[machine][0], 0x40000000 | 521) == "ENOSYS"


@pytest.mark.parametrize(
    ("rules", "unix", "internet", "netlink", "vsock"),
    [
        (OPEN, "allow", "allow", "allow", "EACCES"),
        (SocketRules(internet=True, unix=False), "EACCES", "allow", "allow", "EACCES"),
        (SocketRules(internet=False, unix=True), "allow", "ENETUNREACH", "ENETUNREACH", "ENETUNREACH"),
        (SocketRules(internet=False, unix=False), "ENETUNREACH", "ENETUNREACH", "ENETUNREACH", "ENETUNREACH"),
    ],
)
def test_sockets_are_made_by_family(asked, rules, unix, internet, netlink, vsock):
    families = {1: unix, 2: internet, 10: internet, 16: netlink, 40: vsock, 17: vsock}
    assert {family: asked("socket", family, 1, sockets=rules) for family in families} == families


def test_one_that_listens_only_goes_nowhere(asked):
    rules = SocketRules(internet=False, unix=True, connect=False)
    assert asked("socket", 1, 1 | 0o2000000, sockets=rules) == "allow"
    assert asked("socket", 1, 2, sockets=rules) == "ENETUNREACH"  # datagrams need no connection
    assert asked("connect", 3, sockets=rules) == "ENETUNREACH"
    assert asked("connect", 3) == "allow"


@pytest.mark.parametrize(
    ("rules", "datagrams"),
    [
        (OPEN, "allow"),
        (SocketRules(internet=True, unix=False), "EACCES"),
        (SocketRules(internet=False, unix=False), "EACCES"),
        (SocketRules(internet=False, unix=True, connect=False), "EACCES"),
    ],
)
def test_a_pair_of_sockets_cannot_be_sent_elsewhere_from(asked, rules, datagrams):
    flags = 0o2000000 | 0o4000
    kinds = {1: "allow", 5: "allow", 2: datagrams, 3: datagrams}  # 3: the kernel makes it one for datagrams
    assert {kind: asked("socketpair", 1, kind | flags, sockets=rules) for kind in kinds} == kinds
    assert (
        asked("socketpair", 30, 1, sockets=rules) == "EACCES"
    )  # of clusters: no network namespace holds them


def test_without_namespaces_limits_are_a_programs_own(asked):
    assert asked("prlimit64", 0, 7, 0x7F0000001000) == "allow"
    assert asked("prlimit64", 4711, 7, 0x7F0000001000) == "EPERM"
    assert asked("prlimit64", 0xDEADBEEF_00000000 | 4711) == "EPERM"  # the kernel looks at the lower half
    assert asked("prlimit64", 4711, namespaces=True) == "allow"


def test_the_mark_by_which_processes_are_found_can_be_read_and_not_changed(asked):
    assert asked("prlimit64", 0, 10, 0, 0x7F0000001000) == "allow"
    for place in (0x1000, 0x7F00_00000000):  # half of an address may be nothing
        assert asked("prlimit64", 0, 10, place) == "EPERM"
    assert asked("prlimit64", 0, 0xDEADBEEF_0000000A, 0x1000) == "EPERM"
    assert (asked("setrlimit", 10, 0x1000), asked("setrlimit", 7, 0x1000)) == ("EPERM", "allow")
    assert asked("setrlimit", 10, 0x1000, namespaces=True) == "allow"


def test_without_namespaces_priorities_are_of_single_processes(asked):
    assert [asked("setpriority", whose, 0, 5) for whose in range(3)] == ["allow", "EPERM", "EPERM"]
    assert [asked("ioprio_set", whose, 0, 5) for whose in (1, 2, 3)] == ["allow", "EPERM", "EPERM"]
    assert asked("setpriority", 2, 0, 5, namespaces=True) == "allow"


@pytest.mark.parametrize("name", OF_THE_MACHINE)
def test_without_namespaces_memory_and_queues_of_the_whole_machine_are_refused(asked, name):
    assert asked(name) == "EPERM"
    assert asked(name, namespaces=True) == "allow"


def test_a_machine_whose_numbers_are_unknown_gets_no_filter():
    assert seccomp_filter("riscv64", OPEN) == b""
