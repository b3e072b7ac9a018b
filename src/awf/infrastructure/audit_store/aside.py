"""The writer's side of a process that merges for it (aside_worker.py).

Only one thread of a process runs Python at a time. So what a thread merges, those who call wait for, and they wait longer than
it takes, since the two take turns; what another process merges, nobody waits for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from awf.infrastructure.audit_store.aside_wire import Answer, Request, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.gate_file import Audit

__all__ = ["Aside", "AsideCommand", "aside_command"]

_log = logging.getLogger("awf.audit")
_PATIENCE_SECONDS = 30.0  # for an answer; a database that somebody holds is given up after 5
_GRACE_SECONDS = 5.0
_AGAIN_SECONDS = 60.0
_NEVER = 10**12
_PIECE = 65536
_WORDS = 20  # lines that are kept of what it says beside its answers
# What Python and SQLite need to work as they do here. Nothing else goes along: it may be secret.
_NEEDED = frozenset({
    "DYLD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "SQLITE_TMPDIR", "TMPDIR", "TZ",
    "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE",
    "PYTHONUTF8",
})  # fmt: skip


class AsideCommand(NamedTuple):
    """How such a process is started; the folder is its last argument."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def aside_command(environment: Mapping[str, str]) -> AsideCommand:
    """`-P`: what lies in a working directory is not imported."""
    argv = (sys.executable, "-P", "-m", "awf.infrastructure.audit_store.aside_worker")
    return AsideCommand(argv, {name: value for name, value in environment.items() if name in _NEEDED})


class Aside:
    """Started when it is first needed. One thread asks; any other may end or kill it."""

    def __init__(self, command: AsideCommand, folder: str) -> None:
        self._command = command
        self._folder = os.path.abspath(folder)
        self._running: _Running | None = None
        self._over = threading.Event()
        self._not_before = 0.0
        self._told = ""
        _all.add(self)

    def merged(self, held: Sequence[str], settings: Audit) -> Answer | None:
        """None: there is nobody who could, and whoever asks has to do it."""
        running = self._running or self._start()
        if running is None:
            return None
        request = Request(held=tuple(held), settings=_settled(settings))
        try:
            answer = running.asked(encode(request))
        except _Ended as reason:
            self._running = None
            self._put_off("" if reason.in_order else str(reason))
            return None
        self._told = ""
        for level, text in answer.said:
            _log.log(level, "%s", text)
        return answer

    def _start(self) -> _Running | None:
        if self._over.is_set() or time.monotonic() < self._not_before:
            return None
        try:
            self._running = _Running(self._command, self._folder)
            if self._over.is_set():  # since a moment
                self._running.end()
        except (OSError, ValueError) as error:
            self._put_off(f"cannot be started: {error}")
        return self._running

    def _put_off(self, why: str) -> None:
        """Until it is tried again. It is told once for each reason."""
        self._not_before = time.monotonic() + _AGAIN_SECONDS
        if why and why != self._told:
            self._told = why
            _log.warning("The process that merges the audit %s; until it works again, this one merges.", why)

    def end(self) -> None:
        """It need not do anything more, also where it is being asked. Does not wait for it."""
        self._over.set()
        if (running := self._running) is not None:
            running.end()

    def kill(self) -> None:
        if (running := self._running) is not None:
            running.process.kill()

    def close(self) -> None:
        """Whatever it does; nothing is left of it. Nobody asks any more."""
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def forget(self) -> None:
        """In a fork: it belongs to the other one, who must be able to end it by closing the pipe."""
        running, self._running = self._running, None
        if running is not None:
            running.forget()


_all: weakref.WeakSet[Aside] = weakref.WeakSet()


def _forget_all() -> None:
    for one in list(_all):
        one.forget()


os.register_at_fork(after_in_child=_forget_all)


def _settled(settings: Audit) -> Audit:
    """With a witness that is found from any directory, and numbers that have a form in JSON."""
    return msgspec.structs.replace(
        settings,
        checkpoint_records=min(settings.checkpoint_records, _NEVER),
        checkpoint_every=min(settings.checkpoint_every, _NEVER),
        witness=settings.witness and os.path.abspath(os.path.expanduser(settings.witness)),
    )


class _Ended(Exception):  # noqa: N818  it may have been told to
    def __init__(self, why: str, *, in_order: bool = False) -> None:
        super().__init__(why)
        self.in_order = in_order


class _Running:
    def __init__(self, command: AsideCommand, folder: str) -> None:
        """Raises OSError."""
        self._lock = threading.Lock()  # so that nobody writes to a descriptor that is somebody else's by now
        self._is_over = False
        self._heard = b""
        self._words: list[str] = []  # what it said that is no answer: its error output
        theirs_in, self._requests = os.pipe()
        try:
            self._answers, theirs_out = os.pipe()
        except OSError:
            os.close(theirs_in)
            os.close(self._requests)
            raise
        try:
            # A session of its own: signals of a terminal are not for it, and it keeps none. From "/" it keeps no directory.
            self.process = subprocess.Popen(
                (*command.argv, folder),
                cwd="/",
                env=dict(command.environment),
                stdin=theirs_in,
                stdout=theirs_out,
                stderr=theirs_out,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._requests)
            os.close(self._answers)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def asked(self, request: bytes) -> Answer:
        """Raises `_Ended`; then nothing is left of it."""
        try:
            self._send(request)
            return self._answer()
        except (_Ended, OSError) as reason:
            if not isinstance(reason, _Ended):
                reason = _Ended(f"cannot be reached: {reason}")
            if not reason.in_order:
                self.process.kill()  # before it takes the end of the pipe for our end
            self.close()
            raise reason from None

    def _send(self, request: bytes) -> None:
        """To one that has gone, too: why it has may still be read."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            if self._requests >= 0:
                os.write(self._requests, request)

    def _answer(self) -> Answer:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            while b"\n" in self._heard:
                line, _, self._heard = self._heard.partition(b"\n")
                if (answer := self._understood(line)) is not None:
                    self._tell_words()
                    return answer
            self._read(deadline - time.monotonic())

    def _understood(self, line: bytes) -> Answer | None:
        if not line:
            return None
        try:
            answer = msgspec.json.decode(line, type=Answer)
        except ValueError:
            self._words = [*self._words[-_WORDS:], line.decode("utf-8", "replace")]
            return None
        if answer.leaving:
            raise _Ended("was ended", in_order=True)
        return answer

    def _read(self, seconds: float) -> None:
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        if seconds <= 0 or not waiting.poll(seconds * 1000):
            raise _Ended("does not answer")
        piece = os.read(self._answers, _PIECE)
        if not piece:
            last = self._words[-1] if self._words else ""
            raise _Ended(f"has ended: {last}" if last else "has ended", in_order=self._is_over)
        self._heard += piece

    def _tell_words(self) -> None:
        """Of one that goes on; the last words of one that has ended are the reason."""
        if self._words:
            _log.warning("The process that merges the audit says: %s", "\n".join(self._words))
            self._words.clear()

    def end(self) -> None:
        self._is_over = True
        self._send(encode(Request(end=True)))

    def forget(self) -> None:
        """Without the lock: whoever had it is not there any more."""
        self.process.returncode = 0
        os.close(self._answers)
        with contextlib.suppress(OSError):  # it was being closed
            os.close(self._requests)

    def close(self) -> None:
        """A process that is killed while it merges leaves nothing half done: SQLite takes it back."""
        with self._lock:
            os.close(self._requests)
            self._requests = -1
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._answers)
