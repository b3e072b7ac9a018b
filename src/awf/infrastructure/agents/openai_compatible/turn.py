"""One turn of the model, put together from its pieces. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.agent import TextDelta, Thought
from awf.domain.run import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.agent import DisplayEvent

__all__ = ["Call", "Turn", "TurnReader"]

_MOST = 1e15
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


class Call(msgspec.Struct, kw_only=True):
    """A tool call, as far as it has come."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """`thoughts_key`: the name under which the API gave the thoughts, and wants them back."""

    text: str = ""
    thoughts: str = ""
    thoughts_key: str = ""
    refusal: str = ""
    calls: list[Call] = []
    finish: str = ""
    usage: Usage | None = None


class TurnReader:
    def __init__(self) -> None:
        self.finish = ""
        self.error: dict[str, Any] | None = None
        self.heard = False  # anything of an answer
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._thoughts_key = ""
        self._refusal: list[str] = []
        self._calls: list[Call] = []
        self._usage: Usage | None = None

    def read(self, piece: dict[str, Any]) -> Iterator[DisplayEvent]:
        """One piece, or a whole answer. What it does not know it passes over."""
        if piece.get("error"):
            error = piece["error"]
            self.error = error if isinstance(error, dict) else {"message": str(error)}
        # Where usage comes with every piece it is a running total: the last one counts.
        self._usage = _usage(piece) or self._usage
        for choice in _list(piece.get("choices")):
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)

    def turn(self) -> Turn:
        return Turn(
            text="".join(self._text),
            thoughts="".join(self._thoughts),
            thoughts_key=self._thoughts_key,
            refusal="".join(self._refusal),
            calls=[call for call in self._calls if call.name or call.arguments],
            finish=self.finish,
            usage=self._usage,
        )

    def _choice(self, choice: dict[str, Any]) -> Iterator[DisplayEvent]:
        self.heard = True
        if isinstance(choice.get("error"), dict):
            self.error = choice["error"]
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        self.finish = str(choice.get("finish_reason") or self.finish)

    def _delta(self, delta: dict[str, Any]) -> Iterator[DisplayEvent]:
        for key in _THOUGHTS:
            if isinstance(delta.get(key), str) and delta[key]:
                self._thoughts_key = key
                yield self._thought(delta[key])
                break  # some give the same under two names
        for kind, text in _content(delta.get("content")):
            if kind == "thinking":
                yield self._thought(text)
            else:
                self._text.append(text)
                yield TextDelta(text)
        if isinstance(delta.get("refusal"), str):
            self._refusal.append(delta["refusal"])
        for part in _list(delta.get("tool_calls")):
            if isinstance(part, dict):
                self._take_call(part)

    def _thought(self, text: str) -> Thought:
        self._thoughts.append(text)
        return Thought(text)

    # -- tool calls -------------------------------------------------------------------------------------------------

    def _take_call(self, part: dict[str, Any]) -> None:
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        name = str(function.get("name") or "")
        call = self._call_of(part, name)
        call.id = call.id or str(part.get("id") or "")
        if name != call.name and not call.arguments:  # else it is only said again
            call.name += name
        given = function.get("arguments")
        if isinstance(given, str):
            call.arguments += given
        elif given is not None:
            call.arguments = json.dumps(given)

    def _call_of(self, part: dict[str, Any], name: str) -> Call:
        index, call_id = _index(part.get("index")), str(part.get("id") or "")
        known = self._known(index, call_id)
        if known is None or (name and known.name and _is_another(known, index, call_id, name)):
            known = Call(index=index)
            self._calls.append(known)
        return known

    def _known(self, index: int | None, call_id: str) -> Call | None:
        """The newest one that it can belong to."""
        if index is None and not call_id:
            return self._calls[-1] if self._calls else None
        for call in reversed(self._calls):
            if index is not None and call.index == index:
                return call
            if index is None and call.id == call_id:
                return call
        return None


def _is_another(known: Call, index: int | None, call_id: str, name: str) -> bool:
    """Whether a piece with a name begins a new call, although the place is taken.

    Some servers count every call as number 0, or do not count at all. Others repeat the name, or make up a new id, with each
    piece of one call; those with a new id leave the name out.
    """
    if call_id and known.id:
        return call_id != known.id
    return index is None and not (name == known.name and known.arguments and not _is_json(known.arguments))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return value if isinstance(value, int) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _content(content: Any) -> Iterator[tuple[str, str]]:
    """Texts and thoughts of a content value: a string, or typed parts."""
    if isinstance(content, str) and content:
        yield "text", content
    for part in _list(content):
        if isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            for _, text in _content(inner):
                yield "thinking", text
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"]:
            yield "text", part["text"]


def _usage(piece: dict[str, Any]) -> Usage | None:
    told = piece.get("usage") or _inner(piece.get("x_groq"), "usage")
    if not isinstance(told, dict):
        return None
    cost = _number(told.get("cost", piece.get("cost")))
    return Usage(
        _count(told.get("prompt_tokens", told.get("input_tokens"))),
        _count(told.get("completion_tokens", told.get("output_tokens"))),
        cost,
        "unknown" if cost is None else "reported",
    )


def _inner(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < _MOST else None  # which leaves out NaN, too


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
