"""What a condition refers to, and what its has() asks for."""

from __future__ import annotations

from typing import NamedTuple

from awf.domain.ports.expressions import Reference
from awf.infrastructure.expressions.conditions.functions import TYPES
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
    children,
)
from awf.infrastructure.expressions.values import Part

__all__ = ["Findings", "findings_in"]

Parts = tuple[Part, ...]


class Findings(NamedTuple):
    references: tuple[Reference, ...]
    needed: tuple[tuple[str, ...], ...]  # the paths whose values are used
    questions: dict[int, Parts]  # has() of a path known from the text: where it stands → the path


class _Scope(NamedTuple):
    bound: frozenset[str] = frozenset()
    guards: frozenset[Parts] = frozenset()

    def binding(self, name: str) -> _Scope:
        return self._replace(bound=self.bound | {name})

    def knowing(self, paths: set[Parts]) -> _Scope:
        return self._replace(guards=self.guards | paths)


class _Path(NamedTuple):
    base: Node
    parts: Parts
    dynamic: list[Node]


def findings_in(node: Node) -> Findings:
    walk = _Walk()
    walk.visit(node, _Scope())
    return Findings(tuple(walk.references), tuple(dict.fromkeys(walk.needed)), walk.questions)


class _Walk:
    def __init__(self) -> None:
        self.references: list[Reference] = []
        self.needed: list[tuple[str, ...]] = []
        self.questions: dict[int, Parts] = {}

    def visit(self, node: Node, scope: _Scope) -> None:
        match node:
            case Name() | Member() | Index():
                self._path(_read_path(node), scope)
            case Call(None, "has", (path,)):
                self._question(node, _read_path(path), scope)
            case Call(receiver, name, (Name(bound), *rest)) if receiver is not None and name in MACROS:
                self.visit(receiver, scope)
                for argument in rest:
                    self.visit(argument, scope.binding(bound))
            case Chain():
                self._chain(node, scope)
            case Choice(test, yes, no):
                self.visit(test, scope)
                self.visit(yes, scope.knowing(_present_if(test)))
                self.visit(no, scope.knowing(_present_unless(test)))
            case _:
                for child in children(node):
                    self.visit(child, scope)

    def _path(self, path: _Path, scope: _Scope, *, asked: bool = False) -> None:
        if not isinstance(path.base, Name):
            self.visit(path.base, scope)
        elif path.parts[0] not in scope.bound | TYPES:
            guarded = asked or any(_related(path.parts, guard) for guard in scope.guards)
            names = tuple(map(str, path.parts))
            self.references.append(Reference(names, path.base.at, guarded))
            self.needed.append(names)
        for index in path.dynamic:
            self.visit(index, scope)

    def _question(self, node: Call, path: _Path, scope: _Scope) -> None:
        known = isinstance(path.base, Name) and not path.dynamic and path.parts[0] not in scope.bound
        self._path(path, scope, asked=True)
        if known:
            self.needed.pop()
            self.questions[node.at] = path.parts

    def _chain(self, node: Chain, scope: _Scope) -> None:
        sign = node.rest[0][0]
        learn = {"&&": _present_if, "||": _present_unless}.get(sign)
        for operand in children(node):
            self.visit(operand, scope)
            if learn:
                scope = scope.knowing(learn(operand))


def _read_path(node: Node) -> _Path:
    parts: list[Part] = []
    dynamic: list[Node] = []
    while isinstance(node, Member | Index):
        if isinstance(node, Member):
            parts.append(node.name)
        elif isinstance(node.key, Literal) and node.key.value is not None:
            parts.append(node.key.value)
        else:
            parts.clear()
            dynamic.insert(0, node.key)
        node = node.base
    if isinstance(node, Name):
        parts.append(node.name)
    return _Path(node, tuple(reversed(parts)), dynamic)


def _present_if(test: Node) -> set[Parts]:
    """The paths that exist whenever the test holds."""
    match test:
        case Call(None, "has", (path,)):
            return _static(path)
        case Group(inner):
            return _present_if(inner)
        case Unary("!", inner):
            return _present_unless(inner)
        case Chain(first, rest) if rest[0][0] == "&&":
            return set().union(*map(_present_if, (first, *(operand for _, operand in rest))))
        case Chain(Literal(value=str(key)), (("in", container),)):
            return {(*path, key) for path in _static(container)}
    return set()


def _present_unless(test: Node) -> set[Parts]:
    """The paths that exist whenever the test does not hold."""
    match test:
        case Group(inner):
            return _present_unless(inner)
        case Unary("!", inner):
            return _present_if(inner)
        case Chain(first, rest) if rest[0][0] == "||":
            return set().union(*map(_present_unless, (first, *(operand for _, operand in rest))))
    return set()


def _static(node: Node) -> set[Parts]:
    path = _read_path(node)
    return {path.parts} if isinstance(path.base, Name) and not path.dynamic else set()


def _related(path: Parts, guard: Parts) -> bool:
    return path[: len(guard)] == guard[: len(path)]
