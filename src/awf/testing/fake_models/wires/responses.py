"""POST …/v1/responses."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from awf.testing.fake_models.conversation import Asked, Message, OfferedTool, ToolResult
from awf.testing.fake_models.wires.responses_items import item_events, items
from awf.testing.fake_models.wires.shapes import new_id, openai_error, plain, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.testing.fake_models.conversation import Reply

__all__ = ["Responses"]

_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}


class Responses:
    name = "responses"
    beat = b": wait\n\n"

    def parse(self, body: dict[str, Any], _path: str) -> Asked:
        wanted = (body.get("text") or {}).get("format") or {}
        asked = Asked(
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            system=body.get("instructions") or "",
            tools=_tools(body.get("tools")),
            json_schema=(wanted.get("schema") or {}) if wanted.get("type") == "json_schema" else None,
        )
        given = body.get("input")
        if isinstance(given, str):
            given = [{"type": "message", "role": "user", "content": given}]
        for item in given or []:
            _take(asked, item)
        return asked

    def whole(self, asked: Asked, reply: Reply) -> dict[str, Any]:
        return _response(asked, new_id("resp_"), "completed", items(reply), tokens(asked, reply))

    def events(self, asked: Asked, reply: Reply) -> Iterator[tuple[str | None, Any]]:
        for number, (kind, data) in enumerate(_events(asked, reply), 1):
            yield kind, {"type": kind, "sequence_number": number, **data}

    def error(self, error: dict[str, Any]) -> dict[str, Any]:
        return openai_error(error)


def _tools(tools: list[dict[str, Any]] | None) -> list[OfferedTool]:
    found: list[OfferedTool] = []
    for tool in tools or []:
        kind, name = tool.get("type", "?"), tool.get("name", "?")
        if kind == "namespace":
            found += [
                OfferedTool(inner.get("name", "?"), tool.get("name", ""), inner.get("type") == "custom")
                for inner in tool.get("tools") or []
            ]
        elif kind in {"function", "custom"}:
            found.append(OfferedTool(name, freeform=kind == "custom"))
        else:  # the vendor's own: web_search, image_generation, tool_search, local_shell, …
            found.append(OfferedTool(kind))
    return found


def _take(asked: Asked, item: dict[str, Any]) -> None:
    kind = item.get("type") or ("message" if "role" in item else "?")
    if kind == "additional_tools":  # tools added in the middle of a conversation
        asked.tools += _tools(item.get("tools"))
    elif kind == "message":
        role, text = item.get("role", "user"), plain(item.get("content"))
        if role in {"system", "developer"}:
            asked.system += "\n" + text
        else:
            asked.messages.append(Message(role, text))
    elif kind in _CALLS:
        asked.messages.append(Message("assistant", calls=[item.get("name", kind)]))
    elif kind == "reasoning":
        asked.messages.append(Message("assistant"))
    elif kind == "tool_search_output":
        asked.tools += _tools(item.get("tools"))
        _take_result(asked, item, json.dumps(item.get("tools")))
    elif kind.endswith("_output"):
        _take_result(asked, item, plain(item.get("output")))


def _take_result(asked: Asked, item: dict[str, Any], text: str) -> None:
    asked.messages.append(Message("tool", results=[ToolResult(item.get("call_id", ""), text)]))


def _response(
    asked: Asked, response_id: str, status: str, output: list[dict[str, Any]], used: dict[str, int] | None
) -> dict[str, Any]:
    usage: dict[str, Any] | None = used and {
        "input_tokens": used["input"],
        "input_tokens_details": {"cached_tokens": used["cached"]},
        "output_tokens": used["output"],
        "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
        "total_tokens": used["input"] + used["output"],
    }
    return {
        "id": response_id,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": asked.model,
        "output": output,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _events(asked: Asked, reply: Reply) -> Iterator[tuple[str, dict[str, Any]]]:
    response_id, output = new_id("resp_"), items(reply)
    yield "response.created", {"response": _response(asked, response_id, "in_progress", [], None)}
    for index, item in enumerate(output):
        yield from item_events(index, item, reply)
    status = "incomplete" if reply.stop == "incomplete" else "completed"
    final = _response(asked, response_id, status, output, tokens(asked, reply))
    yield f"response.{status}", {"response": final}
