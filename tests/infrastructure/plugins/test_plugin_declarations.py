"""Where plugins are declared, what wins, and what is wrong with a declaration."""

from __future__ import annotations

import os
import sys

import pytest

from awf.domain.errors import AwfError, InvalidWorkflowError

PROGRAM = "#!/bin/sh\nexit 0\n"


def problems_of(project, **options):
    with pytest.raises(InvalidWorkflowError) as caught:
        project.host(**options).declared()
    return caught.value.problems


def folder_plugin(project, name, manifest="", parent=".awf/plugins"):
    project.write(f"{parent}/{name}/plugin.yaml", manifest or f"name: {name}\n")
    program = project.write(f"{parent}/{name}/awf-plugin-{name}", PROGRAM)
    program.chmod(0o755)


async def test_without_any_file_there_are_no_plugins_and_nobody_listens(project):
    host = project.host()
    assert host.declared() == {}
    assert host.subscribe(lambda *_: None) is None


async def test_an_empty_file_declares_nothing(project):
    project.write(".awf/plugins.yaml", "# nothing yet\n")
    assert project.host().declared() == {}


async def test_a_project_declares_its_plugins(project):
    project.write(
        ".awf/plugins.yaml",
        """
        plugins:
          k8s:
            command: kubectl-plugin --context "my cluster"
            description: Talks to the cluster
            capabilities: [operations, events]
            events: {subscribe: [step.failed], emit: ["k8s.*"]}
            timeout: 1m
          py-tools:
            module: tools.plugin
        """,
    )
    host = project.host()
    declared = host.declared()
    assert list(declared) == ["k8s", "py-tools"]
    k8s = declared["k8s"]
    assert k8s.description == "Talks to the cluster"
    assert k8s.capabilities == ("operations", "events")
    assert k8s.subscribe == ("step.failed",)
    assert k8s.emit == ("k8s.*",)
    assert k8s.origin.endswith(os.path.join(".awf", "plugins.yaml"))
    found = host._found().plugins
    assert found["k8s"].argv == ("kubectl-plugin", "--context", "my cluster")
    assert found["k8s"].timeout == 60.0
    assert found["py-tools"].argv == (sys.executable, "-m", "tools.plugin")
    assert found["py-tools"].timeout == 30.0
    assert found["py-tools"].cwd == str(project.folder)


async def test_a_folder_with_a_manifest_is_a_plugin(project):
    folder_plugin(
        project, "greeter", "name: greeter\nversion: 1.2.0\nawf_version: '>=0.1'\ndescription: Greets\n"
    )
    project.write(".awf/plugins/not-a-plugin/readme", "")
    project.write(".awf/plugins/a-file", "")
    host = project.host()
    assert list(host.declared()) == ["greeter"]
    assert host.declared()["greeter"].version == "1.2.0"
    found = host._found().plugins["greeter"]
    folder = str(project.folder / ".awf/plugins/greeter")
    assert found.argv == (os.path.join(folder, "awf-plugin-greeter"),)
    assert found.cwd == folder


async def test_a_manifest_without_a_name_has_that_of_its_folder(project):
    folder_plugin(project, "greeter", "# nothing to say\n")
    assert list(project.host().declared()) == ["greeter"]


async def test_a_manifest_may_name_its_program(project):
    project.write(".awf/plugins/n/plugin.yaml", "name: node-one\ncommand: [node, plugin.js]\n")
    assert project.host()._found().plugins["node-one"].argv == ("node", "plugin.js")


async def test_among_folders_the_first_wins(project):
    folder_plugin(project, "same", "name: same\nversion: '1'\n")
    folder_plugin(project, "same", "name: same\nversion: '2'\n", parent="user/plugins")
    folder_plugin(project, "mine", parent="user/plugins")
    host = project.host(folders=[str(project.folder / ".awf/plugins"), str(project.folder / "user/plugins")])
    assert {name: one.version for name, one in host.declared().items()} == {"same": "1", "mine": ""}


async def test_the_project_wins_over_folders(project):
    folder_plugin(project, "same", "name: same\nversion: '1'\n")
    project.write(".awf/plugins.yaml", "plugins: {same: {command: [mine]}}")
    assert project.host()._found().plugins["same"].argv == ("mine",)


async def test_an_entry_without_a_program_sets_up_the_folder_of_that_name(project):
    manifest = (
        "name: same\nversion: '1'\ntimeout: 5s\ndescription: Old\nconfig: {url: {}}\nevents: {emit: [a.b]}\n"
    )
    folder_plugin(project, "same", manifest)
    project.write(
        ".awf/plugins.yaml", "plugins: {same: {config: {url: u}, env: {A: b}, args: [-v], description: New}}"
    )
    found = project.host()._found().plugins["same"]
    assert found.argv[0].endswith("awf-plugin-same")
    assert found.argv[1:] == ("-v",)
    assert found.config == {"url": "u"}
    assert found.env == {"A": "b"}
    assert found.timeout == 5.0
    assert found.shown.description == "New"
    assert found.shown.version == "1"
    assert found.shown.emit == ("a.b",)


async def test_a_plugin_that_is_switched_off_is_not_there_and_that_is_told(project, fails):
    folder_plugin(project, "same")
    project.write(".awf/plugins.yaml", "plugins: {same: {enabled: false}, gone: {enabled: false}}")
    host = project.host()
    assert host.declared() == {}
    await fails(host.execute("same", "x", {}), "USER.PLUGIN.UNKNOWN", "switched off", "enabled: false")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plugins: {Big: {command: [x]}}", "'Big' is not a usable name"),
        ("plugins: {a: {}}", "neither `command` nor `module`"),
        ("plugins: {a: {command: [x], module: y}}", "one of them"),
        ("plugins: {a: {command: []}}", "The command is empty"),
        ("plugins: {a: {command: ''}}", "The command is empty"),
        ("plugins: {a: {command: 'x \"y'}}", "cannot be read: no closing quotation"),
        ("plugins: {a: {module: 'not-a-module'}}", "not the name of a Python module"),
        ("plugins: {a: {command: [x], events: {subscribe: [a..b]}}}", "'a..b' is not an event type"),
    ],
)
async def test_what_makes_no_sense_in_an_entry_is_told(project, text, words):
    project.write(".awf/plugins.yaml", text)
    (problem,) = problems_of(project)
    assert problem.code == "USER.CONFIG.INVALID"
    assert words in problem.message
    assert problem.place.file.endswith("plugins.yaml")
    assert problem.path[:1] == ("plugins",)


async def test_everything_wrong_with_a_file_is_told_at_once(project):
    project.write(".awf/plugins.yaml", "plugins: {a: {}, B: {command: [x]}, c: {command: []}}")
    assert len(problems_of(project)) == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plugins:\n  a:\n    command: [x]\n    timeuot: 3s\n", 4),
        ("plugins:\n  a:\n    command: [x]\n    timeout: soon\n", 4),
        ("plugins:\n  a:\n    command: {x: y}\n", 3),
        ("plugins: [a]\n", 1),
        ("plugins:\n  a: {command: [x]}\n  a: {command: [y]}\n", 3),
        ("plugins: {\n", 2),
    ],
)
async def test_mistakes_in_the_file_carry_their_line(project, text, line):
    project.write(".awf/plugins.yaml", text)
    assert problems_of(project)[0].place.line == line


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("name: No Name\n", "not a usable name"),
        ("name: a\nawf_version: newest\n", "not a version constraint"),
        ("name: a\nconfig: {n: {type: integer, default: five}}\n", "'five' is not of type integer"),
        ("name: a\nconfig: {n: {type: integer, enum: [1, x]}}\n", "'x' is not of type integer"),
        ("name: a\nconfig: {n: {enum: [x], default: y}}\n", "'y' is not one of 'x'"),
        ("name: a\nevents: {emit: ['a b']}\n", "'a b' is not an event type"),
        ("name: a\ncapabilities: [magic]\n", "magic"),
    ],
)
async def test_mistakes_in_a_manifest_are_told(project, manifest, words):
    folder_plugin(project, "a", manifest)
    assert words in problems_of(project)[0].message


async def test_a_folder_without_a_program_is_told(project):
    project.write(".awf/plugins/a/plugin.yaml", "name: a\n")
    assert "no file awf-plugin-a beside it" in problems_of(project)[0].message


async def test_a_plugin_for_another_awf_is_not_started(project, fails):
    folder_plugin(project, "a", "name: a\nawf_version: '>=2, <3'\n")
    error = await fails(project.host().execute("a", "x", {}), "USER.PLUGIN.VERSION", ">=2, <3", "0.1.0")
    assert error.exit_status == 1


CONFIG = """
name: a
config:
  url: {required: true, description: Where the server is}
  port: {type: integer, default: 80, enum: [80, 8080]}
  rate: {type: number}
  loud: {type: boolean, default: false}
  tags: {type: array}
"""


async def values(project, config, **environment):
    from awf.infrastructure.plugins.config_values import configuration

    folder_plugin(project, "a", CONFIG)
    project.write(".awf/plugins.yaml", f"plugins: {{a: {{config: {config}}}}}")
    return configuration(project.host()._found().plugins["a"], environment)


async def test_configuration_has_its_defaults(project):
    assert await values(project, "{url: here}") == {"url": "here", "port": 80, "loud": False}


async def test_values_out_of_the_environment_get_the_type_that_is_declared(project):
    config = "{url: '${env:U}', port: '${env:P}', rate: '${env:R}', loud: '${env:L}', tags: ['${env:U}']}"
    found = await values(project, config, U="5", P="8080", R="1.5", L="true")
    assert found == {"url": "5", "port": 8080, "rate": 1.5, "loud": True, "tags": ["5"]}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("{}", "needs the config key 'url' (string: Where the server is)"),
        ("{url: 5}", "'5' is not of type string"),
        ("{url: x, port: '80'}", "'80' is not of type integer"),
        ("{url: x, port: true}", "'true' is not of type integer"),
        ("{url: x, port: 81}", "'81' is not one of '80', '8080'"),
        ("{url: x, prot: 80}", "has no config key 'prot'"),
        ("{url: x, rate: fast}", "not of type number"),
        ("{url: '${env:MISSING}'}", "needs the environment variable MISSING"),
        ("{url: x, port: '${env:P}'}", "'eighty' is not of type integer"),
    ],
)
async def test_configuration_that_does_not_fit_is_told(project, config, words):
    with pytest.raises(AwfError) as caught:
        await values(project, config, P="eighty")
    assert caught.value.code == "USER.PLUGIN.CONFIG"
    assert words in caught.value.message


async def test_a_long_value_is_not_shown(project):
    with pytest.raises(AwfError) as caught:
        await values(project, "{url: x, port: 'a-very-long-secret-token-of-somebody'}")
    assert "secret" not in caught.value.message
