"""A file that is mapped into memory, and that somebody may cut short at any moment.

Who then writes behind its new end is sent SIGBUS by the kernel, which ends a process. To look at the file's length before
every line would not help, and to write it instead takes three times as long. So the signal is answered here: the memory
gets plain pages in place of the file's, what was being written goes nowhere, and `cut` says so. A signal that is about other
memory goes to whoever had it before.

It comes in the middle of the copy, in the thread that copies and with the interpreter's lock, so that Python may be run.
Where the system is another one than Linux with 64 bits, such a signal still ends the process.
"""

from __future__ import annotations

import contextlib
import mmap
import platform
import signal
import sys
from typing import Any

__all__ = ["Mapped"]

_MACHINES = frozenset({"x86_64", "aarch64", "riscv64"})
_READY = 64 * 1024  # of the memory are made ready at a time: the kernel takes longer to do it page by page
_POPULATE_WRITE = 23  # of madvise(2), since Linux 5.14
_FIXED = 0x10  # of mmap(2): at this very place
_ADDRESS = 16  # where a `siginfo_t` has the address that it is about
_WITH_INFO = 4  # SA_SIGINFO
_LONGEST_ACTION = 1024  # bytes, more than any libc's `struct sigaction`
_FLAGS = 8 + 128  # where the flags are in it, behind the handler and the mask


class Mapped(mmap.mmap):
    """The memory of a file, to write to."""

    def __init__(self, _handle: int, size: int) -> None:
        super().__init__()
        self.cut = False  # somebody has cut the file short: what is written here is lost
        self.ready = 0
        self._size = size
        if sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 2**32:
            _guard().watch(self, size)

    def make_ready(self, end: int) -> None:
        """Up to there, and some more."""
        begin, self.ready = self.ready, (end // _READY + 1) * _READY
        if sys.platform == "linux":
            with contextlib.suppress(OSError, ValueError):  # an older kernel; or the file is short by now
                self.madvise(_POPULATE_WRITE, begin, min(self.ready, self._size) - begin)

    def close(self) -> None:
        if _the_guard is not None:
            _the_guard.forget(self)
        super().close()


class _Guard:
    """One for the process, from its first file on."""

    def __init__(self) -> None:
        import ctypes

        self._ctypes = ctypes
        self._libc = libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        self._places: dict[int, tuple[int, Mapped]] = {}  # where the memory of each begins
        self._before = ctypes.create_string_buffer(_LONGEST_ACTION)
        form = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._handler = form(self._struck)  # kept for as long as the process: the kernel has its address
        action = ctypes.create_string_buffer(_LONGEST_ACTION)
        ctypes.memmove(action, ctypes.byref(self._handler), 8)
        ctypes.memmove(ctypes.byref(action, _FLAGS), ctypes.byref(ctypes.c_int(_WITH_INFO)), 4)
        libc.sigaction(int(signal.SIGBUS), action, self._before)

    def watch(self, mapped: Mapped, size: int) -> None:
        begin = self._ctypes.addressof(self._ctypes.c_char.from_buffer(mapped))
        self._places = {**self._places, begin: (size, mapped)}  # another one: a signal may come at any moment

    def forget(self, mapped: Mapped) -> None:
        self._places = {begin: one for begin, one in self._places.items() if one[1] is not mapped}

    def _struck(self, _number: int, info: int, _context: Any) -> None:
        """Returning means: try again."""
        address = self._ctypes.c_void_p.from_address(info + _ADDRESS).value or 0
        for begin, (size, mapped) in self._places.items():
            if begin <= address < begin + size:
                mapped.cut = True
                flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
                if self._libc.mmap(begin, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) == begin:
                    return
        self._libc.sigaction(int(signal.SIGBUS), self._before, None)


_the_guard: _Guard | None = None


def _guard() -> _Guard:
    global _the_guard  # handlers of signals belong to the process
    if _the_guard is None:
        _the_guard = _Guard()
    return _the_guard
