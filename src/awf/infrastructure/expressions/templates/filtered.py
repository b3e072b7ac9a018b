"""Templates whose placeholders are paths with well-known filters: understood here, rendered by Jinja when they are used.

Validation asks only what a template refers to. For these that can be told without Jinja, which takes longer to load and to
parse a template than all the rest of a check.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.domain.ports.expressions import Reference
from awf.infrastructure.expressions.templates.blocks import has_markup
from awf.infrastructure.expressions.templates.plain import plain_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.expressions import CompiledTemplate

__all__ = ["FILTERS", "FilteredTemplate", "filtered_template"]

FILTERS = frozenset({
    "abs", "basename", "capitalize", "default", "dirname", "first", "float", "fromjson", "indent", "int", "join", "last",
    "length", "lines", "lower", "replace", "round", "shellquote", "split", "string", "title", "tojson", "trim", "truncate",
    "upper",
})  # fmt: skip
_GUARDS = "default"
_LITERAL = r"""(?:'[^'\\{}]*'|"[^"\\{}]*"|-?\d+)"""
_FILTER = rf"\s*\|\s*[a-z]+(?:\(\s*(?:{_LITERAL}(?:\s*,\s*{_LITERAL})*)?\s*\))?"
_PLACEHOLDER = re.compile(
    rf"""\{{\{{\s*([A-Za-z_]\w*(?:\.[\w-]+|\['[^'\\]*'\]|\["[^"\\]*"\]|\[[0-9]+\])*)((?:{_FILTER})*)\s*\}}\}}""",
    re.ASCII,
)
_FILTER_NAME = re.compile(r"\|\s*([a-z]+)")


class FilteredTemplate:
    __slots__ = ("_compiled", "_text", "references")

    def __init__(self, text: str, references: tuple[Reference, ...]) -> None:
        self._text = text
        self._compiled: CompiledTemplate | None = None
        self.references = references

    def render(self, context: Mapping[str, Any]) -> str:
        return self._jinja().render(context)

    def value(self, context: Mapping[str, Any]) -> Any:
        return self._jinja().value(context)

    def _jinja(self) -> CompiledTemplate:
        if self._compiled is None:
            from awf.infrastructure.expressions.templates.jinja import compile_jinja

            self._compiled = compile_jinja(self._text)
        return self._compiled


def filtered_template(text: str) -> FilteredTemplate | None:
    """The template, or None when Jinja has to read it."""
    if has_markup(_PLACEHOLDER.sub("\0", text)):
        return None
    references: list[Reference] = []
    for match in _PLACEHOLDER.finditer(text):
        path, names = plain_path(match[1]), _FILTER_NAME.findall(re.sub(_LITERAL, "", match[2]))
        if path is None or not FILTERS.issuperset(names) or _GUARDS in names[1:]:
            return None
        references.append(Reference(tuple(map(str, path)), match.start(1), guarded=names[:1] == [_GUARDS]))
    return FilteredTemplate(text, tuple(references))
