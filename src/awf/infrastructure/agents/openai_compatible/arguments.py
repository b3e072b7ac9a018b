"""Tool calls as they can be carried out: with an id of their own, and arguments that were read or a word on why not. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from awf.infrastructure.agents.openai_compatible.turn import Call

__all__ = ["ReadCall", "read_calls"]

_SHOWN = 200


class ReadCall(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    arguments: dict[str, Any] = {}
    problem: str = ""  # what the model is told instead of a result

    @property
    def written(self) -> str:
        """The arguments for the history. Broken ones are left out: servers stumble over them when they read it again."""
        return json.dumps(self.arguments, ensure_ascii=False)


def read_calls(calls: Sequence[Call], used: Collection[str]) -> list[ReadCall]:
    """Ids that are missing, or were used before, are replaced: answers and displays are matched by them."""
    taken, read = set(used), []
    for number, call in enumerate(calls):
        call_id = call.id if call.id and call.id not in taken else _fresh_id(taken, number)
        taken.add(call_id)
        arguments, problem = _arguments(call)
        name = call.name or "unnamed"
        if not call.name:
            problem = "The call does not name a tool, so nothing was done."
        read.append(ReadCall(id=call_id, name=name, arguments=arguments, problem=problem))
    return read


def _fresh_id(taken: Collection[str], number: int) -> str:
    candidate = f"call_{len(taken)}_{number}"
    while candidate in taken:
        candidate += "x"
    return candidate


def _arguments(call: Call) -> tuple[dict[str, Any], str]:
    text = call.arguments.strip()
    if not text:
        return {}, ""
    try:
        value = json.loads(text)
        if isinstance(value, str):  # encoded twice
            value = json.loads(value) if value.strip() else {}
    except (ValueError, RecursionError) as error:
        return {}, _told(call, f"are not valid JSON ({error})")
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return {}, _told(call, "are not a JSON object")
    return value, ""


def _told(call: Call, what: str) -> str:
    shown = call.arguments if len(call.arguments) <= _SHOWN else call.arguments[:_SHOWN] + "…"
    return f"The arguments of {call.name} {what}, so nothing was done. They were: {shown}"
