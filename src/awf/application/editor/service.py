"""The sessions of an editor: made, found again, set up, prompted, closed."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.editor.masking import masked_update
from awf.application.editor.options import with_mode, with_option
from awf.application.editor.replay import replayed
from awf.application.editor.servers import servers_from
from awf.application.editor.session import EditorSession
from awf.application.running.tasks import end_task, spawn
from awf.domain.editor import SessionRecord
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from awf.application.editor.project import EditorProject
    from awf.application.editor.reply import Reply
    from awf.application.editor.turn import Turn
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.editor import Editor
    from awf.domain.ports.editor_sessions import EditorSessions

__all__ = ["EditorService"]

_FIRST = 0.01  # the answer that names the session goes first
_AGAIN = 0.5  # some editors miss the first list of commands
_PAGE = 50
_LONGEST_CURSOR = 18
_log = logging.getLogger("awf.editor")


class EditorService:
    def __init__(
        self,
        editor: Editor,
        store: EditorSessions,
        open_project: Callable[[str], EditorProject],
        *,
        look_every: float,
    ) -> None:
        self._editor = editor
        self._store = store
        self._open_project = open_project
        self._look_every = look_every
        self._projects: dict[str, EditorProject] = {}
        self._sessions: dict[str, EditorSession] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._watching: asyncio.Task[None] | None = None

    # -- sessions ------------------------------------------------------------------------------------------------------

    async def new(self, cwd: str, servers: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
        now = time.time()
        record = SessionRecord(id=_new_id(), cwd=_folder(cwd), created_at=now, updated_at=now)
        session = self._opened(record, servers)
        try:
            session.keep()
        except AwfError:
            del self._sessions[record.id]
            raise
        self._offer_commands(session)
        return record.id, session.settings()

    async def load(self, session_id: str, cwd: str, servers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Open it and tell its story again."""
        session = await self._found(session_id, cwd, servers)
        async for update in replayed(session.record, session.project):
            self._editor.show(session_id, masked_update(session.project.masker, update))
        self._offer_commands(session)
        return session.settings()

    async def resume(self, session_id: str, cwd: str, servers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Open it; the editor knows its story."""
        session = await self._found(session_id, cwd, servers)
        self._offer_commands(session)
        return session.settings()

    def listed(self, cwd: str | None, cursor: str | None) -> tuple[Sequence[SessionRecord], str | None]:
        """One page, and where the next one begins."""
        known = self._store.sessions(os.path.normpath(cwd) if cwd else cwd)
        start = _place(cursor)
        after = start + _PAGE
        return known[start:after], str(after) if after < len(known) else None

    async def close_session(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.end("the session was closed")
        elif self._store.find(session_id) is None:
            raise _unknown(session_id)

    async def delete(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.end("the session was deleted", forget=True)
        self._store.delete(session_id)

    def _opened(self, record: SessionRecord, servers: Sequence[Mapping[str, Any]]) -> EditorSession:
        project = self._project(record.cwd)
        session = EditorSession(record, project, self._editor, self._store, self._servers(project, servers))
        self._sessions[record.id] = session
        return session

    @staticmethod
    def _servers(project: EditorProject, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, McpServer]:
        given = servers_from(entries, cwd=project.cwd)
        for problem in given.problems:
            _log.warning("%s", problem)
        for name, value in given.secrets.items():
            project.masker.add(name, value)
        return given.servers

    async def _found(self, session_id: str, cwd: str, servers: Sequence[Mapping[str, Any]]) -> EditorSession:
        """Open it where the editor says. One that is open already goes on, unless it is moved."""
        folder = _folder(cwd)
        session = self._sessions.get(session_id)
        if session is not None and session.project.cwd == folder:
            session.servers = self._servers(session.project, servers)
            return session
        if session is not None:
            await session.end("the session was moved to another folder")
        record = session.record if session is not None else self._store.find(session_id)
        if record is None:
            raise _unknown(session_id)
        return self._opened(msgspec.structs.replace(record, cwd=folder), servers)

    def _session(self, session_id: str) -> EditorSession:
        """One that another process made is opened as it was left, by whoever names it first."""
        session = self._sessions.get(session_id)
        if session is not None:
            return session
        record = self._store.find(session_id)
        if record is None:
            raise _unknown(session_id)
        _folder(record.cwd)
        return self._opened(record, [])

    def _project(self, cwd: str) -> EditorProject:
        if cwd not in self._projects:
            self._projects[cwd] = self._open_project(cwd)
        return self._projects[cwd]

    # -- what a session does -------------------------------------------------------------------------------------------

    def prompt(self, session_id: str, blocks: Sequence[Mapping[str, Any]]) -> Coroutine[Any, Any, Reply]:
        """The turn begins now, so that whatever the editor says next finds it; its reply is to be awaited."""
        turn: Turn = self._session(session_id).prompt(blocks)
        return turn.reply()

    def cancel(self, session_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel()

    def set_mode(self, session_id: str, mode: str) -> None:
        session = self._session(session_id)
        session.replace(with_mode(session.record, mode))
        session.tell_settings()

    def set_option(self, session_id: str, option: str, value: object) -> list[dict[str, Any]]:
        session = self._session(session_id)
        workflows = session.project.workflows.names()
        session.replace(with_option(session.record, option, value, workflows))
        if option == "approvals":
            session.tell_mode()
        options: list[dict[str, Any]] = session.settings()["configOptions"]
        return options

    # -- commands ------------------------------------------------------------------------------------------------------

    def _offer_commands(self, session: EditorSession) -> None:
        """After the answer, and once more a moment later."""
        self._spawn(self._show_commands(session), "show commands")
        if self._watching is None:
            self._watching = spawn(self._watch(), "watch workflows")

    async def _show_commands(self, session: EditorSession) -> None:
        for pause in (_FIRST, _AGAIN):
            await asyncio.sleep(pause)
            await _refresh(session.project)
            if self._sessions.get(session.record.id) is session:
                session.show_commands(again=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._look_every)
            open_projects = {id(one.project): one.project for one in self._sessions.values()}
            for project in open_projects.values():
                await _refresh(project)
            for session in self._sessions.values():
                session.show_commands()

    def _spawn(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = spawn(work, name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- the end -------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """The editor has gone: what runs is cancelled, what waits is left for another time, nothing stays."""
        tasks = [*self._background, *([self._watching] if self._watching else [])]
        for task in tasks:
            await end_task(task)
        sessions, self._sessions = self._sessions, {}
        endings = [spawn(one.end("the editor went away"), "end session") for one in sessions.values()]
        if endings:
            await asyncio.wait(endings)
        for project in self._projects.values():
            await project.close()
        self._projects.clear()


def _new_id() -> str:
    return f"awf_{time.strftime('%Y%m%d', time.gmtime())}_{os.urandom(8).hex()}"


async def _refresh(project: EditorProject) -> None:
    try:
        await project.workflows.refresh()
    except (AwfError, OSError) as error:
        _log.warning("the workflows of %s cannot be looked at: %s", project.cwd, error)


def _folder(cwd: str) -> str:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise AwfError(
            "USER.ACP.MISSING_FOLDER",
            f"There is no folder {cwd}." if os.path.isabs(cwd) else f"'{cwd}' is no absolute path.",
            hint="A session needs the absolute path of an existing folder.",
        )
    return os.path.normpath(cwd)


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > _LONGEST_CURSOR:
        raise AwfError("USER.ACP.INVALID_PARAMS", f"'{cursor[:40]}' is no cursor of ours.")
    return int(cursor)


def _unknown(session_id: str) -> AwfError:
    return AwfError(
        "USER.ACP.UNKNOWN_SESSION",
        f"There is no session '{session_id}'.",
        hint="Start a new thread in the editor.",
    )
