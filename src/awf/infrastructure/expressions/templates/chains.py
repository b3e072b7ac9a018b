"""Dotted paths in Jinja's syntax tree."""

from __future__ import annotations

from typing import NamedTuple

from jinja2 import nodes

from awf.infrastructure.expressions.values import Part

__all__ = ["Chain", "Parts", "read_chain"]

Parts = tuple[Part, ...]


class Chain(NamedTuple):
    """``base.a['b'][i]``: the parts known from the text, and the subscripts that are not."""

    base: nodes.Expr
    parts: Parts
    dynamic: list[nodes.Node]


def read_chain(node: nodes.Expr) -> Chain:
    parts: list[Part] = []
    dynamic: list[nodes.Node] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        known = _known(node)
        if known is None:
            parts.clear()
            dynamic.insert(0, node.arg)  # type: ignore[union-attr]
        else:
            parts.append(known)
        node = node.node
    if isinstance(node, nodes.Name):
        parts.append(node.name)
    return Chain(node, tuple(reversed(parts)), dynamic)


def _known(node: nodes.Getattr | nodes.Getitem) -> Part | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    argument = node.arg
    if isinstance(argument, nodes.Const) and type(argument.value) in {str, int}:
        return argument.value  # type: ignore[no-any-return]
    return None
