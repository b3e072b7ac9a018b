"""awf_plugin.mjs: the protocol in Node.js without any library, driven by the gRPC library's own client."""

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
KIT = Path(__file__).parents[2] / "examples/plugins/.awf/plugins/text-stats/awf_plugin.mjs"

SAMPLE = """
import { writeFileSync } from 'node:fs'
import { Failure, serve } from './awf_plugin.mjs'

console.log('printed while loading')
let settings = {}

serve({
  name: 'sample',
  version: '1.2.3',
  description: 'For tests',
  configure: (config) => {
    if (config.refuse) throw new Failure('not like this')
    settings = config
  },
  operations: {
    echo: {
      description: 'Say it again.',
      readOnly: true,
      inputs: {
        value: { type: 'object', required: true, properties: { a: { type: 'integer' } } },
        list: { type: 'array', items: { type: 'string' }, default: [] },
        how: { type: 'string', enum: ['plain', 'loud'], format: 'email' },
      },
      outputs: { value: { type: 'object', description: 'the same' } },
      run: (inputs, { trace }) => ({ ...inputs, settings, trace, nothing: undefined }),
    },
    text: { inputs: { size: { type: 'integer', required: true } }, run: ({ size }) => 'ü'.repeat(size) },
    fail: { run: () => { throw new RangeError('it broke') } },
    told: { run: () => { throw new Failure('no such pod', { pod: 'web-1' }) } },
    loud: { run: () => { console.log('printed in an operation'); process.stdout.write('written\\n') } },
    wait: {
      inputs: { note: { type: 'string', required: true } },
      run: ({ note }, { signal }) => new Promise((resolve) => {
        signal.addEventListener('abort', () => { writeFileSync(note + '.cancelled', ''); resolve() })
        writeFileSync(note, '')
      }),
    },
  },
  stepTypes: { copy: { description: 'Give back.', run: (config, inputs, { step }) => ({ config, inputs, step }) } },
  validate: (workflow) => Object.keys(workflow.states).map((step) => ({ message: `${step}!`, step, severity: 'warning' })),
  onEvent: (event) => [{ type: 'sample.noticed', payload: { type: event.type, run: event.metadata.run_id, time: event.time } }],
})
"""


@pytest.fixture
async def sample(start, node, tmp_path):
    lay_out(tmp_path)
    return await start(node, "plugin.mjs")


def lay_out(folder: Path) -> None:
    (folder / "plugin.mjs").write_text(SAMPLE, encoding="utf-8")
    (folder / "awf_plugin.mjs").write_bytes(KIT.read_bytes())


async def until(check):
    """Wait until it is so; bounded."""
    async with asyncio.timeout(PATIENCE):
        while not (found := check()):
            await asyncio.sleep(0.005)
    return found


async def test_it_introduces_itself_and_is_healthy(sample):
    assert stat.S_IMODE(os.stat(sample.address).st_mode) == 0o600
    assert await sample.health() == await sample.health("") == 1
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await sample.health("other")
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    info = await sample.call("GetInfo")
    assert (info.name, info.version, info.description) == ("sample", "1.2.3", "For tests")
    assert list(info.capabilities) == ["operations", "step_types", "validators", "events"]


async def test_an_operation_is_described_and_run(sample):
    listed = (await sample.call("ListOperations")).operations
    echo = (await sample.call("GetOperation", name="echo")).operation
    assert echo == listed[0]
    assert (echo.description, echo.read_only, listed[1].read_only) == ("Say it again.", True, False)
    value, names, how = echo.inputs
    assert (value.type, value.required, json.loads(value.properties)) == (
        "object", True, {"a": {"type": "integer"}},
    )  # fmt: skip
    assert (names.default, json.loads(names.items)) == ("[]", {"type": "string"})
    assert (list(how.enum), how.validation) == (['"plain"', '"loud"'], "email")
    await sample.call("Init", config={"token": b'"t"'})
    came = await sample.execute(
        "echo", value={"a": [1, None, "ü"]}, headers=(("traceparent", "00-ab-cd-01"),)
    )
    assert came.success, came.error
    assert {name: json.loads(value) for name, value in came.data.items()} == {
        "value": {"a": [1, None, "ü"]}, "list": [], "settings": {"token": "t"}, "trace": {"traceparent": "00-ab-cd-01"},
    }  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_384, 3_000_000])
async def test_texts_of_every_length_arrive_whole(sample, size):
    assert (await sample.execute("text", size=size)).output == "ü" * size


async def test_what_fails_is_told(sample):
    told = await sample.execute("told")
    assert (told.success, told.error, dict(told.data)) == (False, "no such pod", {"pod": b'"web-1"'})
    broken = await sample.execute("fail")
    assert (broken.success, broken.error) == (False, "RangeError: it broke")
    assert "at Object.run" in sample.errors
    wrong = await sample.execute("echo", vlaue={}, how="soft", list="x")
    assert wrong.error == (
        'echo: vlaue is not known; value is missing; list: expected array, got "x"; '
        'how: expected one of plain, loud, got "soft"'
    )


async def test_step_types_validators_and_events_are_served(sample):
    (kind,) = (await sample.call("ListStepTypes")).step_types
    assert (kind.name, kind.description) == ("copy", "Give back.")
    came = await sample.call(
        "ExecuteStep", step_name="s", step_type="copy", config=b'{"a": 1}', inputs=b'{"b": 2}'
    )
    assert (json.loads(came.data), came.exit_code) == (
        {"config": {"a": 1}, "inputs": {"b": 2}, "step": "s"},
        0,
    )
    workflow = b'{"states": {"a": {}, "b": {}}}'
    issues = (await sample.call("ValidateWorkflow", workflow_json=workflow)).issues
    assert [(issue.step, issue.severity) for issue in issues] == [("a", 1), ("b", 1)]
    issues = (await sample.call("ValidateStep", workflow_json=workflow, step_name="b")).issues
    assert [issue.step for issue in issues] == ["b"]
    (told,) = (
        await sample.call(
            "HandleEvent", type="x.y", metadata={"run_id": "r1"}, timestamp_unix_nanos=1_500_000_000
        )
    ).emitted_events
    assert json.loads(told.payload) == {"type": "x.y", "run": "r1", "time": 1.5}


@pytest.mark.parametrize(
    ("method", "fields", "status", "said"),
    [
        ("Execute", {"operation": "constructor"}, "NOT_FOUND", "no operation 'constructor'"),
        ("GetOperation", {"name": "é %"}, "NOT_FOUND", "no operation 'é %'"),
        ("ExecuteStep", {"step_type": "nope"}, "NOT_FOUND", "no step type 'nope'"),
        ("ExecuteStep", {"step_type": "copy", "config": b"{"}, "INVALID_ARGUMENT", "not JSON"),
        ("ValidateWorkflow", {"workflow_json": b"{}"}, "INTERNAL", "undefined"),
        ("Init", {"config": {"refuse": b"true"}}, "INVALID_ARGUMENT", "not like this"),
    ],
)
async def test_what_cannot_be_answered_has_a_status_and_words(sample, method, fields, status, said):
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await sample.call(method, **fields)
    assert (raised.value.code().name, said in raised.value.details()) == (status, True), (
        raised.value.details()
    )


async def test_an_unknown_method_is_not_implemented(sample):
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await sample.method("/plugin.v1.PluginService/Fly", pb.InitResponse)(
            pb.InitRequest(), timeout=PATIENCE
        )
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("garbage", [b"\x0a\xff", b"\xff" * 12, b"\x0b", b"\x08\x01", b"\x12\x02\x0a\x05"])
async def test_a_message_that_is_none_is_refused_and_the_next_one_answered(sample, garbage):
    call = sample.channel.unary_unary("/plugin.v1.OperationService/Execute")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call(garbage, timeout=PATIENCE)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (await sample.execute("text", size=1)).output == "ü"


async def test_fields_of_a_later_version_are_passed_over(sample):
    later = b"\x98\x06\x01" + b"\xa2\x06\x01x" + b"\xad\x06abcd" + b"\xb1\x06abcdefgh"
    request = pb.GetOperationRequest(name="echo").SerializeToString() + later
    call = sample.channel.unary_unary("/plugin.v1.OperationService/GetOperation")
    answer = pb.GetOperationResponse.FromString(await call(request, timeout=PATIENCE))
    assert answer.operation.name == "echo"


async def test_cancelling_reaches_the_function(sample, tmp_path):
    note = tmp_path / "note"
    call = asyncio.get_running_loop().create_task(sample.execute("wait", note=str(note)))
    await until(note.exists)
    call.cancel()
    await until(Path(f"{note}.cancelled").exists)
    assert (await sample.execute("text", size=1)).output == "ü"


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("way", ["Shutdown", "SIGTERM"])
async def test_it_ends_cleanly_and_printed_nothing_but_the_handshake(sample, tmp_path, way, busy):
    await sample.execute("loud")
    note = tmp_path / "note"
    call = asyncio.get_running_loop().create_task(sample.execute("wait", note=str(note))) if busy else None
    if busy:
        await until(note.exists)
    if way == "Shutdown":
        await sample.call("Shutdown")
    else:
        sample.process.send_signal(signal.SIGTERM)
    assert await sample.ended() == 0
    assert list(sample.folder.iterdir()) == []
    assert await sample.rest_of_standard_output() == b""
    assert "printed while loading" in sample.errors
    assert "printed in an operation" in sample.errors
    if call is not None:
        with pytest.raises(grpc.aio.AioRpcError):
            await call


async def test_it_does_not_outlive_whoever_started_it(start, node, tmp_path):
    lay_out(tmp_path)
    parent = f"import subprocess; subprocess.run([{node!r}, 'plugin.mjs'])"
    started = await start(sys.executable, "-c", parent)
    (child,) = psutil.Process(started.process.pid).children()
    started.process.kill()
    await started.ended()
    await until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert list(started.folder.iterdir()) == []


def test_a_person_who_starts_it_is_told_what_it_is(node, tmp_path):
    lay_out(tmp_path)
    told = subprocess.run(
        [node, "plugin.mjs"], cwd=tmp_path, env={"PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stdout) == (1, "printed while loading\n")
    assert "awf plugin check sample" in told.stderr
