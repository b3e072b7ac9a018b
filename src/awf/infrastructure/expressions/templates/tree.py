"""Checks on Jinja's syntax tree, and the changes made to it before it is compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

from jinja2 import TemplateAssertionError, nodes
from jinja2.visitor import NodeTransformer

from awf.domain.problem import suggest
from awf.infrastructure.expressions.templates.environment import environment
from awf.infrastructure.expressions.templates.filters import OR_NONE, TEXT

__all__ = ["RefusedError", "Single", "alone", "check_tree", "prepare_tree", "restore_returns"]

_FROM_ELSEWHERE = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


class RefusedError(TemplateAssertionError):
    def __init__(self, message: str, number: int, *, hint: str = "") -> None:
        super().__init__(message, number)
        self.hint = hint


class Single(NamedTuple):
    """The only placeholder of a template, and the white space around it."""

    expression: nodes.Expr
    before: str
    after: str

    @property
    def offset(self) -> int:
        return self.expression.lineno - 1


def alone(tree: nodes.Template) -> Single | None:
    outputs = [part for node in tree.body if isinstance(node, nodes.Output) for part in node.nodes]
    if not all(isinstance(node, nodes.Output) for node in tree.body):
        return None
    places = [i for i, part in enumerate(outputs) if not isinstance(part, nodes.TemplateData)]
    around = [part.data if isinstance(part, nodes.TemplateData) else "" for part in outputs]
    if len(places) != 1 or "".join(around).strip():
        return None
    at = places[0]
    return Single(outputs[at], "".join(around[:at]), "".join(around[at:]))


def check_tree(tree: nodes.Template) -> None:
    """What the compiler would refuse later is refused now, so that a file can be checked without compiling."""
    for node in tree.find_all((nodes.Filter, nodes.Test, *_FROM_ELSEWHERE)):
        if isinstance(node, _FROM_ELSEWHERE):
            raise RefusedError("Templates cannot load other templates", node.lineno)
        if isinstance(node, nodes.Filter) and node.name is not None:
            _require(node.name, environment().filters, "filter", node.lineno)
        elif isinstance(node, nodes.Test):
            _require(node.name, environment().tests, "test", node.lineno)


def _require(name: str, known: dict[str, Any], what: str, number: int) -> None:
    if name not in known:
        meant = suggest(name, known)
        hint = f"Did you mean {meant!r}?" if meant else ""
        raise RefusedError(f"There is no {what} named {name!r}", number, hint=hint)


def prepare_tree(tree: nodes.Template, result: str | None) -> nodes.Template:
    """`result` names the variable that takes the value of a template's only placeholder."""
    if result is not None:
        single = alone(tree)
        assert single is not None
        expression, number = single.expression, single.expression.lineno
        tree = nodes.Template(
            [nodes.Assign(nodes.Name(result, "store"), expression, lineno=number)], lineno=1
        )
    tree = _Leniency().visit(tree)
    tree.set_environment(environment())
    return tree


class _Leniency(NodeTransformer):
    """``a or b`` passes over a missing `a`; ``a ~ b`` shows values as placeholders do."""

    def visit_Or(self, node: nodes.Or) -> nodes.Node:  # noqa: N802 (Jinja calls it by this name)
        self.generic_visit(node)
        node.left = _filtered(node.left, OR_NONE)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.nodes = [_filtered(part, TEXT) for part in node.nodes]
        return node


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def restore_returns(tree: nodes.Template, stand_in: str) -> None:
    for data in tree.find_all(nodes.TemplateData):
        data.data = data.data.replace(stand_in, "\r")
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, str):
            constant.value = constant.value.replace(stand_in, "\r")
