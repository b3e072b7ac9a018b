"""Which system calls a confined program cannot make, as a filter for the kernel (seccomp, classic BPF).

A filter sees numbers, not what pointers lead to. So it is for what no confined program needs at all; files are kept by
mounts or Landlock. Calls that only somebody breaking out makes end the program (SIGSYS); those that honest programs
try, and do without, are refused.
"""

from __future__ import annotations

import errno
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["MACHINES", "SocketRules", "seccomp_filter"]

_LOAD, _IF_EQUAL, _IF_GREATER, _IF_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE, _ARGUMENT = 0, 4, 16  # places in what the kernel shows a filter
_X32 = 0x40000000  # a second set of numbers on x86_64, by which the first could be passed by
_NEW_NAMESPACES = 0x7E020000  # the flags of clone and unshare
_FAKED_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into a terminal
_UNIX, _INET, _NETLINK, _INET6 = 1, 2, 16, 10
_STREAM, _PACKETS, _KINDS = 1, 5, 0xF  # above the kind of a socket there are flags
_MARK_LIMIT = 10  # where entrance.py writes the mark by which processes are found again
_OF_MANY = {"setpriority": (1, 2), "ioprio_set": (2, 3)}  # of a group, of a user; 0 and 1 are of one process


def _table(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


# Since Linux 5.1 new calls have the same number everywhere.
_COMMON = _table("""
    io_uring_setup 425  io_uring_enter 426  io_uring_register 427  open_tree 428  move_mount 429
    fsopen 430  fsconfig 431  fsmount 432  fspick 433  clone3 435  pidfd_getfd 438  mount_setattr 442
    quotactl_fd 443  open_tree_attr 467
""")
_X86_64 = _table("""
    ioctl 16  shmget 29  shmat 30  shmctl 31  socket 41  connect 42  socketpair 53  clone 56  semget 64
    semop 65  semctl 66  shmdt 67  msgget 68  msgsnd 69  msgrcv 70  msgctl 71  ptrace 101  syslog 103
    setpriority 141  vhangup 153  pivot_root 155  adjtimex 159  setrlimit 160  chroot 161  acct 163
    settimeofday 164  mount 165  umount2 166  swapon 167  swapoff 168  reboot 169  sethostname 170
    setdomainname 171  iopl 172  ioperm 173  init_module 175  delete_module 176  quotactl 179
    semtimedop 220  clock_settime 227  mq_open 240  mq_unlink 241  kexec_load 246  add_key 248
    request_key 249  keyctl 250  ioprio_set 251  unshare 272  perf_event_open 298  fanotify_init 300
    prlimit64 302  open_by_handle_at 304  clock_adjtime 305  setns 308  process_vm_readv 310
    process_vm_writev 311  kcmp 312  finit_module 313  kexec_file_load 320  bpf 321  userfaultfd 323
""")
_AARCH64 = _table("""
    ioctl 29  ioprio_set 30  umount2 39  mount 40  pivot_root 41  chroot 51  vhangup 58  quotactl 60
    acct 89  unshare 97  kexec_load 104  init_module 105  delete_module 106  clock_settime 112
    syslog 116  ptrace 117  setpriority 140  reboot 142  sethostname 161  setdomainname 162
    setrlimit 164  settimeofday 170  adjtimex 171  mq_open 180  mq_unlink 181  msgget 186  msgctl 187
    msgrcv 188  msgsnd 189  semget 190  semctl 191  semtimedop 192  semop 193  shmget 194  shmctl 195
    shmat 196  shmdt 197  socket 198  socketpair 199  connect 203  add_key 217  request_key 218
    keyctl 219  clone 220  swapon 224  swapoff 225  perf_event_open 241  prlimit64 261
    fanotify_init 262  open_by_handle_at 265  clock_adjtime 266  setns 268  process_vm_readv 270
    process_vm_writev 271  kcmp 272  finit_module 273  bpf 280  userfaultfd 282  kexec_file_load 294
""")
MACHINES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}

_ENDING = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "bpf", "open_by_handle_at"),
    *(
        "init_module",
        "finit_module",
        "delete_module",
        "kexec_load",
        "kexec_file_load",
        "reboot",
        "swapon",
        "swapoff",
    ),
)
_REFUSED = (
    *(
        "mount",
        "umount2",
        "pivot_root",
        "chroot",
        "move_mount",
        "open_tree",
        "open_tree_attr",
        "fsopen",
        "fsconfig",
    ),
    *("fsmount", "fspick", "mount_setattr", "setns", "add_key", "request_key", "keyctl", "perf_event_open"),
    *("userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "kcmp", "acct", "quotactl"),
    *("quotactl_fd", "syslog", "vhangup", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime"),
    *("sethostname", "setdomainname", "iopl", "ioperm", "fanotify_init"),
)
# Without an IPC namespace these reach what others have made, and what they make stays behind and uses memory up.
_OF_THE_MACHINE = (
    *("shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
)


class SocketRules(NamedTuple):
    """`internet`: of this machine or of a network of its own. `unix`: sockets with a name, or without one."""

    internet: bool
    unix: bool
    connect: bool = True  # False: may listen, and not go anywhere


def seccomp_filter(machine: str, sockets: SocketRules, *, namespaces: bool = True) -> bytes:
    """The program, or nothing for a machine whose numbers we do not know.

    `namespaces`: the wall has some, so the processes and queues that a number can mean are those behind it.
    """
    if machine not in MACHINES:
        return b""
    mark, own = MACHINES[machine]
    numbers = {**_COMMON, **own}
    code = [
        _step(_LOAD, _MACHINE),
        _step(_IF_EQUAL, mark, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        code += [_step(_IF_GREATER, _X32, 0, 1), _step(_RETURN, _REFUSE | errno.ENOSYS)]
    # What threads and memory need comes first; the kernel remembers the answer for most others anyway.
    code += _when(numbers["clone"], _unless_bits(0, _NEW_NAMESPACES))
    code += _when(numbers["clone3"], [_step(_RETURN, _REFUSE | errno.ENOSYS)])  # its flags cannot be seen
    code += _when(numbers["unshare"], _unless_bits(0, _NEW_NAMESPACES))
    code += _when(numbers["ioctl"], _unless_equal(1, _FAKED_INPUT))
    code += _when(numbers["socket"], _socket(sockets))
    code += _when(numbers["socketpair"], _socketpair(sockets))
    if not namespaces:
        code += _among_others(numbers)
    if not sockets.connect:
        code += _when(numbers["connect"], [_step(_RETURN, _REFUSE | errno.ENETUNREACH)])
    for names, action in ((_ENDING, _KILL), (_REFUSED, _REFUSE | errno.EPERM)):
        for name in names:
            if name in numbers:
                code += _when(numbers[name], [_step(_RETURN, action)])
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _step(kind: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", kind, yes, no, value)


def _when(number: int, block: list[bytes]) -> list[bytes]:
    """A block for one call. It ends in an answer, so that what it has loaded does not matter to what follows."""
    return [_step(_IF_EQUAL, number, 0, len(block)), *block]


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGUMENT + 8 * index)  # the lower half: all of these are C ints or flags below 2^32


def _unless_bits(index: int, bits: int) -> list[bytes]:
    return [
        _argument(index),
        _step(_IF_BITS, bits, 0, 1),
        _step(_RETURN, _REFUSE | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]


def _unless_equal(index: int, values: Iterable[int]) -> list[bytes]:
    tests = [[_step(_IF_EQUAL, one, 0, 1), _step(_RETURN, _REFUSE | errno.EPERM)] for one in values]
    return [_argument(index), *(step for test in tests for step in test), _step(_RETURN, _ALLOW)]


def _socket(rules: SocketRules) -> list[bytes]:
    """Families are listed: some, such as that of virtual machines, know no network namespaces."""
    block = [_argument(0)]
    for family in (_INET, _INET6, _NETLINK) if rules.internet else ():
        block += [_step(_IF_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW)]
    if rules.unix and rules.connect:
        block += [_step(_IF_EQUAL, _UNIX, 0, 1), _step(_RETURN, _ALLOW)]
    elif rules.unix:  # streams only: datagrams go anywhere without connecting
        stream = [_argument(1), _step(_AND, _KINDS), _step(_IF_EQUAL, _STREAM, 0, 1), _step(_RETURN, _ALLOW)]
        block += [_step(_IF_EQUAL, _UNIX, 0, len(stream)), *stream]
    return [*block, _step(_RETURN, _REFUSE | (errno.EACCES if rules.internet else errno.ENETUNREACH))]


def _socketpair(rules: SocketRules) -> list[bytes]:
    """Both ends are ours, for as long as they stay with each other: one for datagrams can be sent elsewhere from."""
    block = [_argument(0), _step(_IF_EQUAL, _UNIX, 1, 0), _step(_RETURN, _REFUSE | errno.EACCES)]
    if rules.unix and rules.connect:
        return [*block, _step(_RETURN, _ALLOW)]
    block += [_argument(1), _step(_AND, _KINDS)]
    for kind in (_STREAM, _PACKETS):
        block += [_step(_IF_EQUAL, kind, 0, 1), _step(_RETURN, _ALLOW)]
    return [*block, _step(_RETURN, _REFUSE | errno.EACCES)]


def _among_others(numbers: dict[str, int]) -> Iterator[bytes]:
    """Landlock lets limits and priorities of every process of the same user be changed.

    Threads are told apart by real ids: what sets the priority or the processors of one cannot be refused.
    """
    yield from _when(numbers["prlimit64"], _own_limits())
    yield from _when(numbers["setrlimit"], _unless_equal(0, (_MARK_LIMIT,)))
    for name, whose in _OF_MANY.items():
        yield from _when(numbers[name], _unless_equal(0, whose))
    for name in _OF_THE_MACHINE:
        yield from _when(numbers[name], [_step(_RETURN, _REFUSE | errno.EPERM)])


def _own_limits() -> list[bytes]:
    """Not by its own number, either: a filter cannot know it, and libraries write 0. The mark is read and never set."""
    refusal, new = _step(_RETURN, _REFUSE | errno.EPERM), _ARGUMENT + 8 * 2
    return [
        *(_argument(0), _step(_IF_EQUAL, 0, 1, 0), refusal),
        *(_argument(1), _step(_IF_EQUAL, _MARK_LIMIT, 1, 0), _step(_RETURN, _ALLOW)),
        *(_step(_LOAD, new), _step(_IF_EQUAL, 0, 0, 2), _step(_LOAD, new + 4), _step(_IF_EQUAL, 0, 1, 0)),
        *(refusal, _step(_RETURN, _ALLOW)),
    ]
