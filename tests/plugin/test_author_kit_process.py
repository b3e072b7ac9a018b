"""The process that an author gets from `serve()`: its handshake, its calls, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import grpc
import psutil
import pytest

from awf.plugin.protocol import plugin_pb2 as pb

PATIENCE = 30.0

SAMPLE = '''
from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time

from awf.plugin import Event, Issue, OperationError, Plugin, StepOutcome, current_trace

plugin = Plugin("sample", version="1.2.3", description="For tests")
print("printed while loading", flush=True)
settings = {}
meeting = threading.Barrier(2, timeout=30)

@plugin.configure
def setup(config: dict) -> None:
    if config.get("refuse"):
        raise OperationError("not like this")
    settings.update(config)

@plugin.operation(read_only=True)
def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times

@plugin.operation
def loud() -> dict:
    print("printed in an operation")
    sys.stdout.write("written\\n")
    os.write(1, b"written below Python\\n")
    subprocess.run(["echo", "printed by a child"], check=True)
    return {"settings": settings, "trace": current_trace()}

@plugin.operation
def fail() -> None:
    raise ValueError("it broke")

@plugin.operation
def meet() -> str:
    meeting.wait()
    return "met"

@plugin.operation
async def wait_for_ever(note: str) -> None:
    try:
        open(note, "w").close()
        await asyncio.Event().wait()
    finally:
        os.rename(note, note + ".cancelled")

@plugin.operation
def hang(note: str) -> None:
    open(note, "w").close()
    time.sleep(10_000)

@plugin.operation
async def block_the_loop(note: str) -> None:
    open(note, "w").close()
    time.sleep(10_000)

@plugin.step_type("copy")
def copy(config: dict, inputs: dict, step: str) -> StepOutcome:
    """Give back what came."""
    return StepOutcome(step, {"config": config, "inputs": inputs}, exit_code=config.get("code", 0))

@plugin.step_type("odd")
def odd() -> StepOutcome:
    return StepOutcome("x", exit_code=2**40)

@plugin.validator
def check(workflow: dict):
    for name in workflow["states"]:
        yield Issue(f"{name} is not nice", severity="warning", step=name, field="type")

@plugin.on("step.*")
def notice(event: Event):
    return [Event("sample.noticed", {"type": event.type, "run": event.metadata["run_id"], "time": event.time})]

if __name__ == "__main__":
    plugin.serve()
'''


@pytest.fixture
async def sample(start_python):
    return await start_python(SAMPLE)


async def until(check):
    """Wait until it is so; bounded."""
    async with asyncio.timeout(PATIENCE):
        while not (found := check()):
            await asyncio.sleep(0.005)
    return found


async def test_it_introduces_itself_and_is_healthy(sample):
    assert sample.address.startswith(str(sample.folder))
    assert stat.S_IMODE(os.stat(sample.address).st_mode) == 0o600
    assert await sample.health() == await sample.health("") == 1
    info = await sample.call("GetInfo")
    assert (info.name, info.version, info.description) == ("sample", "1.2.3", "For tests")
    assert list(info.capabilities) == ["operations", "step_types", "validators", "events"]


async def test_operations_are_listed_looked_up_and_run(sample):
    listed = (await sample.call("ListOperations")).operations
    assert [one.name for one in listed][:2] == ["echo", "loud"]
    (asked,) = [one for one in listed if one.name == "echo"]
    assert (await sample.call("GetOperation", name="echo")).operation == asked
    came = await sample.execute("echo", text="ab", times=2)
    assert (came.success, came.output) == (True, "abab")
    came = await sample.execute("echo", times=2)
    assert (came.success, came.error) == (False, "echo: text is missing")


async def test_standard_output_carries_the_handshake_and_nothing_else(sample):
    await sample.call("Init", config={"token": b'"t"'})
    came = await sample.execute("loud", headers=(("traceparent", "00-ab-cd-01"), ("other", "x")))
    assert json.loads(came.data["settings"]) == {"token": "t"}
    assert json.loads(came.data["trace"]) == {"traceparent": "00-ab-cd-01"}
    await sample.call("Shutdown")
    assert await sample.ended() == 0
    assert await sample.rest_of_standard_output() == b""
    for printed in ("while loading", "in an operation", "below Python", "by a child"):
        assert printed in sample.errors


async def test_an_exception_is_answered_and_its_traceback_logged(sample):
    came = await sample.execute("fail")
    assert (came.success, came.error) == (False, "ValueError: it broke")
    assert "Traceback" in sample.errors
    assert "in fail" in sample.errors


async def test_calls_overlap(sample):
    both = await asyncio.gather(sample.execute("meet"), sample.execute("meet"))
    assert [came.output for came in both] == ["met", "met"]


async def test_step_types_validators_and_events_are_served(sample):
    kind, _ = (await sample.call("ListStepTypes")).step_types
    assert (kind.name, kind.description) == ("copy", "Give back what came.")
    came = await sample.call(
        "ExecuteStep", step_name="s", step_type="copy", config=b'{"code": -3}', inputs=b'{"a": 1}'
    )
    assert (came.output, came.exit_code) == ("s", -3)
    assert json.loads(came.data) == {"config": {"code": -3}, "inputs": {"a": 1}}
    workflow = b'{"states": {"a": {}, "b": {}}}'
    issues = (await sample.call("ValidateWorkflow", workflow_json=workflow)).issues
    assert [(issue.step, issue.severity) for issue in issues] == [("a", 1), ("b", 1)]
    issues = (await sample.call("ValidateStep", workflow_json=workflow, step_name="b")).issues
    assert [issue.step for issue in issues] == ["b"]
    event = {"metadata": {"run_id": "r1"}, "timestamp_unix_nanos": 1_500_000_000, "payload": b"{}"}
    (told,) = (await sample.call("HandleEvent", type="step.failed", **event)).emitted_events
    assert json.loads(told.payload) == {"type": "step.failed", "run": "r1", "time": 1.5}
    assert list((await sample.call("HandleEvent", type="workflow.failed", **event)).emitted_events) == []


@pytest.mark.parametrize(
    ("method", "fields", "status", "said"),
    [
        ("GetOperation", {"name": "nope"}, "NOT_FOUND", "no operation 'nope'"),
        ("Execute", {"operation": "nope"}, "NOT_FOUND", "no operation 'nope'"),
        ("ExecuteStep", {"step_type": "nope"}, "NOT_FOUND", "no step type 'nope'"),
        ("ExecuteStep", {"step_type": "copy", "config": b"[]"}, "INVALID_ARGUMENT", "not a JSON object"),
        ("ExecuteStep", {"step_type": "copy", "config": b"{"}, "INVALID_ARGUMENT", "not JSON"),
        ("ExecuteStep", {"step_type": "odd"}, "INTERNAL", "ValueError"),
        ("ValidateWorkflow", {"workflow_json": b"\xff"}, "INVALID_ARGUMENT", "not JSON"),
        ("ValidateWorkflow", {"workflow_json": b"{}"}, "INTERNAL", "KeyError: 'states'"),
        ("HandleEvent", {"type": "step.x", "payload": b"1"}, "INVALID_ARGUMENT", "not a JSON object"),
        ("Init", {"config": {"refuse": b"true"}}, "INVALID_ARGUMENT", "not like this"),
        ("Init", {"config": {"refuse": b"tru"}}, "INVALID_ARGUMENT", "'refuse' is not JSON"),
    ],
)
async def test_what_cannot_be_answered_has_a_status_and_words(sample, method, fields, status, said):
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await sample.call(method, **fields)
    assert (raised.value.code().name, said in raised.value.details()) == (status, True), (
        raised.value.details()
    )


async def test_an_input_that_is_no_json_is_told_as_a_failure(sample):
    came = await sample.call("Execute", operation="echo", inputs={"text": b"{"})
    assert not came.success
    assert "The input 'text' is not JSON" in came.error


async def test_an_unknown_method_is_not_implemented(sample):
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await sample.method("/plugin.v1.PluginService/Fly", pb.InitResponse)(
            pb.InitRequest(), timeout=PATIENCE
        )
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_values_of_many_megabytes_pass(sample):
    came = await sample.execute("echo", text="x" * 6_000_000)
    assert len(came.output) == 6_000_000


async def test_cancelling_reaches_an_async_function(sample, tmp_path):
    note = tmp_path / "note"
    call = asyncio.get_running_loop().create_task(sample.execute("wait_for_ever", note=str(note)))
    await until(note.exists)
    call.cancel()
    await until(Path(f"{note}.cancelled").exists)
    assert (await sample.execute("echo", text="still here")).output == "still here"


async def test_a_deadline_reaches_an_async_function(sample, tmp_path):
    note = tmp_path / "note"
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await sample.execute("wait_for_ever", note=str(note), timeout=1)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await until(Path(f"{note}.cancelled").exists)


# -- the end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["", "wait_for_ever", "hang"])
@pytest.mark.parametrize("way", ["Shutdown", "SIGTERM"])
async def test_it_ends_cleanly_also_with_a_call_that_never_would(sample, tmp_path, operation, way):
    note, call = tmp_path / "note", None
    if operation:
        call = asyncio.get_running_loop().create_task(sample.execute(operation, note=str(note)))
        await until(note.exists)
    if way == "Shutdown":
        await sample.call("Shutdown")
    else:
        sample.process.send_signal(signal.SIGTERM)
    assert await sample.ended() == 0
    assert list(sample.folder.iterdir()) == []
    assert "Traceback" not in sample.errors
    if call is not None:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_call_that_is_nearly_done_is_answered_before_the_end(sample):
    first = asyncio.get_running_loop().create_task(sample.execute("meet"))
    second = asyncio.get_running_loop().create_task(sample.execute("meet"))
    await sample.call("Shutdown")
    assert await sample.ended() == 0
    outcomes = await asyncio.gather(first, second, return_exceptions=True)
    # A call that reaches gRPC after it began to stop is turned away by gRPC itself, as cancelled.
    turned_away = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
    assert all(getattr(came, "output", "") == "met" or came.code() in turned_away for came in outcomes)


async def test_ctrl_c_in_the_terminal_does_not_end_it(sample):
    sample.process.send_signal(signal.SIGINT)
    assert (await sample.execute("echo", text="still here")).output == "still here"


@pytest.mark.parametrize("operation", ["", "block_the_loop"])
async def test_it_does_not_outlive_whoever_started_it(tmp_path, start, operation):
    (tmp_path / "plugin.py").write_text(SAMPLE, encoding="utf-8")
    # A parent that starts the plugin, hands on its standard output, and can be killed.
    parent = f"import subprocess; subprocess.run([{sys.executable!r}, '-m', 'plugin'])"
    started = await start(sys.executable, "-c", parent)
    (child,) = psutil.Process(started.process.pid).children()
    if operation:
        note = tmp_path / "note"
        call = asyncio.get_running_loop().create_task(started.execute(operation, note=str(note)))
        await until(note.exists)
    started.process.kill()
    await started.ended()
    await until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert list(started.folder.iterdir()) == []
    if operation:
        with pytest.raises(grpc.aio.AioRpcError):
            await call


# -- beginnings ----------------------------------------------------------------------------------------------------


async def test_a_private_folder_with_a_long_or_odd_name_does_no_harm(start_python, tmp_path):
    for name in ("a" * 120, "50% [odd] #name ü"):
        folder = tmp_path / name
        folder.mkdir()
        started = await start_python(SAMPLE, folder=folder)
        assert await started.health() == 1
        await started.call("Shutdown")
        assert await started.ended() == 0
        assert not os.path.exists(started.address)


def run_alone(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "plugin.py").write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "plugin"], cwd=folder, env={"PATH": os.environ["PATH"], **environment},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("environment", [{}, {"AWF_PLUGIN": "something else"}])
def test_a_person_who_starts_it_is_told_what_it_is(tmp_path, environment):
    told = run_alone(tmp_path, SAMPLE, **environment)
    assert (told.returncode, told.stdout) == (1, "printed while loading\n")
    assert "sample 1.2.3, a plugin of AWF" in told.stderr
    assert "operations: echo, loud" in told.stderr
    assert "awf plugin check sample" in told.stderr


def test_without_grpc_it_says_what_to_install(tmp_path):
    text = (
        f"import sys\nsys.modules['grpc'] = None\n{SAMPLE.replace('from __future__ import annotations', '')}"
    )
    told = run_alone(tmp_path, text, AWF_PLUGIN="awf-plugin-v1", AWF_PLUGIN_DIR=str(tmp_path))
    assert (told.returncode, told.stdout) == (1, "")
    assert "pip install 'awf-suite[plugins]'" in told.stderr
    assert "Traceback" not in told.stderr
