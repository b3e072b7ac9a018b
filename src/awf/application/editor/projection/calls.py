"""The tool calls inside one step, each shown once.

A call may be told of twice: by the agent that makes it, under its own id, and by AWF when it carries the call out, under
another. Which comes first depends on the agent; some tell only when all is over. Nothing says that two tellings mean
the same call, so they are paired: same tool, the same input where there is a choice, each telling used once. A call of a
tool that passed the proxy by is never paired. What AWF says of a paired call counts for more.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.frames import fenced, modest, sound, text_content
from awf.application.editor.projection.row import Row
from awf.application.editor.projection.tool_words import bare_name, changes, kind_of, locations, title
from awf.application.editor.projection.words import beginning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.domain.editor import Update
    from awf.domain.events import AgentTool, ToolCallFinished, ToolCallStarted

__all__ = ["Call", "Calls"]

_OUTPUT_SHOWN = 4000
_UNPAIRED_KEPT = 64
_MOST_KNOWN = 512  # calls of one step that a second telling is recognised for


class Call:
    def __init__(self, name: str, given: dict[str, Any], row: Row) -> None:
        self.name = name
        self.input = given
        self.row = row
        self.is_through = False  # AWF carries it out
        self.is_paired = False  # both have told of it
        self.is_finished = False
        self.bypass = False

    def describe(self, cwd: str) -> None:
        row = self.row
        row.title, row.kind = title(self.name, self.input, cwd), kind_of(self.name)
        row.raw_input = modest(self.input)
        row.locations = locations(self.name, self.input, cwd)
        row.content = changes(self.name, self.input, cwd)


class Calls:
    def __init__(self, base: str, cwd: str, showings: int = 0) -> None:
        self._base = base
        self._cwd = cwd
        self._showings = showings
        self._told: dict[str, Call] = {}  # by the agent's id
        self._told_without_id: deque[Call] = deque(maxlen=_UNPAIRED_KEPT)
        self._carried: dict[str, Call] = {}  # by ours
        self._untold: deque[Call] = deque(
            maxlen=_UNPAIRED_KEPT
        )  # carried out; the agent has not told of them yet
        self._unfinished: dict[Call, None] = {}
        self._used: dict[str, int] = {}
        self._nameless = 0
        self.parent = ""  # the id of the step's row

    # -- as the agent tells --------------------------------------------------------------------------------------------

    def told(self, event: AgentTool) -> list[Update]:
        return self._told_start(event) if event.phase == "started" else self._told_end(event)

    def _told_start(self, event: AgentTool) -> list[Update]:
        known = self._told.get(event.call_id) if event.call_id else None
        if known is not None and not known.is_finished and known.name == bare_name(event.name):
            return self._more_input(known, event.input)
        call = None if event.bypass else _match(self._untold, event.name, event.input)
        updates: list[Update] = []
        if call is None:
            call = self._new(event.name, event.call_id, event.input, bypass=event.bypass)
            updates = [call.row.begin()]
        else:
            self._pair(call)
        self._remember(event.call_id, call)
        return updates

    def _more_input(self, call: Call, given: dict[str, Any]) -> list[Update]:
        if not given or given == call.input or call.is_through:
            return []
        call.input = given
        return self._redescribed(call)

    def _told_end(self, event: AgentTool) -> list[Update]:
        call = self._told.get(event.call_id) if event.call_id else self._oldest(event.name)
        if call is None and not event.bypass and (call := _match(self._untold, event.name, event.input)):
            self._pair(call)
            self._remember(event.call_id, call)
        if call is None:
            call = self._new(event.name, event.call_id, event.input, bypass=event.bypass)
            self._remember(event.call_id, call)
        if call in self._told_without_id:
            self._told_without_id.remove(call)
        if call.is_finished or call.is_through:
            return []
        call.bypass = call.bypass or event.bypass
        return self._finish(call, event.output, is_error=event.is_error, raw={})

    def _remember(self, call_id: str, call: Call) -> None:
        if call_id:
            self._told[call_id] = call
            _forget_finished(self._told)
        else:
            self._told_without_id.append(call)

    def _oldest(self, name: str) -> Call | None:
        """The call that an ending without an id belongs to."""
        waiting = [*self._told_without_id, *self._unfinished]
        return next((one for one in waiting if not name or one.name == bare_name(name)), None)

    # -- as AWF carries it out -----------------------------------------------------------------------------------------

    def begun(self, event: ToolCallStarted) -> list[Update]:
        if event.call_id in self._carried:
            return []
        told = _match(self._only_told(), event.tool, event.input)
        call = told or self._new(event.tool, event.call_id, event.input)
        call.is_through = True
        call.row.about["source"] = event.source
        self._carried[event.call_id] = call
        _forget_finished(self._carried)
        if told is None:
            self._untold.append(call)
            return [call.row.begin()]
        call.is_paired = True
        call.input = event.input or call.input
        return self._redescribed(call, about=call.row.about)

    def finished(self, event: ToolCallFinished) -> list[Update]:
        call = self._carried.get(event.call_id)
        if call is None:
            call = _match(self._only_told(), event.tool, {})
            if call is None:
                call = self._new(event.tool, event.call_id, {})
                self._untold.append(call)
            call.is_through = True
            call.row.about["source"] = event.source
            self._carried[event.call_id] = call
        if call.is_finished:
            return []
        raw = {"durationMs": event.duration_ms, **({"error": event.error} if event.error else {})}
        if event.cancelled:
            return self._finish(call, "Cancelled by user", is_error=True, raw=raw, about={"cancelled": True})
        return self._finish(call, event.output, is_error=event.is_error, raw=raw)

    def _only_told(self) -> list[Call]:
        return [one for one in self._unfinished if not (one.is_through or one.bypass)]

    def _pair(self, call: Call) -> None:
        call.is_paired = True
        self._untold.remove(call)

    # -- questions about a call ----------------------------------------------------------------------------------------

    def carried(self, call_id: str) -> Call | None:
        return self._carried.get(call_id)

    def asked(self, call_id: str, name: str, given: dict[str, Any]) -> Call:
        """The call that a person is asked about, also when nothing else was heard of it."""
        call = self._carried.get(call_id)
        if call is None:
            call = self._carried[call_id] = self._new(name or "tool", call_id, given)
            call.is_through = True
            self._untold.append(call)
        return call

    # -- rows ----------------------------------------------------------------------------------------------------------

    def open_calls(self) -> list[Call]:
        return [one for one in self._unfinished if one.row.is_open]

    def _new(self, name: str, call_id: str, given: dict[str, Any], *, bypass: bool = False) -> Call:
        row = Row(f"{self._base}/{self._unique(call_id)}", self._showings)
        row.about = {"parentToolCallId": self.parent}
        call = Call(bare_name(name), given, row)
        call.bypass = bypass
        if bypass:
            row.about["bypass"] = True
        call.describe(self._cwd)
        self._unfinished[call] = None
        return call

    def _unique(self, call_id: str) -> str:
        """Some agents give no id, some use the same one again."""
        if not call_id:
            self._nameless += 1
            call_id = f"call-{self._nameless}"
        call_id = sound(call_id)
        self._used[call_id] = times = self._used.get(call_id, 0) + 1
        return call_id if times == 1 else f"{call_id}.{times}"

    def _redescribed(self, call: Call, **fields: Any) -> list[Update]:
        """Tell what is new about it."""
        row = call.row
        before = (row.title, row.raw_input, row.locations, row.content)
        call.describe(self._cwd)
        after = (row.title, row.raw_input, row.locations, row.content)
        if not row.is_open:
            return [row.begin()]
        names = ("title", "rawInput", "locations", "content")
        told = {name: new for name, old, new in zip(names, before, after, strict=True) if new != old}
        return [row.change(**told, **fields)] if told or fields else []

    def _finish(
        self,
        call: Call,
        output: str,
        *,
        is_error: bool,
        raw: dict[str, Any],
        about: dict[str, Any] | None = None,
    ) -> list[Update]:
        shown = beginning(output, _OUTPUT_SHOWN)
        told = [fenced(shown)] if shown.strip() else []
        diffs = [] if is_error else [one for one in call.row.content if one["type"] == "diff"]
        noted = {**(about or {}), **({"bypass": True} if call.bypass else {})}
        again = [] if call.row.is_open else [call.row.begin()]
        end = call.row.end(
            "failed" if is_error else "completed",
            content=diffs or told,
            rawOutput={"output": shown, **raw},
            about=noted,
        )
        self._settle(call)
        return [*again, end]

    def _settle(self, call: Call) -> None:
        """It is over; what is kept of it serves to recognise a second telling."""
        call.is_finished = True
        del self._unfinished[call]
        call.row.raw_input, call.row.content = {}, []
        if call.is_paired:
            call.input = {}

    def close(self, status: str, text: str, about: dict[str, Any] | None = None) -> list[Update]:
        """The step or the turn ends before these calls did."""
        content = [text_content(text)]
        closed = [call.row.cut_off(status, content=content, about=about) for call in self.open_calls()]
        return [update for updates in closed for update in updates]


def _forget_finished(known: dict[str, Call]) -> None:
    """A step that calls a great many tools does not grow without end."""
    if len(known) > _MOST_KNOWN:
        for call_id in [one for one, call in known.items() if call.is_finished][: _MOST_KNOWN // 2]:
            del known[call_id]


def _match(calls: Iterable[Call], name: str, given: dict[str, Any]) -> Call | None:
    same = [one for one in calls if one.name == bare_name(name)]
    return next((one for one in same if one.input == given), same[0] if same else None)
