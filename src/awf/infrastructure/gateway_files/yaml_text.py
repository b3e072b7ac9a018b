"""Adding servers to the text of a YAML file without disturbing the rest.

New text is put where the mapping of servers ends. What comes out is parsed again: if it does not say what it should,
the file is written anew from its values, which loses its comments, and that is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from awf.domain.errors import InvalidWorkflowError
from awf.domain.problem import Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["parsed", "with_servers"]

_KEY = "mcpServers"


def parsed(name: str, text: str) -> dict[str, Any]:
    """The values of the file. Raises when it is no YAML, or no mapping."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = Place(name, mark.line + 1, mark.column + 1) if mark else Place(name)
        raise _broken(place, f"Not valid YAML: {getattr(error, 'problem', None) or 'unreadable'}.") from error
    if document is None:
        return {}
    if not isinstance(document, dict) or not isinstance(document.get(_KEY) or {}, dict):
        raise _broken(Place(name), f"The file must be a mapping, and `{_KEY}` in it too.")
    return document


def with_servers(
    text: str, document: Mapping[str, Any], servers: Mapping[str, dict[str, Any]]
) -> tuple[str, str]:
    """The new text, and what was lost on the way (mostly nothing)."""
    wanted = {**document, _KEY: {**(document.get(_KEY) or {}), **servers}}
    try:
        made = _inserted(text, servers, wanted[_KEY])
        if made is not None and yaml.safe_load(made) == wanted:
            return made, ""
    except yaml.YAMLError:
        pass
    return _dumped(wanted, 0), "the file is written anew, and comments in it are lost"


def _inserted(text: str, servers: Mapping[str, Any], all_servers: Mapping[str, Any]) -> str | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None and (not isinstance(root, yaml.MappingNode) or root.flow_style):
        return None
    found = next((value for key, value in root.value if key.value == _KEY), None) if root else None
    if found is None:
        return f"{_ended(text)}{_KEY}:\n{_dumped(servers, 2)}"
    if isinstance(found, yaml.MappingNode) and found.value and not found.flow_style:
        return _after_the_last(text, found, servers)
    rest = text[found.end_mark.index :].lstrip(" ")
    before = text[: found.start_mark.index].rstrip(" ")
    return f"{before}\n{_dumped(all_servers, 2)}{rest.removeprefix(chr(10))}"


def _after_the_last(text: str, node: yaml.MappingNode, servers: Mapping[str, Any]) -> str:
    last: yaml.Node = node
    while isinstance(last, yaml.MappingNode | yaml.SequenceNode) and last.value and not last.flow_style:
        last = last.value[-1][1] if isinstance(last, yaml.MappingNode) else last.value[-1]
    mark = last.end_mark
    block = isinstance(last, yaml.ScalarNode) and last.style in {"|", ">"}
    line = mark.line if block and mark.column == 0 else mark.line + 1
    lines = _ended(text).splitlines(keepends=True)
    column = node.value[0][0].start_mark.column
    return "".join([*lines[:line], _dumped(servers, column), *lines[line:]])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _dumped(values: Mapping[str, Any], indent: int) -> str:
    text = yaml.safe_dump(
        dict(values), sort_keys=False, allow_unicode=True, default_flow_style=False, width=1000
    )
    return "".join(f"{' ' * indent}{line}" for line in text.splitlines(keepends=True))


def _broken(place: Place, message: str) -> InvalidWorkflowError:
    problem = Problem(
        code="USER.GATEWAY.INVALID_FILE", message=message, place=place, hint="Correct the file first."
    )
    return InvalidWorkflowError([problem])
