"""Run workflows in a test, through the same wiring as the command line."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from awf.bootstrap import App
from awf.domain.ports.person import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices
    from awf.domain.events import ApprovalRequired, Event, InputRequired, Stamped
    from awf.domain.ports.durability import RunOutcome
    from awf.domain.ports.person import Person
    from awf.domain.ports.plugins import Plugins
    from awf.domain.ports.run_store import StepRow
    from awf.domain.problem import Problem

__all__ = ["Laboratory", "Ran", "ScriptedPerson"]


class ScriptedPerson:
    """Answers from lists; when they are used up, nobody is there."""

    def __init__(self, approvals: Sequence[str] = (), lines: Sequence[str] = ()) -> None:
        self._approvals = list(approvals)
        self._lines = list(lines)
        self.asked: list[str] = []

    async def approve(self, request: ApprovalRequired) -> Answer | None:
        self.asked.append(request.message)
        return Answer(self._approvals.pop(0), "tester") if self._approvals else None  # type: ignore[arg-type]

    async def read(self, request: InputRequired) -> str | None:
        self.asked.append(request.prompt)
        return self._lines.pop(0) if self._lines else None


class Ran(msgspec.Struct, frozen=True):
    """One finished run, as a test looks at it."""

    run_id: str
    outcome: RunOutcome
    events: list[Stamped]
    steps: dict[str, StepRow]

    def of(self, *kinds: type[Event]) -> list[Any]:
        return [stamped.event for stamped in self.events if isinstance(stamped.event, kinds)]

    def output(self, path: str) -> str:
        return self.steps[path].result.output


class Laboratory:
    """A folder with workflows, an application over it, and short ways to use it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.plugins: Plugins | None = None  # instead of those that files declare
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(folder / "home"),
            "SHELL": "/bin/sh",
            "AWF_STORAGE": str(folder / "storage"),
            **(environment or {}),
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def app(self) -> App:
        app = App(cwd=str(self.folder), environment=self.environment)
        if self.plugins is not None:
            app.plugins = self.plugins
        return app

    def problems(self, text: str) -> list[Problem]:
        self.write("workflow.yaml", text)
        app = self.app()
        loaded = app.library.load(str(self.folder / "workflow.yaml"))
        asked = asyncio.run(app.ask_plugins(loaded)) if self.plugins else app.plugin_facts(loaded)
        return app.validator.problems(loaded, asked)

    async def run(
        self,
        text: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        person: Person | None = None,
        listener: Callable[[Stamped], None] | None = None,
        **options: Any,
    ) -> Ran:
        """Write a workflow and run it."""
        file = str(self.write("workflow.yaml", text))

        async def prepare(app: App, services: RunServices) -> Prepared:
            program = await app.execution.program(file)
            return await app.execution.start(
                program, app.execution.inputs(program.main, inputs or {}, services), services
            )

        return await self._execute(prepare, person, listener, options)

    async def resume(self, run_id: str, *, person: Person | None = None, **options: Any) -> Ran:
        return await self._execute(
            lambda app, services: app.execution.resume(run_id, services), person, None, options
        )

    async def rerun(
        self, run_id: str, *, person: Person | None = None, start_at: str = "", **options: Any
    ) -> Ran:
        return await self._execute(
            lambda app, services: app.execution.rerun(run_id, services, start_at=start_at, **options),
            person,
            None,
            {},
        )

    async def _execute(
        self,
        prepare: Any,
        person: Person | None,
        listener: Callable[[Stamped], None] | None,
        options: dict[str, Any],
    ) -> Ran:
        app = self.app()
        events: list[Stamped] = []

        def hear(stamped: Stamped) -> None:
            events.append(stamped)
            if listener is not None:
                listener(stamped)

        try:
            services = app.run_services(person or app.nobody(), **options)
            prepared = await prepare(app, services)
            outcome = await prepared.execute(hear)
            steps = {row.path: row for row in app.store.steps(prepared.run_id)}
            return Ran(prepared.run_id, outcome, events, steps)
        finally:
            await app.close()
