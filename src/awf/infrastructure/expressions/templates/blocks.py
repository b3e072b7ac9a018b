"""Cutting a template into text and blocks, the way Jinja's own lexer does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from awf.domain.ports.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Block", "has_markup", "split_blocks"]

Kind = Literal["text", "expression", "statement", "comment", "raw"]

# "${#" is the length of a shell variable, not a comment.
_OPEN = re.compile(r"\{\{|\{%|(?<!\$)\{#")
_COMMENT = re.compile(r"(?<!\$)\{#")
_GO_COMMENT = re.compile(r"\{\{(-?)\s*/\*.*?\*/\s*(-?)\}\}", re.DOTALL)
_RAW = re.compile(r"\{%[-+]?\s*raw\s*-?%\}")
_END_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_INSIDE = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|(?P<open>[(\[{])|(?P<end>[-+]?[}%]\})|(?P<close>[)\]}])""",
    re.DOTALL,
)


class Block(NamedTuple):
    """A piece of a template. `inner` and `outer` are where the code inside the delimiters begins and ends."""

    kind: Kind
    start: int
    end: int
    inner: int = 0
    outer: int = 0


def has_markup(text: str) -> bool:
    return "{{" in text or "{%" in text or ("{#" in text and _COMMENT.search(text) is not None)


def split_blocks(text: str) -> Iterator[Block]:
    position = 0
    while opening := _OPEN.search(text, position):
        if opening.start() > position:
            yield Block("text", position, opening.start())
        block = _read_block(text, opening.start())
        yield block
        position = block.end
    if position < len(text):
        yield Block("text", position, len(text))


def _read_block(text: str, start: int) -> Block:
    delimiter = text[start : start + 2]
    if delimiter == "{#":
        return _read_comment(text, start)
    if delimiter == "{{":
        comment = _GO_COMMENT.match(text, start)
        if comment is not None:
            return Block("comment", start, comment.end())
        return _read_code(text, start, "expression", "}}")
    raw = _RAW.match(text, start)
    return _read_raw(text, raw) if raw else _read_code(text, start, "statement", "%}")


def _read_raw(text: str, opening: re.Match[str]) -> Block:
    closing = _END_RAW.search(text, opening.end())
    if closing is None:
        raise ExpressionError(
            "{% raw %} is not closed", offset=opening.start(), hint="End it with {% endraw %}."
        )
    return Block("raw", opening.start(), closing.end())


def _read_comment(text: str, start: int) -> Block:
    end = text.find("#}", start + 2)
    if end < 0:
        raise ExpressionError("The comment {# is not closed", offset=start, hint="End it with #}.")
    return Block("comment", start, end + 2)


def _read_code(text: str, start: int, kind: Kind, closing: str) -> Block:
    inner = start + 3 if text[start + 2 : start + 3] in {"-", "+"} else start + 2
    position, nested = inner, 0
    while match := _INSIDE.search(text, position):
        position = match.end()
        if match["open"]:
            nested += 1
        elif match["end"] and match["end"].endswith(closing) and nested == 0:
            return Block(kind, start, match.end(), inner, match.start())
        elif match["close"]:
            nested = max(nested - 1, 0)
        elif match["end"]:
            nested, position = _pass_braces(match, nested)
    opening = text[start : start + 2]
    what = f"A bracket or quote inside {opening}" if closing in text[inner:] else opening
    raise ExpressionError(
        f"{what} is not closed",
        offset=start,
        hint=f"End it with {closing}. For the characters themselves write {{{{ '{opening}' }}}}.",
    )


def _pass_braces(match: re.Match[str], nested: int) -> tuple[int, int]:
    """``}}`` and ``%}`` inside brackets close one bracket; look again at what follows."""
    first_brace = match.start() + match.group().index("}")
    return max(nested - 1, 0), first_brace + 1
