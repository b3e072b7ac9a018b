"""POST …/models/<model>:generateContent and :streamGenerateContent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from awf.testing.fake_models.conversation import Asked, Message, OfferedTool, ToolResult
from awf.testing.fake_models.wires.shapes import SIGNATURE, new_id, pieces, plain, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.testing.fake_models.conversation import Reply, ToolCall

__all__ = ["Gemini"]

_LONG_PIECE = 40  # thoughts come in whole sentences there


class Gemini:
    name = "gemini"
    beat = b": wait\n\n"

    def parse(self, body: dict[str, Any], path: str) -> Asked:
        wanted = body.get("generationConfig") or {}
        as_json = wanted.get("responseMimeType") == "application/json"
        schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema") or {}
        return Asked(
            model=path.rsplit("/models/", 1)[-1].split(":", 1)[0],
            stream=":streamGenerateContent" in path,
            system=plain((body.get("systemInstruction") or {}).get("parts")),
            messages=[_message(content) for content in body.get("contents") or []],
            tools=[tool for group in body.get("tools") or [] for tool in _tools(group)],
            json_schema=schema if as_json else None,
        )

    def whole(self, asked: Asked, reply: Reply) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        if reply.thinking:
            parts.append({"text": reply.thinking, "thought": True})
        if reply.text:
            parts.append({"text": reply.text})
        parts += [_call(call) for call in reply.calls]
        return _frame(asked, reply, parts, reply.stop or "STOP")

    def events(self, asked: Asked, reply: Reply) -> Iterator[tuple[str | None, Any]]:
        for piece in pieces(reply.thinking, max(reply.chunk, _LONG_PIECE)):
            yield None, _frame(asked, reply, [{"text": piece, "thought": True}])
        for piece in pieces(reply.text, reply.chunk):
            yield None, _frame(asked, reply, [{"text": piece}])
        for call in reply.calls:
            yield None, _frame(asked, reply, [_call(call)])
        yield None, _frame(asked, reply, [{"text": ""}], reply.stop or "STOP")

    def error(self, error: dict[str, Any]) -> dict[str, Any]:
        return {
            "error": {
                "code": error.get("status", 500),
                "message": error.get("message", "scripted error"),
                "status": error.get("type", "INTERNAL"),
            }
        }


def _tools(group: dict[str, Any]) -> Iterator[OfferedTool]:
    for declared in group.get("functionDeclarations") or []:
        yield OfferedTool(declared.get("name", "?"))
    for key in group:
        if key != "functionDeclarations":  # the vendor's own, such as googleSearch
            yield OfferedTool(key)


def _message(content: dict[str, Any]) -> Message:
    texts, results, calls = [], [], []
    for part in content.get("parts") or []:
        if "functionResponse" in part:
            results.append(_result(part["functionResponse"]))
        elif "functionCall" in part:
            calls.append(part["functionCall"].get("name", ""))
        elif isinstance(part.get("text"), str) and not part.get("thought"):
            texts.append(part["text"])
    role = "assistant" if content.get("role") == "model" else "user"
    return Message("tool" if results else role, "\n".join(texts), results, calls)


def _result(response: dict[str, Any]) -> ToolResult:
    value = response.get("response")
    if not isinstance(value, dict):
        return ToolResult(response.get("id", ""), "")
    text = value.get("output") or value.get("error") or json.dumps(value)
    return ToolResult(
        response.get("id", ""), text if isinstance(text, str) else json.dumps(text), "error" in value
    )


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "args": call.args, "id": call.call_id}
    return {"functionCall": function, "thoughtSignature": SIGNATURE}


def _frame(
    asked: Asked, reply: Reply, parts: list[dict[str, Any]], finish: str | None = None
) -> dict[str, Any]:
    used = tokens(asked, reply)
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": used["input"],
            "candidatesTokenCount": used["output"],
            "thoughtsTokenCount": used["reasoning"],
            "cachedContentTokenCount": used["cached"],
            "totalTokenCount": used["input"] + used["output"] + used["reasoning"],
        },
        "modelVersion": asked.model,
        "responseId": new_id("resp"),
    }
