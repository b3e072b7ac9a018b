"""A plugin for the tests. MODE in its environment says how it behaves at start; its operations misbehave on request."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from concurrent import futures
from pathlib import Path

MODE = os.environ.get("MODE", "")


def note(text: str) -> None:
    """Tell the test what happened here."""
    if "NOTES" in os.environ:
        with open(os.environ["NOTES"], "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def misbehave_at_start() -> None:
    note(f"start {os.getpid()}")
    if MODE == "hang":
        time.sleep(3600)
    elif MODE == "garbage":
        print("Welcome to my plugin!\nListening.", flush=True)
        time.sleep(3600)
    elif MODE == "die":
        print("no database", file=sys.stderr, flush=True)
        sys.exit(7)
    elif MODE == "no-stdout":
        os.close(1)
        time.sleep(3600)
    elif MODE.startswith("line:"):
        print(MODE[5:], flush=True)
        time.sleep(3600)
    elif MODE == "flood":
        for number in range(200_000):
            print(f"noise {number}")
        print("x" * 3_000_000)
        sys.stdout.flush()
    elif MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


misbehave_at_start()

import grpc  # noqa: E402
from grpc_health.v1 import health, health_pb2, health_pb2_grpc  # noqa: E402

from awf.plugin.protocol import plugin_pb2 as pb  # noqa: E402

stopping = threading.Event()
OPERATIONS = (
    *("echo", "data", "refuse", "environment", "trace", "sleep", "die", "murder", "raise", "unavailable"),
    *("not-json", "not-protobuf", "big", "flood"),
)


def outcome(text: str = "", **data: object) -> pb.ExecuteResponse:
    return pb.ExecuteResponse(
        success=True, output=text, data={name: json.dumps(value).encode() for name, value in data.items()}
    )


def execute(request: pb.ExecuteRequest, context: grpc.ServicerContext) -> object:
    inputs = {name: json.loads(data) for name, data in request.inputs.items()}
    note(f"execute {request.operation}")
    match request.operation:
        case "echo":
            return outcome(f"you said {inputs.get('text')}", said=inputs)
        case "data":
            return outcome(answer=42)
        case "refuse":
            return pb.ExecuteResponse(success=False, error="not today", output="half of it")
        case "environment":
            return outcome(environment={**os.environ}, cwd=os.getcwd(), argv=sys.argv)
        case "trace":
            return outcome(metadata=dict(context.invocation_metadata()))
        case "sleep":
            context.add_callback(lambda: note("sleep ended"))
            stopping.wait(float(inputs.get("seconds", 3600)))
            return outcome("slept")
        case "die":
            print("out of cheese", file=sys.stderr, flush=True)
            os._exit(3)
        case "murder":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise RuntimeError("a bug in the plugin")
        case "unavailable":
            context.abort(grpc.StatusCode.UNAVAILABLE, "the database is away")
        case "not-json":
            return pb.ExecuteResponse(success=True, data={"answer": b"{nope"})
        case "not-protobuf":
            return b"\xff\xff\xff\xff"
        case "big":
            return outcome("y" * inputs["size"])
        case "flood":
            for number in range(100_000):
                print(f"noise {number}")
                print(f"trouble {number}", file=sys.stderr)
            return outcome("flooded")
    return context.abort(grpc.StatusCode.NOT_FOUND, request.operation)


def list_operations(request: object, context: object) -> pb.ListOperationsResponse:
    operations = [pb.OperationSchema(name=name, description=f"does {name}") for name in OPERATIONS]
    operations[0].inputs.add(name="text", type="string", required=True)
    operations[0].read_only = True
    operations[1].outputs.add(name="answer", type="integer")
    operations.append(pb.OperationSchema(name="odd", inputs=[pb.InputSchema(name="when", type="date")]))
    return pb.ListOperationsResponse(operations=operations)


def execute_step(request: pb.ExecuteStepRequest, context: object) -> pb.ExecuteStepResponse:
    config = json.loads(request.config)
    data = {"config": config, "inputs": json.loads(request.inputs), "step": request.step_name}
    body = b"[1]" if config.get("odd") else json.dumps(data).encode()
    return pb.ExecuteStepResponse(
        output=f"did {request.step_type}", data=body, exit_code=config.get("code", 0)
    )


def validate(request: pb.ValidateWorkflowRequest, context: object) -> pb.ValidateResponse:
    workflow = json.loads(request.workflow_json)
    if workflow.get("kill"):
        os._exit(9)
    if workflow.get("hang"):
        stopping.wait(3600)
    issue = pb.ValidationIssue
    return pb.ValidateResponse(
        issues=[
            issue(severity=issue.WARNING, message="twice", step="a"),
            issue(severity=issue.ERROR, message="twice", step="a"),
            issue(severity=issue.WARNING, message="no tests", field="steps"),
            issue(message="no severity"),
        ]
    )


def handle_event(request: pb.HandleEventRequest, context: object) -> pb.HandleEventResponse:
    note(
        "event "
        + json.dumps(
            {
                "id": request.id,
                "type": request.type,
                "source": request.source,
                "depth": request.propagation_depth,
                "metadata": dict(request.metadata),
                "payload": json.loads(request.payload),
                "nanos": request.timestamp_unix_nanos,
            }
        )
    )
    if "GATE" in os.environ:
        while not Path(os.environ["GATE"]).exists():
            time.sleep(0.01)
    if "EVENT_DIE" in os.environ:
        os._exit(4)
    emitted = [
        pb.EmittedEvent(type=kind, payload=payload.encode())
        for kind, payload in json.loads(os.environ.get("EMIT", "[]"))
    ]
    return pb.HandleEventResponse(emitted_events=emitted)


def initialise(request: pb.InitRequest, context: grpc.ServicerContext) -> pb.InitResponse:
    config = {name: json.loads(data) for name, data in request.config.items()}
    note(f"init {json.dumps(config)}")
    if MODE == "bad-init":
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the token is wrong")
    return pb.InitResponse()


def shut_down(request: object, context: object) -> pb.ShutdownResponse:
    note("shutdown")
    if MODE != "stubborn":
        threading.Timer(0.01, stopping.set).start()
    return pb.ShutdownResponse()


def get_info(request: object, context: object) -> object:
    if MODE == "garbage-info":
        return b"\xff\xff\xff\xff"
    said = os.environ.get("CAPABILITIES", "operations,step_types,validators,events")
    return pb.GetInfoResponse(
        name=os.environ.get("NAME", "sample"),
        version="1.2.3",
        description="A sample",
        capabilities=[part for part in said.split(",") if part],
    )


SERVICES = {
    "PluginService": {
        "GetInfo": (get_info, pb.GetInfoRequest),
        "Init": (initialise, pb.InitRequest),
        "Shutdown": (shut_down, pb.ShutdownRequest),
    },
    "OperationService": {
        "ListOperations": (list_operations, pb.ListOperationsRequest),
        "Execute": (execute, pb.ExecuteRequest),
    },
    "StepTypeService": {
        "ListStepTypes": (
            lambda request, context: pb.ListStepTypesResponse(
                step_types=[pb.StepType(name="deploy", description="deploys")]
            ),
            pb.ListStepTypesRequest,
        ),
        "ExecuteStep": (execute_step, pb.ExecuteStepRequest),
    },
    "ValidatorService": {"ValidateWorkflow": (validate, pb.ValidateWorkflowRequest)},
    "EventService": {"HandleEvent": (handle_event, pb.HandleEventRequest)},
}


def handler(name: str, methods: dict) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(
        f"plugin.v1.{name}",
        {
            method: grpc.unary_unary_rpc_method_handler(
                function,
                request_deserializer=request.FromString,
                response_serializer=lambda answer: (
                    answer if isinstance(answer, bytes) else answer.SerializeToString()
                ),
            )
            for method, (function, request) in methods.items()
        },
    )


def main() -> None:
    biggest = ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)
    server = grpc.server(futures.ThreadPoolExecutor(16), options=biggest)
    offered = os.environ.get("SERVICES", ",".join(SERVICES)).split(",")
    server.add_generic_rpc_handlers(tuple(handler(name, SERVICES[name]) for name in offered))
    if MODE != "no-health":
        servicer = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        serving = health_pb2.HealthCheckResponse.SERVING
        if MODE == "slow-health":
            threading.Timer(0.5, servicer.set, ("plugin", serving)).start()
        elif MODE != "never-healthy":
            servicer.set("plugin", serving)
    if MODE == "tcp":
        address = f"tcp|127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    else:
        path = os.path.join(os.environ["AWF_PLUGIN_DIR"], "s")
        server.add_insecure_port(f"unix:{path}")
        address = f"unix|{path if MODE != 'wrong-socket' else path + '-elsewhere'}"
    server.start()
    if MODE == "banner":
        print("== sample plugin ==")
    print(f"1|1|{address}|grpc{'' if MODE == 'short' else '|'}", flush=True)
    if MODE == "close-stdout":
        os.close(1)
    if MODE == "die-later":
        time.sleep(0.2)
        os._exit(5)
    stopping.wait()
    while MODE == "stubborn":
        time.sleep(3600)
    server.stop(0.1).wait()


if __name__ == "__main__":
    main()
