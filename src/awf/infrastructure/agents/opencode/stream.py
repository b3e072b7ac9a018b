"""What OpenCode says, line by line (`opencode run --format json`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown
from awf.infrastructure.agents.opencode.failures import trouble
from awf.infrastructure.agents.opencode.sessions import session_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.infrastructure.agents.cli.shapes import Heard, Trouble

__all__ = ["OpenCodeReader"]

_STAND_IN = "invalid"


class OpenCodeReader:
    """Texts come whole, and a call of a tool when it is over. No line says that all is done.

    The answer is what was said in the last step that said anything. An error is the last word only if nothing came
    after it.
    """

    def __init__(self, database: str = "") -> None:
        self._database = database
        self._session = ""
        self._shown = 0
        self._step: list[str] = []
        self._is_new_step = False
        self._spoke = False
        self._trouble: Trouble | None = None

    def read(self, event: dict[str, Any]) -> Iterator[Heard]:
        yield from self._known(event.get("sessionID"))
        match event.get("type"):
            case "step_start":
                self._is_new_step, self._trouble = True, None
            case "text":
                yield from self._text(event["part"]["text"])
            case "reasoning":
                yield Thought(event["part"]["text"])
            case "tool_use":
                yield from _call(event["part"])
            case "step_finish":
                yield UsageReport(_usage(event["part"]))
            case "error":
                self._trouble = trouble(event["error"])

    def end(self) -> Iterator[Heard]:
        if self._spoke:
            yield Answer("\n\n".join(self._step))
        if self._trouble is not None:
            yield self._trouble

    def _known(self, session: Any) -> Iterator[Heard]:
        if session and session != self._session:
            self._session = session
            yield SessionKnown(session_id(session, self._database))

    def _text(self, text: str) -> Iterator[Heard]:
        self._step = [text] if self._is_new_step else [*self._step, text]
        self._is_new_step = False
        yield TextDelta(f"\n\n{text}" if self._spoke else text)
        self._spoke = True


def _call(part: dict[str, Any]) -> Iterator[Heard]:
    """Known by the id of the part: ids of calls are the model's, and some models use the same ones again."""
    state, name = part["state"], part["tool"]
    given = state.get("input")
    arguments = given if isinstance(given, dict) else {}
    failed = state.get("status") == "error"
    output = state.get("error") if failed else state.get("output")
    if name == _STAND_IN:  # called in place of a tool that is not there
        name, output, arguments, failed = arguments["tool"], arguments["error"], {}, True
    yield ToolStarted(part["id"], name, arguments)
    yield ToolFinished(part["id"], name, str(output or ""), failed)


def _usage(part: dict[str, Any]) -> Usage:
    """A cost of nothing means that OpenCode knows no price."""
    tokens = part.get("tokens") or {}
    cache = tokens.get("cache") or {}
    read = sum(int(number or 0) for number in (tokens.get("input"), cache.get("read"), cache.get("write")))
    written = int(tokens.get("output") or 0) + int(tokens.get("reasoning") or 0)
    cost = part.get("cost")
    return Usage(read, written, float(cost), "reported") if cost else Usage(read, written)
