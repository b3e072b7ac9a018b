"""Templates before a run: what is known is filled in, what an earlier state must give first stays readable.

A value is foreseeable when it depends on inputs, the environment and the workflow itself. Secrets are left out on
purpose: a filter could turn one into something that masking would no longer recognise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.ports.expressions import ExpressionError
from awf.domain.redaction import looks_secret

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.ports.expressions import CompiledCondition, CompiledTemplate, Expressions, Reference

__all__ = ["Foreseen", "Foresight", "placeholder"]

_OPENING = re.compile(r"\{\{|\{%|(?<!\$)\{#")
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}
_RAW = re.compile(r"\{%[-+]?\s*raw\s*-?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}", re.DOTALL)
_TAG = re.compile(r"\{.[-+]?\s*(.*?)\s*[-+]?.\}\Z", re.DOTALL)
_PATH = re.compile(r"\.?[\w.-]+\Z")
_ENDS_TRIED = 60
_OF_WORKFLOW = {"name", "version", "dir", "current_state"}  # the others are known once a run has begun


def placeholder(what: str) -> str:
    """How something that is not known yet is shown: in angle quotation marks."""
    return f"\u2039{what}\u203a"


class Foreseen(NamedTuple):
    value: Any
    complete: bool  # nothing in it waits for the run


class Foresight:
    """What templates of one state come to. What cannot come to anything is noted in `problems`."""

    def __init__(self, expressions: Expressions, context: Mapping[str, Any], hidden: frozenset[str]) -> None:
        self._expressions = expressions
        self._context = context
        self._hidden = hidden  # inputs that are not known, or must not be shown
        self.problems: list[str] = []

    def at(self, state: str) -> Foresight:
        workflow = {**self._context["workflow"], "current_state": state}
        return Foresight(self._expressions, {**self._context, "workflow": workflow}, self._hidden)

    def note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def text(self, written: str) -> str:
        return str(self.render(written).value)

    def render(self, written: str) -> Foreseen:
        return self._filled(written, typed=False)

    def value(self, written: Any) -> Foreseen:
        """Plain data with every template in it filled in."""
        if isinstance(written, str):
            return self._filled(written, typed=True)
        if isinstance(written, list):
            items = [self.value(item) for item in written]
            return Foreseen([item.value for item in items], all(item.complete for item in items))
        if isinstance(written, dict):
            fields = {key: self.value(item) for key, item in written.items()}
            plain = {key: item.value for key, item in fields.items()}
            return Foreseen(plain, all(item.complete for item in fields.values()))
        return Foreseen(written, complete=True)

    def holds(self, written: str) -> bool | None:
        """Whether a condition holds, if that is known already."""
        try:
            condition = self._expressions.condition(written)
            return condition.holds(self._context) if self._foreseeable(condition) else None
        except ExpressionError as error:
            self.note(f"{written}: {error.message}")
            return None

    def _filled(self, written: str, *, typed: bool) -> Foreseen:
        try:
            template = self._expressions.template(written)
            if self._foreseeable(template):
                fill = template.value if typed else template.render
                return Foreseen(fill(self._context), complete=True)
        except ExpressionError as error:  # a file's text is compiled here for the first time
            self.note(error.message)
        return Foreseen(self._piece_by_piece(written), complete=False)

    def _foreseeable(self, expression: CompiledTemplate | CompiledCondition) -> bool:
        return all(self._known(reference.parts) for reference in expression.references)

    def _known(self, parts: Sequence[str]) -> bool:
        root, name = parts[0], parts[1] if len(parts) > 1 else None
        if root == "inputs":
            return name not in self._hidden if name is not None else not self._hidden
        if root == "env":
            return name is not None and not looks_secret(name)
        if root == "workflow":
            return name in _OF_WORKFLOW
        return root in {"context", "awf"}

    # -- in pieces -------------------------------------------------------------------------------------------------

    def _piece_by_piece(self, written: str) -> str:
        """Each placeholder by itself: filled in, or shown as what it asks for."""
        free = self._references(written)
        shown, position = [], 0
        while opening := _OPENING.search(written, position):
            start = opening.start()
            end, text = self._piece(written, start, free)
            shown += [written[position:start], text]
            position = end
        return "".join([*shown, written[position:]])

    def _references(self, written: str) -> Sequence[Reference]:
        try:
            return self._expressions.template(written).references
        except ExpressionError:
            return ()

    def _piece(self, written: str, start: int, free: Sequence[Reference]) -> tuple[int, str]:
        """Where the piece ends, and what to show for it."""
        end, template = self._enclosed(written, start)
        if template is not None and self._foreseeable(template):
            # A name that the template sets for itself is no reference of the whole, and is not ours to fill in.
            here = [reference for reference in free if start <= reference.offset < end]
            if {use.parts for use in here}.issuperset(use.parts for use in template.references):
                try:
                    return end, template.render(self._context)
                except ExpressionError as error:
                    if not any(use.guarded for use in here):
                        self.note(error.message)
        if template is None or "{{" in written[start + 2 : end] or "{%" in written[start + 2 : end]:
            end = _first_end(written, start)
            return end, placeholder(_inner(written[start:end]))
        return end, placeholder(_named(written[start:end], template.references))

    def _enclosed(self, written: str, start: int) -> tuple[int, CompiledTemplate | None]:
        """The shortest part from here on that is a template by itself: `{{ … }}`, or `{% if … %} … {% endif %}`."""
        if raw := _RAW.match(written, start):  # its beginning passes for a template too
            return raw.end(), self._expressions.template(raw.group())
        closing, end = _CLOSING[written[start : start + 2]], start + 2
        for _ in range(_ENDS_TRIED):
            found = written.find(closing, end)
            if found < 0:
                break
            end = found + 2
            try:
                return end, self._expressions.template(written[start:end])
            except ExpressionError:
                end = found + 1  # `}}}` may close a brace before it closes the placeholder
        return start, None


def _first_end(written: str, start: int) -> int:
    found = written.find(_CLOSING[written[start : start + 2]], start + 2)
    return found + 2 if found >= 0 else len(written)


def _inner(tag: str) -> str:
    found = _TAG.match(tag)
    return " ".join((found.group(1) if found else tag).split())


def _named(tag: str, references: Sequence[Reference]) -> str:
    """A lone path by the names that are used today, anything else as it is written."""
    inner = _inner(tag)
    return ".".join(references[0].parts) if len(references) == 1 and _PATH.match(inner) else inner
