"""A condition's tree as CEL text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.infrastructure.expressions.conditions.nodes import (
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["executable", "variable", "written"]

# CEL keeps these words for itself. `loop` is one of our namespaces.
_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "namespace",
        "package", "return", "var", "void", "while",
    }
)  # fmt: skip


def written(node: Node) -> str:
    """For people."""
    return _Writer(None).text(node)


def executable(node: Node, answers: Mapping[int, str]) -> str:
    """For the library. `answers` names the variables that hold the answers of has(), by the place of the question."""
    return _Writer(answers).text(node)


def variable(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


class _Writer:
    def __init__(self, answers: Mapping[int, str] | None) -> None:
        self._answers = answers

    def text(self, node: Node) -> str:
        match node:
            case Literal(text):
                return text
            case Name(name):
                return name if self._answers is None else variable(name)
            case Member(base, name):
                return f"{self.text(base)}.{name}"
            case Index(base, key):
                return f"{self.text(base)}[{self.text(key)}]"
            case Call():
                return self._call(node)
            case Unary(operator, operand):
                return f"{operator}{self.text(operand)}"
            case Chain(first, rest):
                return self.text(first) + "".join(f" {sign} {self.text(operand)}" for sign, operand in rest)
            case Choice(test, yes, no):
                return f"{self.text(test)} ? {self.text(yes)} : {self.text(no)}"
            case Items(items):
                return f"[{self._list(items)}]"
            case Pairs(pairs):
                return "{" + ", ".join(f"{self.text(key)}: {self.text(value)}" for key, value in pairs) + "}"
            case Group(inner):
                return f"({self.text(inner)})"

    def _list(self, nodes: Iterable[Node]) -> str:
        return ", ".join(map(self.text, nodes))

    def _call(self, node: Call) -> str:
        if self._answers is not None and node.name == "has":
            return self._question(node, self._answers)
        before = f"{self.text(node.receiver)}." if node.receiver else ""
        return f"{before}{node.name}({self._list(node.arguments)})"

    def _question(self, node: Call, answers: Mapping[int, str]) -> str:
        if node.at in answers:
            return answers[node.at]
        path = node.arguments[0]
        if isinstance(path, Index):
            return f"({self.text(path.key)} in {self.text(path.base)})"
        return f"has({self.text(path)})"
