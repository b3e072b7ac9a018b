"""An editor in memory: it keeps what it is shown, and answers as it is told to."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from awf.domain.editor import EditorAbilities, FormAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from awf.domain.editor import Update

__all__ = ["MemoryEditor"]

_CALLS = {"tool_call", "tool_call_update"}


class MemoryEditor:
    """`permits` are the option ids to choose, one for each question; then a question stays open until `choose`."""

    def __init__(self, *, forms: bool = False, terminals: bool = False, permits: Sequence[str] = ()) -> None:
        self.abilities = EditorAbilities(forms=forms, terminal_output=terminals, name="memory")
        self.shown: list[tuple[str, Update]] = []
        self.asked: list[Mapping[str, Any]] = []
        self.open: list[asyncio.Future[str]] = []  # questions that wait for an answer
        self.withdrawn = 0  # questions that were taken back
        self.forms: list[Mapping[str, Any]] = []
        self.fill: Callable[[Mapping[str, Any]], FormAnswer | Awaitable[FormAnswer]] = _no_answer
        self.behind = 0  # bytes it claims not to have read
        self._permits = list(permits)
        self._news = asyncio.Event()

    def show(self, session_id: str, update: Update) -> None:
        self.shown.append((session_id, update))
        self._news.set()

    def unread(self) -> int:
        return self.behind

    async def permit(
        self, session_id: str, tool_call: Mapping[str, Any], options: Sequence[Mapping[str, str]]
    ) -> str:
        self.asked.append({"session": session_id, "toolCall": tool_call, "options": options})
        self._news.set()
        if self._permits:
            return self._permits.pop(0)
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.open.append(asked)
        try:
            return await asked
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        finally:
            self.open.remove(asked)
            self._news.set()

    async def fill_in(self, session_id: str, message: str, schema: Mapping[str, Any]) -> FormAnswer:
        self.forms.append({"session": session_id, "message": message, "schema": schema})
        self._news.set()
        answer = self.fill(schema)
        return await answer if inspect.isawaitable(answer) else answer

    # -- for tests -----------------------------------------------------------------------------------------------------

    def choose(self, option: str) -> None:
        """Answer the question that has been open longest; an empty text closes the dialog."""
        self.open[0].set_result(option)

    async def until(self, seen: Callable[[MemoryEditor], object], timeout: float = 30.0) -> None:
        """Wait until what was shown and asked is as it should be."""
        async with asyncio.timeout(timeout):
            while not seen(self):
                self._news.clear()
                await self._news.wait()

    def updates(self, kind: str, session_id: str = "") -> list[Update]:
        return [
            update
            for session, update in self.shown
            if update["sessionUpdate"] == kind and session_id in {"", session}
        ]

    def forget(self) -> None:
        """Begin a new page: what was shown and asked so far is not looked at any more."""
        self.shown.clear()
        self.asked.clear()
        self.forms.clear()

    @property
    def text(self) -> str:
        """All that agents said."""
        return "".join(update["content"]["text"] for update in self.updates("agent_message_chunk"))

    @property
    def calls(self) -> dict[str, Update]:
        """Every tool call as it stands."""
        calls: dict[str, Update] = {}
        for _, update in self.shown:
            if update["sessionUpdate"] in _CALLS:
                calls.setdefault(update["toolCallId"], {}).update(update)
        return calls

    @property
    def unfinished(self) -> list[str]:
        """Calls that still seem to be going on."""
        return [name for name, call in self.calls.items() if call["status"] in {"pending", "in_progress"}]

    @property
    def commands(self) -> dict[str, Update]:
        """The slash commands as the editor has them."""
        told = self.updates("available_commands_update")
        return {one["name"]: one for one in told[-1]["availableCommands"]} if told else {}


def _no_answer(schema: Mapping[str, Any]) -> FormAnswer:
    del schema
    return FormAnswer("cancel")
