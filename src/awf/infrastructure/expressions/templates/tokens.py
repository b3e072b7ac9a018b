"""The words of the code inside ``{{ }}`` and ``{% %}``, read so that both Jinja and Go forms can be told apart."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from awf.infrastructure.expressions.paths import Path, read_path

__all__ = ["Token", "read_tokens"]

Kind = Literal["path", "attribute", "string", "raw", "number", "dot", "variable", "operator"]

_WORD = re.compile(
    r"""(?P<space>\s+)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<raw>`[^`]*`)
      | (?P<dotted>\$?\.(?=[^\W\d]))
      | (?P<variable>\$\w*)
      | (?P<name>[^\W\d])
      | (?P<number>\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<operator>:=|==|!=|<=|>=|//|\*\*|.)""",
    re.DOTALL | re.VERBOSE,
)
_BEFORE_OPERANDS = frozenset(
    {"if", "elif", "else", "not", "and", "or", "in", "is", "for", "set", "with", "call", "filter", "print"}
)
_ATTRIBUTE = re.compile(r"\.(?:[^\W\d]\w*|\d+)")


class Token(NamedTuple):
    kind: Kind
    start: int
    end: int
    text: str
    spaced: bool  # white space stands before it
    path: Path | None = None
    led: bool = False  # written the Go way, with a dot in front

    @property
    def word(self) -> str:
        """The bare name this is, if it is one."""
        return (
            self.text if self.kind == "path" and self.path and not self.path.segments and not self.led else ""
        )

    @property
    def operand(self) -> bool:
        if self.kind == "operator":
            return self.text in {")", "]", "}"}
        return self.word not in _BEFORE_OPERANDS


def read_tokens(text: str, start: int, end: int, *, go: bool) -> list[Token]:
    """With `go`, a dot after a space begins a new operand; in Jinja it goes on with the one before it."""
    tokens: list[Token] = []
    position, spaced = start, False
    while position < end:
        match = _WORD.match(text, position, end)
        assert match is not None
        if match.lastgroup == "space":
            spaced, position = True, match.end()
            continue
        token = _token(text, match, tokens[-1] if tokens else None, spaced=spaced, go=go)
        tokens.append(token)
        spaced, position = False, token.end
    return tokens


def _token(text: str, match: re.Match[str], last: Token | None, *, spaced: bool, go: bool) -> Token:
    start, kind = match.start(), match.lastgroup
    if text[start] == "." and last is not None and last.operand and not (go and spaced):
        follower = _ATTRIBUTE.match(text, start)
        end = follower.end() if follower else start + 1
        return Token("attribute", start, end, text[start:end], spaced)
    if kind == "name":
        path = read_path(text, start)
        return Token("path", start, path.end, text[start : path.end], spaced, path)
    if kind == "dotted":
        path = read_path(text, match.end())
        return Token("path", start, path.end, text[start : path.end], spaced, path, led=True)
    if kind == "operator" and match.group() == ".":
        return Token("dot", start, match.end(), ".", spaced)
    assert kind in {"string", "raw", "variable", "number", "operator"}
    return Token(kind, start, match.end(), match.group(), spaced)  # type: ignore[arg-type]
