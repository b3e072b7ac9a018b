"""The files that `awf init` and `awf new` write. Pure: names in, texts out."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from awf.application.authoring.first_project import CONFIG, EXAMPLE, IGNORED
from awf.application.authoring.json_schema import workflow_schema
from awf.application.authoring.patterns import PATTERNS
from awf.domain.errors import AwfError
from awf.domain.problem import suggest

__all__ = ["PATTERN_NAMES", "NewFile", "first_project", "new_workflow"]

PATTERN_NAMES = tuple(PATTERNS)

_SCHEMA = ".awf/workflow.schema.json"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_/.-]*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


class NewFile(NamedTuple):
    """A file to write, from the project's folder."""

    path: str
    text: str
    shared: bool = False  # wanted by several commands; one that is there is left as it is
    rivals: tuple[str, ...] = ()  # other files that would answer to the same name


def first_project() -> list[NewFile]:
    """What `awf init` writes."""
    return [
        _workflow_file("example", EXAMPLE),
        NewFile(".awf/config.yaml", CONFIG),
        NewFile(".awf/.gitignore", IGNORED),
        NewFile(_SCHEMA, _schema_text()),
    ]


def new_workflow(name: str, pattern: str) -> list[NewFile]:
    """What `awf new` writes. Raises USER.INPUT.USAGE for a name that cannot be one."""
    known = PATTERNS.get(pattern)
    if known is None:
        close = suggest(pattern, PATTERNS)
        raise AwfError(
            "USER.INPUT.USAGE",
            f"There is no pattern '{pattern}'.",
            hint=f"did you mean '{close}'?" if close else f"Patterns: {', '.join(PATTERNS)}.",
        )
    return [_workflow_file(_checked(name), known), NewFile(_SCHEMA, _schema_text(), shared=True)]


def _checked(name: str) -> str:
    """The name as `awf run` takes it: parts of letters, digits, `_`, `-` and dots, joined by slashes."""
    bare = re.sub(r"\.ya?ml$", "", name)
    if all(_PART.fullmatch(part) for part in bare.split("/")):
        return bare
    raise AwfError(
        "USER.INPUT.USAGE",
        f"'{name}' cannot be the name of a workflow.",
        hint="Use letters, digits, _ and -; a slash puts it into a folder: awf new team/review",
    )


def _workflow_file(name: str, text: str) -> NewFile:
    up = "../" * (name.count("/") + 1)
    head = f"# yaml-language-server: $schema={up}workflow.schema.json\n"
    path = f".awf/workflows/{name}"
    body = text.replace("NAME_IN_YAML", _scalar(name)).replace("NAME", name)
    return NewFile(f"{path}.yaml", head + body, rivals=(f"{path}.yml",))


def _scalar(name: str) -> str:
    """Quoted where YAML would take it for something else than text."""
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else json.dumps(name)


def _schema_text() -> str:
    return json.dumps(workflow_schema(), ensure_ascii=False, indent=2) + "\n"
