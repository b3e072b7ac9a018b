"""Start, continue, and start again: the use cases of running."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.running.engine import Execution
from awf.domain.errors import AwfError, InvalidWorkflowError, exit_status
from awf.domain.events import PluginEvent, Warned, WorkflowFailed
from awf.domain.inputs import resolve_inputs
from awf.domain.ports.durability import RunOutcome
from awf.domain.redaction import looks_secret, secret_values
from awf.domain.run import ErrorInfo, RunRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from awf.application.authoring.validation import Validator
    from awf.application.running.services import RunServices
    from awf.domain.events import Stamped
    from awf.domain.ports.durability import OwnedRun, RunJournal
    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.ports.plugins import PluginFacts, Subscription
    from awf.domain.ports.run_store import RunStore, StepRow
    from awf.domain.program import LoadedProgram, Program, WorkflowLoader
    from awf.domain.workflow import Workflow

__all__ = ["ExecutionService", "Prepared", "new_run_id", "refuse"]

_TRIES_FOR_AN_ID = 5
_ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"  # no letters that are mistaken for digits


def new_run_id(now: float) -> str:
    """Sorts by time, reads well, and is easy to shorten: 20261115-214503-k3f9."""
    tail = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{tail}"


class Prepared:
    """A run that is owned and ready to go. Its id is known before anything happens."""

    def __init__(
        self, owned: OwnedRun, program: Program, services: RunServices, notes: Sequence[str] = ()
    ) -> None:
        self.owned = owned
        self.program = program
        self._services = services
        self._notes = notes
        self._execution = Execution(owned, program, services)

    @property
    def run_id(self) -> str:
        return self.owned.run_id

    async def execute(self, publish: EventListener) -> RunOutcome:
        plugins = self._services.plugins
        try:
            tell_plugins = plugins.subscribe(self._plugin_said)
            self.owned.listen(_all(publish, tell_plugins))
            for note in self._notes:
                self.owned.emit(Warned(message=note, code="USER.RUN.DEFINITION_CHANGED"))
            try:
                return await self._execution.run()
            finally:
                if tell_plugins is not None:
                    await tell_plugins.end()
        finally:
            await self.owned.release()

    def cancel(self, reason: str) -> None:
        """End the run and record why; it may not have begun yet."""
        self._execution.cancel(reason)

    def leave(self) -> None:
        """Stop without an end, so that the run can be gone on with elsewhere."""
        self._execution.leave()

    def _plugin_said(self, plugin: str, name: str, payload: dict[str, Any]) -> None:
        self.owned.emit(PluginEvent(plugin=plugin, name=name, payload=payload))


def _all(publish: EventListener, tell_plugins: Subscription | None) -> EventListener:
    if tell_plugins is None:
        return publish

    def tell(stamped: Stamped) -> None:
        publish(stamped)
        if not isinstance(
            stamped.event, PluginEvent
        ):  # plugins hear of each other by themselves, within limits
            tell_plugins(stamped)

    return tell


class ExecutionService:
    def __init__(
        self,
        loader: WorkflowLoader,
        validator: Validator,
        journal: Callable[[], RunJournal],
        store: Callable[[], RunStore],
        default_inputs: Mapping[str, Any],
        ask_plugins: Callable[[LoadedProgram], Awaitable[Mapping[str, PluginFacts]]],
    ) -> None:
        self._loader = loader
        self._validator = validator
        self._journal = journal
        self._store = store
        self._default_inputs = default_inputs
        self._ask_plugins = ask_plugins

    async def program(self, reference: str) -> Program:
        return await self._checked(self._loader.load(reference))

    async def _checked(self, loaded: LoadedProgram) -> Program:
        return self._validator.program(loaded, await self._ask_plugins(loaded))

    def defaults(self, workflow: Workflow) -> dict[str, Any]:
        """Values that the configuration has for inputs of this workflow."""
        names = {item.name for item in workflow.inputs}
        return {name: value for name, value in self._default_inputs.items() if name in names}

    def inputs(self, workflow: Workflow, given: Mapping[str, Any], services: RunServices) -> dict[str, Any]:
        """Typed inputs. Raises with everything that is missing or wrong."""
        merged = {**self.defaults(workflow), **given}
        values, wrong = resolve_inputs(workflow.inputs, merged, is_file=services.files.is_file)
        missing = (
            [name for name in workflow.env if name not in services.environment]
            if isinstance(workflow.env, list)
            else []
        )
        if missing:
            raise AwfError(
                "USER.INPUT.MISSING_ENV",
                f"These environment variables must be set: {', '.join(missing)}.",
                hint=f"export {missing[0]}=…",
            )
        if wrong:
            raise AwfError(
                "USER.INPUT.VALIDATION_FAILED", " ".join(wrong), hint="Give inputs with --input name=value."
            )
        for item in workflow.inputs:
            if (item.secret or looks_secret(item.name)) and values[item.name] is not None:
                services.masker.add(f"inputs.{item.name}", str(values[item.name]))
        return values

    async def start(
        self, program: Program, inputs: dict[str, Any], services: RunServices, *, parent: str = ""
    ) -> Prepared:
        self._remember_secrets(program, services)
        owned = await self._created(
            lambda: self._record(program, inputs, services, parent), program, services
        )
        return Prepared(owned, program, services)

    async def _created(
        self, record: Callable[[], RunRecord], program: Program, services: RunServices
    ) -> OwnedRun:
        """Of thousands of runs in a second, two may come to the same id: then the later one gets another."""
        for _ in range(_TRIES_FOR_AN_ID):
            try:
                return await self._journal().create(record(), program.definition, services.masker)
            except AwfError as error:
                if error.code != "USER.RUN.BUSY":
                    raise
        return await self._journal().create(record(), program.definition, services.masker)

    def _record(
        self, program: Program, inputs: dict[str, Any], services: RunServices, parent: str
    ) -> RunRecord:
        now = services.clock()
        return RunRecord(
            id=new_run_id(now),
            workflow=program.main.name,
            source=program.definition.root,
            status="running",
            started_at=now,
            inputs=inputs,
            parent=parent,
            cwd=services.cwd,
            context=services.context,
        )

    @staticmethod
    def _remember_secrets(program: Program, services: RunServices) -> None:
        for name, value in secret_values(services.environment).items():
            services.masker.add(f"env.{name}", value)
        del program

    async def resume(self, run_id: str, services: RunServices) -> Prepared:
        """Go on with a run, with the definition it was started with."""
        record = self._store().find(run_id)
        if record.status == "completed":
            raise AwfError(
                "USER.RUN.NOT_RESUMABLE",
                f"{record.id} has completed.",
                hint=f"`awf rerun {record.id}` starts it again.",
            )
        owned = await self._journal().adopt(record.id, services.masker)
        try:
            program = self._validator.trusted(self._loader.reload(owned.definition))
            self._remember_secrets(program, services)
            services = await _in_its_context(services, owned.record)
            return Prepared(owned, program, services, self._changes(owned))
        except BaseException:
            await owned.release()
            raise

    async def take_up(self, run_id: str, services: RunServices) -> Prepared:
        """Go on with a run that was handed to this process. What cannot be begun here is recorded as its end."""
        owned = await self._journal().adopt(run_id, services.masker)
        try:
            loaded = self._loader.reload(owned.definition)
            _understood(loaded)
            program = self._validator.trusted(loaded)
            self._remember_secrets(program, services)
            services = await _in_its_context(services, owned.record)
            return Prepared(owned, program, services, self._changes(owned) if owned.resumed else ())
        except AwfError as error:
            await refuse(owned, error)
            raise
        except BaseException:
            await owned.release()
            raise

    def _changes(self, owned: OwnedRun) -> list[str]:
        """A changed file is reported; the run keeps the definition it has."""
        try:
            current = self._loader.load(owned.definition.root).definition
        except AwfError:
            return [
                f"{owned.definition.root} is gone; the run goes on with the definition it was started with."
            ]
        if current.digest == owned.definition.digest:
            return []
        changed = [
            file for file in owned.definition.texts if owned.definition.texts[file] != current.texts.get(file)
        ]
        name = changed[0] if changed else owned.definition.root
        return [
            f"{name} has changed since the run started; the run goes on with the definition it was started with."
        ]

    async def rerun(
        self,
        run_id: str,
        services: RunServices,
        *,
        start_at: str = "",
        given: Mapping[str, Any] | None = None,
        current: bool = False,
    ) -> Prepared:
        """A new run from an old one: from the start, or keeping what came before one step."""
        store = self._store()
        old = store.find(run_id)
        journal = self._journal()
        definition = await journal.definition(old.id)
        loaded = self._loader.load(definition.root) if current else self._loader.reload(definition)
        program = await self._checked(loaded)
        before = await journal.inputs(old.id, services.masker)
        names = {item.name for item in program.main.inputs}
        inputs = self.inputs(
            program.main,
            {**{k: v for k, v in before.items() if k in names and v is not None}, **(given or {})},
            services,
        )
        cut = _cut(store.steps(old.id), start_at, old.id) if start_at else None
        prepared = await self.start(program, inputs, services, parent=old.id)
        if cut is not None:
            new = services.context or f"run:{prepared.owned.run_id}"
            await _inherit(services, old.context or f"run:{old.id}", new, by="rerun")
            await journal.copy_steps(old.id, prepared.owned, cut)
        return prepared


def _understood(loaded: LoadedProgram) -> None:
    """A definition may come from a machine with a newer version, which knows more."""
    wrong = [
        problem for one in loaded.files.values() for problem in one.problems if problem.severity == "error"
    ]
    if wrong:
        raise InvalidWorkflowError(wrong)


async def refuse(owned: OwnedRun, error: AwfError) -> None:
    """Record that a run cannot be carried out here, and let go of it."""
    info = ErrorInfo(error.code, error.message, error.hint)
    status = exit_status(error.code)
    event = WorkflowFailed(
        workflow=owned.record.workflow,
        duration_ms=0,
        code=error.code,
        message=error.message,
        hint=error.hint,
        exit_status=status,
    )
    try:
        await owned.finish(RunOutcome(status="failed", exit_status=status, error=info), (event,))
    finally:
        await owned.release()


def _top(path: str) -> str:
    """The visit of the main chain that a path lies under: `loop#2[3]/test@2` → `loop#2`."""
    return re.split(r"[/\[@]", path, maxsplit=1)[0]


async def _in_its_context(services: RunServices, record: RunRecord) -> RunServices:
    """A run stays in the context it was started in. Whoever goes on with it may have told it all that they know."""
    if services.context and services.context != record.context:
        await _inherit(services, services.context, record.context or f"run:{record.id}", by="resume")
    return msgspec.structs.replace(services, context=record.context)


async def _inherit(services: RunServices, old: str, new: str, *, by: str) -> None:
    """What the old one has read is in results that the new one takes over."""
    gate = services.gate()
    if gate is None or old == new:
        return
    try:
        await gate.contexts.child_of(old, new, by=by)
    except AwfError as error:
        if error.code != "USER.CONTEXT.UNKNOWN":  # it had none, so it has read nothing
            raise


def _cut(rows: Sequence[StepRow], start_at: str, run_id: str) -> Callable[[str], bool]:
    """Which recorded paths lie before the step to start from."""
    visits = list(dict.fromkeys(_top(row.path) for row in rows if not row.path.startswith("hooks/")))
    matching = [visit for visit in visits if start_at in (visit, visit.split("#", 1)[0])]
    if not matching:
        raise AwfError(
            "USER.RUN.UNKNOWN_STEP",
            f"'{start_at}' is no step that {run_id} reached.",
            hint=f"Steps: {', '.join(visits) or 'none'}.",
        )
    chosen = start_at if start_at in matching else matching[-1]
    kept = {*visits[: visits.index(chosen)], "hooks"}
    return lambda path: _top(path) in kept and not path.startswith(("hooks/workflow_e", "hooks/workflow_c"))
