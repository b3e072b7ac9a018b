"""Templates that use more than plain paths, rendered by Jinja."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.parser import Parser

from awf.domain.ports.expressions import ExpressionError, Reference
from awf.infrastructure.expressions.failures import explained
from awf.infrastructure.expressions.templates.absent import final_text, native
from awf.infrastructure.expressions.templates.environment import environment
from awf.infrastructure.expressions.templates.errors import Diagnosis, syntax_error
from awf.infrastructure.expressions.templates.references import uses_of
from awf.infrastructure.expressions.templates.rewriting import rewrite_template
from awf.infrastructure.expressions.templates.tree import alone, check_tree, prepare_tree, restore_returns
from awf.infrastructure.expressions.values import MISSING, child

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2.runtime import Context

    from awf.infrastructure.expressions.templates.source_map import Rewritten

__all__ = ["JinjaTemplate", "compile_jinja"]

_RESULT = "awf_result"
_LARGEST_TEXT = 64 * 1024 * 1024
_RETURN_STAND_INS = "\x1c\x1d\x1e\x1f\x0b\x0c"


def compile_jinja(text: str) -> JinjaTemplate:
    rewritten = rewrite_template(text)
    try:
        return JinjaTemplate(_parsed(rewritten.text), rewritten)
    except TemplateSyntaxError as error:
        raise syntax_error(error, rewritten) from None
    except RecursionError:
        raise ExpressionError("The template is nested too deeply") from None
    except ValueError as error:
        raise ExpressionError(f"The template cannot be read: {error}") from None


def _parsed(text: str) -> nodes.Template:
    """Jinja makes every line break a line feed; carriage returns are kept by hiding them from it."""
    if "\r" not in text:
        return Parser(environment(), text).parse()
    stand_in = next((c for c in _RETURN_STAND_INS if c not in text), "")
    tree = Parser(environment(), text.replace("\r", stand_in)).parse()
    if stand_in:
        restore_returns(tree, stand_in)
    return tree


class JinjaTemplate:
    def __init__(self, tree: nodes.Template, rewritten: Rewritten) -> None:
        check_tree(tree)
        self._rewritten = rewritten
        self._uses = uses_of(tree, environment().globals)
        self._single = alone(tree)
        self._names = {name.name for name in tree.find_all(nodes.Name)}
        self._tree: nodes.Template | None = tree
        self._template: Template | None = None

    @property
    def references(self) -> tuple[Reference, ...]:
        origin = self._rewritten.origin
        return tuple(
            Reference(tuple(map(str, use.parts)), origin(use.offset), use.guarded)
            for use in self._uses
            if use.free
        )

    def render(self, context: Mapping[str, Any]) -> str:
        try:
            if self._single is None:
                return self._text(context)
            return f"{self._single.before}{final_text(self._result(context))}{self._single.after}"
        except Exception as error:  # noqa: BLE001 (whatever goes wrong, it is an expression error)
            raise self._failure(error, context) from None

    def value(self, context: Mapping[str, Any]) -> Any:
        if self._single is None:
            return self.render(context)
        try:
            return self._result(context)
        except Exception as error:  # noqa: BLE001 (whatever goes wrong, it is an expression error)
            raise self._failure(error, context) from None

    def _text(self, context: Mapping[str, Any]) -> str:
        template = self._compiled()
        pieces, size = [], 0
        for piece in template.root_render_func(self._scope(template, context)):
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST_TEXT:
                raise OverflowError("the result is too long")
        return "".join(pieces)

    def _result(self, context: Mapping[str, Any]) -> Any:
        template = self._compiled()
        scope = self._scope(template, context)
        for _ in template.root_render_func(scope):
            pass
        return native(scope.vars[_RESULT])

    def _scope(self, template: Template, context: Mapping[str, Any]) -> Context:
        """Only the names that occur are asked for; the context may be lazy."""
        found = {name: child(context, name) for name in self._names}
        return template.new_context({name: value for name, value in found.items() if value is not MISSING})

    def _compiled(self) -> Template:
        """Python code is made on first use: checking a workflow needs only the tree."""
        if self._template is None:
            assert self._tree is not None
            tree = prepare_tree(self._tree, _RESULT if self._single else None)
            code = environment().compile(tree)
            self._template = Template.from_code(environment(), code, environment().globals)
            self._tree = None
        return self._template

    def _failure(self, error: Exception, context: Mapping[str, Any]) -> ExpressionError:
        start = self._single.offset if self._single else 0
        diagnosis = Diagnosis(self._template, self._rewritten, self._uses, start)
        return explained(error, lambda: diagnosis.of(error, context))
