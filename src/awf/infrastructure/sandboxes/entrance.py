"""Started by its path, with nothing but the standard library: takes powers away from itself, and becomes the program.

A process cannot be confined from outside, and code between fork and exec is not safe in a process with threads. What to
do comes in an open file, marshalled, so that neither arguments nor environment tell it to others.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import struct
import sys

# No module more than has to be: the program waits for all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["enter"]

_NO_NEW_POWERS, _SECCOMP, _FILTER, _DROP = 38, 22, 2, 24
_MARK, _MARK_LIMIT = "AWF_PROCESS_TOKEN", 10
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_3 = 0x20080522
_SCOPES = 3  # abstract sockets and signals
_FILE_RIGHTS = 1 | 2 | 4 | 1 << 14 | 1 << 15  # the others make sense for folders only
_libc = ctypes.CDLL(None, use_errno=True)


def enter(fd: int) -> None:
    with open(fd, "rb") as stream:
        spec: dict[str, Any] = marshal.loads(stream.read())  # noqa: S302  from the process that started us
    for door in spec["doors"]:
        with open(door, "w", encoding="ascii") as procs:
            procs.write("0")
    for number, soft, hard in spec["limits"]:
        resource.setrlimit(number, (soft, hard))
    _mark_for_good(os.environ.get(_MARK, ""))
    _checked(_libc.prctl(_NO_NEW_POWERS, 1, 0, 0, 0), "no_new_privs")
    _drop_capabilities()
    if spec["handled"] or spec["scope"]:
        _landlock(spec)
    if spec["filter"]:
        _seccomp(spec["filter"])
    os.chdir(spec["cwd"])
    os.closerange(3, 1 << 20)  # a folder that is open would be a way out for whoever gets it
    # Our own environment holds nothing but the mark by which processes are found again, and what Python adds to it.
    mark = {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}
    os.execvpe(spec["argv"][0], list(spec["argv"]), {**spec["env"], **mark})


def _mark_for_good(token: str) -> None:
    """The mark once more, for daemons that wipe their environment: in RLIMIT_LOCKS, which Linux keeps and does not use.

    Nobody can raise it without powers, and the filter lets nobody lower it. `processes/descendants.py` reads it.
    """
    try:
        number = (10**9 + int(token[-24:-8], 16) % (9 * 10**9)) * 10**8 + int(token[-8:], 16) % 10**8
        resource.setrlimit(_MARK_LIMIT, (number, number))
    except (OSError, ValueError):  # a wall within a wall: the outer one's mark stays
        pass


def _drop_capabilities() -> None:
    """Also those that root gets back with the next program."""
    for number in range(64):
        if _libc.prctl(_DROP, number, 0, 0, 0) != 0:
            break
    header, nothing = struct.pack("Ii", _CAPABILITIES_3, 0), bytes(24)
    number = _CAPSET.get(os.uname().machine, 0)
    if number:
        _checked(_libc.syscall(number, header, nothing), "capset")


def _landlock(spec: dict[str, Any]) -> None:
    handled = spec["handled"]
    attributes = struct.pack("QQQ", handled, 0, _SCOPES if spec["scope"] else 0)
    size = 24 if spec["scope"] else 8
    ruleset = _checked(_libc.syscall(_CREATE, attributes, ctypes.c_size_t(size), 0), "Landlock")
    for place, rights in spec["rules"]:
        fd, folder = (place, True) if isinstance(place, int) else _opened(place)
        if fd < 0:
            continue
        allowed = rights & handled
        if not folder or not os.path.isdir(f"/proc/self/fd/{fd}"):
            allowed &= _FILE_RIGHTS
        rule = struct.pack("=Qi", allowed, fd)
        _checked(_libc.syscall(_ADD, ruleset, 1, rule, 0), f"Landlock for {place}")
        os.close(fd)
    _checked(_libc.syscall(_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def _opened(path: str) -> tuple[int, bool]:
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC), True
    except OSError:
        return -1, False


def _seccomp(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    _checked(_libc.prctl(_SECCOMP, _FILTER, header, 0, 0), "seccomp")


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    try:
        enter(int(sys.argv[1]))
    except OSError as reason:
        os.write(2, f"awf: cannot be confined and started: {reason}\n".encode())
        os._exit(125)
