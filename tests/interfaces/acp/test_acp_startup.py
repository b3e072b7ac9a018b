"""What `awf acp-serve` loads, and when: an editor waits for its first answer, and a person for the list of commands.

Times depend on the machine; which modules are loaded does not.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from awf.testing.acp_editor import ScriptedEditor
from awf.testing.acp_wire import WireChecker

SCHEMAS = Path(__file__).parents[2] / "protocols" / "acp"
# What the installed command does; at its end it tells what it has loaded.
SERVE = """\
import sys
from awf.__main__ import main
try:
    main()
finally:
    print("loaded:", *sorted(sys.modules), file=sys.stderr)
"""
GREETING = """\
name: greet
description: Say hello
inputs: [{name: who, required: true}]
states:
  initial: hello
  hello: {type: step, command: 'echo hello {{ inputs.who }}', on_success: done}
  done: {type: terminal}
"""
# Each of them takes as long to load as the whole handshake may, or belongs to what is not needed yet.
BEFORE_THE_HANDSHAKE = {
    "asyncio", "awf.bootstrap", "awf.domain", "click", "concurrent", "dataclasses", "datetime", "inspect", "logging",
    "msgspec", "pathlib", "selectors", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading",
    "typing", "urllib", "uuid", "yaml",
}  # fmt: skip
# The libraries of runs, tools and other doors, and those parts of ours that would load them.
BEFORE_A_RUN = {
    "awf.application.authoring", "awf.application.running.service", "awf.application.tools", "awf.infrastructure.agents",
    "awf.infrastructure.expressions", "awf.infrastructure.http_client", "awf.infrastructure.plugins",
    "awf.infrastructure.processes", "awf.infrastructure.stores", "awf.interfaces.cli", "awf.interfaces.mcp", "click",
    "grpc", "jinja2", "jsonschema_rs", "mcpserver", "opentelemetry", "rich", "sqlite3",
}  # fmt: skip


@pytest.fixture
async def editor(tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "AWF_STORAGE": str(tmp_path / "storage"),
    }
    argv = [sys.executable, "-c", SERVE, "acp-serve"]
    editor = await ScriptedEditor.start(argv, cwd=tmp_path, env=environment, checker=WireChecker(SCHEMAS))
    yield editor
    if editor.agent.status is None:  # the test has failed
        await editor.abandon()


@pytest.fixture
def project(tmp_path):
    workflows = tmp_path / "project" / ".awf" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "greet.yaml").write_text(GREETING, encoding="utf-8")
    (workflows / "broken.yaml").write_text("name: [", encoding="utf-8")
    return tmp_path / "project"


async def loaded(editor: ScriptedEditor) -> set[str]:
    """Everything that was imported until the end, packages included."""
    ended = await editor.close()
    assert ended.status == 0, ended.stderr
    *before, last = ended.stderr.splitlines()
    assert before == []
    assert last.startswith("loaded: ")
    return set(last.split()[1:])


async def test_the_handshake_is_answered_before_anything_heavy_is_loaded(editor):
    answer = await editor.initialize()
    assert answer["agentInfo"]["name"] == "awf"
    modules = await loaded(editor)
    assert "acpserver.conversation" in modules
    assert modules & BEFORE_THE_HANDSHAKE == set()
    ours = {name for name in modules if name.startswith("awf.")}
    assert ours == {"awf.__main__", "awf.interfaces", "awf.interfaces.acp", "awf.interfaces.acp.serve"}


async def test_the_commands_are_listed_without_what_only_a_run_needs(editor, project):
    await editor.initialize()
    session = await editor.new_session(project)
    commands = await editor.commands(session)
    assert "greet" in {command["name"] for command in commands}
    modules = await loaded(editor)
    assert "awf.application.editor.service" in modules
    assert modules & BEFORE_A_RUN == set()


async def test_helper_commands_load_nothing_of_a_run_either(editor, project):
    await editor.initialize()
    session = await editor.new_session(project)
    for text in ("/workflows", "/status", "/end", "/nonsense", "hello"):
        await editor.prompt(session, text)
    assert await loaded(editor) & BEFORE_A_RUN == set()


async def test_a_workflow_of_commands_does_without_the_tools_of_agents(editor, project):
    await editor.initialize()
    session = await editor.new_session(project)
    heard = await editor.prompt(session, "/greet who=you")
    assert heard.stop_reason == "end_turn"
    modules = await loaded(editor)
    assert {"sqlite3", "awf.application.running.service"} <= modules
    assert (
        modules & {"click", "grpc", "jsonschema_rs", "mcpserver", "opentelemetry", "awf.interfaces.cli"}
        == set()
    )
