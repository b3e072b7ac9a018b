"""The log of a run: one JSON object per line, with secrets masked."""

from __future__ import annotations

import json
import logging

import pytest

from awf.bootstrap import App
from awf.domain.redaction import Masker
from awf.infrastructure.telemetry.logs import LogListener, set_up_logging

WORKFLOW = """
name: logged
inputs: [{name: password, required: true}]
states:
  initial: a
  a: {type: step, command: "echo {{ inputs.password }}; exit 2", on_success: done}
  done: {type: terminal}
"""


async def test_a_run_is_logged_as_json_lines_without_its_secrets(lab, tmp_path):
    app = App(
        cwd=str(tmp_path),
        environment={
            **lab.environment,
            "AWF_LOG_LEVEL": "info",
            "AWF_LOG_FORMAT": "json",
            "AWF_LOG_FILE": str(tmp_path / "log"),
        },
    )
    app.set_up_logging()
    lab.app = lambda: app
    await lab.run(WORKFLOW, {"password": "opensesame"}, listener=app.log_listener())
    set_up_logging("error", "console", None, Masker())
    text = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines] == [
        "workflow.started",
        "step.started",
        "step.failed",
        "workflow.failed",
    ]
    assert [line["level"] for line in lines] == ["info", "info", "error", "error"]
    assert lines[0]["run_id"] == lines[-1]["run_id"]
    assert "opensesame" not in text


def test_console_lines_carry_the_fields(tmp_path):
    set_up_logging("info", "console", str(tmp_path / "log"), Masker())
    logging.getLogger("awf.run").info("hello", extra={"fields": {"path": "a", "empty": ""}})
    set_up_logging("error", "console", None, Masker())
    assert "hello  path=a" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("form", ["console", "json"])
def test_names_values_and_patterns_are_kept_out_of_the_log(tmp_path, form):
    masker = Masker()
    masker.add("known", "opensesame")
    set_up_logging("info", form, str(tmp_path / "log"), masker)
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3hJ6"
    logging.getLogger("awf.run").info("saw %s and opensesame", token, extra={"fields": {"path": "a"}})
    if form == "json":
        logging.getLogger("awf.run").info("call", extra={"fields": {"headers": {"Cookie": "sid=1"}}})
    set_up_logging("error", "console", None, Masker())
    text = (tmp_path / "log").read_text()
    assert "saw *** and ***" in text
    assert "sid=1" not in text


def test_without_a_level_nothing_listens(lab):
    assert lab.app().log_listener() is None
    assert LogListener() is not None
