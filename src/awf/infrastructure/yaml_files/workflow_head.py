"""The head of a workflow file: what it is for and what it takes. Its states are not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.program import WorkflowHead
from awf.domain.workflow import Workflow
from awf.infrastructure.yaml_files.nodes import TooLargeError, parse_yaml, too_large
from awf.infrastructure.yaml_files.reader import BAD, Reader, fields_of

if TYPE_CHECKING:
    from awf.domain.problem import Problem

__all__ = ["read_head"]

_SHOWN = {"description", "inputs"}


def read_head(name: str, file: str, shown: str, data: bytes) -> WorkflowHead:
    """`shown` is how the file is named to people."""
    document, problems = parse_yaml(shown, data)
    if document.root is None:
        return WorkflowHead(name=name, file=file, problem=_told(problems, shown))
    reader = Reader()
    try:
        top = reader.mapping(document.root, (), "a mapping with name and states") or {}
        values: dict[str, Any] = {
            field.name: field.read(reader, top[field.key], (field.key,))
            for field in fields_of(Workflow)
            if field.key in _SHOWN and field.key in top
        }
    except TooLargeError:
        return WorkflowHead(name=name, file=file, problem=_told([too_large(shown)], shown))
    found = [document.locate(problem) for problem in reader.problems]
    if "states" not in top and not found:
        return WorkflowHead(name=name, file=file, problem=f"{shown} has no `states`")
    read = {key: value for key, value in values.items() if value is not BAD}
    return WorkflowHead(
        name=name,
        file=file,
        description=str(read.get("description", "")),
        inputs=tuple(read.get("inputs", ())),
        problem=_told(found, shown) if found else "",
    )


def _told(problems: list[Problem], shown: str) -> str:
    if not problems:
        return f"{shown} holds no workflow"
    first = problems[0]
    place = f"{first.place.file}:{first.place.line}:{first.place.column}: " if first.place else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}{first.message}{more}"
