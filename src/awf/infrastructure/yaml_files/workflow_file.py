"""One workflow file → a draft and what is wrong with its form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.draft import Draft, Use
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.shape import Kind
from awf.domain.workflow import PLUGIN_TYPE, STATE_TYPES, AgentState, PluginState, Workflow
from awf.infrastructure.yaml_files.nodes import TooLargeError, YamlText, key_text, parse_yaml, too_large
from awf.infrastructure.yaml_files.reader import BAD, Reader, fields_of
from awf.infrastructure.yaml_files.step_templates import apply_template

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import yaml

__all__ = ["WorkflowFile", "read_workflow"]

_STATE_EXTRAS = {"type": "", "agent": "", "use_template": "", "parameters": ""}


class WorkflowFile:
    """A workflow as read, and how to locate problems found in it later."""

    def __init__(self, document: YamlText, draft: Draft, problems: list[Problem]) -> None:
        self.document = document
        self.draft = draft
        self.problems = problems

    def located(self, problems: Sequence[tuple[Problem, int]]) -> list[Problem]:
        return [self.document.locate(problem, offset) for problem, offset in problems]


def read_workflow(
    file: str, data: bytes, load_template: Callable[[str], tuple[YamlText | None, list[str]]]
) -> WorkflowFile:
    document, problems = parse_yaml(file, data)
    empty = Draft(file=file, workflow=None, states={})
    if document.root is None:
        return WorkflowFile(document, empty, problems)
    reader = Reader()
    try:
        draft = _Workflow(reader, file, load_template).read(document.root)
    except TooLargeError:
        return WorkflowFile(document, empty, [too_large(file)])
    found = [_placed(document, problem) for problem in reader.problems]
    return WorkflowFile(document, draft, found)


def _placed(document: YamlText, problem: Problem) -> Problem:
    """Fill in the file of problems that brought their own line."""
    if problem.place is not None and not problem.place.file:
        place = msgspec.structs.replace(problem.place, file=document.file)
        return msgspec.structs.replace(problem, place=place, source_line=document.line(place.line - 1))
    return document.locate(problem)


class _Workflow:
    def __init__(
        self, reader: Reader, file: str, load_template: Callable[[str], tuple[YamlText | None, list[str]]]
    ) -> None:
        self.reader = reader
        self.file = file
        self.load_template = load_template
        self.states: dict[str, Any] = {}
        self.broken: set[str] = set()
        self.inputs_known = True

    def read(self, root: yaml.Node) -> Draft:
        top = self.reader.mapping(root, (), "a mapping with name and states")
        if top is None:
            return Draft(file=self.file, workflow=None, states={})
        initial = self._states(top)
        workflow = self._frame(top, initial)
        return Draft(
            file=self.file,
            workflow=workflow,
            states=self.states,
            broken_states=frozenset(self.broken),
            inputs_known=self.inputs_known,
            uses=tuple(self.reader.uses),
        )

    def _frame(self, top: dict[str, yaml.Node], initial: str | None) -> Workflow | None:
        """The keys beside the states. `initial` and `states` stand in for themselves: they are read already."""
        stand_in = {key: node for key, node in top.items() if key not in {"states", "initial"}}
        if "initial" in top:
            self.reader.note(
                "WORKFLOW.PARSE.UNKNOWN_FIELD",
                "Unknown key 'initial' in the workflow.",
                ("initial",),
                at_key=True,
                hint="Write it as the first key under `states`.",
            )
        values: dict[str, Any] = {}
        known = {field.key for field in fields_of(Workflow)} - {"initial"}
        for key in stand_in.keys() - known:
            close = suggest(key, known)
            self.reader.note(
                "WORKFLOW.PARSE.UNKNOWN_FIELD",
                f"Unknown key '{key}' in the workflow.",
                (key,),
                at_key=True,
                hint=f"did you mean '{close}'?" if close else f"Keys here: {', '.join(sorted(known))}.",
            )
        for field in fields_of(Workflow):
            if field.key in {"states", "initial"}:
                continue
            if field.key in stand_in:
                value = field.read(self.reader, stand_in[field.key], (field.key,))
                if value is not BAD:
                    values[field.name] = value
                elif field.key == "inputs":
                    self.inputs_known = False
            elif field.required:
                self.reader.note(
                    "WORKFLOW.PARSE.MISSING_FIELD",
                    f"'{field.key}' is missing in the workflow.",
                    (),
                    hint=f"Add {field.key}: …",
                )
        if initial is None or "name" not in values:
            return None
        return Workflow(initial=initial, states=self.states, **values)

    def _states(self, top: dict[str, yaml.Node]) -> str | None:
        if "states" not in top:
            self.reader.note(
                "WORKFLOW.PARSE.MISSING_FIELD",
                "'states' is missing in the workflow.",
                (),
                hint="Add states: …",
            )
            return None
        found = self.reader.mapping(top["states"], ("states",), "a mapping of state names to states")
        if found is None:
            return None
        initial: str | None = None
        for name, node in found.items():
            path: NodePath = ("states", name)
            if name == "initial":
                initial = key_text(node) or None
                if initial is None:
                    self.reader.wrong_type(node, path, "the name of a state")
                else:
                    self.reader.uses.append(Use(Kind.STATE, initial, path))
            else:
                self._state(name, node, path)
        if initial is None and "initial" not in found:
            first = next(iter(found), "")
            self.reader.note(
                "WORKFLOW.PARSE.MISSING_FIELD",
                "'initial' is missing under states.",
                ("states",),
                at_key=True,
                hint=f"Add initial: {first}" if first else "Add initial: NAME",
            )
        return initial

    def _state(self, name: str, node: yaml.Node, path: NodePath) -> None:
        from awf.infrastructure.yaml_files.reader import _NAME

        if not _NAME.match(name):
            self.reader.note(
                "WORKFLOW.PARSE.INVALID_VALUE",
                f"'{name}' is not a usable state name.",
                path,
                at_key=True,
                hint="Use letters, digits, _ and -, beginning with a letter or _.",
            )
        before = len(self.reader.problems)
        found = self.reader.mapping(node, path, "a mapping that defines the state")
        state = BAD if found is None else self._typed_state(found, path)
        if state is BAD or len(self.reader.problems) > before:
            self.broken.add(name)
        if state is not BAD:
            self.states[name] = state

    def _typed_state(self, found: dict[str, yaml.Node], path: NodePath) -> Any:
        if "use_template" in found:
            before = len(self.reader.problems)
            found = apply_template(self.reader, found, path, self.load_template)
            if len(self.reader.problems) > before:
                return BAD
            if "use_template" in found and "type" not in found:
                return BAD  # what is wrong with the template has been said
        elif "parameters" in found:
            self.reader.note(
                "WORKFLOW.VALIDATION.CONFLICT",
                "'parameters' needs 'use_template'.",
                (*path, "parameters"),
                at_key=True,
            )
        cls = self._type(found, path)
        if cls is None:
            return BAD
        if "agent" in found:
            cls, found = self._nested_agent(found, path)
        if cls is PluginState:
            return self.reader.fields(cls, _without_template(found), path, {"use_template": ""})
        rest = {key: value for key, value in found.items() if key not in _STATE_EXTRAS}
        extras = {"type": "", "use_template": "", **({"agent": ""} if cls is AgentState else {})}
        return self.reader.fields(cls, rest, path, extras)

    def _type(self, found: dict[str, yaml.Node], path: NodePath) -> Any:
        if "type" not in found:
            self.reader.note(
                "WORKFLOW.PARSE.MISSING_FIELD",
                f"The state '{path[-1]}' has no type.",
                path,
                at_key=True,
                hint=f"Add type: {_guess_type(found)}",
            )
            return None
        written = key_text(found["type"]) or ""
        cls: Any = STATE_TYPES.get(written.lower())
        if cls is None and re.match(PLUGIN_TYPE, written):
            return PluginState
        if cls is None:
            close = suggest(written.lower(), STATE_TYPES)
            self.reader.note(
                "WORKFLOW.VALIDATION.UNKNOWN_TYPE",
                f"No state type is named '{written}'.",
                (*path, "type"),
                hint=f"did you mean '{close}'?" if close else f"Types: {', '.join(STATE_TYPES)}.",
            )
        return cls

    def _nested_agent(self, found: dict[str, yaml.Node], path: NodePath) -> tuple[Any, dict[str, yaml.Node]]:
        """``type: step`` with an ``agent:`` block means an agent state whose keys lie in the block."""
        inner = (
            self.reader.mapping(found["agent"], (*path, "agent"), "a mapping that defines the agent") or {}
        )
        outer = {key: node for key, node in found.items() if key != "agent"}
        for key in inner.keys() & _STATE_EXTRAS.keys():
            self.reader.note(
                "WORKFLOW.PARSE.UNKNOWN_FIELD",
                f"Unknown key '{key}' in an agent block.",
                (*path, "agent", key),
                hint="Write it beside `agent:`.",
                at_key=True,
            )
        for key in inner.keys() & (outer.keys() - {"type"}):
            self.reader.note(
                "WORKFLOW.PARSE.DUPLICATE_KEY",
                f"'{key}' is given in the state and in its agent block.",
                (*path, "agent", key),
                at_key=True,
            )
        return AgentState, {**outer, **inner}


def _without_template(found: dict[str, yaml.Node]) -> dict[str, yaml.Node]:
    return {key: node for key, node in found.items() if key not in {"use_template", "parameters"}}


def _guess_type(found: dict[str, yaml.Node]) -> str:
    marks = {
        "command": "step",
        "script_file": "step",
        "provider": "agent",
        "prompt": "agent",
        "agent": "agent",
        "parallel": "parallel",
        "items": "for_each",
        "while": "while",
        "workflow": "call_workflow",
        "operation": "operation",
        "status": "terminal",
    }
    return next((kind for key, kind in marks.items() if key in found), "step")
