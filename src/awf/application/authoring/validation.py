"""The one validator: `validate`, `run`, `plan` and the editor all ask it. It starts nothing and needs no network.

What plugins say of themselves is asked for beforehand and handed in; a workflow that names no plugin needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from awf.domain.agent import coexistence_warning
from awf.domain.checks import check_draft
from awf.domain.errors import InvalidWorkflowError
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.program import LoadedFile, LoadedProgram, Program
from awf.domain.workflow import AgentState, CallState, CommandState, OperationState, PluginState, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from awf.application.authoring.plugin_checks import PluginChecks
    from awf.domain.mcp_proxy import McpProxy
    from awf.domain.ports.agent_provider import AgentProvider
    from awf.domain.ports.expressions import Expressions
    from awf.domain.ports.plugins import DeclaredPlugin, PluginFacts

__all__ = ["MAX_CALL_DEPTH", "SchemaChecker", "Validator"]

MAX_CALL_DEPTH = 10


class SchemaChecker(Protocol):
    def problem_with(self, schema: Mapping[str, object]) -> str:
        """What is wrong with a JSON Schema, or an empty string."""
        ...


class Validator:
    def __init__(
        self,
        expressions: Expressions,
        providers: Mapping[str, AgentProvider],
        schemas: SchemaChecker,
        find_file: Callable[[str, str], str | None],
        workflow_names: Callable[[], Sequence[str]],
        declared_plugins: Callable[[], Mapping[str, DeclaredPlugin]],
    ) -> None:
        self._expressions = expressions
        self._providers = providers
        self._schemas = schemas
        self._find_file = find_file
        self._workflow_names = workflow_names
        self._declared_plugins = declared_plugins

    def problems(
        self, loaded: LoadedProgram, facts: Mapping[str, PluginFacts] | None = None
    ) -> list[Problem]:
        """Everything wrong, in all files, in the order of the lines. `facts`: what plugins said, if they were asked."""
        found: list[Problem] = []
        plugins = self._plugin_checks(loaded, facts)
        for file, one in loaded.files.items():
            findings = [(f.problem, f.offset) for f in check_draft(one.draft, self._expressions)]
            findings += [(problem, 0) for problem in self._beyond_the_file(file, one, loaded)]
            if plugins is not None:
                findings += [(problem, 0) for problem in _plugin_problems(plugins, file, one)]
            found += [*one.problems, *one.located(findings)]
        found.sort(key=_position)
        return found

    def _plugin_checks(
        self, loaded: LoadedProgram, facts: Mapping[str, PluginFacts] | None
    ) -> PluginChecks | None:
        if not facts and not any(
            isinstance(state, OperationState | PluginState) or getattr(state, "mcp_proxy", None)
            for one in loaded.files.values()
            for state in one.draft.states.values()
        ):
            return None
        from awf.application.authoring.plugin_checks import PluginChecks

        return PluginChecks(self._declared_plugins, facts)

    def program(self, loaded: LoadedProgram, facts: Mapping[str, PluginFacts] | None = None) -> Program:
        """The program, if nothing is wrong with it. Raises `InvalidWorkflowError`."""
        problems = self.problems(loaded, facts)
        errors = [problem for problem in problems if problem.severity == "error"]
        if errors:
            raise InvalidWorkflowError(problems)
        return self.trusted(loaded)

    @staticmethod
    def trusted(loaded: LoadedProgram) -> Program:
        """The program of texts that were valid when a run started."""
        workflows: dict[str, Workflow] = {}
        for file, one in loaded.files.items():
            if one.draft.workflow is None:
                raise InvalidWorkflowError(one.problems)
            workflows[file] = one.draft.workflow
        return Program(definition=loaded.definition, workflows=workflows)

    def _beyond_the_file(self, file: str, one: LoadedFile, loaded: LoadedProgram) -> Iterator[Problem]:
        for name, state in one.draft.states.items():
            path: NodePath = ("states", name)
            if isinstance(state, CallState):
                yield from self._call(state, path, file, loaded)
            elif isinstance(state, AgentState):
                yield from self._agent(state, path, file)
            elif isinstance(state, CommandState) and state.script_file:
                yield from self._file(state.script_file, (*path, "script_file"), file)

    def _file(self, written: str, path: NodePath, workflow_file: str) -> Iterator[Problem]:
        if "{" not in written and self._find_file(written, workflow_file) is None:
            yield Problem(
                code="USER.INPUT.MISSING_FILE",
                message=f"There is no file {written}.",
                path=path,
                hint="Paths are looked up beside the workflow file, then in the working directory.",
            )

    def _agent(self, state: AgentState, path: NodePath, file: str) -> Iterator[Problem]:
        if state.prompt_file:
            yield from self._file(state.prompt_file, (*path, "prompt_file"), file)
        if state.output_schema is not None and (wrong := self._schemas.problem_with(state.output_schema)):
            yield Problem(
                code="WORKFLOW.VALIDATION.INVALID_SCHEMA",
                message=f"Not a valid JSON Schema: {wrong}",
                path=(*path, "output_schema"),
            )
        if "{" in state.provider:
            return
        provider = self._providers.get(state.provider)
        if provider is None:
            close = suggest(state.provider, self._providers)
            yield Problem(
                code="WORKFLOW.VALIDATION.UNKNOWN_PROVIDER",
                message=f"No agent provider is named '{state.provider}'.",
                path=(*path, "provider"),
                hint=f"did you mean '{close}'?"
                if close
                else f"Providers: {', '.join(sorted(self._providers))}.",
            )
            return
        for wrong_option in provider.check_options(state.options):
            yield Problem(
                code="WORKFLOW.VALIDATION.INVALID_OPTIONS",
                message=wrong_option.message,
                at_key=True,
                path=(*path, "options", wrong_option.key),
                hint=wrong_option.hint,
            )
        if state.mcp_proxy is not None and state.mcp_proxy.enable:
            yield from _isolation(state.mcp_proxy, provider, path)

    def _call(self, state: CallState, path: NodePath, file: str, loaded: LoadedProgram) -> Iterator[Problem]:
        target = loaded.definition.called(file, state.workflow)
        if target is None or target not in loaded.files:
            close = suggest(state.workflow, self._workflow_names())
            yield Problem(
                code="WORKFLOW.VALIDATION.UNKNOWN_WORKFLOW",
                message=f"There is no workflow '{state.workflow}'.",
                path=(*path, "workflow"),
                hint=f"did you mean '{close}'?"
                if close
                else "`awf list` shows the names that can be called.",
            )
            return
        if self._leads_back(target, file, loaded):
            yield Problem(
                code="WORKFLOW.VALIDATION.RECURSION",
                message=f"'{state.workflow}' leads back to this workflow, or calls more than {MAX_CALL_DEPTH} levels deep.",
                path=(*path, "workflow"),
                hint="Break the circle, or use a loop state.",
            )
        called = loaded.files[target].draft
        if called.workflow is not None:
            yield from _call_inputs(state, path, called.workflow)
        for inner in state.outputs:
            if inner not in called.states and inner not in called.broken_states:
                close = suggest(inner, called.states)
                yield Problem(
                    code="WORKFLOW.VALIDATION.UNDEFINED_STEP",
                    message=f"'{state.workflow}' has no state '{inner}'.",
                    at_key=True,
                    path=(*path, "outputs", inner),
                    hint=f"did you mean '{close}'?" if close else "",
                )

    def _leads_back(self, start: str, goal: str, loaded: LoadedProgram) -> bool:
        level, seen = [start], {start}
        for _ in range(MAX_CALL_DEPTH):
            if goal in level:
                return True
            level = [
                target
                for file in level
                for target in _calls(file, loaded)
                if target == goal or target not in seen
            ]
            seen.update(level)
            if not level:
                return False
        return True


def _plugin_problems(plugins: PluginChecks, file: str, one: LoadedFile) -> Iterator[Problem]:
    for name, state in one.draft.states.items():
        yield from plugins.state(state, ("states", name), one.draft)
    yield from plugins.issues(file, one.draft)


def _isolation(proxy: McpProxy, provider: AgentProvider, path: NodePath) -> Iterator[Problem]:
    if proxy.intercept_builtins and provider.isolation != "guaranteed":
        yield Problem(
            code="USER.MCP_PROXY.UNSUPPORTED_PROVIDER",
            message=coexistence_warning(provider.name),
            path=(*path, "mcp_proxy"),
            at_key=True,
            severity="warning",
        )


def _calls(file: str, loaded: LoadedProgram) -> Iterator[str]:
    for state in loaded.files[file].draft.states.values():
        if isinstance(state, CallState):
            target = loaded.definition.called(file, state.workflow)
            if target is not None and target in loaded.files:
                yield target


def _call_inputs(state: CallState, path: NodePath, called: Workflow) -> Iterator[Problem]:
    names = {item.name for item in called.inputs}
    for given in state.inputs:
        if given not in names:
            close = suggest(given, names)
            yield Problem(
                code="WORKFLOW.VALIDATION.UNDEFINED_INPUT",
                message=f"'{state.workflow}' has no input '{given}'.",
                at_key=True,
                path=(*path, "inputs", given),
                hint=f"did you mean '{close}'?" if close else "",
            )
    for item in called.inputs:
        if item.required and item.default is None and item.name not in state.inputs:
            yield Problem(
                code="WORKFLOW.VALIDATION.UNDEFINED_INPUT",
                message=f"'{state.workflow}' needs the input '{item.name}'.",
                path=path,
                at_key=True,
                hint=f"Add inputs: {{{item.name}: …}}",
            )


def _position(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.file, place.line, place.column) if place else ("", 0, 0)
