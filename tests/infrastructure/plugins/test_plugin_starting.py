"""Starting plugins that do it well and plugins that do it badly, as real processes."""

from __future__ import annotations

import json
import logging
import os
import sys

import pytest

from awf.infrastructure.plugins.surroundings import Patience


async def start(host):
    return await host.execute("sample", "environment", {})


async def test_it_is_told_that_it_is_a_plugin_and_where_its_socket_belongs(project):
    outcome = await start(project.sample(env={"OWN": "x"}, args=["--loud"]))
    environment = outcome.data["environment"]
    assert environment["AWF_PLUGIN"] == "awf-plugin-v1"
    assert environment["PLUGIN_PROTOCOL_VERSIONS"] == "1"
    assert environment["AWF_PROJECT_DIR"] == str(project.folder)
    assert environment["OWN"] == "x"
    folder = environment["AWF_PLUGIN_DIR"]
    assert environment["PLUGIN_UNIX_SOCKET_DIR"] == folder
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert outcome.data["cwd"] == str(project.folder)
    assert outcome.data["argv"][1:] == ["--loud"]


@pytest.mark.parametrize(
    "mode", ["tcp", "banner", "short", "no-health", "slow-health", "close-stdout", "flood"]
)
async def test_a_plugin_may_also_start_like_this(project, mode):
    assert (await start(project.sample(env={"MODE": mode}))).success


async def test_a_module_runs_with_our_interpreter(project):
    project.write(
        "sample_module.py", "import runpy, os\nrunpy.run_path(os.environ['SAMPLE'], run_name='__main__')"
    )
    from pathlib import Path

    sample = str(Path(__file__).with_name("sample_plugin.py"))
    project.write(
        ".awf/plugins.yaml", f"plugins: {{sample: {{module: sample_module, env: {{SAMPLE: '{sample}'}}}}}}"
    )
    assert (await start(project.host())).success


@pytest.mark.parametrize(
    ("mode", "patience", "words"),
    [
        ("hang", 0.5, ("within 0.5 s",)),
        ("no-stdout", 0.5, ("within 0.5 s",)),
        ("garbage", 3.0, ("within 3 s", "Welcome to my plugin!\nListening.")),
        ("die", 30.0, ("ended with exit status 7", "no database")),
        ("line:1|2|unix|/x|grpc|", 30.0, ("speaks plugin protocol 1|2",)),
        ("line:1|1|unix|/x|netrpc|", 30.0, ("'netrpc'",)),
        ("line:1|1|unix|/x|grpc|MIIB", 30.0, ("AutoMTLS",)),
        ("line:1|1|tcp|192.0.2.1:80|grpc", 30.0, ("loopback",)),
        ("line:1|1|unix", 30.0, ("lacks fields",)),
    ],
)
async def test_a_plugin_that_does_not_say_where_it_listens_is_refused_with_the_reason(
    project, fails, mode, patience, words
):
    host = project.sample(env={"MODE": mode}, host={"patience": Patience(start=patience)})
    await fails(start(host), "EXECUTION.PLUGIN.START_FAILED", *words)


SLOW = Patience(start=15.0, connect=0.5, shutdown=0.2)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("wrong-socket", ("announced unix:", "nobody answers there")),
        ("garbage-info", ("did not start", "GetInfo cannot be read")),
        ("bad-init", ("did not start", "the token is wrong")),
    ],
)
async def test_a_plugin_that_does_not_get_ready_is_refused_with_the_reason(project, fails, mode, words):
    host = project.sample(env={"MODE": mode}, host={"patience": SLOW})
    await fails(start(host), "EXECUTION.PLUGIN.START_FAILED", *words)


async def test_a_plugin_that_never_gets_healthy_is_refused(project, fails):
    host = project.sample(env={"MODE": "never-healthy"}, host={"patience": Patience(start=5.0)})
    await fails(start(host), "EXECUTION.PLUGIN.START_FAILED", "NOT_FOUND for 'plugin'")


async def test_a_missing_program_is_told(project, fails):
    host = project.sample(command=["no-such-program-anywhere"])
    await fails(
        start(host), "EXECUTION.PLUGIN.START_FAILED", "no-such-program-anywhere", "there is no such program"
    )


async def test_a_program_that_may_not_be_executed_is_told(project, fails):
    project.write("tool.sh", "#!/bin/sh\n")
    host = project.sample(command=["./tool.sh"])
    await fails(start(host), "EXECUTION.PLUGIN.START_FAILED", "chmod +x")


async def test_a_missing_folder_is_told(project, fails):
    host = project.sample(cwd="nowhere")
    await fails(start(host), "EXECUTION.PLUGIN.START_FAILED", "nowhere", "does not exist")


async def test_configuration_reaches_init_with_the_environment_filled_in(project):
    host = project.sample(
        config={"url": "https://${env:HOST}/x", "retries": 3, "deep": {"keys": ["${env:HOST}"]}},
        host={"environment": {**project.environment, "HOST": "example.org"}},
    )
    await start(host)
    assert [json.loads(line) for line in project.noted("init ")] == [
        {"url": "https://example.org/x", "retries": 3, "deep": {"keys": ["example.org"]}}
    ]


async def test_a_variable_that_is_not_set_is_named_and_nothing_is_started(project, fails):
    host = project.sample(env={"TOKEN": "${env:NO_SUCH_TOKEN}"})
    await fails(start(host), "USER.PLUGIN.CONFIG", "NO_SUCH_TOKEN", "env.TOKEN")
    assert project.noted() == []


async def test_start_failures_are_counted_and_then_left_alone_for_a_while(project, fails):
    host = project.sample(env={"MODE": "die"})
    for _ in range(4):
        await fails(start(host), "EXECUTION.PLUGIN.START_FAILED")
    await fails(start(host), "EXECUTION.PLUGIN.UNAVAILABLE", "is left alone for", "no database")
    assert len(project.noted("start ")) == 4


async def test_a_mistake_of_the_user_is_not_counted_against_the_plugin(project, fails):
    host = project.sample(env={"TOKEN": "${env:NO_SUCH_TOKEN}"})
    for _ in range(6):
        await fails(start(host), "USER.PLUGIN.CONFIG")


async def test_another_name_than_the_declared_one_is_a_warning(project, caplog):
    caplog.set_level(logging.WARNING, "awf.plugins")
    await start(project.sample(env={"NAME": "other"}))
    assert "The plugin sample calls itself 'other'." in caplog.messages


async def test_what_it_prints_goes_to_the_log_in_bounds(project, caplog):
    caplog.set_level(logging.INFO, "awf.plugins")
    host = project.sample(env={"MODE": "flood"})
    await start(host)
    await host.close()
    assert "sample stdout: noise 0" in caplog.messages
    assert len(caplog.messages) < 50_000
    assert max(len(message) for message in caplog.messages) < 5_000
    assert any("more lines of its output were not logged" in message for message in caplog.messages)


async def test_without_the_grpc_library_the_extra_is_named(project, fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc.aio", None)
    await fails(start(project.sample()), "SYSTEM.PLUGIN.UNAVAILABLE", "awf-suite[plugins]")
