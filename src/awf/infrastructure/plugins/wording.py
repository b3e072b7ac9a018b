"""Words for what plugins do wrong."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.domain.ports.command_runner import CommandOutcome

__all__ = ["how_it_ended", "meant", "quoted"]

LONGEST_QUOTE = 600


def how_it_ended(outcome: CommandOutcome) -> str:
    if outcome.breach:
        return f"was stopped by {outcome.breach} in its sandbox “{outcome.profile}”"
    if not outcome.signal:
        return f"ended with exit status {outcome.exit_code}"
    try:
        name = signal.Signals(outcome.signal).name
    except ValueError:
        name = f"signal {outcome.signal}"
    return f"was ended by {name}"


def quoted(text: str) -> str:
    """The end of it: that is where programs say what went wrong."""
    return text if len(text) <= LONGEST_QUOTE else f"…{text[-LONGEST_QUOTE:]}"


def meant(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint: the name that was most likely meant, or those that there are."""
    names = sorted(known)
    close = suggest(word, names)
    if close:
        return f"did you mean '{close}'?"
    return f"There are: {', '.join(names)}." if names else otherwise
