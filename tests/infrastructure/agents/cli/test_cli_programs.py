"""Finding an agent's program and learning its version."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.agent import AgentFailure, IsolationReport
from awf.infrastructure.agents.cli.programs import Programs, parse_version

ANSWER = 'sys.stdin.read(); emit(type="answer", text="done")'


class Tools:
    """Of a step; nobody ever comes in."""

    intercepts = True
    used = True
    toolbox = None

    async def endpoint(self):
        from awf.domain.ports.tools import ToolEndpoint

        return ToolEndpoint(command=("true",))


async def test_a_program_that_is_not_installed_comes_with_the_way_to_install_it(world):
    with pytest.raises(AgentFailure) as failure:
        await world.run()

    assert failure.value.code == "EXECUTION.AGENT.NOT_FOUND"
    assert "stub-cli" in failure.value.message
    assert failure.value.hint == "npm install -g stub"
    assert not failure.value.retryable


async def test_a_file_on_the_path_that_may_not_be_executed_is_told_apart_from_none(world):
    path = world.program(ANSWER)
    path.chmod(0o644)

    with pytest.raises(AgentFailure) as failure:
        await world.run()

    assert str(path) in failure.value.message
    assert "chmod +x" in failure.value.hint


@pytest.mark.parametrize(
    ("program", "words"), [("./missing", "does not exist"), ("./bin", "is no file"), ("./plain", "may not be executed")]
)  # fmt: skip
async def test_the_option_program_is_checked_where_the_step_works(world, program, words):
    world.program(ANSWER)
    (world.folder / "plain").write_text("#!/bin/sh\n", encoding="utf-8")

    with pytest.raises(AgentFailure, match=words) as failure:
        await world.run(options={"program": program})

    assert failure.value.code == "EXECUTION.AGENT.NOT_FOUND"


async def test_the_option_program_may_be_a_path_from_the_steps_folder(world):
    world.program(ANSWER).rename(world.folder / "elsewhere")

    assert (await world.run(options={"program": "./elsewhere"})).text == "done"


async def test_a_program_whose_interpreter_is_missing_is_told_without_a_retry(world):
    path = world.program(ANSWER)
    path.write_text("#!/nowhere/python\n", encoding="utf-8")

    with pytest.raises(AgentFailure, match="interpreter") as failure:
        await world.run()

    assert not failure.value.retryable


@pytest.mark.parametrize(
    ("version", "isolation"),
    [
        ('print("stub 1.0.0")', "guaranteed"),
        ('print("1.2.99 (Stub)")', "guaranteed"),
        ('print("stub 0.9.9")', "best_effort"),
        ('print("stub 1.3.0")', "best_effort"),
        ('print("stub 2.0.0")', "best_effort"),
        ('print("no number at all")', "best_effort"),
        ("pass", "best_effort"),
        ('print("stub 1.2.3"); sys.exit(3)', "best_effort"),
        ('sys.stderr.write("boom"); sys.exit(1)', "best_effort"),
    ],
)
async def test_isolation_is_guaranteed_for_the_versions_that_it_was_proven_for(world, version, isolation):
    world.program(ANSWER, version)

    await world.run(tools=Tools())

    assert world.of(IsolationReport)[0].isolation == isolation


async def test_a_version_that_is_never_told_costs_patience_once_and_no_more(world):
    world.programs = Programs(world.programs.cache, patience=0.2)
    world.agent._programs = world.programs
    world.program(ANSWER, 'open(os.path.join(os.environ["WORLD"], "asked"), "a").write("x"); time.sleep(600)')

    await world.run(tools=Tools())
    await world.run(tools=Tools())

    assert world.of(IsolationReport)[0].version == "unknown"
    assert (world.folder / "asked").read_text(encoding="utf-8") == "x"


async def test_a_version_that_floods_is_given_up(world):
    world.program(ANSWER, 'while True: sys.stdout.write("x" * 65536)')

    await world.run(tools=Tools())

    assert world.of(IsolationReport)[0].version == "unknown"


async def test_steps_that_start_together_ask_for_the_version_once(world):
    world.program(ANSWER, 'open(os.path.join(os.environ["WORLD"], "asked"), "a").write("x"); print("1.2.3")')

    await asyncio.gather(*(world.run() for _ in range(5)))

    assert (world.folder / "asked").read_text(encoding="utf-8") == "x"


async def test_a_version_is_kept_as_long_as_the_program_is_the_same(world):
    world.program(ANSWER, 'print("1.1.1")')
    first = await world.programs.version(str(world.bin / "stub-cli"), world.runner, world.env)
    again = Programs(world.programs.cache)
    kept = again.kept_version(str(world.bin / "stub-cli"))
    world.program(ANSWER, 'print("1.2.22")')
    renewed = Programs(world.programs.cache)

    assert (first, kept) == ((1, 1, 1), (1, 1, 1))
    assert renewed.kept_version(str(world.bin / "stub-cli")) is None
    assert await renewed.version(str(world.bin / "stub-cli"), world.runner, world.env) == (1, 2, 22)
    file = world.folder / "cache" / "agent-versions.json"
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 1


@pytest.mark.parametrize("spoiled", ["", "[1, 2]", '{"a": ', "[" * 100_000])
async def test_a_spoiled_cache_is_passed_over(world, spoiled):
    world.program(ANSWER)
    file = world.folder / "cache" / "agent-versions.json"
    file.parent.mkdir()
    file.write_text(spoiled, encoding="utf-8")

    assert await world.programs.version(str(world.bin / "stub-cli"), world.runner, world.env) == (1, 2, 3)


async def test_a_cache_that_cannot_be_written_does_no_harm(world):
    world.program(ANSWER)
    (world.folder / "cache").write_text("a file is in the way", encoding="utf-8")

    assert await world.programs.version(str(world.bin / "stub-cli"), world.runner, world.env) == (1, 2, 3)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        (b"2.1.325 (Claude Code)\n", (2, 1, 325)),
        (b"codex-cli 0.166.0\n", (0, 166, 0)),
        (b"GitHub Copilot CLI 1.0.102.\nRun 'copilot update'", (1, 0, 102)),
        (b"v3.4", (3, 4)),
        (b"nightly", ()),
        (b"", ()),
    ],
)
def test_versions_are_read_from_what_the_programs_print(said, version):
    assert parse_version(said) == version
