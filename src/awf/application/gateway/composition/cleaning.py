"""Error texts of a server, as an agent may read them: without the fields it does not know, with the names it knows.

A sentence about a hidden field is left out. One that also speaks about a field the agent knows stays, with the hidden
name and its value replaced, since it may be what the agent has to know.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import MISSING
from awf.application.gateway.composition.edits import levels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from awf.application.gateway.composition.edits import Edits
    from awf.application.gateway.composition.paths import Path

__all__ = ["Cleaner"]

NOTHING_LEFT = "The call failed for a reason that lies in how the tool is set up, not in the arguments."
_NAME, _VALUE = "a preset argument", "…"
_SENTENCES = re.compile(r"(?<=[.!?;])\s+")
_SHORTEST = 3  # shorter values are in too many texts by chance
_UNMISTAKABLE = 6  # from this length on, a value is covered inside of longer words too
_NO_SECRETS = frozenset({"true", "false", "none", "null"})
_LONGEST = 200_000  # a longer text is not for reading; what is cut off cannot tell anything


class Cleaner:
    def __init__(self, edits: Edits, visible: frozenset[str]) -> None:
        self._removed = [
            ((*path, name), removal)
            for path, level in levels(edits)
            for name, removal in level.removed.items()
        ]
        self._hidden = _either(form for path, _ in self._removed for form in _forms(path, visible))
        self._visible = _either(map(re.escape, visible))
        self._renamed = [
            (_either([form]), name, renaming.name)
            for path, level in levels(edits)
            for name, renaming in level.renamed.items()
            for form in _forms((*path, name), visible)
        ]

    def cleaned(self, text: str, sent: Mapping[str, Any] | None) -> str:
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}…"
        text = _covering(self._values(sent)).sub(_VALUE, text)
        if not self._hidden.search(text):
            return self._with_known_names(text)
        lines, skipping = [], -1
        for line in text.splitlines():
            indent = len(line) - len(line.lstrip())
            if skipping >= 0 and line.strip() and indent > skipping:
                continue  # what is set in below a line that is gone explains it
            kept = self._line(line)
            skipping = indent if kept is None else -1
            if kept is not None:
                lines.append(kept)
        cleaned = "\n".join(lines)
        return cleaned if cleaned.strip() else NOTHING_LEFT

    def _line(self, line: str) -> str | None:
        """None when there is nothing left of it."""
        sentences = _SENTENCES.split(line)
        kept = [made for sentence in sentences if (made := self._sentence(sentence)) is not None]
        return " ".join(kept) if kept else None

    def _sentence(self, sentence: str) -> str | None:
        without = self._hidden.sub(_NAME, sentence)
        made = self._with_known_names(without)
        return made if without == sentence or self._visible.search(made) else None

    def _with_known_names(self, text: str) -> str:
        for pattern, name, published in self._renamed:
            text = pattern.sub(_with_other_end(name, published), text)
        return text

    def _values(self, sent: Mapping[str, Any] | None) -> set[str]:
        found: set[str] = set()
        for path, removal in self._removed:
            if removal.value is MISSING:
                continue
            found.update(_texts(removal.value))
            for value in _at(sent, path):
                found.update(_texts(value))
        return found


def _with_other_end(name: str, published: str) -> Callable[[re.Match[str]], str]:
    return lambda found: found[0].removesuffix(name) + published


def _either(forms: Iterable[str]) -> re.Pattern[str]:
    """Matches any of the forms as a word of its own."""
    choices = "|".join(forms)
    return re.compile(rf"(?<![\w$-])(?:{choices})(?![\w$-])" if choices else "(?!)")


def _covering(values: set[str]) -> re.Pattern[str]:
    """Matches any of the values, longer ones first, also as JSON writes them."""
    texts = sorted(values | {json.dumps(value)[1:-1] for value in values}, key=len, reverse=True)
    forms = (
        re.escape(text) if len(text) >= _UNMISTAKABLE else rf"(?<!\w){re.escape(text)}(?!\w)"
        for text in texts
    )
    return re.compile("|".join(forms) or "(?!)")


def _forms(path: Path, visible: frozenset[str]) -> list[str]:
    """How texts name a field: by its name, unless a field that the agent sees has it too, and by its path."""
    last, way = re.escape(path[-1] or ""), ""
    for step in path[:-1]:
        way += r"(?:\[\d*\]|[./]\d+)" if step is None else ("[./]" if way else "") + re.escape(step)
    if path[-1] not in visible:
        return [rf"(?:{way}[./])?{last}"]
    return [rf"{way}[./]{last}"] if way else []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif not isinstance(value, bool) and value is not None:
        text = str(value)
        if len(text) >= _SHORTEST and text.lower() not in _NO_SECRETS and "${" not in text:
            yield text


def _at(value: Any, path: Path) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0] is None:
        for item in value if isinstance(value, list) else ():
            yield from _at(item, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _at(value[path[0]], path[1:])
