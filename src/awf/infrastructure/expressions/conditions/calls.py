"""Building the nodes of calls and members, with their checks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.domain.problem import suggest
from awf.infrastructure.expressions.conditions.functions import (
    ALIASES,
    ARITIES,
    FUNCTIONS_ONLY,
    INFIX,
    METHODS_ONLY,
)
from awf.infrastructure.expressions.conditions.lexer import quoted
from awf.infrastructure.expressions.conditions.nodes import (
    MACROS,
    Call,
    Chain,
    Choice,
    Group,
    Index,
    Literal,
    Member,
    Name,
    Node,
    Unary,
)

if TYPE_CHECKING:
    from awf.infrastructure.expressions.conditions.lexer import Lexer
    from awf.infrastructure.expressions.values import Part

__all__ = ["call", "member", "receiver"]

_FIELD = re.compile(r"(?!(?:in|true|false|null)$)[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def receiver(node: Node) -> Node:
    """The node in a form that can stand before a dot or after a sign."""
    number = isinstance(node, Literal) and node.text[0].isdigit()
    return Group(node, node.at) if number or isinstance(node, Chain | Choice | Unary) else node


def member(base: Node, part: Part, at: int) -> Node:
    if isinstance(part, int):
        return Index(base, Literal(str(part), at, part), at)
    return (
        Member(base, part, at) if _FIELD.fullmatch(part) else Index(base, Literal(quoted(part), at, part), at)
    )


def call(lexer: Lexer, written: str, values: list[Node], at: int, *, method: bool = False) -> Node:
    """`values` are the receiver, if any, and the arguments. Functions of old become the methods they stand for."""
    name = ALIASES.get(written, written)
    if name not in ARITIES:
        meant = suggest(written, ARITIES)
        known = ", ".join(ARITIES)
        raise lexer.error(
            f"There is no function {written}",
            at,
            hint=f"Did you mean {meant}?" if meant else f"There are {known}.",
        )
    if len(values) not in ARITIES[name]:
        raise lexer.error(f"{written} is given {len(values)} values, which is not how it is used", at)
    if (method and name in FUNCTIONS_ONLY) or (not method and name in METHODS_ONLY):
        way = f"{name}(value)" if method else f"list.{name}(…)"
        raise lexer.error(f"{name} is called the wrong way", at, hint=f"Write {way}.")
    if name in MACROS and not isinstance(values[1], Name):
        raise lexer.error(
            f"The first argument of {name} must be a new name", values[1].at, hint=f"Write list.{name}(x, …)."
        )
    if name == "has" and not isinstance(values[0], Member | Index | Name):
        raise lexer.error("has() asks for a path", values[0].at, hint="Write has(inputs.name).")
    if method or name in INFIX:
        return Call(receiver(values[0]), name, tuple(values[1:]), at)
    return Call(None, name, tuple(values), at)
