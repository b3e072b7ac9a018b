"""The functions conditions can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.infrastructure.expressions.values import shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ALIASES", "ARITIES", "FUNCTIONS", "FUNCTIONS_ONLY", "INFIX", "METHODS_ONLY", "TYPES"]

# name → how many values it takes, the one before its dot included
ARITIES = {
    **dict.fromkeys(
        ("size", "int", "uint", "double", "string", "bytes", "timestamp", "duration", "dyn", "type"), (1,)
    ),
    **dict.fromkeys(("lower", "upper", "trim", "lines", "has"), (1,)),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "matches"), (2,)),
    **dict.fromkeys(("all", "exists", "exists_one", "existsOne", "filter"), (3,)),
    "map": (3, 4),
    **dict.fromkeys(
        ("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek"), (1,)
    ),
    **dict.fromkeys(("getHours", "getMinutes", "getSeconds", "getMilliseconds"), (1,)),
}

METHODS_ONLY = frozenset(
    {
        "all",
        "exists",
        "exists_one",
        "existsOne",
        "filter",
        "map",
        *(name for name in ARITIES if name.startswith("get")),
    }
)
FUNCTIONS_ONLY = frozenset(
    {"int", "uint", "double", "string", "bytes", "timestamp", "duration", "dyn", "type", "has"}
)
INFIX = ("contains", "startsWith", "endsWith", "matches")
ALIASES = {"has_prefix": "startsWith", "has_suffix": "endsWith", "len": "size", "float": "double"}
TYPES = frozenset({"int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"})


# The library reports an exception of these as a warning of its own; so they take whatever comes.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "lower": lambda value: shown(value).lower(),
    "upper": lambda value: shown(value).upper(),
    "trim": lambda value: shown(value).strip(),
    "lines": lambda value: [line for line in shown(value).splitlines() if line.strip()],
    "string": shown,  # for types the library's own does not know
}
