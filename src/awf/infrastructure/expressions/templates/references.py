"""What a Jinja template refers to: every path rooted at a name that the template does not bind itself.

The walk follows the order of the text. `bound` are the names set so far in the present scope, `guards` the paths
that are known to exist where the walk is (inside ``{% if x is defined %}``, for example).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import nodes

from awf.infrastructure.expressions.templates.chains import Parts, read_chain
from awf.infrastructure.expressions.templates.guards import absent_unless, present_if

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["Use", "uses_of"]

_LOOP = "loop"


class Use(NamedTuple):
    """A path in the template. `free` means that its root comes from the context; a `method` may be called on it."""

    parts: Parts
    offset: int
    guarded: bool
    free: bool
    method: str = ""

    @property
    def reached(self) -> Parts:
        return (*self.parts, self.method) if self.method else self.parts


class _Scope(NamedTuple):
    bound: set[str]
    guards: frozenset[Parts] = frozenset()

    def inner(self, names: Iterable[str] = ()) -> _Scope:
        return self._replace(bound={*self.bound, *names})

    def knowing(self, paths: Iterable[Parts]) -> _Scope:
        return self._replace(guards=self.guards | frozenset(paths))


def uses_of(template: nodes.Template, given: Collection[str]) -> tuple[Use, ...]:
    """`given` are the names Jinja itself provides."""
    walk = _Walk()
    walk.each(template.body, _Scope(set(given)))
    return tuple(walk.found)


class _Walk:
    def __init__(self) -> None:
        self.found: list[Use] = []

    def each(self, statements: Iterable[nodes.Node], scope: _Scope) -> None:
        for statement in statements:
            self.visit(statement, scope)

    def visit(self, node: nodes.Node, scope: _Scope, *, spared: bool = False) -> None:
        """`spared` means that the value of this node may be missing without harm."""
        if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
            self._path(node, scope, spared=spared)
            return
        handler: Any = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            self.each(node.iter_child_nodes(), scope)
        else:
            handler(node, scope, spared)

    def _path(self, node: nodes.Expr, scope: _Scope, *, spared: bool = False, method: str = "") -> None:
        chain = read_chain(node)
        if isinstance(chain.base, nodes.Name):
            guarded = spared or any(_related(chain.parts, guard) for guard in scope.guards)
            free = chain.parts[0] not in scope.bound
            known = "" if chain.dynamic else method
            self.found.append(Use(chain.parts, chain.base.lineno - 1, guarded, free, known))
        else:
            self.visit(chain.base, scope)
        self.each(chain.dynamic, scope)

    def _call(self, node: nodes.Call, scope: _Scope, _spared: bool) -> None:
        if isinstance(node.node, nodes.Getattr):
            self._path(node.node.node, scope, method=node.node.attr)
        else:
            self.visit(node.node, scope)
        self.each((child for child in node.iter_child_nodes() if child is not node.node), scope)

    def _filter(self, node: nodes.Filter, scope: _Scope, _spared: bool) -> None:
        if node.node is not None:
            self.visit(node.node, scope, spared=node.name in {"default", "d"})
        self.each(node.iter_child_nodes(exclude=("node",)), scope)

    def _test(self, node: nodes.Test, scope: _Scope, _spared: bool) -> None:
        self.visit(node.node, scope, spared=node.name in {"defined", "undefined"})
        self.each(node.iter_child_nodes(exclude=("node",)), scope)

    def _or(self, node: nodes.Or, scope: _Scope, spared: bool) -> None:
        self.visit(node.left, scope, spared=True)
        self.visit(node.right, scope.knowing(absent_unless(node.left)), spared=spared)

    def _and(self, node: nodes.And, scope: _Scope, spared: bool) -> None:
        self.visit(node.left, scope)
        self.visit(node.right, scope.knowing(present_if(node.left)), spared=spared)

    def _condexpr(self, node: nodes.CondExpr, scope: _Scope, spared: bool) -> None:
        self.visit(node.test, scope)
        self.visit(node.expr1, scope.knowing(present_if(node.test)), spared=spared)
        if node.expr2 is not None:
            self.visit(node.expr2, scope.knowing(absent_unless(node.test)), spared=spared)

    def _if(self, node: nodes.If, scope: _Scope, _spared: bool) -> None:
        branches: list[nodes.If] = [node, *node.elif_]
        for branch in branches:
            self.visit(branch.test, scope)
            self.each(branch.body, scope.knowing(present_if(branch.test)))
            scope = scope.knowing(absent_unless(branch.test))
        self.each(node.else_, scope)

    def _for(self, node: nodes.For, scope: _Scope, _spared: bool) -> None:
        self.visit(node.iter, scope)
        inside = scope.inner({*_stored(node.target), _LOOP})
        if node.test is not None:
            self.visit(node.test, inside.inner())
        self.each(node.body, inside)
        self.each(node.else_, scope.inner())

    def _assign(self, node: nodes.Assign, scope: _Scope, _spared: bool) -> None:
        self.visit(node.node, scope)
        scope.bound.update(_stored(node.target))

    def _assignblock(self, node: nodes.AssignBlock, scope: _Scope, _spared: bool) -> None:
        if node.filter is not None:
            self.visit(node.filter, scope)
        self.each(node.body, scope.inner())
        scope.bound.update(_stored(node.target))

    def _with(self, node: nodes.With, scope: _Scope, _spared: bool) -> None:
        self.each(node.values, scope)
        self.each(node.body, scope.inner(name for target in node.targets for name in _stored(target)))

    def _macro(self, node: nodes.Macro, scope: _Scope, _spared: bool) -> None:
        scope.bound.add(node.name)
        self.each(node.defaults, scope)
        names = {name for argument in node.args for name in _stored(argument)}
        self.each(node.body, scope.inner({*names, "caller", "varargs", "kwargs"}))

    def _callblock(self, node: nodes.CallBlock, scope: _Scope, _spared: bool) -> None:
        self.visit(node.call, scope)
        self.each(node.defaults, scope)
        self.each(node.body, scope.inner(name for argument in node.args for name in _stored(argument)))

    def _block(self, node: nodes.Block, scope: _Scope, _spared: bool) -> None:
        self.each(node.body, scope.inner({"super"}))

    _filterblock = _scope = lambda self, node, scope, _spared: self.each(
        node.iter_child_nodes(), scope.inner()
    )


def _stored(target: nodes.Node) -> set[str]:
    if isinstance(target, nodes.Name):
        return {target.name}
    return {name.name for name in target.find_all(nodes.Name)}


def _related(path: Parts, guard: Parts) -> bool:
    """What exists below a path vouches for it, and a path that exists for what is asked below it."""
    return path[: len(guard)] == guard[: len(path)]
