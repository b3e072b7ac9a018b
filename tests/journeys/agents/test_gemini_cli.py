"""Gemini CLI, the real one."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.journey
OURS = {f"mcp_awf-proxy_{name}" for name in ("Read", "Write", "Edit", "Bash", "Glob", "Grep")}
NATIVE = {
    "name": "native",
    "prompt": "use your own shell",
    "turns": [
        {"tool_calls": [{"tool": "run_shell_command", "args": {"command": "touch native-was-here"}}]},
        {"text": "It said: {{tool_result}}"},
    ],
}


def instructions(request):
    return json.dumps(request["body"]["systemInstruction"])


def prompts(request):
    parts = [part.get("text", "") for content in request["body"]["contents"] for part in content["parts"]]
    return "\n".join(parts)


async def test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere(agent_lab):
    lab = agent_lab("gemini")
    before = lab.files()

    seen = await lab.step("read the note", system_prompt="You are terse SYSMARK.")

    assert seen.tools == OURS
    assert seen.isolation == "guaranteed"
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("Read", False), ("Bash", False)]
    assert [call.tool for call in seen.our_calls] == ["Read", "Bash"]
    assert "xyzzy" in seen.output
    assert "from bash" in seen.output
    assert seen.text.startswith("Reading. ")
    assert not seen.output.startswith("Reading")
    assert all("SYSMARK" in instructions(request) for request in seen.requests)
    assert "CLI agent" in instructions(seen.requests[0])  # its own prompt is still there
    assert seen.result.usage.input_tokens > 0
    assert seen.result.usage.cost is None
    assert lab.files() == before


async def test_a_hidden_tool_does_nothing_and_a_project_can_bring_in_nothing_either(agent_lab):
    lab = agent_lab("gemini", [NATIVE])
    mark = lab.project / "hook-was-here"
    settings = {
        "mcpServers": {"evil": {"command": "touch", "args": [str(mark)]}},
        "hooksConfig": {"enabled": True},
        "hooks": {
            "SessionStart": [{"hooks": [{"type": "command", "command": f"touch {mark}", "name": "evil"}]}]
        },
    }
    (lab.project / ".gemini").mkdir()
    (lab.project / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (lab.project / ".gemini" / "system.md").write_text("EVILMARK", encoding="utf-8")
    (lab.project / "evil.md").write_text("EVILMARK", encoding="utf-8")
    (lab.project / "sitecustomize.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    environment = f"GEMINI_CLI_TRUST_WORKSPACE=true\nGEMINI_SYSTEM_MD=evil.md\nPYTHONPATH={lab.project}\n"
    (lab.project / ".env").write_text(environment, encoding="utf-8")
    (lab.project / ".gemini" / ".env").write_text(environment, encoding="utf-8")

    seen = await lab.step("use your own shell")

    assert "not found" in seen.output
    assert seen.tools == OURS
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("run_shell_command", True)]
    assert seen.agent_results[0].is_error
    assert not mark.exists()
    assert not (lab.project / "native-was-here").exists()
    assert "EVILMARK" not in seen.asked()
    assert "evil.md" not in seen.asked()  # nor a list of the project's files


async def test_a_prompt_is_only_a_prompt(agent_lab):
    lab = agent_lab("gemini")
    mention = "just answer: what do @note.txt and someone@example.org say?"
    slash = "/compress is what I type. just answer"

    found = await lab.together({"mention": lab.state(mention), "slash": lab.state(slash)})

    assert {result.output for result in found.values()} == {"Just an answer."}
    asked = "\n".join(prompts(request) for request in lab.fake.model_requests())
    assert "xyzzy" not in asked  # the file was not read past us
    assert "someone@example.org" in asked
    assert "/compress is what I type." in asked


async def test_the_users_own_login_is_used_and_left_alone(agent_lab):
    lab = agent_lab("gemini")
    own = lab.home / ".gemini"
    own.mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "hooks": {}}
    (own / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (own / ".env").write_text("GEMINI_API_KEY=dummy-key\n", encoding="utf-8")
    before = lab.files()

    seen = await lab.step("just answer", options={"api_key": None})

    assert seen.output == "Just an answer."
    assert seen.tools == OURS
    assert lab.files() == before


async def test_a_session_goes_on_with_its_role_and_our_tools(agent_lab):
    lab = agent_lab("gemini")
    before = lab.files()

    seen = await lab.steps(
        {
            "work": lab.state("just answer", system_prompt="ROLEMARK one", conversation={}),
            "more": lab.state(
                "say again", system_prompt="ROLEMARK two", conversation={"continue_from": "work"}
            ),
        }
    )

    assert seen.ran.output("more") == "Again, message 2."
    assert seen.ran.steps["more"].result.session.id == seen.result.session.id
    assert "ROLEMARK one" in instructions(seen.requests[0])
    assert "ROLEMARK two" in instructions(seen.requests[-1])
    assert seen.tools == OURS
    assert lab.files() == before


async def test_its_own_tools_and_ours_are_both_there_when_asked_for(agent_lab):
    lab = agent_lab("gemini", [NATIVE])
    (lab.home / ".gemini").mkdir()
    (lab.home / ".gemini" / "GEMINI.md").write_text("HOMEMARK", encoding="utf-8")
    before = lab.files()

    seen = await lab.step(
        "use your own shell", "additive", system_prompt="SYSMARK", options={"approval_mode": "yolo"}
    )

    assert {"run_shell_command", "read_file", "write_file"} < seen.tools
    assert {name for name in seen.tools if "Glob" in name}
    assert (lab.project / "native-was-here").exists()
    assert seen.isolation == "none"
    assert "SYSMARK" in instructions(seen.requests[0])
    assert "HOMEMARK" in seen.asked()
    (lab.project / "native-was-here").unlink()
    assert lab.files() == before


ERRORS = {
    "refused": ("answer 401", True),
    "forbidden": ("answer 403", True),
    "wrong": ("answer 400", True),
    "busy": ("answer 429", False),
    "broken": ("answer 500", False),
    "cut": ("cut the stream", False),
}


async def test_errors_of_the_api_fail_the_step_and_tell_whether_to_try_again(agent_lab):
    lab = agent_lab("gemini")

    found = await lab.together(
        {name: lab.state(prompt, options={"max_attempts": 1}) for name, (prompt, _) in ERRORS.items()}
    )

    assert {result.status for result in found.values()} == {"failed"}
    assert {name: result.error.permanent for name, result in found.items()} == {
        name: permanent for name, (_, permanent) in ERRORS.items()
    }
    assert "scripted 401" in found["refused"].error.message
    assert found["refused"].error.hint


async def test_without_a_login_it_says_how_to_sign_in(agent_lab):
    lab = agent_lab("gemini")

    seen = await lab.step("just answer", options={"api_key": None, "base_url": None})

    assert seen.error.permanent
    assert "api_key" in seen.error.hint
    assert not seen.requests


async def test_when_our_server_does_not_come_up_the_step_fails(agent_lab):
    lab = agent_lab("gemini")

    program = lab.bin / "gemini-without-server"
    settings = '"$GEMINI_CLI_HOME/.gemini/settings.json"'
    broken = 's:"awf-proxy". {"command". "[^"]*":"awf-proxy"\\: {"command"\\: "/nowhere/awf":'
    program.write_text(f"#!/bin/sh\nsed -i '{broken}' {settings}\nexec gemini \"$@\"\n", encoding="utf-8")
    program.chmod(0o700)

    seen = await lab.step("just answer", options={"program": str(program)})

    assert seen.error.code == "EXECUTION.AGENT.NO_TOOLS"
    assert seen.tools == set()
