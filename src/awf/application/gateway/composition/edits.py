"""What an override does to arguments, arranged like the arguments themselves: one level per object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gateway.composition.document import MISSING
from awf.application.gateway.composition.known_fields import mentioned_names, unknown
from awf.application.gateway.composition.paths import EACH, parse_path, path_text
from awf.application.gateway.composition.problem import invalid_override

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.application.gateway.composition.paths import Path
    from awf.application.gateway.composition.problem import CompositionProblem
    from awf.domain.override import ToolOverride

__all__ = ["Edits", "Removal", "Renaming", "edits_of", "levels", "shown"]

_PUBLISHABLE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Removal(NamedTuple):
    """A field that agents do not see; with a value, it is sent with every call."""

    origin: str  # the field of the override that says so
    text: str  # its path, as written
    value: Any  # MISSING: it is never sent


class Renaming(NamedTuple):
    origin: str
    text: str
    name: str


class Edits:
    """The edits of one object, or of the items of one array."""

    __slots__ = ("each", "ensured", "fields", "origin", "removed", "renamed", "text")

    def __init__(self, origin: str = "", text: str = "") -> None:
        self.origin, self.text = origin, text  # of the first edit that leads here
        self.removed: dict[str, Removal] = {}
        self.renamed: dict[str, Renaming] = {}
        self.fields: dict[str, Edits] = {}
        self.each: Edits | None = None
        self.ensured: set[str] = set()  # objects that are made when a call leaves them out

    @property
    def of_object(self) -> bool:
        return bool(self.removed or self.renamed or self.fields)

    def __bool__(self) -> bool:
        return self.of_object or self.each is not None

    def published(self, name: str) -> str:
        renaming = self.renamed.get(name)
        return renaming.name if renaming else name

    def always_sent(self, name: str) -> bool:
        removal = self.removed.get(name)
        return name in self.ensured or (removal is not None and removal.value is not MISSING)


def levels(edits: Edits, path: Path = ()) -> Iterator[tuple[Path, Edits]]:
    """Every level with the path that leads to it, inner ones first."""
    for name, child in edits.fields.items():
        yield from levels(child, (*path, name))
    if edits.each is not None:
        yield from levels(edits.each, (*path, EACH))
    yield path, edits


def shown(value: Any, edits: Edits) -> Any:
    """A value that the server's own schema gives as an example, as an agent may see it."""
    if isinstance(value, dict):
        return {
            edits.published(name): shown(item, edits.fields[name]) if name in edits.fields else item
            for name, item in value.items()
            if name not in edits.removed
        }
    if isinstance(value, list) and edits.each is not None:
        return [shown(item, edits.each) for item in value]
    return value


def edits_of(override: ToolOverride, document: Mapping[str, Any]) -> tuple[Edits, list[CompositionProblem]]:
    """The edits, and whatever speaks against them without looking at how the schema hangs together."""
    root = Edits()
    problems: list[CompositionProblem] = []
    removals = [(f"hide_fields[{at}]", text, MISSING) for at, text in enumerate(override.hide_fields)]
    removals += [(f"defaults.{text}", text, value) for text, value in override.defaults.items()]
    for origin, text, value in removals:
        path = _path(origin, text, document, problems, is_value=value is not MISSING)
        if path:
            # A field that is hidden and has a default counts as the latter.
            _level(root, path, origin, text).removed[path[-1] or ""] = Removal(origin, text, value)
    for text, name in override.rename_fields.items():
        origin = f"rename_fields.{text}"
        path = _path(origin, text, document, problems)
        if path:
            _level(root, path, origin, text).renamed[path[-1] or ""] = Renaming(origin, text, name)
    for path, level in levels(root):
        problems += _conflicts(level)
        problems += _taken_names(level, path, document)
    return root, problems


def _path(
    origin: str,
    text: str,
    document: Mapping[str, Any],
    problems: list[CompositionProblem],
    *,
    is_value: bool = False,
) -> Path:
    try:
        path = parse_path(text)
    except ValueError as reason:
        hint = "Write a path such as city, location.lat or items[].id."
        problems.append(invalid_override(origin, f"“{text}” is not a path to a field: {reason}.", hint))
        return ()
    if path[-1] is EACH:
        message = f"“{text}” names the items of a list, not a field."
        problems.append(invalid_override(origin, message, "Name a field of the items, such as items[].id."))
        return ()
    found = unknown(origin, text, path, document, is_value=is_value)
    if found:
        problems.append(found)
    return () if found else path


def _level(root: Edits, path: Path, origin: str, text: str) -> Edits:
    level = root
    level.origin, level.text = level.origin or origin, level.text or text
    for step in path[:-1]:
        if step is None:
            level.each = level.each or Edits(origin, text)
            level = level.each
        else:
            level = level.fields.setdefault(step, Edits(origin, text))
    return level


def _conflicts(level: Edits) -> Iterator[CompositionProblem]:
    for name, removal in level.removed.items():
        if name in level.renamed:
            origin = level.renamed[name].origin
            message = f"“{removal.text}” is hidden by {removal.origin}, so it cannot be renamed."
            yield invalid_override(origin, message, "Remove one of the two.")
        if name in level.fields:
            inner = level.fields[name]
            message = f"“{inner.text}” lies inside “{removal.text}”, which {removal.origin} hides as a whole."
            yield invalid_override(inner.origin, message, "Remove one of the two.")


def _taken_names(level: Edits, path: Path, document: Mapping[str, Any]) -> Iterator[CompositionProblem]:
    if not level.renamed:
        return
    taken = mentioned_names(path, document) | level.removed.keys()
    for renaming in level.renamed.values():
        if not _PUBLISHABLE.fullmatch(renaming.name):
            message = f"“{renaming.name}” cannot be the name of a field."
            hint = "Models take letters, digits, _, - and ., at most 64 of them."
            yield invalid_override(renaming.origin, message, hint)
        elif renaming.name in taken:
            message = f"“{renaming.text}” cannot be called “{renaming.name}”: another field has that name"
            yield invalid_override(renaming.origin, f"{message}{_inside(path)}.", "Choose another name.")
        taken.add(renaming.name)


def _inside(path: Path) -> str:
    return f" in “{path_text(path)}”" if path else ""
