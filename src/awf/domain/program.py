"""A workflow with everything it calls, and the texts it was read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from awf.domain.draft import Draft
from awf.domain.problem import Problem
from awf.domain.workflow import Input, Workflow

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Definition",
    "LoadedFile",
    "LoadedProgram",
    "Program",
    "WorkflowEntry",
    "WorkflowHead",
    "WorkflowLoader",
]


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """The unrendered source of a run. Stored with it, so that a changed file cannot disturb it."""

    root: str  # the file of the workflow that was started
    texts: dict[str, str]  # file → text, also of called workflows and step templates
    links: dict[str, str] = {}  # "caller file\nwritten name" → file
    templates: dict[str, str] = {}  # name of a step template → file

    @property
    def digest(self) -> str:
        import hashlib

        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()

    def called(self, caller: str, written: str) -> str | None:
        return self.links.get(f"{caller}\n{written}")


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine runs: valid, complete, immutable."""

    definition: Definition
    workflows: dict[str, Workflow]

    @property
    def main(self) -> Workflow:
        return self.workflows[self.definition.root]


class LoadedFile(Protocol):
    """A file as read: its draft, what is wrong with its form, and how to locate problems found later."""

    @property
    def draft(self) -> Draft: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    def located(self, problems: Sequence[tuple[Problem, int]]) -> list[Problem]: ...


class LoadedProgram(msgspec.Struct, frozen=True, kw_only=True):
    definition: Definition
    files: dict[str, LoadedFile]


class WorkflowEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `awf list`."""

    name: str
    file: str
    source: str  # where it was found: env, project, configs or user
    description: str = ""
    version: str = ""
    problem: str = ""


class WorkflowHead(msgspec.Struct, frozen=True, kw_only=True):
    """What can be told of a workflow without reading its states."""

    name: str  # to start it by
    file: str
    description: str = ""
    inputs: tuple[Input, ...] = ()
    problem: str = ""  # why it cannot be started


class WorkflowLoader(Protocol):
    """Finds and reads workflow files."""

    def load(self, reference: str) -> LoadedProgram:
        """By name or path, with everything it calls. Raises USER.INPUT.MISSING_FILE."""
        ...

    def reload(self, definition: Definition) -> LoadedProgram:
        """The same from stored texts; no file is touched."""
        ...

    def names(self) -> Sequence[tuple[str, str, str]]:
        """All workflows that can be started by name: (name, file, source)."""
        ...

    def heads(self) -> Sequence[WorkflowHead]:
        """The same with what they take, also those that cannot be read. What has not changed is not read again."""
        ...
