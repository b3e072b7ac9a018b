"""The body of a request. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.tool import ToolDefinition
    from awf.infrastructure.agents.openai_compatible.options import OpenAICompatibleOptions

__all__ = ["endpoint", "request_body", "request_headers"]

_ENDING = "/chat/completions"
_AS_WRITTEN = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "stop",
    "reasoning_effort",
)


def endpoint(base_url: str) -> str:
    """A query stays where it is: some vendors want their API's version in it."""
    parts = urlsplit(base_url.strip())
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(_ENDING) else path + _ENDING, fragment=""))


def request_headers(options: OpenAICompatibleOptions) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
    }
    if options.api_key:
        headers["Authorization"] = f"Bearer {options.api_key.strip()}"
    own = {name.lower() for name in options.headers}
    return {**{name: value for name, value in headers.items() if name.lower() not in own}, **options.headers}


def request_body(
    options: OpenAICompatibleOptions,
    messages: Sequence[dict[str, Any]],
    tools: Sequence[ToolDefinition],
    output_schema: dict[str, Any] | None = None,
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": options.model,
        "messages": list(messages),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= {key: value for key in _AS_WRITTEN if (value := getattr(options, key)) is not None}
    if tools:
        body["tools"] = [_described(tool) for tool in tools]
        body["tool_choice"] = "auto"
        if options.parallel_tool_calls is not None:  # without tools some vendors refuse it
            body["parallel_tool_calls"] = options.parallel_tool_calls
    body |= _response_format(options.json_mode, output_schema)
    merged = {**body, **options.extra_body}
    return {key: value for key, value in merged.items() if value is not None}


def _described(tool: ToolDefinition) -> dict[str, Any]:
    # Some vendors refuse an object schema without properties, which is what a tool without arguments has.
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _response_format(mode: str, output_schema: dict[str, Any] | None) -> dict[str, Any]:
    if mode == "off":
        return {}
    if mode == "schema" and output_schema is not None:
        named = {"name": "answer", "schema": output_schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object"}}
