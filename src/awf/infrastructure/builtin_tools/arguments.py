"""What each tool is called with. `normalise` turns what models send into what the schemas ask for. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ALIASES",
    "LONGEST_TIMEOUT",
    "USUAL_TIMEOUT",
    "BashArguments",
    "EditArguments",
    "GlobArguments",
    "GrepArguments",
    "ReadArguments",
    "WriteArguments",
    "normalise",
    "parsed",
]

USUAL_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000

T = TypeVar("T")
Text = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Milliseconds = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_TIMEOUT)]
OutputMode = Literal["content", "files_with_matches", "count"]


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ReadArguments(_Arguments, frozen=True, kw_only=True):
    file_path: Text
    offset: Count = 1
    limit: AtLeastOne = 2000


class WriteArguments(_Arguments, frozen=True, kw_only=True):
    file_path: Text
    content: str


class EditArguments(_Arguments, frozen=True, kw_only=True):
    file_path: Text
    old_string: str
    new_string: str
    replace_all: bool = False


class BashArguments(_Arguments, frozen=True, kw_only=True):
    command: Text
    timeout: Milliseconds = USUAL_TIMEOUT
    cwd: str = ""
    description: str = ""


class GlobArguments(_Arguments, frozen=True, kw_only=True):
    pattern: Text
    path: str = ""


class GrepArguments(
    _Arguments,
    frozen=True,
    kw_only=True,
    rename={"ignore_case": "-i", "line_numbers": "-n", "after": "-A", "before": "-B", "around": "-C"},
):
    pattern: Text
    path: str = ""
    glob: str = ""
    type: str = ""
    output_mode: OutputMode = "files_with_matches"
    ignore_case: bool = False
    line_numbers: bool = True
    after: Count = 0
    before: Count = 0
    around: Count = 0
    multiline: bool = False
    head_limit: Count = 250
    offset: Count = 0


ALIASES: dict[str, dict[str, str]] = {
    "Read": {"path": "file_path"},
    "Write": {"path": "file_path"},
    "Edit": {"path": "file_path", "old": "old_string", "new": "new_string"},
    "Bash": {"timeout_seconds": "timeout"},
    "Grep": {"context": "-C"},
}
_WHOLE = {"offset", "limit", "timeout", "-A", "-B", "-C", "head_limit"}
_YES_NO = {"replace_all", "-i", "-n", "multiline"}
_BOOLEANS = {"true": True, "false": False}
_NUMBER = re.compile(r"-?\d+(\.0*)?")


def normalise(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Short names become the full ones, `null` counts as not given, and "20" or "true" are what they say.

    What cannot be right is left as it is, for the check against the schema to name. Doing it twice changes nothing.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    for alias, full in ALIASES.get(name, {}).items():
        if alias in given and full not in given:
            value = given.pop(alias)
            given[full] = _milliseconds(value) if alias == "timeout_seconds" else value
    return {key: _typed(key, value) for key, value in given.items()}


def _milliseconds(value: Any) -> Any:
    try:
        return value if isinstance(value, bool) else round(float(value) * 1000)
    except (TypeError, ValueError, OverflowError):
        return value


def _typed(key: str, value: Any) -> Any:
    if key in _WHOLE and isinstance(value, str) and len(value) < 20 and _NUMBER.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    if key in _WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)
    if key in _YES_NO and isinstance(value, str):
        return _BOOLEANS.get(value.strip().lower(), value)
    return value


def parsed(kind: type[T], arguments: Mapping[str, Any]) -> T:
    """Raises `ToolFailure` for what a check against the schema would have refused."""
    try:
        return msgspec.convert(dict(arguments), kind)
    except msgspec.ValidationError as reason:
        raise ToolFailure("INVALID_ARGUMENTS", f"{reason}.") from reason
