"""A template of the first AWF, block by block, as the Jinja template that means the same."""

from __future__ import annotations

import re

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.templates.blocks import Block, split_blocks
from awf.infrastructure.expressions.templates.go_forms import (
    Piece,
    filter_name,
    path_pieces,
    pipeline,
    refuse_keyword,
    speaks_go,
)
from awf.infrastructure.expressions.templates.source_map import Rewriting, Rewritten
from awf.infrastructure.expressions.templates.tokens import Token, read_tokens

__all__ = ["rewrite_template"]

_SHELL_LENGTH = re.compile(r"(?<=\$)\{#")


def rewrite_template(text: str) -> Rewritten:
    """Raises `ExpressionError` for forms that have no translation."""
    try:
        return _TemplateRewriting(text).finish()
    except RecursionError:
        raise ExpressionError("The template is nested too deeply") from None


class _TemplateRewriting:
    def __init__(self, text: str) -> None:
        self._text = text
        self._out = Rewriting(text)
        self._open_ifs: list[int] = []

    def finish(self) -> Rewritten:
        for block in split_blocks(self._text):
            self._block(block)
        if self._open_ifs:
            raise ExpressionError(
                "{{if}} is not closed", offset=self._open_ifs[-1], hint="End it with {{end}} or {% endif %}."
            )
        return self._out.finish()

    def _block(self, block: Block) -> None:
        if block.kind == "expression":
            self._expression(block)
        elif block.kind == "statement":
            self._code(block, read_tokens(self._text, block.inner, block.outer, go=False))
        elif block.kind == "comment" and self._text[block.start + 1] == "{":
            self._comment(block)
        elif block.kind == "text":
            self._plain(block)
        else:
            self._out.copy(block.start, block.end)

    def _plain(self, block: Block) -> None:
        position = block.start
        for match in _SHELL_LENGTH.finditer(self._text, block.start, block.end):
            self._out.copy(position, match.start())
            self._out.put("{{ '{#' }}", match.start())
            position = match.end()
        self._out.copy(position, block.end)

    def _comment(self, block: Block) -> None:
        before = "-" if self._text[block.start + 2] == "-" else ""
        after = "-" if self._text[block.end - 3] == "-" else ""
        self._out.put(f"{{#{before} {after}#}}", block.start)

    def _expression(self, block: Block) -> None:
        tokens = read_tokens(self._text, block.inner, block.outer, go=True)
        refuse_keyword(tokens)
        if self._conditional(block, tokens):
            return
        if speaks_go(tokens):
            self._out.copy(block.start, block.inner)
            self._go(block, tokens)
            self._out.copy(block.outer, block.end)
        else:
            self._code(block, read_tokens(self._text, block.inner, block.outer, go=False))

    def _go(self, block: Block, tokens: list[Token]) -> None:
        self._out.put(" ", block.inner)
        self._put(pipeline(tokens))
        self._out.put(" ", block.outer)

    def _conditional(self, block: Block, tokens: list[Token]) -> bool:
        """``{{if …}}``, ``{{else if …}}``, ``{{else}}`` and ``{{end}}``."""
        words = [token.word for token in tokens[:2]]
        if words[:1] == ["if"] and len(tokens) > 1:
            self._open_ifs.append(block.start)
            self._statement(block, "if", tokens[1:])
        elif words == ["else", "if"] and len(tokens) > 2:
            self._require_if(block)
            self._statement(block, "elif", tokens[2:])
        elif words == ["else"]:
            self._require_if(block)
            self._statement(block, "else", [])
        elif words == ["end"] and len(tokens) == 1 and self._open_ifs:
            self._open_ifs.pop()
            self._statement(block, "endif", [])
        else:
            return False
        return True

    def _require_if(self, block: Block) -> None:
        if not self._open_ifs:
            raise ExpressionError("{{else}} without {{if}}", offset=block.start)

    def _statement(self, block: Block, word: str, test: list[Token]) -> None:
        self._out.put(f"{{%{self._text[block.start + 2 : block.inner]} {word}", block.start)
        if test:
            self._out.put(" ", test[0].start)
            if speaks_go(test):
                self._put(pipeline(test))
            else:
                self._rewrite(read_tokens(self._text, test[0].start, test[-1].end, go=False), test[-1].end)
        self._out.put(f" {self._text[block.outer : block.end - 2]}%}}", block.outer)

    def _put(self, pieces: list[Piece]) -> None:
        for text, at in pieces:
            self._out.put(text, at)

    def _code(self, block: Block, tokens: list[Token]) -> None:
        """Jinja already: only names need a touch."""
        start = tokens[0].start if tokens else block.outer
        self._out.copy(block.start, start)
        self._rewrite(tokens, block.outer)
        self._out.copy(block.outer, block.end)

    def _rewrite(self, tokens: list[Token], end: int) -> None:
        for i, token in enumerate(tokens):
            follower = tokens[i + 1].start if i + 1 < len(tokens) else end
            if token.kind in {"dot", "variable"}:
                self._refuse(token)
            elif i and token.word and tokens[i - 1].text == "|" and filter_name(token.word) != token.word:
                self._out.put(filter_name(token.word), token.start)
            elif token.path and (token.led or not all(s.verbatim for s in token.path.segments)):
                self._put(path_pieces(token.path))
            elif token.kind == "raw":
                self._out.put(repr(token.text[1:-1]), token.start)
            else:
                self._out.copy(token.start, token.end)
            self._out.copy(token.end, follower)

    def _refuse(self, token: Token) -> None:
        hint = "Name the value: {{ inputs.name }}, {{ loop.item }}."
        if token.kind == "variable":
            hint = "Variables are set with {% set name = value %} and used as {{ name }}."
        raise ExpressionError(
            f"{token.text!r} of Go templates is not understood", offset=token.start, hint=hint
        )
