"""The filters that templates have beside Jinja's own."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Any

from jinja2 import pass_environment
from jinja2.filters import make_attrgetter

from awf.infrastructure.expressions.templates.absent import Absent, final_text, native
from awf.infrastructure.expressions.values import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jinja2 import Environment

__all__ = ["FILTERS", "OR_NONE", "TEXT"]

TEXT = "string"
OR_NONE = "present_or_none"


def _shellquote(value: Any) -> str:
    return shlex.quote(final_text(value))


def _tojson(value: Any, indent: int | None = None) -> str:
    return json_text(native(value), indent)


def _fromjson(value: Any) -> Any:
    return json.loads(final_text(value))


def _trim(value: Any, chars: str | None = None) -> str:
    return final_text(value).strip(chars)


def _lines(value: Any) -> list[str]:
    return [line for line in final_text(value).splitlines() if line.strip()]


def _split(value: Any, separator: str = ",") -> list[str]:
    text = final_text(value)
    return [part.strip() for part in text.split(separator)] if text.strip() else []


@pass_environment
def _join(environment: Environment, value: Iterable[Any], d: str = "", attribute: str | None = None) -> str:
    items = value if attribute is None else map(make_attrgetter(environment, attribute), value)
    return final_text(d).join(map(final_text, items))


def _regex_replace(value: Any, pattern: str, replacement: str = "") -> str:
    return re.sub(pattern, replacement, final_text(value))


def _basename(value: Any) -> str:
    return posixpath.basename(final_text(value).rstrip("/"))


def _dirname(value: Any) -> str:
    return posixpath.dirname(final_text(value).rstrip("/"))


def _default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    """An input that was not given is null, so null counts as missing too."""
    if value is None or isinstance(value, Absent) or (boolean and not value):
        return default_value
    return value


def _present_or_none(value: Any) -> Any:
    return None if isinstance(value, Absent) else value


FILTERS: dict[str, Callable[..., Any]] = {
    TEXT: final_text,
    OR_NONE: _present_or_none,
    "shellquote": _shellquote,
    "tojson": _tojson,
    "fromjson": _fromjson,
    "trim": _trim,
    "lines": _lines,
    "split": _split,
    "join": _join,
    "regex_replace": _regex_replace,
    "basename": _basename,
    "dirname": _dirname,
    "default": _default,
    "d": _default,
}
