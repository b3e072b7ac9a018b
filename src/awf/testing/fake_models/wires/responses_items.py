"""The output items of the Responses API, whole and as the events that build them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.testing.fake_models.wires.shapes import SIGNATURE, new_id, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.testing.fake_models.conversation import Reply, ToolCall

__all__ = ["item_events", "items"]

_Event = tuple[str, dict[str, Any]]


def items(reply: Reply) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        reasoning = {"type": "reasoning", "id": new_id("rs_"), "summary": summary}
        found.append({**reasoning, "encrypted_content": SIGNATURE})
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": new_id("msg_"), "role": "assistant", "status": "completed"}
        found.append({**message, "content": content})
    return found + [_call(call) for call in reply.calls]


def _call(call: ToolCall) -> dict[str, Any]:
    if call.freeform:
        item = {"type": "custom_tool_call", "id": new_id("ctc_"), "input": _free_input(call)}
    else:
        item = {"type": "function_call", "id": new_id("fc_"), "arguments": call.arguments}
    item |= {"call_id": call.call_id, "name": call.name, "status": "completed"}
    return {**item, "namespace": call.namespace} if call.namespace else item


def _free_input(call: ToolCall) -> str:
    return call.raw_args or str(call.args.get("input", ""))


def item_events(index: int, item: dict[str, Any], reply: Reply) -> Iterator[_Event]:
    at = {"output_index": index, "item_id": item["id"]}
    yield "response.output_item.added", {"output_index": index, "item": _begun(item)}
    for kind, data in _growth(item, reply):
        yield f"response.{kind}", {**at, **data}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {
        "reasoning": {"summary": []},
        "message": {"status": "in_progress", "content": []},
        "function_call": {"status": "in_progress", "arguments": ""},
        "custom_tool_call": {"status": "in_progress", "input": ""},
    }
    return {**item, **empty[item["type"]]}


def _growth(item: dict[str, Any], reply: Reply) -> Iterator[_Event]:
    match item["type"]:
        case "reasoning":
            yield from _reasoning(item["summary"][0], reply)
        case "message":
            yield from _message(item["content"][0], reply)
        case "function_call":
            given = item["arguments"]
            for piece in pieces(given, reply.chunk):
                yield "function_call_arguments.delta", {"delta": piece}
            yield "function_call_arguments.done", {"arguments": given, "name": item["name"]}
        case _:
            for piece in pieces(item["input"], reply.chunk):
                yield "custom_tool_call_input.delta", {"delta": piece}
            yield "custom_tool_call_input.done", {"input": item["input"]}


def _reasoning(part: dict[str, Any], reply: Reply) -> Iterator[_Event]:
    at = {"summary_index": 0}
    yield "reasoning_summary_part.added", {**at, "part": {"type": "summary_text", "text": ""}}
    for piece in pieces(reply.thinking, reply.chunk):
        yield "reasoning_summary_text.delta", {**at, "delta": piece}
    yield "reasoning_summary_text.done", {**at, "text": reply.thinking}
    yield "reasoning_summary_part.done", {**at, "part": part}


def _message(part: dict[str, Any], reply: Reply) -> Iterator[_Event]:
    at = {"content_index": 0}
    yield "content_part.added", {**at, "part": {"type": "output_text", "text": "", "annotations": []}}
    for piece in pieces(reply.text, reply.chunk):
        yield "output_text.delta", {**at, "delta": piece}
    yield "output_text.done", {**at, "text": reply.text}
    yield "content_part.done", {**at, "part": part}
