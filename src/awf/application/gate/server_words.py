"""What a server says of one of its tools: in `annotations`, then in `_meta`. Nothing in there can be relied on.

Words that cannot be understood are told in a note, and count as the stricter of what they may have meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from awf.domain.grant import is_capability
from awf.domain.label import PLAIN, Label, joined, level_of, stricter_level
from awf.domain.policy import ACTIONS, Action

__all__ = ["ServerWords", "server_words"]

_MOST_SCOPES = 64
_LONGEST = 200
_MOST_SHOWN = 40


class ServerWords(msgspec.Struct, frozen=True, kw_only=True):
    actions: tuple[Action, ...] = ()  # all it names, the first first
    scopes: tuple[str, ...] = ()
    confirmation: bool = False
    open_world: bool = False
    label: Label = PLAIN
    notes: tuple[str, ...] = ()


def server_words(annotations: Any, meta: Any) -> ServerWords:
    said = [one for one in (annotations, meta) if isinstance(one, Mapping)]
    notes: list[str] = []
    return ServerWords(
        actions=_actions(said, notes),
        scopes=_scopes(said, notes),
        confirmation=any(_flag(value, notes) for value in _every(said, "requiresConfirmation")),
        open_world=any(_flag(value, notes) for value in _every(said, "openWorldHint")),
        label=_label(said, notes),
        notes=tuple(dict.fromkeys(notes)),
    )


def _every(said: list[Mapping[str, Any]], *keys: str) -> Iterator[Any]:
    for words in said:
        for key in keys:
            if key in words and words[key] is not None:
                yield words[key]


def _actions(said: list[Mapping[str, Any]], notes: list[str]) -> tuple[Action, ...]:
    found: dict[Action, None] = {}
    for value in _every(said, "policyAction", "policy_action"):
        known = next((one for one in ACTIONS if one == value), None)
        if known is None:
            notes.append(f"{_shown(value)} is no action.")
        else:
            found[known] = None
    return tuple(found)


def _scopes(said: list[Mapping[str, Any]], notes: list[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    oauth = [value for value in _every(said, "oauth") if isinstance(value, Mapping)]
    for value in (*_every(said, "requiredScopes", "required_scopes", "scopes"), *_every(oauth, "scopes")):
        for scope in value.split() if isinstance(value, str) else value if isinstance(value, list) else ():
            if isinstance(scope, str) and scope and len(scope) <= _LONGEST and scope.isprintable():
                found[scope] = None
                if not is_capability(scope):
                    notes.append(
                        f"{_shown(scope)} is no scope that could be granted: only a grant of * covers it."
                    )
            else:
                # It asks for something, and nobody can give it: only a scope that no grant has keeps it shut.
                found["unreadable"] = None
                notes.append(f"{_shown(scope)} is no scope.")
        if not isinstance(value, str | list):
            found["unreadable"] = None
            notes.append(f"{_shown(value)} is no list of scopes.")
    if len(found) > _MOST_SCOPES:
        notes.append(f"It asks for {len(found)} scopes.")
        return (*list(found)[:_MOST_SCOPES], "unreadable")
    return tuple(found)


def _flag(value: Any, notes: list[str]) -> bool:
    """Anything but a plain no may be meant as a yes."""
    if not isinstance(value, bool):
        notes.append(f"{_shown(value)} is neither true nor false.")
        return True
    return value


def _label(said: list[Mapping[str, Any]], notes: list[str]) -> Label:
    flows = [value for value in _every(said, "ifc") if isinstance(value, Mapping)]
    label = PLAIN
    for value in _every([*said, *flows], "classification", "confidentiality"):
        if level_of(value) is None and value != "private":  # the word of `_meta.ifc`
            notes.append(f"{_shown(value)} is no classification; it counts as confidential.")
        label = joined(label, Label(stricter_level(value)))
    for value in _every([*said, *flows], "integrity"):
        if value not in ("trusted", "untrusted"):
            notes.append(f"{_shown(value)} is no integrity.")
        if value != "trusted":
            label = joined(label, Label("public", "untrusted"))
    return label


def _shown(value: Any) -> str:
    """Short, and on one line."""
    text = value if isinstance(value, str) else type(value).__name__
    return f"'{ascii(text)[1:-1][:_MOST_SHOWN]}'"
