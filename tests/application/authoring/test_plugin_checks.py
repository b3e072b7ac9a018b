"""What a workflow wants of plugins, held against what the plugins say."""

from __future__ import annotations

import pytest

from awf.domain.ports.plugins import Issue, Operation
from awf.infrastructure.agents.scripted.provider import ScriptedAgent
from awf.testing.memory_plugins import MemoryPlugin, MemoryPlugins
from awf.testing.memory_tools import object_schema

AGENT = """
name: x
states:
  initial: work
  work:
    type: agent
    provider: scripted
    prompt: Go.
    options: {turns: [Done.]}
    mcp_proxy: MCP_PROXY
    on_success: done
  done: {type: terminal}
"""
OPERATION = """
name: x
states:
  initial: work
  work: {type: operation, STATE, on_success: done}
  done: {type: terminal}
"""


@pytest.fixture
def kube(lab):
    plugin = MemoryPlugin("kubernetes")
    plugin.operation("kubectl_get", print, object_schema(resource="string"))
    plugin.operation("kubectl_apply", print)
    plugin.operations["odd"] = (Operation(name="odd", refusal="'x' has the type 'tuple'"), print)
    plugin.step_types["rollout"] = print
    lab.plugins = MemoryPlugins(plugin)
    return plugin


def proxy(lab, block: str) -> list[tuple[str, int]]:
    return told(lab.problems(AGENT.replace("MCP_PROXY", block)))


def told(problems) -> list[tuple[str, int]]:
    return [(problem.code, problem.place.column) for problem in problems]


def one(lab, text: str):
    (problem,) = lab.problems(text)
    return problem


def test_what_the_plugin_offers_may_be_exposed(lab, kube):
    assert (
        proxy(
            lab, "{enable: true, plugin_tools: [{plugin: kubernetes, expose: [kubectl_get, kubectl_apply]}]}"
        )
        == []
    )


def test_additive_mode_with_a_plugin_tool_is_no_empty_proxy(lab, kube):
    block = "{enable: true, intercept_builtins: false, plugin_tools: [{plugin: kubernetes, expose: [kubectl_get]}]}"
    assert proxy(lab, block) == []


def test_an_operation_that_the_plugin_does_not_have_is_found_and_the_right_one_suggested(lab, kube):
    problem = one(
        lab,
        AGENT.replace(
            "MCP_PROXY", "{enable: true, plugin_tools: [{plugin: kubernetes, expose: [kubectl_gte]}]}"
        ),
    )
    assert problem.code == "USER.MCP_PROXY.UNKNOWN_OPERATION"
    assert "kubectl_get" in problem.hint
    assert (problem.place.line, problem.source_line[problem.place.column - 1 :][:11]) == (10, "kubectl_gte")


def test_an_operation_whose_inputs_cannot_be_described_is_refused_with_the_reason(lab, kube):
    problem = one(
        lab, AGENT.replace("MCP_PROXY", "{enable: true, plugin_tools: [{plugin: kubernetes, expose: [odd]}]}")
    )
    assert problem.code == "USER.MCP_PROXY.UNKNOWN_OPERATION"
    assert "tuple" in problem.message


def test_an_unknown_plugin_is_found_and_the_right_one_suggested(lab, kube):
    problem = one(
        lab, AGENT.replace("MCP_PROXY", "{enable: true, plugin_tools: [{plugin: kubernets, expose: [x]}]}")
    )
    assert (problem.code, problem.hint) == ("USER.MCP_PROXY.UNKNOWN_PLUGIN", "did you mean 'kubernetes'?")


@pytest.mark.parametrize(
    "exposed",
    [
        "[{plugin: kubernetes, expose: [kubectl_get, kubectl_get]}]",
        "[{plugin: kubernetes, expose: [kubectl_get]}, {plugin: kubernetes, expose: [kubectl_get]}]",
    ],
)
def test_the_same_tool_twice_is_a_collision(lab, kube, exposed):
    codes = {code for code, _ in proxy(lab, f"{{enable: true, plugin_tools: {exposed}}}")}
    assert codes == {"USER.MCP_PROXY.NAME_COLLISION"}


def test_a_block_that_is_switched_off_is_not_looked_up(lab, kube):
    assert proxy(lab, "{enable: false, plugin_tools: [{plugin: nobody, expose: [x]}]}") == []


@pytest.mark.parametrize(
    "block",
    [
        "{enable: true, tools: []}",
        "{enable: true, plugin_tools: [{plugin: kubernetes, expose: [kubectl_get], allow: 1}]}",
    ],
)
def test_an_unknown_key_is_found_at_any_depth(lab, kube, block):
    assert [code for code, _ in proxy(lab, block)] == ["USER.MCP_PROXY.UNKNOWN_KEY"]


def test_a_plugin_that_cannot_be_asked_is_told_where_it_is_named(lab, kube):
    kube.trouble = "It ended with exit code 1: no such module"
    problem = one(
        lab, AGENT.replace("MCP_PROXY", "{enable: true, plugin_tools: [{plugin: kubernetes, expose: [x]}]}")
    )
    assert problem.code == "EXECUTION.PLUGIN.UNAVAILABLE"
    assert "no such module" in problem.message
    assert "awf plugin check kubernetes" in problem.hint


def test_without_asking_only_the_names_are_checked(lab, kube):
    lab.write(
        "workflow.yaml",
        AGENT.replace("MCP_PROXY", "{enable: true, plugin_tools: [{plugin: kubernetes, expose: [x]}]}"),
    )
    app = lab.app()
    assert app.validator.problems(app.library.load(str(lab.folder / "workflow.yaml"))) == []


# -- operations and step types -------------------------------------------------------------------------------------------


def test_an_operation_state_is_held_against_the_plugin(lab, kube):
    problem = one(lab, OPERATION.replace("STATE", "operation: kubernetes.kubectl_gte"))
    assert (problem.code, problem.hint) == (
        "WORKFLOW.VALIDATION.UNKNOWN_OPERATION",
        "did you mean 'kubectl_get'?",
    )


def test_missing_and_unknown_inputs_of_an_operation_are_found(lab, kube):
    problems = lab.problems(
        OPERATION.replace("STATE", "operation: kubernetes.kubectl_get, inputs: {resorce: pods}")
    )
    assert {problem.code for problem in problems} == {"WORKFLOW.VALIDATION.UNDEFINED_INPUT"}
    assert {problem.hint for problem in problems} == {"did you mean 'resource'?", "Add inputs: {resource: …}"}


def test_a_step_type_that_the_plugin_does_not_have_is_found(lab, kube):
    text = OPERATION.replace("type: operation, STATE", "type: kubernetes.rolout")
    problem = one(lab, text)
    assert (problem.code, problem.hint) == (
        "WORKFLOW.VALIDATION.UNKNOWN_TYPE",
        "did you mean 'kubernetes.rollout'?",
    )


def test_a_misspelled_type_without_a_dot_is_still_a_misspelled_type(lab, kube):
    assert (
        one(lab, OPERATION.replace("type: operation, STATE", "type: stepp")).code
        == "WORKFLOW.VALIDATION.UNKNOWN_TYPE"
    )


# -- validators of plugins, and providers --------------------------------------------------------------------------------


def test_a_validator_of_a_plugin_speaks_about_every_workflow_at_the_right_place(lab, kube):
    seen = []

    def check(workflow):
        seen.append(workflow)
        return [Issue(severity="warning", message="No timeout.", step="work", field="command")]

    kube.validator = check
    text = "name: x\nstates:\n  initial: work\n  work: {type: step, command: ls, on_success: done}\n  done: {type: terminal}\n"
    (problem,) = lab.problems(text)
    assert (problem.code, problem.severity) == ("WORKFLOW.VALIDATION.PLUGIN_ISSUE", "warning")
    assert "kubernetes" in problem.message
    assert (problem.place.line, problem.place.column) == (4, 22)
    assert seen[0]["states"]["work"] == {"type": "step", "command": "ls", "on_success": "done"}


def test_a_provider_that_cannot_be_kept_to_the_proxy_is_a_warning(lab):
    class Coexisting(ScriptedAgent):
        name = "codex"
        isolation = "none"

    lab.write("workflow.yaml", AGENT.replace("scripted", "codex").replace("MCP_PROXY", "{enable: true}"))
    app = lab.app()
    app.providers["codex"] = Coexisting(lambda: app.runner)
    (problem,) = app.validator.problems(app.library.load(str(lab.folder / "workflow.yaml")))
    assert (problem.code, problem.severity) == ("USER.MCP_PROXY.UNSUPPORTED_PROVIDER", "warning")
    assert "coexistence mode" in problem.message
