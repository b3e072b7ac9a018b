from __future__ import annotations

import json
import os

import pytest

from awf.infrastructure.agents.codex.home import home_of, spent_before

SESSION = "01a1e0b5-f01b-7372-9299-9c053a14acc1"


def record(home, *lines, session=SESSION):
    folder = home / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True)
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (folder / f"rollout-2026-11-16T01-02-03-{session}.jsonl").write_text(text, encoding="utf-8")


def counted(tokens):
    usage = {"input_tokens": tokens, "output_tokens": 1}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": usage}}}


def test_what_a_session_has_spent_is_the_last_sum_in_its_record(tmp_path):
    record(tmp_path, {"type": "session_meta"}, counted(5), {"type": "response_item"}, counted(9))

    assert spent_before(str(tmp_path), SESSION) == {"input_tokens": 9, "output_tokens": 1}


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [{"type": "session_meta"}],
        ['{"type": "token_count"\n'],
        [{"payload": {"type": "token_count", "info": None}}],
    ],
)
def test_a_record_without_sums_counts_as_nothing(tmp_path, lines):
    record(tmp_path, *lines)

    assert spent_before(str(tmp_path), SESSION) == {}


@pytest.mark.parametrize("session", ["", "another", "*", "../../x"])
def test_a_session_that_is_not_there_has_spent_nothing(tmp_path, session):
    record(tmp_path, counted(5))

    assert spent_before(str(tmp_path), session) == {}


def test_the_home_is_the_user_s_unless_the_step_brings_its_own_endpoint(codex_task):
    task = codex_task()

    assert home_of(task) == os.path.join(task.env["HOME"], ".codex")
    assert home_of(codex_task(env={"HOME": "/h", "CODEX_HOME": "/c"})) == "/c"
    assert home_of(codex_task(options={"api_key": "k"})) == os.path.join(task.state, "home")
    assert home_of(codex_task(options={"api_key": "k", "env": {"CODEX_HOME": "/x"}})) == "/x"
