"""Which paths a test proves to exist."""

from __future__ import annotations

from jinja2 import nodes

from awf.infrastructure.expressions.templates.chains import Parts, read_chain

__all__ = ["absent_unless", "present_if"]


def present_if(test: nodes.Node) -> set[Parts]:
    """The paths that exist whenever the test holds."""
    if isinstance(test, nodes.Test) and test.name == "defined":
        return _path(test.node)
    if isinstance(test, nodes.And):
        return present_if(test.left) | present_if(test.right)
    if isinstance(test, nodes.Not):
        return absent_unless(test.node)
    return _member(test) if isinstance(test, nodes.Compare) else set()


def absent_unless(test: nodes.Node) -> set[Parts]:
    """The paths that exist whenever the test does not hold."""
    if isinstance(test, nodes.Test) and test.name == "undefined":
        return _path(test.node)
    if isinstance(test, nodes.Or):
        return absent_unless(test.left) | absent_unless(test.right)
    return present_if(test.node) if isinstance(test, nodes.Not) else set()


def _path(node: nodes.Expr) -> set[Parts]:
    chain = read_chain(node)
    return {chain.parts} if isinstance(chain.base, nodes.Name) and not chain.dynamic else set()


def _member(test: nodes.Compare) -> set[Parts]:
    """``'build' in states``"""
    name = test.expr.value if isinstance(test.expr, nodes.Const) else None
    if not isinstance(name, str) or [operand.op for operand in test.ops] != ["in"]:
        return set()
    return {(*path, name) for path in _path(test.ops[0].expr)}
