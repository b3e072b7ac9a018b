"""What `awf acp-serve` is built from: one set of services for each folder that an editor works in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from awf.bootstrap.app import App
from awf.domain.redaction import JointMasker, Masker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.editor.project import EditorProject
    from awf.application.editor.service import EditorService
    from awf.application.running.services import RunServices
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.editor import Editor
    from awf.domain.ports.editor_sessions import EditorSessions
    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.ports.person import Person
    from awf.domain.program import Program

__all__ = ["Editors"]

_LARGEST_LOG = 5_000_000


class Editors:
    def __init__(self, *, cwd: str, environment: Mapping[str, str], flags: Mapping[str, Any]) -> None:
        self._environment = environment
        self._flags = flags
        self._apps: list[App] = []
        self._own = self._app(cwd)
        self.masker: Masker = JointMasker(lambda: [self._own.masker, *(app.masker for app in self._apps)])

    def service(self, editor: Editor, *, look_every: float = 2.0) -> EditorService:
        """`look_every`: seconds between two looks at the workflow files."""
        from awf.application.editor.service import EditorService

        return EditorService(editor, self.sessions(), self.project, look_every=look_every)

    def sessions(self) -> EditorSessions:
        """Of all folders, beside the data of the user: an editor asks for sessions before it names a folder."""
        from awf.infrastructure.editor_sessions import FileEditorSessions

        return FileEditorSessions(os.path.join(self._own.places.data_home, "editor-sessions"))

    def project(self, cwd: str) -> EditorProject:
        from awf.application.editor.project import EditorProject, Workflows

        app = self._app(cwd)
        self._apps.append(app)

        def services(person: Person, servers: Mapping[str, McpServer], context: str) -> RunServices:
            return app.run_services(person, editor_servers=servers, context=context)

        async def definition(run_id: str) -> Program:
            app.store.find(run_id)  # raises when it is gone
            return app.validator.trusted(app.library.reload(await app.journal.definition(run_id)))

        def listeners() -> list[EventListener]:
            listener = app.log_listener()
            return [listener] if listener is not None else []

        return EditorProject(
            cwd=app.cwd,
            masker=app.masker,
            workflows=Workflows(lambda: app.library),
            execution=lambda: app.execution,
            store=lambda: app.store,
            services=services,
            definition=definition,
            listeners=listeners,
            close=app.close,
        )

    def _app(self, cwd: str) -> App:
        return App(cwd=cwd, environment=self._environment, flags=self._flags)

    def set_up_logging(self) -> None:
        """Always to a file: what an editor does with standard error nobody knows."""
        from awf.infrastructure.telemetry.logs import set_up_logging

        settings = self._own.settings
        file = settings.log_file.value or self._log_file()
        set_up_logging(settings.log_level.value or "info", settings.log_format.value, file, self.masker)

    def _log_file(self) -> str:
        """In the user's data directory; the one before is kept."""
        folder = self._own.places.data_home
        path = os.path.join(folder, "acp-serve.log")
        try:
            os.makedirs(folder, exist_ok=True)
            if os.path.getsize(path) > _LARGEST_LOG:
                os.replace(path, f"{path}.1")
        except OSError:
            pass  # there is none yet; what cannot be written is told by whoever writes
        return path

    async def close(self) -> None:
        await self._own.close()
