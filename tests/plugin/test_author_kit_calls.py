"""What an author's functions give back, raise and print, seen through `awf.plugin.testing`."""

from __future__ import annotations

import asyncio
import enum
import math
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest

from awf.plugin import Event, Issue, OperationError, Outcome, Plugin, StepOutcome
from awf.plugin.answers import RefusalError
from awf.plugin.testing import call, configure, send_event, step, validate


class Size(enum.Enum):
    BIG = "big"


@dataclass
class Found:
    path: Path
    size: Size
    lines: tuple[int, ...]


def came_of(given: Any) -> Outcome:
    plugin = Plugin("sample")
    plugin.operation(name="op")(lambda: given() if callable(given) else given)
    return call(plugin, "op")


@pytest.mark.parametrize(
    ("given", "output", "data"),
    [
        ("text", "text", {}),
        (None, "", {}),
        ({"a": 1, "ü": [None, True]}, '{"a": 1, "ü": [null, true]}', {"a": 1, "ü": [None, True]}),
        ({}, "{}", {}),
        ([1, 2], "[1, 2]", {"result": [1, 2]}),
        (3, "3", {"result": 3}),
        (False, "false", {"result": False}),
        (
            Found(Path("a/b"), Size.BIG, (1, 2)),
            '{"path": "a/b", "size": "big", "lines": [1, 2]}',
            {"path": "a/b", "size": "big", "lines": [1, 2]},
        ),
        (Outcome(success=True, output="both", data={"a": 1}), "both", {"a": 1}),
    ],
)
def test_a_result_becomes_output_and_data(given, output, data):
    assert came_of(given) == Outcome(success=True, output=output, data=data)


@pytest.mark.parametrize(
    "given", [object(), {"a": b"raw"}, math.nan, [math.inf]], ids=["object", "bytes", "nan", "inf"]
)
def test_a_result_that_is_no_json_is_an_error_that_says_so(given):
    came = came_of(given)
    assert not came.success
    assert came.error.startswith("TypeError: The result ")
    assert "JSON" in came.error


def test_a_result_that_contains_itself_is_an_error():
    circle: list[Any] = []
    circle.append(circle)
    assert "JSON" in came_of(circle).error


def test_text_that_is_no_utf8_does_not_break_the_answer():
    assert came_of("a\udcffb").output == "a\\udcffb"
    assert came_of({"a": "\udcff"}).data == {"a": "\udcff"}


def test_an_operation_error_is_told_in_its_own_words():
    def fail() -> None:
        raise OperationError("no such pod", {"pod": "web-1"})

    assert came_of(fail) == Outcome(success=False, error="no such pod", data={"pod": "web-1"})


def test_another_exception_is_told_with_its_type_and_logged_with_its_traceback(caplog):
    def fail() -> None:
        raise KeyError("pod")

    assert came_of(fail).error == "KeyError: 'pod'"
    assert "operation 'op' failed" in caplog.text
    assert "in fail" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), KeyboardInterrupt()], ids=repr)
def test_even_an_exit_ends_only_the_operation(error):
    def leave() -> None:
        raise error

    came = came_of(leave)
    assert not came.success
    assert type(error).__name__ in came.error


def test_async_and_plain_functions_work_and_plain_ones_have_a_thread_of_their_own():
    plugin = Plugin("sample")

    @plugin.operation
    async def on_the_loop(a: int) -> int:
        await asyncio.sleep(0)
        return a + 1

    @plugin.operation
    def in_a_thread() -> str:
        return threading.current_thread().name

    assert call(plugin, "on_the_loop", a=1).data == {"result": 2}
    assert call(plugin, "in_a_thread").output == "awf-plugin-call"


async def test_calls_also_work_inside_an_async_test():
    plugin = Plugin("sample")
    plugin.operation(name="op")(lambda: "here")
    assert call(plugin, "op").output == "here"


def test_an_unknown_operation_is_not_an_outcome_but_a_mistake():
    with pytest.raises(RefusalError, match="no operation 'nope'; there are: op"):
        plugin = Plugin("sample")
        plugin.operation(name="op")(lambda: None)
        call(plugin, "nope")


# -- step types ----------------------------------------------------------------------------------------------------


class Query(TypedDict):
    table: str


def test_a_step_gets_what_it_asks_for_and_may_give_text_data_or_everything():
    plugin = Plugin("sample")
    plugin.step_type("name")(lambda step: step)
    plugin.step_type("both")(lambda config, inputs: {"config": config, "inputs": inputs})
    plugin.step_type("bad")(lambda: StepOutcome("it is broken", {"code": 7}, exit_code=7))
    assert step(plugin, "name", name="build").output == "build"
    assert step(plugin, "both", {"a": 1}, {"b": 2}).data == {"config": {"a": 1}, "inputs": {"b": 2}}
    assert step(plugin, "bad") == StepOutcome("it is broken", {"code": 7}, 7)


def test_a_step_that_raises_fails_with_its_words():
    plugin = Plugin("sample")

    @plugin.step_type("told")
    def told() -> None:
        raise OperationError("no table", {"table": "x"})

    @plugin.step_type("broken")
    def broken() -> None:
        raise ZeroDivisionError("by zero")

    assert step(plugin, "told") == StepOutcome("no table", {"table": "x"}, 1)
    assert step(plugin, "broken") == StepOutcome("ZeroDivisionError: by zero", {}, 1)


def test_the_config_of_a_step_is_held_to_its_hint():
    plugin = Plugin("sample")

    @plugin.step_type("query")
    def query(config: Query) -> str:
        return config["table"]

    assert step(plugin, "query", {"table": "users"}).output == "users"
    assert step(plugin, "query", {"tabel": "users"}) == StepOutcome(
        "config.tabel is not known; did you mean table?; config.table is missing", {}, 1
    )


# -- validators, events, configuration -----------------------------------------------------------------------------


def test_validators_may_return_yield_or_say_nothing():
    plugin = Plugin("sample")
    plugin.validator(lambda workflow: None)
    plugin.validator(lambda workflow: [Issue(workflow["name"])])

    @plugin.validator
    def yielding(anything):
        yield Issue("careful", "warning", step="build", field="timeout")

    @plugin.validator
    async def later(workflow):
        return [Issue("late")]

    @plugin.validator
    async def flowing(workflow):
        yield Issue("flow")

    issues = validate(plugin, {"name": "release"})
    assert issues == [
        Issue("release"), Issue("careful", "warning", "build", "timeout"), Issue("late"), Issue("flow"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (lambda workflow: ["text"], "gave a str"),
        (lambda workflow: [Issue("x", "fatal")], "severity 'fatal'"),
        (lambda workflow: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_validator_that_goes_wrong_is_not_taken_for_consent(given, reason):
    plugin = Plugin("sample")
    plugin.validator(given)
    with pytest.raises(RefusalError, match=reason) as raised:
        validate(plugin, {})
    assert raised.value.status == "internal"


def test_events_reach_the_handlers_whose_pattern_fits():
    plugin = Plugin("sample")
    for patterns in (("step.failed",), ("workflow.*",), ("*",), ("*.failed", "step.*")):
        plugin.on(*patterns)(lambda event, said="+".join(patterns): [Event(said, {"of": event.type})])

    def hears(event_type):
        return [event.type for event in send_event(plugin, event_type)]

    assert hears("step.failed") == ["step.failed", "*", "*.failed+step.*"]
    assert hears("workflow.started") == ["workflow.*", "*"]
    assert hears("agent.tool.used") == ["*"]


def test_an_event_carries_its_fields_and_answers_may_be_missing():
    plugin, seen = Plugin("sample"), []

    @plugin.on("step.failed")
    def notice(event):
        seen.append(event)

    assert send_event(plugin, "step.failed", step="build", exit_code=2) == []
    assert (seen[0].type, seen[0].payload) == ("step.failed", {"step": "build", "exit_code": 2})


class Config(TypedDict):
    url: str
    retries: int


def test_the_configuration_is_handed_over_and_held_to_its_hint():
    plugin, seen = Plugin("sample"), []

    @plugin.configure
    def setup(config: Config) -> None:
        seen.append(config)

    configure(plugin, url="x", retries="3")
    assert seen == [{"url": "x", "retries": 3}]
    with pytest.raises(RefusalError, match=r"config\.url is missing") as raised:
        configure(plugin, retries=3)
    assert raised.value.status == "invalid"


def test_a_plugin_without_configuration_takes_any():
    configure(Plugin("sample"), anything=1)


def test_nothing_heavy_is_loaded_to_define_a_plugin(tmp_path):
    import subprocess

    code = (
        "import sys, awf.plugin\n"
        "print([name for name in sys.modules if name.split('.')[0] in {'grpc', 'google', 'msgspec', 'asyncio', 'click'}],"
        " [name for name in sys.modules if name.startswith('awf.') and not name.startswith('awf.plugin')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"
