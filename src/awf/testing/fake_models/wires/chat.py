"""POST …/v1/chat/completions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from awf.testing.fake_models.conversation import Asked, Message, OfferedTool, ToolResult
from awf.testing.fake_models.wires.shapes import new_id, openai_error, pieces, plain, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.testing.fake_models.conversation import Reply

__all__ = ["Chat"]


class Chat:
    name = "chat"
    beat = b": wait\n\n"

    def parse(self, body: dict[str, Any], _path: str) -> Asked:
        wanted = body.get("response_format") or {}
        schema = (wanted.get("json_schema") or {}).get("schema") or {}
        asked = Asked(
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            tools=[_tool(tool) for tool in body.get("tools") or []],
            json_schema=schema if wanted.get("type") == "json_schema" else None,
        )
        for message in body.get("messages") or []:
            _take(asked, message)
        return asked

    def whole(self, asked: Asked, reply: Reply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.calls
            ]
        return {
            **_head(asked, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": _stop(reply)}],
            "usage": _usage(asked, reply),
        }

    def events(self, asked: Asked, reply: Reply) -> Iterator[tuple[str | None, Any]]:
        head = _head(asked, "chat.completion.chunk")
        for delta in _deltas(reply):
            yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _stop(reply)}]}
        yield None, {**head, "choices": [], "usage": _usage(asked, reply)}
        yield None, "[DONE]"

    def error(self, error: dict[str, Any]) -> dict[str, Any]:
        return openai_error(error)


def _tool(tool: dict[str, Any]) -> OfferedTool:
    described = tool.get("function") or tool.get("custom") or tool
    return OfferedTool(described.get("name", "?"))


def _take(asked: Asked, message: dict[str, Any]) -> None:
    role, text = message.get("role", "user"), plain(message.get("content"))
    if role in {"system", "developer"}:
        asked.system += ("\n" if asked.system else "") + text
    elif role == "tool":
        result = ToolResult(message.get("tool_call_id", ""), text)
        asked.messages.append(Message("tool", results=[result]))
    else:
        calls = [(call.get("function") or {}).get("name", "") for call in message.get("tool_calls") or []]
        asked.messages.append(Message(role, text, calls=calls))


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool_calls" if reply.calls else "stop")


def _usage(asked: Asked, reply: Reply) -> dict[str, Any]:
    used = tokens(asked, reply)
    return {
        "prompt_tokens": used["input"],
        "completion_tokens": used["output"],
        "total_tokens": used["input"] + used["output"],
        "prompt_tokens_details": {"cached_tokens": used["cached"]},
        "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
    }


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": new_id("chatcmpl-"), "object": kind, "created": int(time.time()), "model": asked.model}


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in pieces(reply.thinking, reply.chunk):
        yield {"reasoning_content": piece}
    for piece in pieces(reply.text, reply.chunk):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        named = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.call_id, "type": "function", "function": named}]}
        for piece in pieces(call.arguments, reply.chunk):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
