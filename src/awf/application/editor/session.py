"""One thread in the editor. It does one thing at a time, and remembers what it waits for."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.editor.live_run import LiveRun
from awf.application.editor.options import config_options, modes
from awf.application.editor.person import EditorPerson
from awf.application.editor.projection import Projector
from awf.application.editor.screen import Screen
from awf.application.editor.turn import Turn
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from awf.application.editor.project import EditorProject
    from awf.application.running.service import Prepared
    from awf.domain.editor import SessionRecord, TurnRecord
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.editor import Editor
    from awf.domain.ports.editor_sessions import EditorSessions

__all__ = ["EditorSession"]

_TITLE = 80
_MOST_TURNS = 300
_log = logging.getLogger("awf.editor")


class EditorSession:
    def __init__(
        self,
        record: SessionRecord,
        project: EditorProject,
        editor: Editor,
        store: EditorSessions,
        servers: Mapping[str, McpServer],
    ) -> None:
        self.record = record
        self.project = project
        self.servers = servers
        self.screen = Screen(editor, record.id, project.masker)
        self.live: LiveRun | None = None
        self._store = store
        self._turn: Turn | None = None
        self._prompts = record.earlier + len(record.turns)
        self._shown: Any = None  # the command list as the editor has it

    # -- prompts -------------------------------------------------------------------------------------------------------

    def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> Turn:
        """A new turn. Behind one that was cancelled and winds down it waits."""
        before = self._turn
        if before is not None and not before.over and not before.cancelled:
            raise AwfError(
                "USER.ACP.PROMPT_IN_FLIGHT",
                "A prompt is already running in this session.",
                hint="Wait for it or cancel it.",
            )
        self._turn = Turn(self, blocks, before)
        return self._turn

    def count(self) -> int:
        """The number of the next prompt."""
        self._prompts += 1
        return self._prompts

    def cancel(self, reason: str = "cancelled in the editor") -> None:
        """Between turns there is nothing to cancel: a conversation that waits goes on waiting."""
        if self._turn is not None and not self._turn.over:
            self._turn.cancel(reason)

    async def end(self, reason: str, *, forget: bool = False) -> None:
        """The thread is closed. A conversation that waits stays for another time, unless it is to be forgotten."""
        turn = self._turn
        if turn is not None:
            self.cancel(reason)
            await turn.wound_down()
        live, self.live = self.live, None
        if live is None or live.task.done():
            return
        live.mute()
        if forget:
            live.cancel(reason)
        else:
            live.leave()
        await live.wound_down()

    # -- runs ----------------------------------------------------------------------------------------------------------

    @property
    def context(self) -> str:
        """The security context of all that is done in it: what one prompt has read, the next one may know."""
        return f"acp:{self.record.id}"

    def person(self, workflow: str) -> EditorPerson:
        """`workflow` is its file: what is agreed to for one holds for no other, and for this one in every process."""
        return EditorPerson(self.screen, self, workflow)

    def watch(self, prepared: Prepared, person: EditorPerson, done: Collection[str] = ()) -> LiveRun:
        """Show a run, and begin it. One that was begun by another process goes on under ids of its own."""
        editor = self.screen.editor
        before = sum(turn.run_id == prepared.run_id for turn in self.record.turns)
        projector = Projector(
            run_id=prepared.run_id,
            workflow=prepared.program.main,
            cwd=self.project.cwd,
            terminals=editor.abilities.terminal_output,
            done=done,
            shown_before=before,
        )
        self.live = LiveRun(prepared, projector, person, self.screen, self.project.listeners())
        self.live.begin()
        return self.live

    # -- consent, as runs ask for it -----------------------------------------------------------------------------------

    def given(self, key: str) -> str:
        if self.record.approvals == "auto":
            return "editor (approves all)"
        return "editor (for the session)" if key in self.record.allowed else ""

    def remember(self, key: str) -> None:
        try:
            self.keep(allowed=(*self.record.allowed, key))
        except AwfError as error:  # the run waits for the answer; only the next process asks again
            _log.error("the session %s could not be saved: %s", self.record.id, error.message)

    def call_off(self) -> bool:
        self.cancel("called off in the editor")
        return self._turn is not None and self._turn.cancelled

    # -- what is known of it -------------------------------------------------------------------------------------------

    def keep(self, **changes: Any) -> None:
        """Change what is remembered, on disk as well."""
        self.record = msgspec.structs.replace(self.record, updated_at=time.time(), **changes)
        self._store.save(self.record)

    def replace(self, record: SessionRecord) -> None:
        self.record = record
        self.keep()

    def remember_turn(self, turn: TurnRecord, parked: str) -> None:
        title = self.record.title or _first_line(turn.prompt)
        turns = (*self.record.turns, turn)
        forgotten = max(0, len(turns) - _MOST_TURNS)  # the file is written whole after every turn
        self.keep(
            turns=turns[forgotten:], earlier=self.record.earlier + forgotten, parked=parked, title=title
        )
        updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.record.updated_at))
        self.screen.show([{"sessionUpdate": "session_info_update", "title": title, "updatedAt": updated}])

    def settings(self) -> dict[str, Any]:
        workflows = self.project.workflows.names()
        return {"modes": modes(self.record), "configOptions": config_options(self.record, workflows)}

    def tell_mode(self) -> None:
        mode = {"sessionUpdate": "current_mode_update", "currentModeId": self.record.approvals}
        self.screen.show([mode])

    def tell_settings(self) -> None:
        """The same choice is offered as a mode and as an option; whoever shows one hears of the other."""
        options = self.settings()["configOptions"]
        self.screen.show([{"sessionUpdate": "config_option_update", "configOptions": options}])

    def show_commands(self, *, again: bool = False) -> None:
        """What has changed since they were shown first; with `again` in any case."""
        commands = self.project.workflows.commands(parked=bool(self.record.parked))
        if again or (self._shown is not None and commands != self._shown):
            self._shown = commands
            self.screen.show([{"sessionUpdate": "available_commands_update", "availableCommands": commands}])


def _first_line(prompt: str) -> str:
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
