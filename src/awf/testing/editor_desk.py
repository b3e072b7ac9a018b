"""Sessions of an editor in a test, through the same wiring as `awf acp-serve` and without the wire."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from typing import TYPE_CHECKING, Any

from awf.bootstrap import App
from awf.bootstrap.editors import Editors
from awf.domain.ports.run_store import RunFilter
from awf.testing.memory_editor import MemoryEditor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from awf.application.editor.reply import Reply
    from awf.application.editor.service import EditorService
    from awf.domain.editor import SessionRecord
    from awf.domain.run import RunRecord

__all__ = ["EditorDesk", "a_command", "a_conversation", "a_workflow", "an_agent", "text_block"]

_PATIENCE = 60.0  # for one turn


class EditorDesk:
    """A folder with workflows, an editor, and the service between them. `restart` makes the next process."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.storage = folder / "storage"
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(folder / "home"),
            "SHELL": "/bin/sh",
            **(environment or {}),
        }
        self._opened: list[tuple[Editors, EditorService]] = []
        self.editor = MemoryEditor()

    # -- files ---------------------------------------------------------------------------------------------------------

    def write(self, name: str, content: str | Mapping[str, Any]) -> Path:
        """A workflow under its name, or any file under its path."""
        path = self.folder / (name if "." in name else f".awf/workflows/{name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    @property
    def session_files(self) -> list[Path]:
        return sorted((self.folder / "home").rglob("editor-sessions/*.json"))

    # -- processes -----------------------------------------------------------------------------------------------------

    def open(self, *, log: bool = False, look_every: float = 2.0, **abilities: Any) -> EditorService:
        """What one process has: an editor and the sessions."""
        editors = Editors(
            cwd=str(self.folder), environment=self.environment, flags={"storage": str(self.storage)}
        )
        if log:
            editors.set_up_logging()
        self.editor = MemoryEditor(**abilities)
        service = editors.service(self.editor, look_every=look_every)
        self._opened.append((editors, service))
        return service

    @property
    def service(self) -> EditorService:
        if not self._opened:
            self.open()
        return self._opened[-1][1]

    async def close(self) -> None:
        while self._opened:
            editors, service = self._opened.pop()
            await service.close()
            await editors.close()

    async def restart(self, **abilities: Any) -> EditorService:
        await self.close()
        return self.open(**abilities)

    def app(self) -> App:
        """The command line beside it."""
        return App(cwd=str(self.folder), environment=self.environment, flags={"storage": str(self.storage)})

    # -- sessions ------------------------------------------------------------------------------------------------------

    async def new(self, servers: Sequence[Mapping[str, Any]] = ()) -> str:
        session_id, _ = await self.service.new(str(self.folder), servers)
        return session_id

    async def load(self, session_id: str, servers: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        return await self.service.load(session_id, str(self.folder), servers)

    async def resume(self, session_id: str, servers: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        return await self.service.resume(session_id, str(self.folder), servers)

    def begin(self, session_id: str, prompt: str | Sequence[Mapping[str, Any]]) -> asyncio.Task[Reply]:
        """A prompt that has been sent and is not answered yet."""
        blocks = [text_block(prompt)] if isinstance(prompt, str) else prompt
        reply = self.service.prompt(session_id, blocks)
        return asyncio.get_running_loop().create_task(reply)

    async def say(self, session_id: str, prompt: str | Sequence[Mapping[str, Any]]) -> Reply:
        async with asyncio.timeout(_PATIENCE):
            return await self.begin(session_id, prompt)

    def record(self, session_id: str) -> SessionRecord:
        """As another process would find it."""
        editors = Editors(cwd=str(self.folder), environment=self.environment, flags={})
        found = editors.sessions().find(session_id)
        assert found is not None
        return found

    def runs(self) -> list[RunRecord]:
        """All runs there ever were, the latest first."""
        app = self.app()
        try:
            return list(app.store.runs(RunFilter(limit=1000)))
        finally:
            app.database.close()


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def a_workflow(states: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The states in their order, one after the other unless they say where to go on, and an end."""
    names = [*states, "done"]
    linked: dict[str, Any] = {"initial": names[0]}
    for name, following in itertools.pairwise(names):
        linked[name] = {"on_success": following, **states[name]}
    return {"name": "it", "states": {**linked, "done": {"type": "terminal"}}, **more}


def a_command(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "step", "command": command, **more}


def an_agent(*actions: Any, **more: Any) -> dict[str, Any]:
    options = {"turns": [{"do": list(actions)}], **more.pop("options", {})}
    return {"type": "agent", "provider": "scripted", "prompt": "Go.", "options": options, **more}


def a_conversation(*turns: Any, **more: Any) -> dict[str, Any]:
    options = {"turns": list(turns), **more.pop("options", {})}
    return {
        "type": "agent",
        "provider": "scripted",
        "mode": "conversation",
        "prompt": "Begin.",
        "options": options,
        **more,
    }
