"""What a plugin answers to each request of `plugin.proto`. Knows messages and the plugin, but no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from awf.plugin.calls import collect, execute, execute_step, run, told
from awf.plugin.patterns import fits
from awf.plugin.protocol import plugin_pb2 as pb
from awf.plugin.results import json_bytes
from awf.plugin.values import ArgumentError, OperationError, Outcome
from awf.plugin.wire import (
    emitted_message,
    event_of,
    issue_message,
    json_map,
    json_object,
    operation_message,
    read_map,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.plugin.author import Plugin
    from awf.plugin.takers import Taker

T = TypeVar("T")
M = TypeVar("M", pb.ValidationIssue, pb.EmittedEvent)

__all__ = ["Answers", "RefusalError"]


class RefusalError(Exception):
    """No answer but a status: `not_found`, `invalid` (the request) or `internal` (the plugin)."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Answers:
    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    async def get_info(self, _: pb.GetInfoRequest) -> pb.GetInfoResponse:
        plugin = self._plugin
        return pb.GetInfoResponse(
            name=plugin.name,
            version=plugin.version,
            description=plugin.description,
            capabilities=plugin.capabilities,
        )

    async def init(self, request: pb.InitRequest) -> pb.InitResponse:
        taker = self._plugin.configuration
        if taker is not None:
            try:
                config = read_map(request.config, "setting")
                await run(taker.function, **taker.arguments({"config": config}))
            except OperationError as error:
                raise RefusalError("invalid", error.message) from error
            except Exception as error:
                raise RefusalError("internal", told(error, taker.what)) from error
        return pb.InitResponse()

    async def list_operations(self, _: pb.ListOperationsRequest) -> pb.ListOperationsResponse:
        return pb.ListOperationsResponse(operations=map(operation_message, self._plugin.operations.values()))

    async def get_operation(self, request: pb.GetOperationRequest) -> pb.GetOperationResponse:
        operation = _known(self._plugin.operations, request.name, "operation")
        return pb.GetOperationResponse(operation=operation_message(operation))

    async def execute(self, request: pb.ExecuteRequest) -> pb.ExecuteResponse:
        operation = _known(self._plugin.operations, request.operation, "operation")
        try:
            outcome = await execute(operation, read_map(request.inputs, "input"))
        except ArgumentError as error:
            outcome = Outcome(success=False, error=error.message)
        return pb.ExecuteResponse(
            success=outcome.success,
            output=_sendable(outcome.output),
            data=json_map(outcome.data),
            error=_sendable(outcome.error),
        )

    async def list_step_types(self, _: pb.ListStepTypesRequest) -> pb.ListStepTypesResponse:
        known = self._plugin.step_types.items()
        return pb.ListStepTypesResponse(
            step_types=[pb.StepType(name=name, description=taker.description) for name, taker in known]
        )

    async def execute_step(self, request: pb.ExecuteStepRequest) -> pb.ExecuteStepResponse:
        taker = _known(self._plugin.step_types, request.step_type, "step type")
        outcome = await execute_step(
            taker,
            {
                "config": _object(request.config, "config of the step"),
                "inputs": _object(request.inputs, "inputs of the workflow"),
                "step": request.step_name,
            },
        )
        return pb.ExecuteStepResponse(
            output=_sendable(outcome.output), data=json_bytes(outcome.data), exit_code=outcome.exit_code
        )

    async def validate_workflow(self, request: pb.ValidateWorkflowRequest) -> pb.ValidateResponse:
        return pb.ValidateResponse(issues=await self._issues(request.workflow_json))

    async def validate_step(self, request: pb.ValidateStepRequest) -> pb.ValidateResponse:
        issues = await self._issues(request.workflow_json)
        return pb.ValidateResponse(issues=[issue for issue in issues if issue.step == request.step_name])

    async def _issues(self, workflow_json: bytes) -> list[pb.ValidationIssue]:
        workflow = _object(workflow_json, "workflow")
        found: list[pb.ValidationIssue] = []
        for taker in self._plugin.validators:
            given = await _collected(taker, {"workflow": workflow})
            found.extend(_converted(issue_message, given, taker))
        return found

    async def handle_event(self, request: pb.HandleEventRequest) -> pb.HandleEventResponse:
        try:
            event = event_of(request)
        except ArgumentError as error:
            raise RefusalError("invalid", error.message) from error
        emitted: list[pb.EmittedEvent] = []
        for patterns, taker in self._plugin.subscriptions:
            if any(fits(pattern, event.type) for pattern in patterns):
                given = await _collected(taker, {"event": event})
                emitted.extend(_converted(emitted_message, given, taker))
        return pb.HandleEventResponse(emitted_events=emitted)


def _known(things: Mapping[str, T], name: str, what: str) -> T:
    if name not in things:
        there = ", ".join(things) or "none"
        raise RefusalError("not_found", f"There is no {what} '{name}'; there are: {there}.")
    return things[name]


def _object(text: bytes, what: str) -> dict[str, Any]:
    try:
        return json_object(text, what)
    except ArgumentError as error:
        raise RefusalError("invalid", error.message) from error


async def _collected(taker: Taker, offered: Mapping[str, Any]) -> list[Any]:
    try:
        return await collect(taker.function, **taker.arguments(offered))
    except Exception as error:
        raise RefusalError("internal", told(error, taker.what)) from error


def _converted(convert: Callable[[Any, str], M], items: list[Any], taker: Taker) -> list[M]:
    try:
        return [convert(item, taker.what) for item in items]
    except (TypeError, ValueError) as error:
        raise RefusalError("internal", str(error)) from error


def _sendable(text: str) -> str:
    """A lone surrogate (a file name that is no UTF-8, say) cannot be sent as text."""
    return text.encode("utf-8", "backslashreplace").decode()
