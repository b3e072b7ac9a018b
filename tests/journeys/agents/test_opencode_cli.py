"""OpenCode, the real one."""

from __future__ import annotations

import json
import os
import sys

import pytest

pytestmark = pytest.mark.journey
OURS = {f"awf-proxy_{name}" for name in ("Read", "Write", "Edit", "Bash", "Glob", "Grep")}
NATIVE = {
    "name": "native",
    "prompt": "use your own shell",
    "turns": [
        {
            "tool_calls": [
                {"tool": "exact:bash", "args": {"command": "touch native-was-here", "description": "x"}}
            ]
        },
        {"text": "It said: {{all_tool_results}}"},
    ],
}
# It waits as long as it is told before it asks again; of its own accord it would wait for a minute in all.
AT_ONCE = {"headers": {"retry-after-ms": "1"}}
BUSY = {
    "name": "busy-at-once",
    "prompt": "answer 429 at once",
    "turns": [{"error": {"status": 429, "message": "scripted 429", **AT_ONCE}}],
}
BROKEN = {
    "name": "broken-at-once",
    "prompt": "answer 500 at once",
    "turns": [{"error": {"status": 500, "message": "scripted 500", **AT_ONCE}}],
}


def configured(folder, settings):
    """A configuration of OpenCode's that has been used before: it does not install anything into it."""
    home = folder / "opencode"
    (home / "node_modules").mkdir(parents=True)
    (home / "node_modules" / ".empty").write_text("", encoding="utf-8")
    (home / ".gitignore").write_text("node_modules\n", encoding="utf-8")
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    (home / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    known = {"$schema": "https://opencode.ai/config.json", **settings}  # it writes that line itself
    (home / "opencode.json").write_text(json.dumps(known), encoding="utf-8")


def configuration_files(lab):
    kept = (str(lab.project), str(lab.home / ".config"))
    return {path: content for path, content in lab.files().items() if path.startswith(kept)}


def without_our_server(lab):
    """The program, with another command where our server's should be."""
    wrapper = lab.bin / "without-our-server"
    wrapper.write_text(
        f"""#!{sys.executable}
import json, os, sys
given = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])
given["mcp"]["awf-proxy"]["command"] = ["/bin/false"]
os.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(given)
os.execvp("opencode", ["opencode", *sys.argv[1:]])
""",
        encoding="utf-8",
    )
    wrapper.chmod(0o755)
    return str(wrapper)


async def test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere(agent_lab):
    lab = agent_lab("opencode")
    before = lab.files()

    seen = await lab.step("read the note", system_prompt="You are terse SYSMARK.")

    assert seen.tools == OURS
    assert seen.isolation == "guaranteed"
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("Read", False), ("Bash", False)]
    assert [call.tool for call in seen.our_calls] == ["Read", "Bash"]
    assert "xyzzy" in seen.output
    assert "from bash" in seen.output
    assert not seen.output.startswith("Reading")
    assert seen.text.startswith("Reading. ")
    assert seen.thoughts == "let me see"
    assert all("SYSMARK" in json.dumps(request["body"]) for request in seen.requests)
    assert seen.result.usage.input_tokens > 0
    assert seen.result.usage.cost is None
    assert lab.files() == before


async def test_neither_the_user_nor_the_project_nor_the_environment_can_bring_its_own_tools_back(agent_lab):
    lab = agent_lab("opencode", [NATIVE])
    mark = lab.project / "server-was-here"
    allowed = {"*": "allow", "bash": "allow"}
    hostile = {"permission": allowed, "agent": {"build": {"permission": allowed}}, "tools": {"bash": True}}
    configured(lab.home / ".config", hostile)
    server = {"mcp": {"evil": {"type": "local", "command": ["touch", str(mark)], "enabled": True}}}
    (lab.project / "opencode.json").write_text(json.dumps({**hostile, **server}), encoding="utf-8")
    (lab.project / "AGENTS.md").write_text("EVILMARK", encoding="utf-8")
    lab.environment["OPENCODE_PERMISSION"] = json.dumps(allowed)

    seen = await lab.step("use your own shell, @note.txt", options={"user_config": True})

    assert seen.result.status == "success"
    assert seen.tools == OURS
    assert "unavailable tool" in seen.output
    assert seen.agent_results[0].is_error
    assert not (lab.project / "native-was-here").exists()
    assert not mark.exists()
    assert "EVILMARK" not in seen.asked()
    assert "xyzzy" not in seen.asked()


async def test_a_session_goes_on_with_its_role_and_our_tools(agent_lab):
    lab = agent_lab("opencode")

    seen = await lab.steps(
        {
            "work": lab.state("just answer", system_prompt="ROLEMARK one", conversation={}),
            "more": lab.state(
                "say again", system_prompt="ROLEMARK two", conversation={"continue_from": "work"}
            ),
        }
    )
    more = seen.ran.steps["more"].result

    assert more.output == "Again, message 2."
    assert more.session.id == seen.result.session.id
    assert "ROLEMARK one" in json.dumps(seen.requests[0]["body"])
    assert "ROLEMARK two" in json.dumps(seen.requests[-1]["body"])
    assert all(request["tools"] for request in seen.requests)
    assert seen.tools == OURS
    assert more.usage.input_tokens < 1.5 * seen.result.usage.input_tokens


async def test_its_own_tools_and_ours_are_both_there_when_asked_for(agent_lab):
    lab = agent_lab("opencode", [NATIVE])
    configured(lab.home / ".config", {"share": "manual"})
    (lab.project / "AGENTS.md").write_text("PROJECTMARK", encoding="utf-8")
    before = configuration_files(lab)

    seen = await lab.step("use your own shell", "additive", system_prompt="SYSMARK")

    assert {"bash", "read", "write", "awf-proxy_Glob"} < seen.tools
    assert (lab.project / "native-was-here").exists()
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("bash", False)]
    assert seen.isolation == "none"
    assert "SYSMARK" in seen.asked()
    assert "PROJECTMARK" in seen.asked()
    (lab.project / "native-was-here").unlink()
    assert configuration_files(lab) == before


async def test_several_can_begin_at_once_and_errors_of_the_api_fail_their_steps(agent_lab):
    lab = agent_lab("opencode", [BUSY, BROKEN])
    prompts = ["read the note", "answer 400", "answer 401", "answer 429 at once", "answer 500 at once"]

    results = await lab.together(
        {prompt.replace(" ", "_"): lab.state(prompt, conversation={}) for prompt in prompts}
    )

    assert "xyzzy" in results["read_the_note"].output
    permanent = {name: result.error.permanent for name, result in results.items() if result.error}
    assert permanent == {
        "answer_400": True,
        "answer_401": True,
        "answer_429_at_once": False,
        "answer_500_at_once": False,
    }
    for name in permanent:
        assert f"scripted {name.split('_')[1]}" in results[name].error.message


async def test_a_login_of_the_user_s_is_used_where_no_endpoint_is_given(agent_lab):
    lab = agent_lab("opencode")
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{lab.fake.url}/v1"}}
    configured(lab.home / ".config", {"provider": {"mine": {**provider, "models": {"m": {"name": "m"}}}}})
    data = lab.home / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    (data / "auth.json").write_text('{"mine": {"type": "api", "key": "dummy"}}', encoding="utf-8")
    wished = {"base_url": None, "api_key": None, "model": "mine/m", "user_config": True}
    quiet = {"env": {"OPENCODE_DISABLE_MODELS_FETCH": "1"}}

    seen = await lab.step("just answer", options={**wished, **quiet})

    assert seen.output == "Just an answer."
    assert "authorization" in {name.lower() for name in seen.requests[0]["headers"]}
    assert seen.tools == OURS
    assert not [name for name in os.listdir(data) if name.endswith(".db")]  # the session is kept with the run


async def test_without_our_server_the_step_fails(agent_lab):
    lab = agent_lab("opencode")

    seen = await lab.step("just answer", options={"program": without_our_server(lab)})

    assert seen.error.code == "EXECUTION.AGENT.NO_TOOLS"
    assert seen.tools == set()
