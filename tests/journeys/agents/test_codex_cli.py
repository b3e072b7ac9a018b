"""Codex, the real one."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.journey
RESOURCES = {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}
TOOLS = {f"mcp__awf_proxy.{name}" for name in ("Read", "Write", "Edit", "Bash", "Glob", "Grep")}
OURS = TOOLS | RESOURCES
PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch\n"
NATIVE = {
    "name": "native",
    "prompt": "use your own shell",
    "turns": [
        {"tool_calls": [{"tool": "exact:exec_command", "args": {"cmd": "touch native-was-here"}}]},
        {"tool_calls": [{"tool": "exact:apply_patch", "args": {"input": PATCH}}]},
        {"text": "It said: {{all_tool_results}}"},
    ],
}
HELPERS = {
    "name": "helpers",
    "prompt": "look for resources",
    "turns": [
        {"tool_calls": [{"tool": "exact:list_mcp_resources", "args": {}}]},
        {"text": "It said: {{all_tool_results}}"},
    ],
}


async def test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere(agent_lab):
    lab = agent_lab("codex", [NATIVE])
    before = lab.files()

    seen = await lab.step("read the note", system_prompt='You are "terse" SYSMARK.\n')

    assert seen.tools == OURS
    assert seen.isolation == "guaranteed"
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("Read", False), ("Bash", False)]
    assert [call.tool for call in seen.our_calls] == ["Read", "Bash"]
    assert "xyzzy" in seen.output
    assert "from bash" in seen.output
    assert not seen.output.startswith("Reading")
    assert seen.text.startswith("Reading. ")
    assert seen.thoughts == "let me see"
    assert all('You are \\"terse\\" SYSMARK.\\n' in json.dumps(request["body"]) for request in seen.requests)
    assert seen.result.usage.input_tokens > 0
    assert seen.result.usage.cost is None
    assert seen.warnings == []
    assert lab.files() == before


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-6-sol", "some-other-model"])
async def test_a_hidden_tool_of_its_own_does_nothing_whatever_the_model(agent_lab, model):
    lab = agent_lab("codex", [NATIVE])

    seen = await lab.step("use your own shell", options={"model": model})

    assert {name.removeprefix("functions.") for name in seen.tools} == OURS
    assert seen.output.count("unsupported call") == 2
    assert not (lab.project / "native-was-here").exists()
    assert not (lab.project / "patched.txt").exists()


async def test_looking_for_resources_is_no_way_around_us(agent_lab):
    lab = agent_lab("codex", [HELPERS])

    seen = await lab.step("look for resources")

    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("list_mcp_resources", False)]
    assert '"resources":[]' in seen.output
    assert seen.warnings == []


async def test_neither_the_user_nor_the_project_can_bring_in_tools_and_the_user_s_login_is_used(agent_lab):
    lab = agent_lab("codex", [NATIVE])
    mark = lab.project / "server-was-here"
    evil = f'[mcp_servers.evil]\ncommand = "touch"\nargs = ["{mark}"]\n'
    for folder in (lab.home / ".codex", lab.project / ".codex"):
        folder.mkdir()
        (folder / "config.toml").write_text(f'sandbox_mode = "danger-full-access"\n{evil}', encoding="utf-8")
    (lab.home / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "dummy"}', encoding="utf-8")
    address = ["-c", f'openai_base_url="{lab.fake.url}/v1"']

    seen = await lab.step(
        "use your own shell", options={"base_url": None, "api_key": None, "extra_args": address}
    )

    assert seen.result.status == "success"
    assert seen.tools == OURS
    assert not mark.exists()
    assert not (lab.project / "native-was-here").exists()


async def test_a_session_goes_on_with_its_role_and_our_tools_and_counts_what_is_new(agent_lab):
    lab = agent_lab("codex")

    seen = await lab.steps(
        {
            "work": lab.state("just answer", system_prompt="ROLEMARK one", conversation={}),
            "more": lab.state(
                "say again", system_prompt="ROLEMARK two", conversation={"continue_from": "work"}
            ),
            "last": lab.state(
                "say again", system_prompt="ROLEMARK two", conversation={"continue_from": "more"}
            ),
        }
    )
    more = seen.ran.steps["more"].result

    assert more.session.id == seen.result.session.id
    assert more.output == "Again, message 3."  # Codex tells about the folder in a message of its own
    bodies = [json.dumps(request["body"]) for request in seen.requests]
    assert [body.count("ROLEMARK one") for body in bodies] == [1, 1, 1]
    assert [body.count("ROLEMARK two") for body in bodies] == [0, 1, 1]  # told once, and remembered
    assert all(request["tools"] for request in seen.requests)
    assert seen.tools == OURS
    assert 0 < more.usage.input_tokens < 1.5 * seen.result.usage.input_tokens
    assert more.usage.output_tokens < 10


async def test_a_session_that_is_gone_is_not_tried_again(agent_lab):
    lab = agent_lab("codex")
    forget = {"type": "step", "command": f"rm -r '{lab.environment['AWF_STORAGE']}'/runs/*/agents"}

    seen = await lab.steps(
        {
            "work": lab.state("just answer", conversation={}),
            "forget": forget,
            "more": lab.state("say again", conversation={"continue_from": "work"}),
        }
    )
    error = seen.ran.steps["more"].result.error

    assert error.permanent
    assert "no rollout found" in error.message


async def test_its_own_tools_and_ours_are_both_there_when_asked_for(agent_lab):
    lab = agent_lab("codex", [NATIVE])
    before = lab.files()

    seen = await lab.step(
        "use your own shell", "additive", system_prompt="SYSMARK", options={"sandbox": "danger-full-access"}
    )

    assert {"exec_command", "apply_patch", "mcp__awf_proxy.Glob"} < seen.tools
    assert (lab.project / "native-was-here").exists()
    assert (lab.project / "patched.txt").exists()
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [
        ("shell", False),
        ("apply_patch", False),
    ]
    assert seen.isolation == "none"
    assert "SYSMARK" in seen.asked()
    for made in ("native-was-here", "patched.txt"):
        (lab.project / made).unlink()
    assert lab.files() == before


@pytest.mark.parametrize(
    ("prompt", "permanent", "says"),
    [
        ("answer 400", True, "scripted 400"),
        ("answer 401", True, "401"),
        ("answer 403", True, "403"),
        ("answer 429", False, "429"),
        ("answer 500", False, ""),
        ("cut the stream", False, "stream disconnected"),
    ],
)
async def test_an_error_of_the_api_fails_the_step(agent_lab, prompt, permanent, says):
    lab = agent_lab("codex")

    seen = await lab.step(prompt, options={"retries": 0})

    assert seen.result.status == "failed"
    assert says in seen.error.message
    assert seen.error.permanent is permanent
    assert len(seen.requests) == 1


async def test_without_our_server_it_does_not_begin(agent_lab):
    lab = agent_lab("codex")
    broken = ["-c", 'mcp_servers.awf-proxy.command="/bin/false"']

    seen = await lab.step("just answer", options={"extra_args": broken})

    assert seen.result.status == "failed"
    assert seen.error.code == "EXECUTION.AGENT.NO_TOOLS"
    assert "awf-proxy" in seen.error.message
    assert not seen.requests


async def test_several_can_begin_at_once(agent_lab):
    lab = agent_lab("codex")

    results = await lab.together({f"one{n}": lab.state("read the note", conversation={}) for n in range(4)})

    assert all("xyzzy" in result.output for result in results.values())
    assert len({result.session.id for result in results.values()}) == 4


async def test_a_step_that_takes_too_long_leaves_nothing_behind(agent_lab):
    lab = agent_lab("codex")

    seen = await lab.step("take long", timeout="3s")

    assert seen.result.status == "failed"  # that no process is left is looked after by the laboratory
    assert seen.requests
