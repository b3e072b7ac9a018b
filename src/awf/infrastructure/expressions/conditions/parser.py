"""Reading a condition: CEL, and what the first AWF's conditions had beside it.

Old forms leave no trace in the tree: ``a contains b`` is read as ``a.contains(b)``, ``not x`` as ``!x``,
``.states.my-step.Output`` as ``states["my-step"].output``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.conditions.calls import call, member, receiver
from awf.infrastructure.expressions.conditions.functions import INFIX
from awf.infrastructure.expressions.conditions.lexer import Lexer
from awf.infrastructure.expressions.conditions.nodes import (
    Chain,
    Choice,
    Group,
    Index,
    Items,
    Literal,
    Name,
    Node,
    Pairs,
    Unary,
    brackets,
    depth,
)
from awf.infrastructure.expressions.paths import read_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

__all__ = ["parse"]

_DEEPEST = 40
_DEEPEST_WRITTEN = 80  # translated forms add brackets; the library's own limit is at about a hundred
_DEEPEST_TREE = 200
_SURELY_FINE = 80  # characters; no shorter text can be too deep
_LONGEST = 100  # steps of a path, operators in a row
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "nil": "null"}
_RELATIONS = ("==", "!=", "<=", ">=", "<", ">", "in")
_SUMS = ("+", "-")
_PRODUCTS = ("*", "/", "%")
_DIGITS = frozenset("0123456789")
_NOT_NAMES = frozenset({"and", "or", "in"})


def parse(text: str) -> Node:
    """Raises `ExpressionError` with the place and a way out."""
    if not text.strip():
        raise ExpressionError("The condition is empty", hint="Leave it out, or write true.")
    try:
        node = _Parser(Lexer(text)).whole()
        deep = len(text) > _SURELY_FINE and (depth(node) > _DEEPEST_TREE or brackets(node) > _DEEPEST_WRITTEN)
    except RecursionError:
        deep = True
    if deep:
        raise ExpressionError("The condition is nested too deeply or too long")
    return node


class _Parser:
    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._nested = 0

    def whole(self) -> Node:
        lexer, start = self._lexer, self._lexer.at
        node = self._choice()
        if lexer.at < len(lexer.text):
            raise lexer.unexpected()
        braced = lexer.text.startswith("{{", start)
        return node.inner if braced and isinstance(node, Group) else node

    def _choice(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        self._descend()
        node = self._either()
        if lexer.accept("?"):
            yes = self._either()
            if not lexer.accept(":"):
                raise lexer.error(
                    "The choice has no other side", at, hint="Write test ? one : other, brackets inside."
                )
            node = Choice(node, yes, self._choice(), at)
        self._nested -= 1
        return node

    def _descend(self) -> None:
        self._nested += 1
        if self._nested > _DEEPEST:
            raise self._lexer.error("The condition is nested too deeply")

    def _either(self) -> Node:
        return self._chain(("||", "or"), "||", self._both)

    def _both(self) -> Node:
        return self._chain(("&&", "and"), "&&", self._relation)

    def _sum(self) -> Node:
        return self._chain(_SUMS, "", self._product)

    def _product(self) -> Node:
        return self._chain(_PRODUCTS, "", self._unary)

    def _chain(self, signs: tuple[str, ...], sign: str, operand: Callable[[], Node]) -> Node:
        """`sign` replaces whichever of the `signs` was written, if given."""
        at, first, rest = self._lexer.at, operand(), []
        while found := self._lexer.accept(*signs):
            rest.append((sign or found, operand()))
            self._limit(rest, any_number=bool(sign))
        return Chain(first, tuple(rest), at) if rest else first

    def _limit(self, rest: Sized, *, any_number: bool = False) -> None:
        if len(rest) > _LONGEST and not any_number:
            raise self._lexer.error("The condition is too long")

    def _relation(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        if lexer.accept("not"):
            return Unary("!", receiver(self._relation()), at)
        node = self._sum()
        while True:
            negated = bool(lexer.accept("not"))
            if sign := lexer.accept(*_RELATIONS):
                node = _related(node, sign, self._sum(), at)
                self._limit(node.rest)
            elif word := lexer.accept(*INFIX):
                node = call(lexer, word, [node, self._sum()], at)
            elif negated:
                raise lexer.unexpected()
            else:
                return node
            node = Unary("!", receiver(node), at) if negated else node

    def _unary(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        sign = lexer.accept("!", "-", "not")
        if not sign:
            return self._postfix(self._primary())
        if sign == "-" and lexer.word in _DIGITS:
            return Unary("-", self._postfix(lexer.number(negative=True)), at)
        self._descend()
        operand = receiver(self._unary())
        self._nested -= 1
        return Unary("-" if sign == "-" else "!", operand, at)

    def _postfix(self, node: Node) -> Node:
        lexer = self._lexer
        before: tuple[str, ...] | None = (node.name,) if isinstance(node, Name) else None
        for _ in range(_LONGEST):
            at = lexer.at
            if lexer.accept("["):
                index = self._choice()
                lexer.expect("]", at)
                node = Index(node, index, at)
                known = index.value if isinstance(index, Literal) else None
                before = (*before, str(known)) if before and known is not None else None
            elif lexer.word == ".":
                node, before = self._dot(node, before)
            else:
                return node
        raise lexer.error("The path is too long")

    def _dot(self, node: Node, before: tuple[str, ...] | None) -> tuple[Node, tuple[str, ...] | None]:
        lexer, at = self._lexer, self._lexer.at
        lexer.move(at + 1)
        segment = read_segment(lexer.text, lexer.at, before or ("",))
        if segment is None:
            raise lexer.unexpected()
        name = lexer.word
        lexer.move(segment.end)
        if lexer.word == "(" and segment.end - segment.start == len(name):
            return call(lexer, name, [node, *self._arguments("(", ")")], at, method=True), None
        for part in segment.parts:
            node = member(node, part, at)
        return node, (*before, *map(str, segment.parts)) if before else None

    def _arguments(self, opening: str, closing: str, *, trailing: bool = False) -> list[Node]:
        lexer, at, found = self._lexer, self._lexer.at, []
        lexer.accept(opening)
        while lexer.word != closing:
            found.append(self._choice())
            if not lexer.accept(","):
                break
            if not trailing and lexer.word == closing:
                raise lexer.unexpected()
        lexer.expect(closing, at)
        return found

    def _primary(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        constant = lexer.constant()
        if constant is not None:
            return constant
        if lexer.accept("{{"):
            return self._enclosed("}}", at)
        if lexer.accept("("):
            return self._enclosed(")", at)
        if lexer.word == "[":
            return Items(tuple(self._arguments("[", "]", trailing=True)), at)
        return self._pairs() if lexer.word == "{" else self._name()

    def _enclosed(self, closing: str, at: int) -> Node:
        inner = self._choice()
        self._lexer.expect(closing, at)
        return Group(inner, at) if closing == ")" else receiver(inner)

    def _pairs(self) -> Node:
        lexer, at, found = self._lexer, self._lexer.at, []
        lexer.accept("{")
        while lexer.word != "}":
            key = self._choice()
            if not lexer.accept(":"):
                raise lexer.unexpected()
            found.append((key, self._choice()))
            if not lexer.accept(","):
                break
        lexer.expect("}", at)
        return Pairs(tuple(found), at)

    def _name(self) -> Node:
        lexer = self._lexer
        lexer.accept(".")
        at, name = lexer.at, lexer.word
        if not name.isidentifier() or name in _NOT_NAMES:
            raise lexer.unexpected()
        lexer.move(at + len(name))
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name], at)
        if lexer.word == "(":
            return call(lexer, name, self._arguments("(", ")"), at)
        return Name(name, at)


def _related(left: Node, sign: str, right: Node, at: int) -> Chain:
    if isinstance(left, Chain) and left.rest[0][0] in _RELATIONS:
        return Chain(left.first, (*left.rest, (sign, right)), left.at)
    return Chain(left, ((sign, right),), at)
