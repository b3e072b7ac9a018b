"""The first AWF wrote its templates in Go's language. The forms its workflows use are turned into Jinja here.

A block is taken for Go when it opens with one of Go's keywords or calls a function Go's way, ``name operand …``, which
Jinja has no use for. What cannot be turned is refused, with a hint that says how Jinja puts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from awf.domain.ports.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.infrastructure.expressions.paths import Path
    from awf.infrastructure.expressions.templates.tokens import Token

__all__ = ["Piece", "filter_name", "path_pieces", "pipeline", "refuse_keyword", "speaks_go"]

Piece = tuple[str, int]  # what to write, and where in the original it comes from

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FILTERS = {"escape": "shellquote", "json": "tojson", "trimSpace": "trim", "len": "length"}
_WITH_SEPARATOR = ("split", "join")
_REFUSED = {
    "readFile": "Use prompt_file or script_file, or read the file in a step and use {{ states.NAME.output }}.",
    "printf": """Write {{ "%s" | format(value) }}.""",
    "print": "Write {{ a ~ b }}.",
    "println": "Write {{ a ~ b }}.",
    "html": "Write {{ value | e }}.",
    "js": "Write {{ value | tojson }}.",
    "urlquery": "Write {{ value | urlencode }}.",
    "slice": "Write {{ value[1:3] }}.",
    "call": "Functions cannot be called from a template.",
}
_KEYWORDS = {
    "range": "Write {{% for item in {0} %}}…{{{{ item }}}}…{{% endfor %}}.",
    "with": "Write {{% if {0} %}}…{{% endif %}}, and the whole path inside.",
    "define": "Write {{% macro name() %}}…{{% endmacro %}}.",
    "template": "Write {{% macro name() %}}…{{% endmacro %}} and {{{{ name() }}}} where it is used.",
    "block": "Write the text itself, or {{% macro name() %}}…{{% endmacro %}}.",
}
_LOGIC = frozenset({"and", "or", "not"})
_FUNCTIONS = frozenset({*_COMPARISONS, *_FILTERS, *_WITH_SEPARATOR, *_REFUSED, *_LOGIC, "index"})
_JINJA_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else", "recursive"})
_CONSTANTS = {"nil": "none", "true": "true", "false": "false"}


def filter_name(name: str) -> str:
    """After a ``|`` a function of the first AWF reads like a filter, and keeps its meaning."""
    return _FILTERS.get(name, name)


def speaks_go(tokens: Sequence[Token]) -> bool:
    return any(_calls_go(tokens, i) for i in range(len(tokens)))


def _calls_go(tokens: Sequence[Token], i: int) -> bool:
    word = tokens[i].word
    if not word or i + 1 >= len(tokens):
        return False
    follower, last = tokens[i + 1], tokens[i - 1] if i else None
    if last is not None and last.text == "|":
        return _starts_operand(follower) and follower.text != "("
    if word not in _FUNCTIONS or word == "not":
        return False
    if last is not None and (last.word in {"is", "not"} or last.kind == "attribute"):
        return False
    if word in _LOGIC:
        return (last is None or last.text == "(") and _starts_operand(follower)
    if follower.text == "(":
        return follower.spaced or any(token.led for token in tokens)
    return _starts_operand(follower)


def _starts_operand(token: Token) -> bool:
    if token.kind == "operator":
        return token.text == "("
    return token.word not in _JINJA_WORDS if token.word else token.kind != "attribute"


def refuse_keyword(tokens: Sequence[Token]) -> None:
    """Raise if a block opens with one of Go's keywords that Jinja puts in another way."""
    word = tokens[0].word if tokens else ""
    if word in _KEYWORDS and len(tokens) > 1 and _starts_operand(tokens[1]) and tokens[1].text != "(":
        subject = (
            "".join(text for text, _ in path_pieces(tokens[1].path)) if tokens[1].path else "inputs.items"
        )
        message = f"{{{{{word}}}}} of Go templates is not understood"
        raise ExpressionError(message, offset=tokens[0].start, hint=_KEYWORDS[word].format(subject))


def path_pieces(path: Path | None) -> list[Piece]:
    """A path as Jinja reads it: hyphenated names become subscripts, old field names the present ones."""
    assert path is not None
    pieces: list[Piece] = [(path.root, path.start)]
    for segment in path.segments:
        for part in segment.parts:
            plain = isinstance(part, int) or part.isidentifier()
            pieces.append((f".{part}" if plain else f"[{part!r}]", segment.start))
    return pieces


class _Value(NamedTuple):
    pieces: list[Piece]
    simple: bool = True  # can take a filter or an operator without brackets

    def operand(self) -> list[Piece]:
        if self.simple:
            return self.pieces
        return [("(", self.pieces[0][1]), *self.pieces, (")", self.pieces[-1][1])]


def pipeline(tokens: Sequence[Token]) -> list[Piece]:
    """Turn the tokens of a whole Go expression into Jinja."""
    reader = _Reader(tokens)
    value = reader.pipeline()
    if reader.at < len(tokens):
        _refuse(tokens[reader.at])
    return value.pieces


def _refuse(token: Token) -> NoReturn:
    raise ExpressionError(
        f"{token.text!r} was not expected here",
        offset=token.start,
        hint="Templates are Jinja: {{ value | filter(argument) }}, {% if a == b %}…{% endif %}.",
    )


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self.at = 0

    def _peek(self) -> str:
        return self._tokens[self.at].text if self.at < len(self._tokens) else ""

    def pipeline(self) -> _Value:
        value = self._command(None)
        while self._peek() == "|":
            self.at += 1
            value = self._command(value)
        return value

    def _command(self, piped: _Value | None) -> _Value:
        if self.at >= len(self._tokens):
            _refuse(self._tokens[-1])
        first = self._tokens[self.at]
        if first.word in _FUNCTIONS:
            self.at += 1
            if piped and first.word in _WITH_SEPARATOR:
                hint = f"Write {{{{ value | {first.word}(',') }}}}."
                raise ExpressionError(f"{first.word} takes its value first", offset=first.start, hint=hint)
            return _call(first, [*self._operands(), *([piped] if piped else [])])
        if piped is not None or (first.word and first.word not in _CONSTANTS and self._followed()):
            raise ExpressionError(
                f"{first.text} is not a function templates know",
                offset=first.start,
                hint="Filters take their arguments in brackets: {{ value | default('x') }}.",
            )
        return self._operand()

    def _followed(self) -> bool:
        return self.at + 1 < len(self._tokens) and _starts_operand(self._tokens[self.at + 1])

    def _operands(self) -> list[_Value]:
        found = []
        while self._peek() not in {"", "|", ")"}:
            found.append(self._operand())
        return found

    def _operand(self) -> _Value:
        token = self._tokens[self.at]
        self.at += 1
        if token.text == "(":
            inner = self.pipeline()
            if self._peek() != ")":
                _refuse(self._tokens[min(self.at, len(self._tokens) - 1)])
            self.at += 1
            return _Value([("(", token.start), *inner.pieces, (")", token.start)])
        return _Value(_operand_pieces(token))


def _operand_pieces(token: Token) -> list[Piece]:
    if token.kind == "path":
        return (
            [(_CONSTANTS[token.word], token.start)] if token.word in _CONSTANTS else path_pieces(token.path)
        )
    if token.kind == "raw":
        return [(repr(token.text[1:-1]), token.start)]
    if token.kind in {"string", "number"}:
        return [(token.text, token.start)]
    _refuse(token)


def _call(function: Token, arguments: list[_Value]) -> _Value:
    name, at = function.word, function.start
    if name in _REFUSED:
        raise ExpressionError(f"{name} of Go templates is not understood", offset=at, hint=_REFUSED[name])
    if name in _FILTERS and len(arguments) == 1:
        return _Value([*arguments[0].operand(), (f"|{_FILTERS[name]}", at)])
    if name in _WITH_SEPARATOR and len(arguments) == 2:
        value, separator = arguments
        return _Value([*value.operand(), (f"|{name}(", at), *separator.pieces, (")", at)])
    if name in _COMPARISONS and len(arguments) >= 2:
        return _compared(_COMPARISONS[name], arguments, at)
    if name == "not" and len(arguments) == 1:
        return _Value([("not ", at), *arguments[0].operand()], simple=False)
    if name in _LOGIC and len(arguments) >= 1 and name != "not":
        return _Value(_joined(f" {name} ", arguments, at), simple=False)
    if name == "index" and len(arguments) >= 2:
        subscripts = [piece for a in arguments[1:] for piece in [("[", at), *a.pieces, ("]", at)]]
        return _Value([*arguments[0].operand(), *subscripts])
    raise ExpressionError(f"{name} has {len(arguments)} arguments, which is not how it is used", offset=at)


def _compared(sign: str, arguments: list[_Value], at: int) -> _Value:
    """``eq a b c`` is true if `a` equals any of the others."""
    first, *others = arguments
    if len(others) > 1 and sign != "==":
        raise ExpressionError("Only eq compares with more than one value", offset=at)
    pairs = [_Value([*first.operand(), (f" {sign} ", at), *other.operand()]) for other in others]
    return _Value(_joined(" or ", pairs, at), simple=False)


def _joined(word: str, values: list[_Value], at: int) -> list[Piece]:
    pieces = list(values[0].operand())
    for value in values[1:]:
        pieces += [(word, at), *value.operand()]
    return pieces
