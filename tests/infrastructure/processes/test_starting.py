from __future__ import annotations

import asyncio
import os
import resource

import pytest

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command

CODE = "EXECUTION.COMMAND.NOT_FOUND"


def _script(tmp_path, text, mode):
    path = tmp_path / "script"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def _build(tmp_path, *argv, cwd=None, **env):
    return Command(argv=argv, cwd=cwd or str(tmp_path), env={"PATH": os.environ["PATH"], **env})


CASES = {
    "missing program": (lambda d: _build(d, "no-such-program"), ["no-such-program", "no such program"]),
    "missing path": (lambda d: _build(d, "./nothing"), ["./nothing", "no such program"]),
    "missing directory": (lambda d: _build(d, "true", cwd=str(d / "gone")), ["gone", "does not exist"]),
    "file as directory": (
        lambda d: _build(d, "true", cwd=_script(d, "", 0o644)),
        ["script", "not a directory"],
    ),
    "not executable": (lambda d: _build(d, _script(d, "#!/bin/sh\n", 0o644)), ["script", "not be executed"]),
    "directory as program": (lambda d: _build(d, str(d)), ["is a directory"]),
    "missing interpreter": (
        lambda d: _build(d, _script(d, "#!/no/such/thing\n", 0o755)),
        ["script", "interpreter"],
    ),
    "not a program": (lambda d: _build(d, _script(d, "just text", 0o755)), ["script", "#!"]),
    "too long": (lambda d: _build(d, "true", "x" * 200_000), ["true", "too long"]),
    "NUL in the environment": (lambda d: _build(d, "true", NAME="a\0b"), ["true", "null"]),
    "NUL in an argument": (lambda d: _build(d, "true", "a\0b"), ["true", "null"]),
    "not encodable": (lambda d: _build(d, "true", "\ud800"), ["true", "encode"]),
    "nothing": (_build, ["no program"]),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_cannot_start_says_what_and_why(runner, tmp_path, sink, case):
    build, words = CASES[case]

    with pytest.raises(AwfError) as caught:
        await runner.run(build(tmp_path), sink)

    assert caught.value.code == CODE
    assert all(word in caught.value.message for word in words)
    assert caught.value.hint
    assert sink.chunks == []


async def test_failing_to_start_leaks_no_descriptor(runner, tmp_path, sink, shell):
    await runner.run(shell("true"), sink)
    before = len(os.listdir("/proc/self/fd"))

    for build, _ in CASES.values():
        with pytest.raises(AwfError):
            await runner.run(build(tmp_path), sink)

    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("stdin", [None, b"text"])
async def test_a_shortage_of_descriptors_leaks_none(runner, sink, shell, stdin):
    await runner.run(shell("true"), sink)
    before = sorted(map(int, os.listdir("/proc/self/fd")))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    refused = 0
    try:
        for room in range(12):
            resource.setrlimit(resource.RLIMIT_NOFILE, (_limit_with(room), hard))
            try:
                await runner.run(shell("cat", stdin=stdin), sink)
            except AwfError as error:
                assert error.code == CODE
                assert "Too many open files" in error.message
                refused += 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert 0 < refused < 12
    assert sorted(map(int, os.listdir("/proc/self/fd"))) == before


def _limit_with(room):
    """The limit under which this many more descriptors can be had."""
    used = set(map(int, os.listdir("/proc/self/fd")))
    free = (number for number in range(1 << 16) if number not in used)
    return next(number for index, number in enumerate(free) if index == room)


async def test_a_program_is_looked_for_in_the_given_path(runner, tmp_path, sink):
    script = tmp_path / "bin" / "greet"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho hello\n")
    script.chmod(0o755)

    await runner.run(Command(argv=("greet",), cwd=str(tmp_path), env={"PATH": str(script.parent)}), sink)

    assert sink.stdout == b"hello\n"


async def test_a_relative_program_is_looked_for_in_the_directory_of_the_command(runner, tmp_path, sink):
    (tmp_path / "greet").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "greet").chmod(0o755)

    await runner.run(Command(argv=("./greet",), cwd=str(tmp_path), env={}), sink)

    assert sink.stdout == b"hello\n"


@pytest.mark.race
async def test_cancelled_before_it_starts_it_never_starts(runner, shell, sink, in_background, tmp_path):
    task = in_background(runner.run(shell("touch ran; exec sleep 1000"), sink))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not (tmp_path / "ran").exists()
