"""Reading a condition: CEL, and what the first AWF's conditions had beside it.

Old forms leave no trace in the tree: ``a contains b`` is read as ``a.contains(b)``, ``not x`` as ``!x``,
``.states.my-step.Output`` as ``states["my-step"].output``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.cel_calls import call, member, receiver
from awf.infrastructure.expressions.cel_functions import INFIX
from awf.infrastructure.expressions.cel_lexer import Lexer
from awf.infrastructure.expressions.cel_nodes import (
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
    from collections.abc import Callable

__all__ = ["parse"]

_DEEPEST = 40
_DEEPEST_WRITTEN = 80  # translated forms add brackets; the library's own limit is at about a hundred
_DEEPEST_TREE = 200
_LONGEST_PATH = 100
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "nil": "null"}
_RELATIONS = ("==", "!=", "<=", ">=", "<", ">", "in")
_SUMS = ("+", "-")
_PRODUCTS = ("*", "/", "%")
_NOT_NAMES = frozenset({"and", "or", "in"})


def parse(text: str) -> Node:
    """Raises `ExpressionError` with the place and a way out."""
    if not text.strip():
        raise ExpressionError("The condition is empty", hint="Leave it out, or write true.")
    try:
        node = _Parser(Lexer(text)).whole()
        deep = depth(node) > _DEEPEST_TREE or brackets(node) > _DEEPEST_WRITTEN
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
            lexer.unexpected()
        braced = lexer.text.startswith("{{", start)
        return node.inner if braced and isinstance(node, Group) else node

    def _choice(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        self._descend()
        node = self._either()
        if lexer.accept("?"):
            yes = self._either()
            if not lexer.accept(":"):
                lexer.fail(
                    "The choice has no other side", at, hint="Write test ? one : other, brackets inside."
                )
            node = Choice(node, yes, self._choice(), at)
        self._nested -= 1
        return node

    def _descend(self) -> None:
        self._nested += 1
        if self._nested > _DEEPEST:
            self._lexer.fail("The condition is nested too deeply")

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
        return Chain(first, tuple(rest), at) if rest else first

    def _relation(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        if lexer.accept("not"):
            return Unary("!", receiver(self._relation()), at)
        node = self._sum()
        while True:
            negated = bool(lexer.accept("not"))
            if sign := lexer.accept(*_RELATIONS):
                node = _related(node, sign, self._sum(), at)
            elif word := lexer.accept(*INFIX):
                node = call(lexer, word, [node, self._sum()], at)
            elif negated:
                lexer.unexpected()
            else:
                return node
            node = Unary("!", receiver(node), at) if negated else node

    def _unary(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        sign = lexer.accept("!", "-", "not")
        if not sign:
            return self._postfix(self._primary())
        if sign == "-" and (number := lexer.number(negative=True)):
            return Unary("-", self._postfix(number), at)
        self._descend()
        operand = receiver(self._unary())
        self._nested -= 1
        return Unary("-" if sign == "-" else "!", operand, at)

    def _postfix(self, node: Node) -> Node:
        lexer = self._lexer
        before: tuple[str, ...] | None = (node.name,) if isinstance(node, Name) else None
        for _ in range(_LONGEST_PATH):
            at = lexer.at
            if lexer.accept("["):
                index = self._choice()
                lexer.expect("]", at)
                node = Index(node, index, at)
                known = index.value if isinstance(index, Literal) else None
                before = (*before, str(known)) if before and known is not None else None
            elif lexer.text.startswith(".", at):
                node, before = self._dot(node, before)
            else:
                return node
        lexer.fail("The path is too long")

    def _dot(self, node: Node, before: tuple[str, ...] | None) -> tuple[Node, tuple[str, ...] | None]:
        lexer, at = self._lexer, self._lexer.at
        lexer.move(at + 1)
        segment = read_segment(lexer.text, lexer.at, before or ("",))
        if segment is None:
            lexer.unexpected()
        name = lexer.peek()
        lexer.move(segment.end)
        if lexer.peek() == "(" and name.isidentifier():
            return call(lexer, name, [node, *self._arguments("(", ")")], at, method=True), None
        for part in segment.parts:
            node = member(node, part, at)
        return node, (*before, *map(str, segment.parts)) if before else None

    def _arguments(self, opening: str, closing: str, *, trailing: bool = False) -> list[Node]:
        lexer, at, found = self._lexer, self._lexer.at, []
        lexer.accept(opening)
        while not lexer.text.startswith(closing, lexer.at):
            found.append(self._choice())
            if not lexer.accept(","):
                break
            if not trailing and lexer.text.startswith(closing, lexer.at):
                lexer.unexpected()
        lexer.expect(closing, at)
        return found

    def _primary(self) -> Node:
        lexer, at = self._lexer, self._lexer.at
        constant = lexer.string() or lexer.number()
        if constant:
            return constant
        if lexer.accept("{{"):
            return self._enclosed("}}", at)
        if lexer.accept("("):
            return self._enclosed(")", at)
        if lexer.peek() == "[":
            return Items(tuple(self._arguments("[", "]", trailing=True)), at)
        return self._pairs() if lexer.peek() == "{" else self._name()

    def _enclosed(self, closing: str, at: int) -> Node:
        inner = self._choice()
        self._lexer.expect(closing, at)
        return Group(inner, at) if closing == ")" else receiver(inner)

    def _pairs(self) -> Node:
        lexer, at, found = self._lexer, self._lexer.at, []
        lexer.accept("{")
        while not lexer.text.startswith("}", lexer.at):
            key = self._choice()
            if not lexer.accept(":"):
                lexer.unexpected()
            found.append((key, self._choice()))
            if not lexer.accept(","):
                break
        lexer.expect("}", at)
        return Pairs(tuple(found), at)

    def _name(self) -> Node:
        lexer = self._lexer
        lexer.accept(".")
        at, name = lexer.at, lexer.peek()
        if not name.isidentifier() or name in _NOT_NAMES:
            lexer.unexpected()
        lexer.move(at + len(name))
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name], at)
        if lexer.peek() == "(":
            return call(lexer, name, self._arguments("(", ")"), at)
        return Name(name, at)


def _related(left: Node, sign: str, right: Node, at: int) -> Node:
    if isinstance(left, Chain) and left.rest[0][0] in _RELATIONS:
        return left._replace(rest=(*left.rest, (sign, right)))
    return Chain(left, ((sign, right),), at)
