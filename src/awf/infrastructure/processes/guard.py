"""A small shell process that ends our children when we are killed without a chance to do so ourselves.

It reads `+GROUP` and `-GROUP` lines from a pipe that only this process holds open. The end of that pipe means we are
gone: whatever is noted then gets SIGTERM and, after the grace, SIGKILL. On Linux so does every process that has our
mark in its environment, or in the limit where sandboxes put it, which also reaches those that left their group.
`dFOLDER` is a private folder to remove then.
"""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
from typing import TYPE_CHECKING, Final

from awf.infrastructure.processes.descendants import SERIAL_DIGITS, TOKEN_VARIABLE, household, lasting_mark

if TYPE_CHECKING:
    import asyncio

__all__ = ["Guard"]

SHELL = "/bin/sh"
UNHURRIED = 0.02
ROUNDS_PER_SECOND = 10
# A guard that has not read for so long is of no use any more.
BACKLOG_LIMIT = 1 << 20

SCRIPT: Final = r"""# awf-guard: ends the commands of awf when awf is killed
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU USR1 USR2
mark=$1 rounds=$2 lasting=${3:-none} groups=' ' folders=
line_end='
'
while read -r line; do
    number=${line#?}
    case $line in
    +*) groups="$groups$number " ;;
    -*) case $groups in *" $number "*) groups="${groups%%" $number "*} ${groups#*" $number "}" ;; esac ;;
    d*) folders="$folders$number$line_end" ;;
    esac
done
leave() {
    IFS=$line_end
    for folder in $folders; do
        rm -rf -- "$folder" || { chmod -R u+rwx -- "$folder"; rm -rf -- "$folder"; }
    done 2>/dev/null
    exit 0
}
marked() {
    [ -r /proc/self/environ ] || return 0
    for file in $({
        grep -lF -e "$mark" /proc/[0-9]*/environ
        grep -l -e "^Max file locks  *$lasting[0-9]\{8\} " /proc/[0-9]*/limits
    } 2>/dev/null); do
        file=${file#/proc/}
        echo "${file%/*}"
    done
}
tell() {
    for number in $groups; do kill -s "$1" -- "-$number"; done 2>/dev/null
    for number in $(marked); do kill -s "$1" "$number"; done 2>/dev/null
}
seen() {
    for number in $groups; do kill -s 0 -- "-$number" 2>/dev/null && return 0; done
    [ -n "$(marked)" ]
}
pause() { sleep 0.1 2>/dev/null || sleep 1; }
anyone() { seen || { pause && seen; }; }  # in the middle of an exec a process shows no environment
for number in $(marked); do groups="$groups$number "; done  # a command that was not noted yet leads its group
anyone || leave
tell TERM
tell CONT
while [ "$rounds" -gt 0 ] && anyone; do pause; rounds=$((rounds - 1)); done
rounds=20
while [ "$rounds" -gt 0 ] && anyone; do tell KILL; pause; rounds=$((rounds - 1)); done
leave
"""


class Guard:
    """`unhurried`: the mark is searched for, so a group may be noted a moment later, and most commands never need be.

    That spares them the wake-up of another process just when they start.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, identity: str, grace: float, *, unhurried: bool
    ) -> None:
        self._loop = loop
        self._delay = UNHURRIED if unhurried else 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._backlog = b""
        self._unsaid: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        with contextlib.suppress(OSError):
            self._start(identity, math.ceil(grace * ROUNDS_PER_SECOND))

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def note(self, group: int) -> None:
        if not self._delay:
            self._send(b"+%d\n" % group)
            return
        self._unsaid.add(group)
        if self._timer is None:
            self._timer = self._loop.call_later(self._delay, self._say)

    def forget(self, group: int) -> None:
        if group in self._unsaid:
            self._unsaid.remove(group)
        else:
            self._send(b"-%d\n" % group)

    def note_folder(self, path: str) -> None:
        self._send(b"d%s\n" % os.fsencode(path))

    def close(self) -> None:
        """Send it away. Only when nothing is left to be guarded."""
        process, self._process = self._process, None
        if self._timer:
            self._timer.cancel()
        if process is None:
            return
        process.kill()  # it holds nothing that would have to be put in order
        process.wait()
        household.own.discard(process.pid)
        os.close(self._pipe)

    def _start(self, identity: str, rounds: int) -> None:
        in_limits = lasting_mark(identity + "0" * SERIAL_DIGITS)[:-SERIAL_DIGITS]
        theirs, ours = os.pipe()
        try:
            with household.lock:
                self._process = _start_shell(theirs, f"{TOKEN_VARIABLE}={identity}", str(rounds), in_limits)
                household.own.add(self._process.pid)
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(ours, False)
        self._pipe = ours

    def _say(self) -> None:
        self._timer = None
        self._send(b"".join([b"+%d\n" % group for group in self._unsaid]))
        self._unsaid.clear()

    def _send(self, lines: bytes) -> None:
        if self._process is None or not lines:
            return
        self._backlog += lines
        try:
            self._backlog = self._backlog[os.write(self._pipe, self._backlog) :]
        except BlockingIOError:
            if len(self._backlog) > BACKLOG_LIMIT:
                self.close()
        except OSError:
            self.close()


def _start_shell(stdin: int, *arguments: str) -> subprocess.Popen[bytes]:
    env = {name: os.environ[name] for name in ("PATH", TOKEN_VARIABLE) if name in os.environ}
    return subprocess.Popen(
        [SHELL, "-c", SCRIPT, "awf-guard", *arguments],
        cwd="/",
        env=env,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
