"""The services of `plugin.proto` on a gRPC server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from awf.plugin.answers import Answers, RefusalError
from awf.plugin.calls import told
from awf.plugin.protocol import plugin_pb2 as pb
from awf.plugin.running import EndingError
from awf.plugin.tracing import TRACE_KEYS, trace_of_call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from awf.plugin.author import Plugin
    from awf.plugin.running import RunningCalls

__all__ = ["service_handlers"]

_STATUS = {
    "not_found": grpc.StatusCode.NOT_FOUND,
    "invalid": grpc.StatusCode.INVALID_ARGUMENT,
    "internal": grpc.StatusCode.INTERNAL,
}


def service_handlers(plugin: Plugin, running: RunningCalls, stop: Callable[[], None]) -> list[Any]:
    """All services, also those that this plugin has nothing for: their lists are empty then."""
    answers = Answers(plugin)

    async def shut_down(_: pb.ShutdownRequest) -> pb.ShutdownResponse:
        stop()
        return pb.ShutdownResponse()

    methods: dict[str, dict[str, Any]] = {
        "PluginService": {"GetInfo": answers.get_info, "Init": answers.init, "Shutdown": shut_down},
        "OperationService": {
            "ListOperations": answers.list_operations,
            "GetOperation": answers.get_operation,
            "Execute": answers.execute,
        },
        "ValidatorService": {
            "ValidateWorkflow": answers.validate_workflow,
            "ValidateStep": answers.validate_step,
        },
        "StepTypeService": {"ListStepTypes": answers.list_step_types, "ExecuteStep": answers.execute_step},
        "EventService": {"HandleEvent": answers.handle_event},
    }
    return [_service(name, functions, running) for name, functions in methods.items()]


def _service(name: str, functions: Mapping[str, Any], running: RunningCalls) -> Any:
    described = pb.DESCRIPTOR.services_by_name[name].methods_by_name
    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            _answering(function, running),
            request_deserializer=getattr(pb, described[method].input_type.name).FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
        for method, function in functions.items()
    }
    return grpc.method_handlers_generic_handler(f"plugin.v1.{name}", handlers)


def _answering(
    function: Callable[[Any], Coroutine[Any, Any, Any]], running: RunningCalls
) -> Callable[[Any, Any], Awaitable[Any]]:
    async def answer(request: Any, context: Any) -> Any:
        trace = {key: _text(value) for key, value in context.invocation_metadata() or () if key in TRACE_KEYS}
        trace_of_call.set(trace)
        try:
            return await running.serve(function(request))
        except RefusalError as refusal:
            return await context.abort(_STATUS[refusal.status], str(refusal))
        except EndingError:
            return await context.abort(grpc.StatusCode.UNAVAILABLE, "The plugin is ending.")
        except Exception as error:  # noqa: BLE001  what was given back does not fit into a message
            return await context.abort(grpc.StatusCode.INTERNAL, told(error, "the answer"))

    return answer


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("ascii", "replace")
