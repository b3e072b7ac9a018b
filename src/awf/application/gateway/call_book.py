"""What happened at the gateway: the latest calls for people who watch, and counts for machines.

Every call passes here twice, so the two steps are kept short: fixed slots, no dict is built, and whoever watches gets the
entry itself and makes of it what it needs in its own time. All of it belongs to one event loop; nothing here waits.

Labels of counts are bounded. Only tools that servers offer get a count of their own: what else clients ask for, they make
up, and each name would stay for as long as the gateway runs.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections import deque
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from awf.application.gateway.short_ids import with_short_id

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "BOUNDS",
    "METHODS",
    "OUTCOMES",
    "UNKNOWN",
    "CallBook",
    "Change",
    "Entry",
    "Figures",
    "Latency",
    "Outcome",
    "Subscription",
]

Outcome = Literal["ok", "error", "cancelled", "refused"]
Change = Literal["status", "approvals"]  # what else than a call is different now
OUTCOMES: tuple[Outcome, ...] = ("ok", "error", "cancelled", "refused")
UNKNOWN = "(unknown)"
# The upper ends of the buckets, in seconds.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
METHODS = frozenset(
    {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}
    | {"initialize", "ping", "server/discover", "completion/complete", "logging/setLevel"}
    | {"tools/list", "tools/call", "prompts/list", "prompts/get", "subscriptions/listen"}
    | {"resources/list", "resources/templates/list", "resources/read"}
    | {"resources/subscribe", "resources/unsubscribe"}
    | {"tasks/get", "tasks/list", "tasks/result", "tasks/update", "tasks/cancel"}
    | {"notifications/initialized", "notifications/cancelled", "notifications/progress"}
    | {"notifications/roots/list_changed"}
)

_LATEST = 200
_MOST_TOOLS = 5_000  # with a count of their own
_LONGEST = 128  # signs of a text that a client or server chose
_LONGEST_REASON = 500
_QUEUE = 256
_SYNC_SECONDS = 1.0


class Latency:
    """How long calls took, in buckets."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)  # the last one: longer than all bounds
        self.seconds = 0.0


class Tally:
    """How the calls of one tool ended."""

    __slots__ = ("latency", "outcomes")

    def __init__(self, latency: Latency) -> None:
        self.latency = latency
        self.outcomes: dict[str, int] = dict.fromkeys(OUTCOMES, 0)


class Figures(NamedTuple):
    """One server in numbers."""

    calls: int  # those that ended
    errors: int
    in_flight: int


class Entry(msgspec.Struct, eq=False, gc=False):
    """One call. It changes once, when it ends."""

    id: int
    time: float  # seconds since 1970
    began: float  # on the clock that never jumps
    server: str
    tool: str
    name: str
    client: str
    tally: Tally
    outcome: str = "running"
    code: str = ""
    seconds: float = 0.0
    reason: str = ""  # why it was refused
    whole_reason: str = ""  # the same with whole ids

    def shown(self, *, operator: bool = False) -> dict[str, Any]:
        running = self.outcome == "running"
        shown = {
            "id": str(self.id),
            "time": self.time,
            "server": self.server,
            "tool": self.tool,
            "name": self.name,
            "client": self.client,
            "outcome": self.outcome,
            "code": self.code,
            "duration_ms": None if running else round(self.seconds * 1000, 3),
        }
        reason = self.whole_reason if operator else self.reason
        return {**shown, "reason": reason} if reason else shown


class CallBook:
    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self.requests: dict[tuple[str, int], int] = {}
        self.reloads: dict[str, int] = {"ok": 0, "error": 0}
        self._clock, self._wall = clock, wall
        self._offset, self._synced = 0.0, -math.inf
        self._number = count(1).__next__
        self._latest: deque[Entry] = deque(maxlen=_LATEST)
        self.running: dict[int, Entry] = {}  # by number
        self._offered: frozenset[tuple[str, str]] = frozenset()
        self._latencies: dict[str, Latency] = {}
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._watchers: list[Subscription] = []

    # -- every call ----------------------------------------------------------------------------------------------

    def begun(self, server: str, tool: str, name: str, client: str) -> Entry:
        """A call came in. `tool` is its name on the server, `name` the one that the client used."""
        tally = self._tallies.get((server, tool))
        if tally is None:
            server, tool, tally = self._first_call(server, tool)
        if len(name) + len(client) > _LONGEST:
            name, client = name[:_LONGEST], client[:_LONGEST]
        now = self._clock()
        if now > self._synced:
            self._synchronise(now)
        number = self._number()
        entry = Entry(number, now + self._offset, now, server, tool, name, client, tally)
        self.running[number] = entry
        self._latest.append(entry)
        if self._watchers:
            self._tell(entry)
        return entry

    def ended(
        self, entry: Entry, outcome: Outcome, code: str = "", reason: str = "", context_id: str = ""
    ) -> None:
        """It is over. What comes second, a late answer to a cancelled call, does not count.

        `reason`: why it was refused, in words that everyone may read who may look at calls, but for the id of its context.
        """
        if self.running.pop(entry.id, None) is None:
            return
        entry.seconds = seconds = self._clock() - entry.began
        tally = entry.tally
        tally.outcomes[outcome] += 1
        entry.outcome = outcome
        entry.code = code
        if reason:
            entry.reason = with_short_id(reason, context_id)[:_LONGEST_REASON]
            entry.whole_reason = reason[:_LONGEST_REASON]
        if outcome != "refused":  # one that never reached the server says nothing of its speed
            latency = tally.latency
            latency.buckets[bisect_left(BOUNDS, seconds)] += 1
            latency.seconds += seconds
        if self._watchers:
            self._tell(entry)

    def requested(self, method: str, status: int) -> None:
        """A request was answered: its MCP method, or that of HTTP where there is none, and the HTTP status."""
        try:
            self.requests[method, status] += 1
        except KeyError:
            key = (method if method in METHODS else UNKNOWN, status if 100 <= status <= 599 else 0)
            self.requests[key] = self.requests.get(key, 0) + 1

    def _synchronise(self, now: float) -> None:
        """To ask two clocks for every call is dear; now and then is enough, and follows a machine that slept."""
        self._offset = self._wall() - now
        self._synced = now + _SYNC_SECONDS

    def _first_call(self, server: str, tool: str) -> tuple[str, str, Tally]:
        """The names to show, and where to count; a tool that is offered gets a count of its own here."""
        offered = (server, tool) in self._offered and _fits_a_label(tool)
        if offered and len(self._tallies) < _MOST_TOOLS:
            tally = self._tallies[server, tool] = Tally(self._latencies[server])
            return server, tool, tally
        known = server if server in self._latencies else UNKNOWN
        tally_of_rest = self._tallies.get((known, UNKNOWN))
        if tally_of_rest is None:
            # The latency of no server in particular is kept by nobody.
            tally_of_rest = Tally(self._latencies.get(known) or Latency())
            self._tallies[known, UNKNOWN] = tally_of_rest
        return server[:_LONGEST], tool[:_LONGEST], tally_of_rest

    # -- what is around them -------------------------------------------------------------------------------------

    def offers(self, tools: Mapping[str, Iterable[str]]) -> None:
        """What the servers have now, by server: only these are counted by name. Earlier counts stay."""
        self._offered = frozenset((server, tool) for server, names in tools.items() for tool in names)
        for server in tools:
            self._latencies.setdefault(server, Latency())

    def reloaded(self, outcome: Literal["ok", "error"]) -> None:
        self.reloads[outcome] += 1
        self.changed()

    def changed(self, what: Change = "status") -> None:
        """Something else than a call is different now, such as the state of a server."""
        if self._watchers:
            self._tell(what)

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        return len(self.running)

    def calls(self, *, operator: bool = False) -> list[dict[str, Any]]:
        """The latest first, and after them those that run for longer than that."""
        first = self._latest[0].id if self._latest else 0
        old = [entry for entry in islice(self.running.values(), _LATEST) if entry.id < first]
        return [entry.shown(operator=operator) for entry in (*reversed(self._latest), *reversed(old))]

    def tallies(self) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """(server, tool, outcome → how many), in a fixed order."""
        for server, tool in sorted(self._tallies):
            yield server, tool, self._tallies[server, tool].outcomes

    def latencies(self) -> Iterator[tuple[str, Latency]]:
        for server in sorted(self._latencies):
            yield server, self._latencies[server]

    def servers(self) -> dict[str, Figures]:
        """Every server that ever offered something, in numbers."""
        calls, errors, running = (dict.fromkeys(self._latencies, 0) for _ in range(3))
        for (server, _), tally in self._tallies.items():
            if server in calls:
                calls[server] += sum(tally.outcomes.values())
                errors[server] += tally.outcomes["error"]
        for entry in self.running.values():
            if entry.server in running:
                running[entry.server] += 1
        return {server: Figures(calls[server], errors[server], running[server]) for server in calls}

    # -- watching ------------------------------------------------------------------------------------------------

    def watch(self, size: int = _QUEUE, *, operator: bool = False) -> Subscription:
        """What happens from now on. Close it in the end."""
        watcher = Subscription(size, self._watchers.remove, operator=operator)
        self._watchers.append(watcher)
        return watcher

    def close(self) -> None:
        """Nobody watches any more."""
        for watcher in list(self._watchers):
            watcher.close()

    def _tell(self, news: Entry | Change) -> None:
        for watcher in self._watchers:
            watcher.put(news)


def _fits_a_label(name: str) -> bool:
    """Short, and with a form in UTF-8: any substitute for a lone surrogate could be another tool's name."""
    try:
        return len(name) <= _LONGEST and bool(name.encode())
    except UnicodeEncodeError:
        return False


class Subscription:
    """Events for one watcher. A slow one loses the oldest, and never holds up a call."""

    __slots__ = ("_forget", "_open", "_operator", "_waiting", "_waker", "dropped")

    def __init__(self, size: int, forget: Callable[[Subscription], None], *, operator: bool = False) -> None:
        self.dropped = 0
        self._waiting: deque[Entry | Change] = deque(maxlen=size)
        self._waker: asyncio.Future[None] | None = None
        self._forget = forget
        self._operator = operator
        self._open = True

    def put(self, news: Entry | Change) -> None:
        """Once is enough to say it."""
        waiting = self._waiting
        if waiting and waiting[-1] is news:
            return
        if len(waiting) == waiting.maxlen:
            self.dropped += 1
        waiting.append(news)
        self._wake()

    def close(self) -> None:
        """Ends the iteration; what was not taken yet is gone."""
        if self._open:
            self._open = False
            self._waiting.clear()
            self._forget(self)
            self._wake()

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> dict[str, Any]:
        import asyncio  # late: the book itself needs no loop

        while self._open and not self._waiting:
            self._waker = asyncio.get_running_loop().create_future()
            try:
                await self._waker
            finally:
                self._waker = None
        if not self._open:
            raise StopAsyncIteration
        news = self._waiting.popleft()
        if isinstance(news, str):
            return {"type": news}
        return {"type": "call", "call": news.shown(operator=self._operator)}
