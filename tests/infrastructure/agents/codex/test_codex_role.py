from __future__ import annotations

import json

import pytest

from awf.infrastructure.agents.codex.dialect import Codex
from awf.infrastructure.agents.codex.role import in_front, is_told

ROLE = 'Be "terse" – é\n\tand\x01kind.\\'


def record(*texts):
    """As Codex writes it: JSON, with letters as they are."""
    return "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([], False),
        (["something else"], False),
        ([ROLE, "do it"], True),
        ([ROLE, in_front("Be verbose.", "do it")], False),
        ([ROLE, in_front("Be verbose.", "do it"), in_front(ROLE, "go on")], True),
        ([in_front(ROLE, "do it"), "later"], True),
        ([in_front(f"{ROLE} And more.", "do it")], False),
    ],
)
def test_the_role_that_was_told_last_counts(texts, told):
    assert is_told(ROLE, record(*texts)) is told


async def test_it_is_looked_up_in_what_codex_keeps_of_the_session(codex_task, tmp_path):
    home = tmp_path / "home" / ".codex" / "sessions" / "2026"
    home.mkdir(parents=True)
    (home / "rollout-0199-abc.jsonl").write_bytes(record("Be terse."))

    async def is_told_to(**given):
        prepared = await Codex().prepare(codex_task("additive", **given), None, "")
        return prepared["role_is_told"]

    assert await is_told_to(session="0199-abc", system_prompt="Be terse.")
    assert not await is_told_to(session="0199-abc", system_prompt="Be kind.")
    assert not await is_told_to(session="0199-xyz", system_prompt="Be terse.")
    assert not await is_told_to(system_prompt="Be terse.")
