"""Templates that are text and plain paths: nearly all of them. They need no template engine."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from awf.domain.ports.expressions import ExpressionError, Reference
from awf.infrastructure.expressions.failures import explained, not_defined
from awf.infrastructure.expressions.paths import read_path
from awf.infrastructure.expressions.templates.blocks import has_markup
from awf.infrastructure.expressions.values import MISSING, Part, follow, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConstantTemplate", "PlainTemplate", "plain_path", "plain_template", "template_remedy"]

_PLACEHOLDER = re.compile(
    r"""\{\{\s*\.?([A-Za-z_]\w*(?:\.[\w-]+|\['[^'\\]*'\]|\["[^"\\]*"\]|\[[0-9]+\])*)\s*\}\}""", re.ASCII
)

# These names have a meaning of their own in Jinja, or began a statement in Go.
_NOT_PLAIN = frozenset(
    {
        "true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else", "elif", "end",
        "self", "super", "caller", "varargs", "kwargs", "range", "dict", "cycler", "joiner", "namespace", "with",
        "define", "template", "block",
    }
)  # fmt: skip


class ConstantTemplate:
    """Text without placeholders."""

    __slots__ = ("_text",)
    references: tuple[Reference, ...] = ()

    def __init__(self, text: str) -> None:
        self._text = text

    def render(self, context: Mapping[str, Any]) -> str:
        del context
        return self._text

    value = render


class PlainTemplate:
    """Text (at even places) and paths (at odd places)."""

    __slots__ = ("_alone", "_pieces", "_text")

    def __init__(self, text: str, pieces: tuple[str | tuple[Part, ...], ...]) -> None:
        self._text = text
        self._pieces = pieces
        self._alone = len(pieces) == 3 and not f"{pieces[0]}{pieces[2]}".strip()

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(
            Reference(tuple(map(str, plain_path(match[1]) or ())), match.start(1))
            for match in _PLACEHOLDER.finditer(self._text)
        )

    def render(self, context: Mapping[str, Any]) -> str:
        try:
            return "".join(
                [p if type(p) is str else shown(_found(context, p)) for p in self._pieces]  # type: ignore[arg-type]
            )
        except Exception as error:  # noqa: BLE001 (whatever goes wrong, it is an expression error)
            raise self._failure(error, context) from None

    def value(self, context: Mapping[str, Any]) -> Any:
        if not self._alone:
            return self.render(context)
        try:
            return _found(context, self._pieces[1])  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 (whatever goes wrong, it is an expression error)
            raise self._failure(error, context) from None

    def _failure(self, error: Exception, context: Mapping[str, Any]) -> ExpressionError:
        if isinstance(error, _NotFoundError):
            return explained(error, lambda: self._missing(error.path, context))
        return ExpressionError(f"The template cannot be filled in: {error}")

    def _missing(self, path: tuple[Part, ...], context: Mapping[str, Any]) -> ExpressionError:
        places = (m.start(1) for m in _PLACEHOLDER.finditer(self._text) if plain_path(m[1]) == path)
        return not_defined(path, context, next(places), remedy=template_remedy(path))


class _NotFoundError(Exception):
    def __init__(self, path: tuple[Part, ...]) -> None:
        super().__init__()
        self.path = path


def _found(context: Mapping[str, Any], path: tuple[Part, ...]) -> Any:
    value = follow(context, path)
    if value is MISSING:
        raise _NotFoundError(path)
    return value


def template_remedy(path: tuple[Part, ...]) -> str:
    written = ".".join(map(str, path))
    return f"If it may be missing, give a fallback: {{{{ {written} | default('') }}}}."


def plain_template(text: str) -> ConstantTemplate | PlainTemplate | None:
    """The compiled template, or None if it needs Jinja."""
    if not has_markup(text):
        return ConstantTemplate(text)
    pieces: list[Any] = _PLACEHOLDER.split(text)
    around = "\0".join(pieces[::2])
    if has_markup(around) or "{\0" in around:
        return None
    for i in range(1, len(pieces), 2):
        path = plain_path(pieces[i])
        if path is None:
            return None
        pieces[i] = path
    return PlainTemplate(text, tuple(pieces))


@lru_cache(maxsize=4096)
def plain_path(written: str) -> tuple[Part, ...] | None:
    path = read_path(written, 0)
    if path.end != len(written) or path.root in _NOT_PLAIN:
        return None
    parts = path.parts
    # Names with two underscores may reach into an object; the sandbox judges them.
    return None if any(isinstance(part, str) and part.startswith("__") for part in parts) else parts
