"""Session updates and their parts, in the words of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from awf.domain.editor import Update

__all__ = ["chunks", "diff", "fenced", "modest", "plan", "sound", "text_content"]

_LARGEST = 256 * 1024  # bytes of text in one update; editors read whole lines
_LONGEST_VALUE = 16_000  # characters of one value of a tool's input
_DEEPEST = 12


def sound(text: str) -> str:
    """Text that can be written as UTF-8, whatever an agent made of its JSON escapes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def chunks(kind: str, text: str, message_id: str) -> list[Update]:
    """`agent_message_chunk` or `agent_thought_chunk`; a text too long for one update goes in several."""
    return [
        {"sessionUpdate": kind, "content": {"type": "text", "text": part}, "messageId": message_id}
        for part in _parts(sound(text))
    ]


def _parts(text: str) -> Iterator[str]:
    length = _LARGEST if text.isascii() else _LARGEST // 4
    if len(text) <= length:
        yield text
        return
    for at in range(0, len(text), length):
        yield text[at : at + length]


def text_content(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": sound(text)}}


def fenced(text: str, language: str = "") -> dict[str, Any]:
    """Text to be shown as it is. The fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return text_content(f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}")


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    change: dict[str, Any] = {"type": "diff", "path": path, "newText": sound(new)}
    return change if old is None else {**change, "oldText": sound(old)}


def plan(entries: Sequence[Mapping[str, str]]) -> Update:
    return {"sessionUpdate": "plan", "entries": [dict(entry) for entry in entries]}


def modest(value: Any, depth: int = 0) -> Any:
    """A value without texts so long that the update would be too large to read."""
    if isinstance(value, str):
        whole = sound(value)
        if len(whole) <= _LONGEST_VALUE:
            return whole
        return f"{whole[:_LONGEST_VALUE]}… ({len(whole)} characters)"
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {sound(str(key)): modest(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [modest(item, depth + 1) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
