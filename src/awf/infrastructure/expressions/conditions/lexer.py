"""The words of a condition, read one at a time from a position in its text."""

from __future__ import annotations

import re

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.conditions.nodes import Literal
from awf.infrastructure.expressions.vocabulary import NAMESPACES

__all__ = ["Lexer", "quoted"]

_SPACE = re.compile(r"(?:\s+|//[^\n]*)+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|&&|\|\||[=!<>]=|\{\{|.", re.DOTALL)
_LETTER = re.compile(r"[A-Za-z_]")
_NUMBER = re.compile(
    r"(?P<hex>0[xX][0-9a-fA-F]+[uU]?)|(?P<float>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<int>[0-9]+[uU]?)"
)
_STRING = re.compile(
    r'''"""(?P<a>(?:\\.|[^\\])*?)"""|\'\'\'(?P<b>(?:\\.|[^\\])*?)\'\'\''''
    r"""|"(?P<c>(?:\\.|[^"\\\n\r])*)"|'(?P<d>(?:\\.|[^'\\\n\r])*)'|`(?P<plain>[^`]*)`""",
    re.DOTALL,
)
_RAW_STRING = re.compile(
    r'''[rR](?:"""(?P<a>.*?)"""|\'\'\'(?P<b>.*?)\'\'\'|"(?P<c>[^"\n\r]*)"|'(?P<d>[^'\n\r]*)')''', re.DOTALL
)
_ESCAPE = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\?"'`])|[xX](?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"""
    r"|(?P<octal>[0-3][0-7]{2})|(?P<wrong>.))",
    re.DOTALL,
)
_PLAIN_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_TEMPLATED = re.compile(r"\{\{-?\s*\.?(?:" + "|".join(NAMESPACES) + r")\.")
_DIGITS = frozenset("0123456789")
_QUOTES = frozenset("\"'`")
_HINT = "Conditions are CEL: inputs.env == 'prod' && states.test.exit_code == 0."
_MOST_DIGITS = 40
_LARGEST = 2**63 - 1
_LARGEST_UNSIGNED = 2**64 - 1


class Lexer:
    """`at` is the position of the next word, and `word` that word, sign or character; empty at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.word = ""
        self.move(0)

    def move(self, position: int) -> None:
        space = _SPACE.match(self.text, position)
        self.at = space.end() if space else position
        word = _WORD.match(self.text, self.at)
        self.word = word.group() if word else ""

    def accept(self, *wanted: str) -> str:
        """Read one of these words or signs, if it comes next."""
        found = self.word
        if found not in wanted:
            return ""
        self.move(self.at + len(found))
        return found

    def expect(self, wanted: str, opened: int) -> None:
        """`opened` is where the thing began that `wanted` closes."""
        if self.text.startswith(wanted, self.at):
            self.move(self.at + len(wanted))
            return
        if self.at >= len(self.text):
            raise self.error(f"{self.text[opened]} is not closed", opened, hint=f"Add {wanted}.")
        raise self.unexpected()

    def constant(self) -> Literal | None:
        """A text or number, if one comes next."""
        first, second = self.word[:1], self.text[self.at + 1 : self.at + 2]
        if first in _QUOTES or (first in {"r", "R"} and second in _QUOTES):
            return self._string()
        if first in _DIGITS or (first == "." and second in _DIGITS):
            return self.number()
        return None

    def number(self, *, negative: bool = False) -> Literal:
        match = _NUMBER.match(self.text, self.at)
        assert match is not None
        start, text = self.at, match.group()
        if _LETTER.match(self.text, match.end()):
            raise self.error("A number is followed by letters", start, hint="Text stands in quotes.")
        self.move(match.end())
        if match.lastgroup == "float":
            if float(text) == float("inf"):
                raise self.error("The number is too large", start)
            return Literal(text, start)
        unsigned = text[-1] in "uU"
        value = (
            _LARGEST_UNSIGNED + 1
            if len(text) > _MOST_DIGITS
            else int(text.rstrip("uU"), 16 if match.lastgroup == "hex" else 10)
        )
        if value > (_LARGEST_UNSIGNED if unsigned else _LARGEST + negative):
            raise self.error("The number is too large", start)
        return Literal(text, start, None if unsigned else value)

    def _string(self) -> Literal:
        start = self.at
        match = _RAW_STRING.match(self.text, start) or _STRING.match(self.text, start)
        if match is None:
            raise self.error("A quote is not closed", start)
        inside = str(match[str(match.lastgroup)])
        if _TEMPLATED.search(inside):
            raise self.error(
                "Text in a condition is not a template",
                start,
                hint="Use the name itself: inputs.name == 'x'.",
            )
        self.move(match.end())
        if match.re is _RAW_STRING:
            return Literal(match.group(), start, inside)
        if match.lastgroup == "plain":
            return Literal(quoted(inside), start, inside)
        return Literal(match.group(), start, self._unescaped(inside, start))

    def _unescaped(self, inside: str, start: int) -> str:
        return (
            _ESCAPE.sub(lambda escape: self._character(escape, start), inside) if "\\" in inside else inside
        )

    def _character(self, escape: re.Match[str], start: int) -> str:
        kind, text = str(escape.lastgroup), escape[str(escape.lastgroup)]
        if kind == "plain":
            return _PLAIN_ESCAPES.get(text, text)
        code = -1 if kind == "wrong" else int(text, 8 if kind == "octal" else 16)
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        raise self.error(
            f"{escape.group()} means nothing in a text",
            start,
            hint="Write the backslash twice, or put r before the quote: r'\\d+'.",
        )

    def unexpected(self) -> ExpressionError:
        if self.at >= len(self.text):
            return self.error("Something is missing at the end")
        found = self.word
        hint = {"=": "Write == to compare.", "&": "Write && or and.", "|": "Write || or or."}.get(
            found, _HINT
        )
        return self.error(f"{found!r} was not expected here", hint=hint)

    def error(self, message: str, at: int | None = None, *, hint: str = _HINT) -> ExpressionError:
        return ExpressionError(message, offset=self.at if at is None else at, hint=hint)


def quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)
