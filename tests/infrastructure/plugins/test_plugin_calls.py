"""Operations and steps of plugins that run as real processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from awf.domain.errors import AwfError
from awf.infrastructure.plugins.restarts import RestartBudget
from awf.infrastructure.plugins.surroundings import Patience
from awf.infrastructure.processes.descendants import household


def task(awaitable):
    return asyncio.get_running_loop().create_task(awaitable)


async def test_an_operation_gets_its_inputs_and_answers(project):
    host = project.sample()
    outcome = await host.execute("sample", "echo", {"text": "hi", "n": [1, {"a": None}]})
    assert outcome.success
    assert outcome.output == "you said hi"
    assert outcome.data == {"said": {"text": "hi", "n": [1, {"a": None}]}}


async def test_a_plugin_is_started_once_for_many_calls(project):
    host = project.sample()
    for _ in range(3):
        assert (await host.execute("sample", "data", {})).data == {"answer": 42}
    assert len(project.noted("start ")) == 1


@pytest.mark.race
async def test_concurrent_first_calls_start_it_once(project):
    host = project.sample()
    outcomes = await asyncio.gather(*(host.execute("sample", "echo", {"text": n}) for n in range(20)))
    assert [outcome.data["said"]["text"] for outcome in outcomes] == list(range(20))
    assert len(project.noted("start ")) == 1


async def test_a_refusal_is_an_outcome_and_not_an_exception(project):
    outcome = await project.sample().execute("sample", "refuse", {})
    assert not outcome.success
    assert outcome.error == "not today"
    assert outcome.output == "half of it"


async def test_a_step_gets_config_and_inputs_and_returns_data_and_exit_code(project):
    host = project.sample()
    outcome = await host.execute_step("sample", "deploy", "ship", {"code": 3}, {"who": "me"})
    assert outcome.output == "did deploy"
    assert outcome.exit_code == 3
    assert outcome.data == {"config": {"code": 3}, "inputs": {"who": "me"}, "step": "ship"}


async def test_step_data_that_is_no_object_breaks_the_protocol(project, fails):
    host = project.sample()
    await fails(
        host.execute_step("sample", "deploy", "ship", {"odd": True}, {}),
        "EXECUTION.PLUGIN.PROTOCOL",
        "not a JSON object",
    )


async def test_an_unknown_operation_is_told_with_the_one_that_was_meant(project, fails):
    host = project.sample()
    await fails(
        host.execute("sample", "ecko", {}), "USER.PLUGIN.UNKNOWN_OPERATION", "'ecko'", "did you mean 'echo'?"
    )


async def test_an_unknown_step_type_is_told_with_those_there_are(project, fails):
    host = project.sample()
    await fails(
        host.execute_step("sample", "bake", "s", {}, {}),
        "USER.PLUGIN.UNKNOWN_STEP_TYPE",
        "There are: deploy.",
    )


async def test_an_unknown_plugin_is_told_with_the_one_that_was_meant(project, fails):
    host = project.sample()
    await fails(host.execute("simple", "echo", {}), "USER.PLUGIN.UNKNOWN", "did you mean 'sample'?")
    assert project.noted() == []


async def test_a_plugin_without_operations_says_so(project, fails):
    host = project.sample(env={"SERVICES": "PluginService", "CAPABILITIES": ""})
    await fails(
        host.execute("sample", "echo", {}), "USER.PLUGIN.UNKNOWN_OPERATION", "It has no operations at all."
    )


async def test_the_trace_context_travels_as_metadata(project):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    trace = {"traceparent": parent, "tracestate": "a=b", "authorization": "secret", "baggage": "bad\nvalue"}
    outcome = await project.sample().execute("sample", "trace", {}, trace=trace)
    got = outcome.data["metadata"]
    assert got["traceparent"] == parent
    assert got["tracestate"] == "a=b"
    assert "authorization" not in got
    assert "baggage" not in got


async def test_the_deadline_of_the_declaration_ends_a_call(project, fails):
    host = project.sample(timeout="300ms")
    await fails(host.execute("sample", "sleep", {}), "EXECUTION.PLUGIN.TIMEOUT", "within 0.3 s")


async def test_a_smaller_deadline_of_the_caller_wins_and_a_larger_does_not(project, fails):
    host = project.sample(timeout="5s")
    await host.execute("sample", "data", {})
    await fails(host.execute("sample", "sleep", {}, timeout=0.2), "EXECUTION.PLUGIN.TIMEOUT")
    slow = project.sample(timeout="200ms")
    await fails(slow.execute("sample", "sleep", {}, timeout=60.0), "EXECUTION.PLUGIN.TIMEOUT", "0.2 s")


async def test_the_callers_deadline_also_covers_the_start(project, fails):
    host = project.sample(env={"MODE": "hang"})
    await fails(
        host.execute("sample", "echo", {}, timeout=0.2), "EXECUTION.PLUGIN.TIMEOUT", "not ready within 0.2 s"
    )


async def test_an_answer_after_the_deadline_is_ignored_and_the_plugin_goes_on(project, fails, until):
    host = project.sample()
    await host.execute("sample", "data", {})
    await fails(
        host.execute("sample", "sleep", {"seconds": 0.5}, timeout=0.1), "EXECUTION.PLUGIN.TIMEOUT", "0.1 s"
    )
    await until(lambda: project.noted("sleep ended"))
    assert (await host.execute("sample", "echo", {"text": "still here"})).output == "you said still here"
    assert len(project.noted("start ")) == 1


@pytest.mark.race
async def test_cancelling_the_caller_cancels_the_call_in_the_plugin(project, until):
    host = project.sample()
    call = task(host.execute("sample", "sleep", {}))
    await until(lambda: project.noted("execute sleep"))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: project.noted("sleep ended"))


@pytest.mark.race
async def test_cancelling_one_waiter_leaves_the_start_to_the_others(project, until):
    host = project.sample()
    first, second = task(host.execute("sample", "data", {})), task(host.execute("sample", "data", {}))
    await until(lambda: project.noted("start "))
    first.cancel()
    assert (await second).data == {"answer": 42}
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(project.noted("start ")) == 1


async def test_a_plugin_that_dies_mid_call_is_told_with_its_last_words_and_started_again(project, fails):
    host = project.sample()
    await fails(
        host.execute("sample", "die", {}),
        "EXECUTION.PLUGIN.CRASHED",
        "ended with exit status 3",
        "out of cheese",
    )
    assert (await host.execute("sample", "data", {})).data == {"answer": 42}
    assert len(project.noted("start ")) == 2


async def test_a_killed_plugin_is_told_with_its_signal(project, fails):
    host = project.sample()
    await fails(host.execute("sample", "murder", {}), "EXECUTION.PLUGIN.CRASHED", "ended by SIGKILL")


@pytest.mark.race
async def test_every_call_under_way_hears_of_a_crash(project, until):
    host = project.sample()
    await host.execute("sample", "data", {})
    calls = [task(host.execute("sample", "sleep", {})) for _ in range(8)]
    await until(lambda: len(project.noted("execute sleep")) == 8)
    os.kill(int(project.noted("start ")[0]), signal.SIGKILL)
    results = await asyncio.gather(*calls, host.execute("sample", "data", {}), return_exceptions=True)
    codes = {result.code for result in results[:8] if isinstance(result, AwfError)}
    assert codes == {"EXECUTION.PLUGIN.CRASHED"}, results
    assert (await host.execute("sample", "data", {})).success


async def test_a_plugin_that_died_between_calls_is_started_again_and_the_log_says_so(project, until, caplog):
    host = project.sample()
    await host.execute("sample", "data", {})
    first = int(project.noted("start ")[0])
    os.kill(first, signal.SIGKILL)
    await until(lambda: "The plugin sample was ended by SIGKILL." in caplog.messages)
    assert (await host.execute("sample", "data", {})).success
    assert len(project.noted("start ")) == 2


async def test_a_plugin_that_keeps_dying_is_left_alone_for_a_while_and_then_tried_again(project, fails):
    budget = RestartBudget(restarts=1, window=3.0, first_pause=0.0)
    host = project.sample(host={"budget": budget})
    for _ in range(2):
        await fails(host.execute("sample", "die", {}), "EXECUTION.PLUGIN.CRASHED")
    await fails(host.execute("sample", "data", {}), "EXECUTION.PLUGIN.UNAVAILABLE", "is left alone for")
    assert len(project.noted("start ")) == 2

    async def works():
        try:
            return (await host.execute("sample", "data", {})).success
        except AwfError as error:
            assert error.code == "EXECUTION.PLUGIN.UNAVAILABLE"
            return False

    end = time.monotonic() + 30
    while not await works():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def test_an_exception_in_the_plugin_is_a_failure_with_its_text(project, fails):
    host = project.sample()
    await fails(host.execute("sample", "raise", {}), "EXECUTION.PLUGIN.FAILED", "a bug in the plugin")
    assert (await host.execute("sample", "data", {})).success
    assert len(project.noted("start ")) == 1


async def test_a_plugin_that_answers_unavailable_has_not_crashed(project, fails):
    host = project.sample()
    await fails(host.execute("sample", "unavailable", {}), "EXECUTION.PLUGIN.FAILED", "the database is away")
    assert (await host.execute("sample", "data", {})).success
    assert len(project.noted("start ")) == 1


async def test_data_that_is_not_json_breaks_the_protocol(project, fails):
    host = project.sample()
    await fails(host.execute("sample", "not-json", {}), "EXECUTION.PLUGIN.PROTOCOL", "'answer'", "{nope")


async def test_an_answer_that_is_not_protobuf_breaks_the_protocol(project, fails):
    host = project.sample()
    await fails(host.execute("sample", "not-protobuf", {}), "EXECUTION.PLUGIN.PROTOCOL", "cannot be read")
    assert (await host.execute("sample", "data", {})).success


async def test_big_messages_pass_both_ways(project):
    host = project.sample()
    assert len((await host.execute("sample", "big", {"size": 20_000_000})).output) == 20_000_000
    assert (await host.execute("sample", "echo", {"text": "z" * 10_000_000})).success


async def test_an_answer_beyond_the_limit_is_refused_and_the_plugin_goes_on(project, fails):
    host = project.sample()
    await fails(
        host.execute("sample", "big", {"size": 70_000_000}), "EXECUTION.PLUGIN.FAILED", "RESOURCE_EXHAUSTED"
    )
    assert (await host.execute("sample", "data", {})).success


async def test_inputs_that_are_no_json_are_refused_before_they_are_sent(project, fails):
    host = project.sample()
    await fails(
        host.execute("sample", "echo", {"text": object()}), "EXECUTION.PLUGIN.FAILED", "the input 'text'"
    )
    await fails(
        host.execute("sample", "echo", {"text": "\udcff"}), "EXECUTION.PLUGIN.FAILED", "the input 'text'"
    )
    assert project.noted("execute") == []


async def test_a_flood_of_output_during_a_call_does_no_harm(project):
    host = project.sample()
    assert (await host.execute("sample", "flood", {})).output == "flooded"
    assert (await host.execute("sample", "data", {})).success


async def test_a_closed_host_starts_nothing_any_more(project, fails):
    host = project.sample()
    await host.execute("sample", "data", {})
    await host.close()
    await fails(host.execute("sample", "data", {}), "EXECUTION.PLUGIN.UNAVAILABLE")
    await host.close()
    assert len(project.noted("start ")) == 1


@pytest.mark.race
async def test_closing_asks_the_plugin_to_stop_and_leaves_nothing(project, caplog):
    host = project.sample()
    await host.execute("sample", "data", {})
    pid = int(project.noted("start ")[0])
    await host.close()
    assert caplog.messages == []
    assert project.noted("shutdown") == [""]
    assert not os.path.exists(f"/proc/{pid}")
    assert not any(os.path.exists(folder) for folder in project.folders)


@pytest.mark.race
async def test_closing_ends_calls_under_way(project, until):
    host = project.sample(host={"patience": Patience(start=30, shutdown=0.2)})
    call = task(host.execute("sample", "sleep", {}))
    await until(lambda: project.noted("execute sleep"))
    await host.close()
    result = (await asyncio.gather(call, return_exceptions=True))[0]
    assert isinstance(result, AwfError) or result.output == "slept"


@pytest.mark.race
async def test_closing_while_it_starts_ends_the_start(project, until):
    host = project.sample(env={"MODE": "hang"})
    call = task(host.execute("sample", "data", {}))
    await until(lambda: project.noted("start "))
    await host.close()
    with pytest.raises((AwfError, asyncio.CancelledError)):
        await call


@pytest.mark.race
async def test_a_plugin_that_ignores_shutdown_and_sigterm_is_killed(project):
    host = project.sample(env={"MODE": "stubborn"}, host={"patience": Patience(start=30, shutdown=0.2)})
    await host.execute("sample", "data", {})
    pid = int(project.noted("start ")[0])
    await host.close()
    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.race
async def test_a_cancelled_close_still_leaves_nothing(project, until):
    host = project.sample(env={"MODE": "stubborn"})
    await host.execute("sample", "data", {})
    pid = int(project.noted("start ")[0])
    closing = task(host.close())
    await until(lambda: project.noted("shutdown"))
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not os.path.exists(f"/proc/{pid}")


OWNER = """
import asyncio, os, sys
from awf.bootstrap import App

async def main():
    app = App(cwd=sys.argv[1], environment=os.environ)
    outcome = await app.plugins.execute("sample", "environment", {})
    print(outcome.data["environment"]["AWF_PLUGIN_DIR"], flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def reap_orphans():
    """Orphans may fall to this process, which then has to bury them. True once there are none but a database of the tests."""
    for child in orphans():
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
    return not orphans()


def orphans():
    return [child for child in psutil.Process().children() if child.pid not in household.own]


@pytest.mark.journey
async def test_killing_awf_leaves_neither_the_plugin_nor_its_folder(project, until):
    project.declare(sample={"env": {"MODE": "stubborn"}})
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(project.folder)],
        stdout=subprocess.PIPE,
        env={**project.environment, "AWF_STORAGE": str(project.folder / "store")},
    )
    with owner:
        folder = (await asyncio.to_thread(owner.stdout.readline)).decode().strip()
        pid = int(project.noted("start ")[0])
        assert os.path.isdir(folder)
        assert os.path.exists(f"/proc/{pid}")
        owner.kill()
    await until(lambda: reap_orphans() and not os.path.exists(f"/proc/{pid}") and not os.path.exists(folder))
