"""Requests that agents send on the side: titles, routers, judges. They must not use up a turn of the script."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from awf.testing.fake_models.conversation import Asked

__all__ = ["example_of", "side_answer"]

_SHOWN = 4000  # a title prompt says what it is at its beginning
_WORDS = re.compile(
    r"title generator|generate a (short |concise |brief )?title|session title"
    r"|5-10 word title|isNewTopic|nextSpeaker|next_speaker|summar(y|ize).{0,40}conversation title"
    r"|Analyze if this message indicates a new conversation topic",
    re.IGNORECASE,
)


def side_answer(asked: Asked, text: str) -> str | None:
    """What to say to a request on the side; None when it is none. Real work always comes with tools."""
    if asked.tools:
        return None
    if asked.json_schema is not None:
        return json.dumps(example_of(asked.json_schema, text))
    last_user = next((message.text for message in reversed(asked.messages) if message.role == "user"), "")
    found = _WORDS.search(asked.system[:_SHOWN]) or _WORDS.search(last_user[:_SHOWN])
    return text if found else None


def example_of(schema: Any, text: str) -> Any:
    """A smallest value that fits a JSON schema (plain, or Gemini's dialect in capitals)."""
    if not isinstance(schema, dict):
        return text
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return example_of(schema[key][0], text)
    kinds = schema.get("type") or "object"
    kind = str(kinds[0] if isinstance(kinds, list) else kinds).lower()
    if kind == "object":
        properties = schema.get("properties") or {}
        return {key: example_of(properties.get(key), text) for key in schema.get("required") or properties}
    if kind == "array":
        return []
    return {"integer": 1, "number": 1, "boolean": False, "null": None}.get(kind, text)
