"""The only place that knows rich: lines become styled text, and a live region comes and goes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from awf.interfaces.cli.rendering.line_writer import can_carry, fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from awf.interfaces.cli.rendering.lines import Line

__all__ = ["Drawing"]

_STYLES = {"good": "green", "bad": "red", "wait": "yellow", "dim": "dim", "name": "bold", "": ""}


class Drawing:
    """A live region at the bottom of a terminal, and lines that stay above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._shown: list[Line] = []
        self._poor = not can_carry(console.encoding)
        self._gone = False

    def print(self, lines: Sequence[Line]) -> None:
        """Print for good, above the region. Long lines are left to the terminal to wrap."""
        if lines and not self._gone:
            with self._terminal():
                self._console.print(self._text(lines), soft_wrap=True)

    def show(self, rows: list[Line]) -> None:
        """Replace what the region shows."""
        if self._gone or rows == self._shown:
            return
        with self._terminal():
            live = self._live or self._start()
            text = self._text(rows)
            text.no_wrap, text.overflow = True, "ellipsis"
            live.update(text, refresh=True)
            self._shown = rows

    def clear(self) -> None:
        """Take the region away."""
        live, self._live, self._shown = self._live, None, []
        if live is not None:
            with self._terminal():
                live.stop()

    def leave(self, rows: list[Line]) -> None:
        """Take the region away and print what it would show, for good."""
        self.clear()
        self.print(rows)

    @contextmanager
    def _terminal(self) -> Iterator[None]:
        """A terminal that is gone must not end the run; rich answers a broken pipe by leaving the program."""
        try:
            yield
        except (OSError, SystemExit):
            self._gone = True

    def _start(self) -> Live:
        from rich.live import Live

        # The streams are left alone: what the program prints as its answer must not end up among the view's lines.
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        return self._live

    def _text(self, lines: Sequence[Line]) -> Text:
        from rich.text import Text

        return Text("\n").join(map(self._styled, lines))

    def _styled(self, spans: Line) -> Text:
        from rich.text import Text

        return Text.assemble(*((self._fit(span.text), _STYLES[span.style]) for span in spans))

    def _fit(self, text: str) -> str:
        return fitted(text, self._console.encoding) if self._poor else text
