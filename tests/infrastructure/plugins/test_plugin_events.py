"""Events on their way to plugins and back, with real processes."""

from __future__ import annotations

import json
import logging

import pytest

from awf.domain.events import LogLine, Stamped, StepFailed, StepStarted
from awf.infrastructure.plugins.events import QUEUE
from awf.infrastructure.plugins.surroundings import Patience


def started(seq=1, step="build"):
    return Stamped("run-1", seq, 12.5, StepStarted(step=step, kind="command", path=step))


def failed(seq=2):
    return Stamped(
        "run-1", seq, 13.0, StepFailed(step="b", kind="command", duration_ms=1, code="X", message="m")
    )


def wants(*patterns, emit=(), **env):
    return {"events": {"subscribe": list(patterns), "emit": list(emit)}, "env": env}


class Emitted(list):
    def __call__(self, plugin, event_type, payload):
        self.append((plugin, event_type, payload))


PATIENT = {"patience": Patience(start=30, settle=30)}


async def test_a_plugin_gets_the_events_it_subscribed_to(project):
    host = project.sample(**wants("step.started"), host=PATIENT)
    listen = host.subscribe(Emitted())
    for stamped in (started(), failed(), started(3, "test")):
        listen(stamped)
    await listen.settle()
    first, second = project.events()
    assert first["id"] == "run-1:1"
    assert first["type"] == "step.started"
    assert first["source"] == "run-1"
    assert first["depth"] == 0
    assert first["metadata"] == {"run_id": "run-1", "path": "build", "seq": "1"}
    assert first["nanos"] == 12_500_000_000
    assert first["payload"]["step"] == "build"
    assert "type" not in first["payload"]
    assert second["payload"]["step"] == "test"


async def test_a_plugin_is_started_at_the_first_event_that_it_wants(project):
    host = project.sample(**wants("step.failed"), host=PATIENT)
    listen = host.subscribe(Emitted())
    listen(started())
    await listen.settle()
    assert project.noted() == []
    listen(failed())
    await listen.settle()
    assert len(project.events()) == 1


async def test_without_a_subscription_nobody_listens(project):
    assert project.sample().subscribe(Emitted()) is None


async def test_emitted_events_are_handed_over_when_they_are_declared(project, caplog):
    caplog.set_level(logging.WARNING, "awf.plugins")
    answers = [
        ["deploy.done", '{"n": 1}'],
        ["other.thing", "{}"],
        ["deploy.bad", "[1]"],
        ["deploy.empty", ""],
    ]
    host = project.sample(**wants("step.failed", emit=["deploy.*"], EMIT=json.dumps(answers)), host=PATIENT)
    emitted = Emitted()
    listen = host.subscribe(emitted)
    listen(failed())
    await listen.settle()
    assert emitted == [("sample", "deploy.done", {"n": 1}), ("sample", "deploy.empty", {})]
    assert any("'other.thing', which it may not" in message for message in caplog.messages)
    assert any("'deploy.bad' that is refused" in message for message in caplog.messages)


async def test_emitted_events_reach_other_plugins_but_not_their_sender(project):
    answer = json.dumps([["deploy.done", '{"n": 1}']])
    project.declare(
        one=wants("step.failed", "deploy.*", emit=["deploy.*"], EMIT=answer), two=wants("deploy.done")
    )
    host = project.host(**PATIENT)
    listen = host.subscribe(Emitted())
    listen(failed())
    await listen.settle()
    kinds = [(event["type"], event["depth"], event["source"]) for event in project.events()]
    assert sorted(kinds) == [("deploy.done", 1, "one"), ("step.failed", 0, "run-1")]
    passed_on = next(event for event in project.events() if event["depth"])
    assert passed_on["id"] == "run-1:2/one.1"
    assert passed_on["payload"] == {"n": 1}
    assert passed_on["metadata"]["run_id"] == "run-1"


@pytest.mark.race
async def test_events_that_answer_events_end_at_a_depth(project):
    ping, pong = json.dumps([["ping.x", "{}"]]), json.dumps([["pong.x", "{}"]])
    project.declare(
        one=wants("step.failed", "pong.x", emit=["ping.x"], EMIT=ping),
        two=wants("ping.x", emit=["pong.x"], EMIT=pong),
    )
    host = project.host(**PATIENT)
    emitted = Emitted()
    listen = host.subscribe(emitted)
    listen(failed())
    await listen.settle()
    assert [event["depth"] for event in project.events()] == [0, 1, 2, 3]
    assert [name for name, _, _ in emitted] == ["one", "two", "one", "two"]


@pytest.mark.race
async def test_a_slow_plugin_loses_events_which_is_counted_and_never_blocks(project, caplog, until):
    caplog.set_level(logging.WARNING, "awf.plugins")
    gate = project.folder / "gate"
    host = project.sample(**wants("*", GATE=str(gate)), host=PATIENT)
    listen = host.subscribe(Emitted())
    listen(started(0))
    await until(project.events)
    for number in range(1, QUEUE + 101):
        listen(started(number))
    gate.touch()
    await listen.settle()
    assert len(project.events()) == QUEUE + 1
    assert "100 events for the plugin sample were dropped." in caplog.messages
    assert sum("too slow" in message for message in caplog.messages) == 1


async def test_settling_does_not_wait_for_ever(project, caplog, until):
    caplog.set_level(logging.WARNING, "awf.plugins")
    host = project.sample(
        **wants("*", GATE=str(project.folder / "never-opened")),
        host={"patience": Patience(start=30, settle=0.2, shutdown=0.2)},
    )
    listen = host.subscribe(Emitted())
    listen(started())
    await until(project.events)
    await listen.settle()
    assert any("they are not waited for" in message for message in caplog.messages)


@pytest.mark.race
async def test_closing_with_events_on_their_way_leaves_nothing(project, until):
    host = project.sample(
        **wants("*", GATE=str(project.folder / "never-opened")),
        host={"patience": Patience(start=30, shutdown=0.2)},
    )
    listen = host.subscribe(Emitted())
    for number in range(5):
        listen(started(number))
    await until(project.events)
    await host.close()
    listen(started(9))
    await listen.settle()
    assert len(project.events()) == 1


async def test_a_plugin_that_dies_of_an_event_gets_the_next_one_and_it_is_told_once(project, caplog):
    caplog.set_level(logging.WARNING, "awf.plugins")
    host = project.sample(**wants("*", EVENT_DIE="1"), host=PATIENT)
    listen = host.subscribe(Emitted())
    listen(started(1))
    listen(started(2))
    await listen.settle()
    assert len(project.events()) == 2
    assert sum("EXECUTION.PLUGIN.CRASHED" in message for message in caplog.messages) == 1


async def test_trouble_in_whoever_receives_emitted_events_does_not_stop_delivery(project, caplog):
    def broken(plugin, event_type, payload):
        raise RuntimeError("full")

    host = project.sample(**wants("*", emit=["a.b"], EMIT='[["a.b", "{}"]]'), host=PATIENT)
    listen = host.subscribe(broken)
    listen(started(1))
    listen(Stamped("run-1", 2, 1.0, LogLine(message="x")))
    await listen.settle()
    assert [event["type"] for event in project.events()] == ["step.started", "log"]
    assert any("could not be handed to the plugin sample" in message for message in caplog.messages)
