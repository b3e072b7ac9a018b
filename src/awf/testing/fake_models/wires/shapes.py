"""What the wire formats have in common."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.testing.fake_models.conversation import Asked, Reply

__all__ = ["SIGNATURE", "Wire", "new_id", "openai_error", "pieces", "plain", "tokens"]

SIGNATURE = "ZmFrZQ=="  # stands for what vendors sign or encrypt


class Wire(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def beat(self) -> bytes:
        """What keeps a silent stream alive."""
        ...

    def parse(self, body: dict[str, Any], path: str) -> Asked: ...

    def whole(self, asked: Asked, reply: Reply) -> dict[str, Any]:
        """The reply as one JSON object."""
        ...

    def events(self, asked: Asked, reply: Reply) -> Iterator[tuple[str | None, Any]]:
        """The reply as a stream: the name of each event, if it has one, and its data."""
        ...

    def error(self, error: dict[str, Any]) -> dict[str, Any]: ...


def pieces(text: str, size: int) -> list[str]:
    size = max(1, size)
    return [text[start : start + size] for start in range(0, len(text), size)]


def plain(content: Any) -> str:
    """The text of a content value: a string, or typed parts."""
    if isinstance(content, str):
        return content
    parts = [content] if isinstance(content, dict) else content or []
    return "\n".join(text for part in parts if (text := _part(part)) is not None)


def _part(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    if isinstance(part.get("text"), str):
        return str(part["text"])
    inner = part.get("content")
    return plain(inner) if isinstance(inner, str | list) else None


def tokens(asked: Asked, reply: Reply) -> dict[str, int]:
    """As the script says, else a rough guess."""
    given = sum(len(message.text) for message in asked.messages) + len(asked.system)
    made = len(reply.text) + len(reply.thinking) + sum(len(call.arguments) for call in reply.calls)
    return {
        "input": reply.usage.get("input", max(1, given // 4)),
        "output": reply.usage.get("output", max(1, made // 4)),
        "cached": reply.usage.get("cached", 0),
        "reasoning": reply.usage.get("reasoning", len(reply.thinking) // 4),
    }


def new_id(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def openai_error(error: dict[str, Any]) -> dict[str, Any]:
    return {
        "error": {
            "message": error.get("message", "scripted error"),
            "type": error.get("type", "server_error"),
            "param": None,
            "code": error.get("code"),
        }
    }
