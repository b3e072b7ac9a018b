"""What plugins say of themselves and of workflows."""

from __future__ import annotations

import json

from awf.domain.ports.plugins import Issue
from awf.infrastructure.plugins.surroundings import Patience


async def test_a_plugin_tells_what_it_has(project):
    facts = (await project.sample().facts(["sample"]))["sample"]
    assert facts.trouble == ""
    assert facts.version == "1.2.3"
    assert facts.description == "A sample"
    assert facts.capabilities == ("operations", "step_types", "validators", "events")
    assert facts.step_types == {"deploy": "deploys"}
    assert facts.operations["echo"].input_schema["required"] == ["text"]
    assert facts.operations["echo"].read_only
    assert facts.operations["data"].output_schema == {
        "type": "object",
        "properties": {"answer": {"type": "integer"}},
    }
    assert "unknown type 'date'" in facts.operations["odd"].refusal
    assert facts.issues == {}


async def test_a_plugin_without_declared_capabilities_is_asked_for_everything(project):
    host = project.sample(env={"CAPABILITIES": "", "SERVICES": "PluginService,OperationService"})
    facts = (await host.facts(["sample"], {"w": b"{}"}))["sample"]
    assert facts.trouble == ""
    assert "echo" in facts.operations
    assert facts.step_types == {}
    assert facts.issues == {}


async def test_the_declaration_speaks_for_a_plugin_that_says_nothing(project):
    host = project.sample(env={"CAPABILITIES": ""}, capabilities=["step_types"])
    facts = (await host.facts(["sample"]))["sample"]
    assert facts.capabilities == ("step_types",)
    assert facts.operations == {}
    assert facts.step_types == {"deploy": "deploys"}


async def test_plugins_in_trouble_are_in_the_answer_too(project):
    project.declare(good={}, bad={"env": {"MODE": "die"}})
    facts = await project.host().facts(["good", "bad", "gone", "good"])
    assert list(facts) == ["good", "bad", "gone"]
    assert facts["good"].trouble == ""
    assert "exit status 7" in facts["bad"].trouble
    assert "There is no plugin 'gone'" in facts["gone"].trouble
    assert facts["gone"].hint


async def test_a_validator_is_asked_about_every_workflow_and_says_everything_once(project):
    facts = (await project.sample().facts(["sample"], {"a.yaml": b"{}", "b.yaml": b"{}"}))["sample"]
    assert list(facts.issues) == ["a.yaml", "b.yaml"]
    assert facts.issues["a.yaml"] == [
        Issue(severity="error", message="twice", step="a"),
        Issue(severity="warning", message="no tests", field="steps"),
        Issue(severity="error", message="no severity"),
    ]


async def test_a_plugin_that_is_no_validator_is_not_asked(project):
    host = project.sample(env={"CAPABILITIES": "operations"})
    facts = (await host.facts(["sample"], {"a": json.dumps({"kill": True}).encode()}))["sample"]
    assert facts.trouble == ""
    assert facts.issues == {}


async def test_a_validator_that_dies_is_in_trouble(project):
    facts = (await project.sample().facts(["sample"], {"a": b'{"kill": true}'}))["sample"]
    assert "exit status 9" in facts.trouble
    assert facts.operations == {}


async def test_a_validator_that_hangs_is_in_trouble(project):
    host = project.sample(host={"patience": Patience(start=30, validate=0.2)})
    facts = (await host.facts(["sample"], {"a": b'{"hang": true}'}))["sample"]
    assert "did not answer ValidateWorkflow within 0.2 s" in facts.trouble
