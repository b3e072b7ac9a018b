"""The conversation, as the API wants it told. Pure: histories go in, histories come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from awf.infrastructure.agents.openai_compatible.arguments import ReadCall
    from awf.infrastructure.agents.openai_compatible.turn import Turn

__all__ = ["assistant_message", "opened", "picture_message", "tool_message", "used_call_ids"]

Message = dict[str, Any]


def opened(history: Sequence[Message], system_prompt: str, prompt: str) -> list[Message]:
    """A conversation with a new message of the user. There is one system message at most: a new one takes its place."""
    rest = [message for message in history if message.get("role") != "system"]
    earlier = [message for message in history if message.get("role") == "system"][:1]
    system = [{"role": "system", "content": system_prompt}] if system_prompt else earlier
    return [*system, *rest, {"role": "user", "content": prompt}]


def assistant_message(turn: Turn, calls: Sequence[ReadCall], *, with_thoughts: bool) -> Message:
    message: Message = {"role": "assistant", "content": turn.text or (None if calls else "")}
    if with_thoughts and turn.thoughts_key:
        message[turn.thoughts_key] = turn.thoughts
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.written}}
            for call in calls
        ]
    return message


def tool_message(call: ReadCall, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def picture_message(parts: Sequence[dict[str, Any]]) -> Message:
    told = {"type": "text", "text": "The pictures that the tools gave, in order:"}
    return {"role": "user", "content": [told, *parts]}


def used_call_ids(messages: Iterable[Message]) -> set[str]:
    return {str(call.get("id")) for message in messages for call in message.get("tool_calls") or ()}
