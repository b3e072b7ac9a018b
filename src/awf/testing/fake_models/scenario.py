"""Scenario files: what the fake model answers, turn by turn.

The server keeps no state between requests. Each request carries the whole conversation, so the script and the turn are
worked out from it:

* script: the first one whose `prompt` regex matches a user message, looking from the newest user message backwards
  (agents add user messages of their own, which match nothing and are stepped over);
* turn: how many assistant turns follow that user message.

So one server can serve many agents at once, and a resumed session goes on with whichever script its new prompt matches.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from awf.testing.fake_models.conversation import Reply, ToolCall
from awf.testing.fake_models.marks import fill, fill_text, marks
from awf.testing.fake_models.offered_tools import find_tool, literal_name
from awf.testing.fake_models.side_requests import side_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.testing.fake_models.conversation import Asked, Message

__all__ = ["Scenario", "ScenarioError"]


class ScenarioError(ValueError):
    """The scenario does not have the expected form."""


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    comment: Any = None


class _Call(_Strict, frozen=True, kw_only=True):
    tool: str
    args: dict[str, Any] = {}
    raw_args: str | None = None
    id: str = ""


class _Turn(_Strict, frozen=True, kw_only=True):
    text: str = ""
    thinking: str = ""
    tool_calls: list[_Call] = []
    usage: dict[str, int] = {}
    stop: str | None = None
    chunk: int = 12
    delay_s: float = 0.0
    hang_s: float = 0.0
    drop_after_chunks: int | None = None
    error: dict[str, Any] | None = None


class _Script(_Strict, frozen=True, kw_only=True):
    turns: list[_Turn]
    name: str = ""
    prompt: str = ""
    system: str = ""
    no_tools: bool | None = None

    def fits(self, asked: Asked) -> bool:
        return bool(_search(self.system, asked.system)) and self.no_tools in {None, not asked.tools}


class _Form(_Strict, frozen=True, kw_only=True):
    scripts: list[_Script]
    name: str = "scenario"
    side_reply: str = "Fake title"


class Scenario:
    def __init__(self, data: Mapping[str, Any]) -> None:
        form = _checked(data)
        self.name = form.name
        self._side_reply = form.side_reply
        self._scripts = [
            msgspec.structs.replace(script, name=script.name or f"script{number}")
            for number, script in enumerate(form.scripts)
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scenario:
        return cls(data)

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        try:
            return cls(json.loads(Path(path).read_text(encoding="utf-8")))
        except ValueError as error:
            raise ScenarioError(f"{path}: {error}") from error

    def reply_for(self, asked: Asked) -> Reply:
        on_the_side = side_answer(asked, self._side_reply)
        if on_the_side is not None:
            return Reply(text=on_the_side, script="side")
        script, start = self._pick(asked)
        if script is None:
            return Reply(text="no script matches this prompt", script="none")
        number = _assistant_turns(asked.messages[start + 1 :])
        turn = script.turns[min(number, len(script.turns) - 1)]
        return replace(_reply(turn, asked, start, number, script.name), script=script.name, turn=number)

    def _pick(self, asked: Asked) -> tuple[_Script | None, int]:
        """The script, and where the prompt that it answers is."""
        candidates = [script for script in self._scripts if script.fits(asked)]
        users = [number for number, message in enumerate(asked.messages) if message.role == "user"]
        for number in reversed(users):
            for script in candidates:
                if script.prompt and _search(script.prompt, asked.messages[number].text):
                    return script, number
        default = next((script for script in candidates if not script.prompt), None)
        return default, users[0] if default and users else 0


def _checked(data: Mapping[str, Any]) -> _Form:
    try:
        form = msgspec.convert(data, _Form)
        for script in form.scripts:
            re.compile(script.prompt)
            re.compile(script.system)
    except (msgspec.ValidationError, re.error) as error:
        raise ScenarioError(str(error)) from error
    if not form.scripts or not all(script.turns for script in form.scripts):
        raise ScenarioError("a scenario needs at least one script, and each script at least one turn")
    return form


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL)


def _assistant_turns(messages: Sequence[Message]) -> int:
    """Consecutive assistant messages are one turn: the formats split them differently."""
    roles = [message.role for message in messages]
    return sum(
        role == "assistant" and previous != "assistant"
        for previous, role in zip(["", *roles], roles, strict=False)
    )


def _reply(turn: _Turn, asked: Asked, start: int, number: int, script: str) -> Reply:
    values = marks(asked, start, number)

    def called(call: _Call, position: int) -> ToolCall:
        found = find_tool(call.tool, asked.tools)
        return ToolCall(
            name=found.name if found else literal_name(call.tool),
            namespace=found.namespace if found else "",
            freeform=found is not None and found.freeform,
            args=fill(call.args, values),
            raw_args=call.raw_args,
            call_id=call.id or f"call_{script}_{number}_{position}",
        )

    return Reply(
        text=fill_text(turn.text, values),
        thinking=fill_text(turn.thinking, values),
        calls=[called(call, position) for position, call in enumerate(turn.tool_calls)],
        usage=turn.usage,
        stop=turn.stop,
        chunk=turn.chunk,
        delay_s=turn.delay_s,
        hang_s=turn.hang_s,
        drop_after_chunks=turn.drop_after_chunks,
        error=turn.error,
    )
