"""What one call of an agent's program is heard to say, put together."""

from __future__ import annotations

import contextlib
import logging
import re
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from awf.domain.agent import (
    AgentFailure,
    AgentReply,
    IsolationReport,
    TextDelta,
    Thought,
    ToolFinished,
    ToolStarted,
    UsageReport,
)
from awf.domain.run import Session, Usage, add_usage
from awf.infrastructure.agents.cli.dialect import ExplainsEndings
from awf.infrastructure.agents.cli.lines import event_of
from awf.infrastructure.agents.cli.shapes import (
    Answer,
    CostSoFar,
    ReadsReports,
    SessionKnown,
    ToolsOffered,
    Trouble,
    is_proven,
    version_text,
)
from awf.infrastructure.agents.cli.spending import spent_before, spent_by_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.domain.agent import DisplayEvent
    from awf.domain.ports.command_runner import CommandOutcome
    from awf.infrastructure.agents.cli.dialect import Dialect
    from awf.infrastructure.agents.cli.shapes import Heard, Reader, Task

__all__ = ["Hearing", "Isolation"]

Isolation = Literal["guaranteed", "best_effort", "none"]

_log = logging.getLogger("awf.agents")
_STDERR_KEPT = 4000
# How a shell, and `env`, say that a program is not there: it will not be there next time.
_CANNOT_RUN = {126, 127}
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
_KINDS_KEPT = 50
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Hearing:
    """`loosened`: the step changes how the program is started, so nothing is proven about its tools any more."""

    def __init__(
        self, dialect: Dialect, task: Task, show: Callable[[DisplayEvent], None], *, loosened: bool = False
    ) -> None:
        self._dialect = dialect
        self._task = task
        self._show = show
        self._reader: Reader = dialect.reader(task)
        self._said: list[str] = []
        self._answer: str | None = None
        self._session = task.session
        self._usage: Usage | None = None
        self._total: float | None = None  # the cost of the session, where that is what the program tells
        self._trouble: Trouble | None = None
        self._connected: bool | None = None
        self._offered: frozenset[str] | None = None  # what its model may call, where the program tells
        self._open: dict[str, str] = {}  # tool calls that have not come back
        self._stderr = bytearray()
        self.unread = 0  # lines that are no events
        self.unknown: Counter[str] = Counter()  # events that say nothing to us, by their type
        self.isolation: Isolation = "best_effort" if loosened and task.intercepts else self._expected()

    def _expected(self) -> Isolation:
        if not self._task.intercepts:
            return "none"
        return "guaranteed" if is_proven(self._task.version, self._dialect.proven) else "best_effort"

    def report_isolation(self, *tools: str) -> None:
        if self._task.endpoint is not None:
            self._show(IsolationReport(self.isolation, version_text(self._task.version), tools))

    # -- while it runs -------------------------------------------------------------------------------------------------

    def on_stderr(self, chunk: bytes) -> None:
        self._stderr.extend(chunk)
        del self._stderr[:-_STDERR_KEPT]

    def hear(self, line: bytes) -> None:
        event = event_of(line)
        if event is None:
            self.unread += bool(line.strip())
            return
        understood = False
        for heard in self._read(event):
            understood = True
            self._take(heard)
        if not understood:
            self._count(event)

    def _read(self, event: dict[str, Any]) -> Iterator[Heard]:
        """What the reader made of it before it met a form that it does not know is taken."""
        reading = iter(self._reader.read(event))
        while True:
            try:
                heard = next(reading)
            except (StopIteration, *_MALFORMED):
                return
            yield heard

    def _count(self, event: dict[str, Any]) -> None:
        kind = str(event.get("type", ""))[:40]
        self.unknown[kind if kind in self.unknown or len(self.unknown) < _KINDS_KEPT else "…"] += 1

    def _take(self, heard: Heard) -> None:
        match heard:
            case TextDelta():
                self._said.append(heard.text)
                self._show(heard)
            case ToolStarted():
                self._open[heard.call_id] = heard.name
                self._show(self._named(heard))
            case ToolFinished():
                self._open.pop(heard.call_id, None)
                own = self._dialect.own_tool(heard.name)
                self._show(msgspec.structs.replace(heard, name=own) if own else heard)
            case Thought():
                self._show(heard)
            case UsageReport():
                self._usage = add_usage(self._usage, heard.usage)
            case CostSoFar():
                self._total = heard.cost
            case SessionKnown():
                self._session = heard.id
            case Answer():
                self._answer = heard.text
            case Trouble():
                self._trouble = heard
            case ToolsOffered():
                self._check_offer(heard)

    def _named(self, call: ToolStarted) -> ToolStarted:
        """Ours by the name we gave it; another one, where ours should be the only ones, is a way around us.

        Unless the program is known not to have it: models call tools that are not there, and nothing comes of it.
        """
        own = self._dialect.own_tool(call.name)
        if own is not None:
            return msgspec.structs.replace(call, name=own)
        there = self._offered is None or call.name in self._offered
        return msgspec.structs.replace(call, bypass=self._task.intercepts and there)

    def _check_offer(self, offer: ToolsOffered) -> None:
        if offer.connected is not None:
            self._connected = offer.connected
        if offer.names is not None and self._task.intercepts:
            self._offered = frozenset(offer.names)
            foreign = [name for name in offer.names if self._dialect.own_tool(name) is None]
            self.isolation = "best_effort" if foreign else self.isolation
            self.report_isolation(*offer.names)

    def read_report(self, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        """What the program wrote into its report file, and what was in it before this call."""
        if after is None or not isinstance(self._reader, ReadsReports):
            return
        with contextlib.suppress(*_MALFORMED):
            for one in self._reader.report(before, after):
                self._take(one)

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def reply(self, outcome: CommandOutcome, *, used: bool | None) -> AgentReply:
        for one in self._reader.end():
            self._take(one)
        self._close_calls()
        self._note()
        text = self._answer if self._answer is not None else "".join(self._said)
        trouble = self._trouble or self._silent_failure(outcome, text)
        if trouble is not None:
            trouble = self._explained(trouble, outcome)
            raise AgentFailure(
                trouble.message,
                code=trouble.code,
                retryable=trouble.retryable,
                hint=trouble.hint,
                usage=self._with_cost(),
            )
        if used is False or self._connected is False:
            raise AgentFailure(
                f"{self._dialect.name} went to work without the tools of AWF: their server did not come up in it.",
                code="EXECUTION.AGENT.NO_TOOLS",
                hint=self._last_words() or "Run it again with --log-level debug.",
                usage=self._with_cost(),
            )
        session = Session(provider=self._dialect.name, id=self._session) if self._session else None
        return AgentReply(text=text, session=session, usage=self._with_cost())

    def _with_cost(self) -> Usage | None:
        """The share of this call in what the session has cost. Never guessed: without the sum before, it is unknown."""
        if self._total is None:
            return self._usage
        usage = self._usage or Usage()
        before = spent_before(self._task.state, self._session) if self._task.session else 0.0
        spent_by_now(self._task.state, self._session, self._total)
        if before is None:
            return usage
        share = self._total - before if self._total >= before else self._total  # less: it began to count anew
        return msgspec.structs.replace(usage, cost=round(share, 9), cost_source="reported")

    def _explained(self, trouble: Trouble, outcome: CommandOutcome) -> Trouble:
        if isinstance(self._dialect, ExplainsEndings) and not outcome.signal:
            return self._dialect.explain(trouble, outcome.exit_code)
        return trouble

    def _close_calls(self) -> None:
        """Whoever watches must not go on waiting for calls that nobody works on any more."""
        for call_id, name in list(self._open.items()):
            self._take(ToolFinished(call_id, name, "The agent ended before the call did.", is_error=True))

    def _note(self) -> None:
        if self.unread or self.unknown:
            kinds = ", ".join(f"{kind or 'no type'} {count}x" for kind, count in self.unknown.most_common())
            text = "%s: %d lines were no events; events without a meaning for us: %s"
            _log.debug(text, self._dialect.name, self.unread, kinds or "none")

    def _silent_failure(self, outcome: CommandOutcome, text: str) -> Trouble | None:
        """It ended without saying that it failed."""
        words = self._last_words()
        if outcome.exit_code:
            detail = f": {words}" if words else "."
            return Trouble(
                message=f"{self._dialect.name} {_ending(outcome)}{detail}",
                retryable=outcome.exit_code not in _CANNOT_RUN,
            )
        if not text and self._answer is None:
            detail = f" It wrote: {words}" if words else ""
            return Trouble(message=f"{self._dialect.name} ended without an answer.{detail}")
        return None

    def _last_words(self) -> str:
        """Of long lines the beginning: what went wrong is told first, and where it was noticed after that."""
        lines = _COLOUR.sub("", self._stderr.decode("utf-8", "replace")).strip().splitlines()
        return " ".join(line[:300] for line in lines[-3:])


def _ending(outcome: CommandOutcome) -> str:
    if not outcome.signal:
        return f"ended with exit code {outcome.exit_code}"
    try:
        return f"was ended by {signal.Signals(outcome.signal).name}"
    except ValueError:  # a real-time signal has no name
        return f"was ended by signal {outcome.signal}"
