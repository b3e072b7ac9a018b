"""The parts a condition is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MACROS", "Call", "Chain", "Choice", "Group", "Index", "Items", "Literal", "Member", "Name", "Node", "Pairs",
    "Unary", "brackets", "children", "depth",
]  # fmt: skip

MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})


class Literal(msgspec.Struct, frozen=True):
    """A constant as it is written; `value` is known for text and whole numbers."""

    text: str
    at: int
    value: str | int | None = None


class Name(msgspec.Struct, frozen=True):
    name: str
    at: int


class Member(msgspec.Struct, frozen=True):
    base: Node
    name: str
    at: int


class Index(msgspec.Struct, frozen=True):
    base: Node
    key: Node
    at: int


class Call(msgspec.Struct, frozen=True):
    receiver: Node | None
    name: str
    arguments: tuple[Node, ...]
    at: int


class Unary(msgspec.Struct, frozen=True):
    operator: str
    operand: Node
    at: int


class Chain(msgspec.Struct, frozen=True):
    """Operands joined by operators of the same rank: ``a + b - c``."""

    first: Node
    rest: tuple[tuple[str, Node], ...]
    at: int


class Choice(msgspec.Struct, frozen=True):
    test: Node
    yes: Node
    no: Node
    at: int


class Items(msgspec.Struct, frozen=True):
    items: tuple[Node, ...]
    at: int


class Pairs(msgspec.Struct, frozen=True):
    pairs: tuple[tuple[Node, Node], ...]
    at: int


class Group(msgspec.Struct, frozen=True):
    inner: Node
    at: int


Node = Literal | Name | Member | Index | Call | Unary | Chain | Choice | Items | Pairs | Group


_BRACKETED = (Group, Call, Items, Pairs, Index, Choice)


def children(node: Node) -> Iterator[Node]:
    match node:
        case Member(base):
            yield base
        case Index(base, key):
            yield from (base, key)
        case Call(receiver, _, arguments):
            if receiver is not None:
                yield receiver
            yield from arguments
        case Unary(_, inner) | Group(inner):
            yield inner
        case Chain(first, rest):
            yield first
            yield from (operand for _, operand in rest)
        case Choice(test, yes, no):
            yield from (test, yes, no)
        case Items(items):
            yield from items
        case Pairs(pairs):
            yield from (part for pair in pairs for part in pair)


def depth(node: Node) -> int:
    """How deep the library descends to evaluate it. It has no guard of its own against very deep ones."""
    links = len(node.rest) if isinstance(node, Chain) and node.rest[0][0] not in {"&&", "||"} else 1
    return links + max(map(depth, children(node)), default=0)


def brackets(node: Node) -> int:
    """How many brackets stand inside each other."""
    return isinstance(node, _BRACKETED) + max(map(brackets, children(node)), default=0)
