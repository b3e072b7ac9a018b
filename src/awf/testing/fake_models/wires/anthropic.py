"""POST …/v1/messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.testing.fake_models.conversation import Asked, Message, OfferedTool, ToolResult
from awf.testing.fake_models.wires.shapes import SIGNATURE, new_id, pieces, plain, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.testing.fake_models.conversation import Reply

__all__ = ["Anthropic"]

_Event = tuple[str | None, Any]


class Anthropic:
    name = "anthropic"
    beat = b'event: ping\ndata: {"type": "ping"}\n\n'

    def parse(self, body: dict[str, Any], _path: str) -> Asked:
        wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
        messages = [_message(message) for message in body.get("messages") or []]
        return Asked(
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            system=plain(body.get("system")),
            # System notes in the middle of a conversation are not prompts.
            messages=[message for message in messages if message.role != "system"],
            tools=[OfferedTool(tool.get("name", "?")) for tool in body.get("tools") or []],
            json_schema=(wanted.get("schema") or {}) if wanted.get("type") == "json_schema" else None,
        )

    def whole(self, asked: Asked, reply: Reply) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if reply.thinking:
            content.append({"type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE})
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content += [
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.args}
            for call in reply.calls
        ]
        used = tokens(asked, reply)
        return _frame(asked, content, _stop(reply), used["input"], used["output"], used["cached"])

    def events(self, asked: Asked, reply: Reply) -> Iterator[_Event]:
        used = tokens(asked, reply)
        opened = _frame(asked, [], None, used["input"], 1, used["cached"])
        yield "message_start", {"type": "message_start", "message": opened}
        for index, (start, deltas) in enumerate(_blocks(reply)):
            yield from _block(index, start, deltas)
        yield (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": _stop(reply), "stop_sequence": None},
                "usage": {"output_tokens": used["output"]},
            },
        )
        yield "message_stop", {"type": "message_stop"}

    def error(self, error: dict[str, Any]) -> dict[str, Any]:
        kind, message = error.get("type", "api_error"), error.get("message", "scripted error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _message(message: dict[str, Any]) -> Message:
    content, role = message.get("content"), message.get("role", "user")
    if isinstance(content, str):
        return Message(role, content)
    texts, results, calls = [], [], []
    for part in content or []:
        match part.get("type"):
            case "text":
                texts.append(part.get("text", ""))
            case "tool_use":
                calls.append(part.get("name", ""))
            case "tool_result":
                text = plain(part.get("content"))
                results.append(ToolResult(part.get("tool_use_id", ""), text, bool(part.get("is_error"))))
    return Message("tool" if results else role, "\n".join(texts), results, calls)


def _frame(
    asked: Asked, content: list[dict[str, Any]], stop: str | None, read: int, written: int, cached: int
) -> dict[str, Any]:
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": read,
            "output_tokens": written,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
        },
    }


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool_use" if reply.calls else "end_turn")


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """How each content block starts, and its deltas."""
    if reply.thinking:
        thought = [
            {"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thinking, reply.chunk)
        ]
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if reply.text:
        said = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text, reply.chunk)]
        yield {"type": "text", "text": ""}, said
    for call in reply.calls:
        given = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in pieces(call.arguments, reply.chunk)
        ]
        yield {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}, given


def _block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[_Event]:
    kind = "content_block_start"
    yield kind, {"type": kind, "index": index, "content_block": start}
    for delta in deltas:
        kind = "content_block_delta"
        yield kind, {"type": kind, "index": index, "delta": delta}
    kind = "content_block_stop"
    yield kind, {"type": kind, "index": index}
