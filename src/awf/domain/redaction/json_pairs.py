"""Values under secret names in JSON that is carried as text.

Only pairs of a quoted name and a quoted value are looked for, at any depth of escaping. To guess at more (`token = …`)
would spoil programs that an agent reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.domain.redaction.spans import Span

__all__ = ["pair_spans"]

_PAIR = re.compile(r'(?<!\\)(\\*+)"([^"\\]{1,128}+)\1" *+: *+\1"')
_QUOTE = re.compile(r'(\\*+)"|[\r\n]')


def pair_spans(text: str, is_secret: Callable[[str], bool]) -> Iterator[Span]:
    for found in _PAIR.finditer(text):
        if is_secret(found.group(2)):
            end = _end(text, found.end(), len(found.group(1)))
            if end > found.end():
                yield found.end(), end


def _end(text: str, start: int, depth: int) -> int:
    """Where the value ends; without a quote that closes it, with the line.

    Such a quote has as many backslashes before it as the one that opened, not counting those that are escaped.
    """
    for found in _QUOTE.finditer(text, start):
        slashes = found.group(1)
        if slashes is None:
            return found.start()
        if len(slashes) % (2 * (depth + 1)) == depth:
            return found.end() - 1 - depth
    return len(text)
