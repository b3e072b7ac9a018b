from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from awf.domain.agent import AgentFailure
from awf.infrastructure.agents.codex.dialect import Codex

LISTED = {
    "models": [
        {"slug": "gpt-a", "shell_type": "unified_exec", "apply_patch_tool_type": "freeform", "context": 7},
        {"slug": "gpt-b", "tool_mode": "code_mode_only", "supports_search_tool": True},
    ],
    "more": 1,
}


class Program:
    """Answers what it is asked, and counts."""

    def __init__(self, answer=json.dumps(LISTED).encode()):
        self.answer = answer
        self.asked = []

    async def __call__(self, arguments):
        self.asked.append(list(arguments))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def catalogue(task, program, cache):
    return Path((await Codex().prepare(task, program, str(cache)))["catalogue"])


async def test_the_models_keep_everything_but_their_tools(codex_task, tmp_path):
    made = json.loads((await catalogue(codex_task(), Program(), tmp_path / "cache")).read_text())

    assert made["more"] == 1
    assert made["models"][0]["slug"] == "gpt-a"
    assert made["models"][0]["context"] == 7
    for model in made["models"]:
        assert model["shell_type"] == "disabled"
        assert model["apply_patch_tool_type"] is None
        assert model["tool_mode"] is None
        assert model["supports_search_tool"] is False


async def test_it_is_asked_for_once_per_version(codex_task, tmp_path):
    program, cache = Program(), tmp_path / "cache"

    first = await catalogue(codex_task(), program, cache)
    again = await catalogue(codex_task(), program, cache)
    newer = await catalogue(codex_task(version=(0, 167, 0)), program, cache)

    assert program.asked == [["debug", "models", "--bundled"]] * 2
    assert first == again != newer
    assert sorted(os.listdir(cache)) == sorted([first.name, newer.name])  # nothing half-written beside them


async def test_an_unknown_version_is_asked_each_time(codex_task, tmp_path):
    program, task = Program(), codex_task(version=())

    made = await catalogue(task, program, tmp_path / "cache")
    await catalogue(task, program, tmp_path / "cache")

    assert len(program.asked) == 2
    assert made.parent == Path(task.folder)


async def test_where_it_cannot_be_kept_it_is_used_all_the_same(codex_task, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    task = codex_task()

    made = await catalogue(task, Program(), tmp_path / "file" / "cache")

    assert made.parent == Path(task.folder)
    assert json.loads(made.read_text())["models"]


async def test_it_is_not_asked_for_where_codex_keeps_its_own_tools(codex_task, tmp_path):
    program = Program()

    prepared = await Codex().prepare(codex_task("additive"), program, str(tmp_path))

    assert prepared["catalogue"] == ""
    assert program.asked == []


@pytest.mark.parametrize("answer", [b"no json", b"[]", b'{"models": 3}', b'{"models": ["x"]}', b"{}"])
async def test_a_list_in_an_unknown_form_is_refused_and_not_kept(codex_task, tmp_path, answer):
    with pytest.raises(AgentFailure, match="list of models") as failed:
        await catalogue(codex_task(), Program(answer), tmp_path / "cache")

    assert not failed.value.retryable
    assert not (tmp_path / "cache").exists()


async def test_a_codex_that_cannot_tell_its_models_is_not_used(codex_task, tmp_path):
    program = Program(AgentFailure("`codex debug models --bundled` failed with exit code 2: no such command"))

    with pytest.raises(AgentFailure, match="cannot be kept to the tools of AWF") as failed:
        await catalogue(codex_task(), program, tmp_path / "cache")

    assert not failed.value.retryable
    assert "npm install" in failed.value.hint
