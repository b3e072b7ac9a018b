"""Conditions whose paths are single names.

The library takes about a microsecond for each text it is given, and more for the object around it. A path that is known
from the text of a condition is therefore looked up on our side, and given to it as a variable of its own.
"""

from __future__ import annotations

import msgspec

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.conditions.functions import TYPES
from awf.infrastructure.expressions.conditions.nodes import (
    MACROS,
    Call,
    Chain,
    Choice,
    Group,
    Index,
    Items,
    Literal,
    Member,
    Name,
    Node,
    Pairs,
    Unary,
)
from awf.infrastructure.expressions.values import Part

__all__ = ["Flattening"]

Parts = tuple[Part, ...]
_OWN = "awf_"  # how our variables begin


class Flattening:
    """Gathers the names of several conditions, so that a path they share is given once."""

    def __init__(self) -> None:
        self.values: dict[Parts, str] = {}  # path → the variable that holds its value
        self.questions: dict[Parts, str] = {}  # path → the variable that says whether it is there

    def flat(self, node: Node, bound: frozenset[str] = frozenset()) -> Node:
        match node:
            case Name() | Member() | Index():
                return self._path(node, bound)
            case Call(None, "has", (path,)) if (parts := _static(path, bound)) is not None:
                return Name(self.questions.setdefault(parts, f"{_OWN}has_{len(self.questions)}"), node.at)
            case Call():
                return self._call(node, bound)
            case Unary() | Group():
                field = "operand" if isinstance(node, Unary) else "inner"
                return msgspec.structs.replace(node, **{field: self.flat(getattr(node, field), bound)})
            case Chain(first, rest, at):
                links = tuple((sign, self.flat(operand, bound)) for sign, operand in rest)
                return Chain(self.flat(first, bound), links, at)
            case Choice(test, yes, no, at):
                return Choice(self.flat(test, bound), self.flat(yes, bound), self.flat(no, bound), at)
            case Items(items, at):
                return Items(tuple(self.flat(item, bound) for item in items), at)
            case Pairs(pairs, at):
                return Pairs(tuple((self.flat(k, bound), self.flat(v, bound)) for k, v in pairs), at)
            case Literal():
                return node

    def _path(self, node: Name | Member | Index, bound: frozenset[str]) -> Node:
        parts = _static(node, bound)
        if parts is not None:
            return Name(self.values.setdefault(parts, f"{_OWN}value_{len(self.values)}"), node.at)
        match node:
            case Member(base, name, at):
                return Member(self.flat(base, bound), name, at)
            case Index(base, key, at):
                return Index(self.flat(base, bound), self.flat(key, bound), at)
        return node

    def _call(self, node: Call, bound: frozenset[str]) -> Call:
        before = None if node.receiver is None else self.flat(node.receiver, bound)
        match node.arguments:
            case (Name(name) as new, *rest) if before is not None and node.name in MACROS:
                if name.startswith(_OWN):
                    raise ExpressionError(
                        f"The name {name} is taken", offset=new.at, hint=f"Choose one without {_OWN}."
                    )
                inner = bound | {name}
                return Call(before, node.name, (new, *(self.flat(one, inner) for one in rest)), node.at)
        if node.name == "has":  # of something in a macro: only its parts can change
            return Call(before, node.name, (self._asked(node.arguments[0], bound),), node.at)
        return Call(before, node.name, tuple(self.flat(one, bound) for one in node.arguments), node.at)

    def _asked(self, node: Node, bound: frozenset[str]) -> Node:
        """The last step stays what it is, since has() asks for it."""
        match node:
            case Member(base, name, at):
                return Member(self.flat(base, bound), name, at)
            case Index(base, key, at):
                return Index(self.flat(base, bound), self.flat(key, bound), at)
        return node


def _static(node: Node, bound: frozenset[str]) -> Parts | None:
    """The path, if all of it is known and it begins in the document."""
    parts: list[Part] = []
    while isinstance(node, Member | Index):
        if isinstance(node, Member):
            parts.append(node.name)
        elif isinstance(node.key, Literal) and node.key.value is not None:
            parts.append(node.key.value)
        else:
            return None
        node = node.base
    if not isinstance(node, Name) or node.name in bound or (node.name in TYPES and not parts):
        return None
    return (node.name, *reversed(parts))
