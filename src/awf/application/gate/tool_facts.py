"""What is known of a tool before it is called: from configuration first, then from what its server says of it.

A server's word is a stranger's. It can make things stricter and never looser: an action it names is judged beside the one
that would have counted without it, and a hint that says harmless says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.builtin_facts import BuiltinFacts, builtin_facts
from awf.application.gate.server_words import ServerWords, server_words
from awf.domain.gate_file import Limits
from awf.domain.label import PLAIN, Label, joined, level_of
from awf.domain.override import ToolOverride
from awf.domain.policy import Action, Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.gate_file import GateKeys
    from awf.domain.label import Confidentiality

__all__ = ["BUILTIN", "ToolFacts", "tool_facts"]

BUILTIN = "builtin"
_READS = frozenset({"file.read", "connector.read"})


class ToolFacts(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # `server:tool`, `builtin:Bash`, `plugin.NAME:operation`
    name: str  # as agents see it
    server: str
    source: str  # `builtin`, `plugin:NAME` or `mcp:SERVER`
    actions: tuple[Action, ...]  # all it is judged by; the strictest result counts
    action: Action | str = ""  # the one that somebody said: shown, and required as a capability
    consequential: bool = True  # unless we know that it only reads
    open_world: bool = False
    label: Label = PLAIN  # what its results are
    required_scopes: tuple[str, ...] = ()
    requires_confirmation: bool = False
    limits: Limits = Limits()
    annotations: dict[str, Any] = {}
    refusal: str = ""  # why it may never be called
    notes: tuple[str, ...] = ()  # what was said of it and could not be understood


def tool_facts(
    tool_id: str,
    name: str,
    source: str,
    annotations: Mapping[str, Any] | None,
    meta: Mapping[str, Any] | None,
    override: ToolOverride | None,
    keys: GateKeys,
    *,
    networked: bool = True,
) -> ToolFacts:
    """`networked`: whether commands of the built-in Bash reach a network; a sandbox may see to it that they do not."""
    policy, said = keys.policy or Policy(), override or ToolOverride()
    words = server_words(annotations, meta)
    own = builtin_facts(tool_id, networked=networked) if source == BUILTIN else BuiltinFacts()
    known: Action | str = said.policy_action or own.action
    action = known or next(iter(words.actions), "")
    actions = _actions(known, words, policy.default_action)
    return ToolFacts(
        id=tool_id,
        name=name,
        server=tool_id.partition(":")[0],
        source=source,
        actions=actions,
        action=action,
        consequential=known not in _READS,
        open_world=_open_world(said, own, words, actions, unmarked=keys.levels.unmarked == "open"),
        label=_label(said, words),
        required_scopes=tuple(dict.fromkeys((*said.required_scopes, *words.scopes))),
        requires_confirmation=_first(said.requires_confirmation, words.confirmation),
        limits=_limits(said.limits, keys.limits),
        annotations={**_plain(annotations), **said.annotations},
        refusal=_refusal(tool_id) if policy.strict and not action else "",
        notes=words.notes,
    )


def _actions(known: Action | str, words: ServerWords, usual: Action) -> tuple[Action, ...]:
    """What we know counts alone. What a server says counts beside what would have counted without it."""
    found: tuple[Any, ...] = (known,) if known else tuple(dict.fromkeys((*words.actions, usual)))
    return found


def _open_world(
    said: ToolOverride, own: BuiltinFacts, words: ServerWords, actions: tuple[Action, ...], *, unmarked: bool
) -> bool:
    if said.open_world is not None:
        return said.open_world
    if "network.request" in actions or (words.open_world and own.open_world is None):
        return True
    return unmarked if own.open_world is None else own.open_world


def _label(said: ToolOverride, words: ServerWords) -> Label:
    """A server may say that its results are more secret, or less to be trusted, than the configuration has it."""
    level: Confidentiality = level_of(said.classification) or "public"
    return joined(Label(level, said.integrity or "trusted"), words.label)


def _first(said: bool | None, word: bool) -> bool:
    return word if said is None else said


def _limits(own: Limits | None, general: Limits) -> Limits:
    if own is None:
        return general
    told = {name: value for name in own.__struct_fields__ if (value := getattr(own, name)) is not None}
    return msgspec.structs.replace(general, **told)


def _plain(annotations: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(annotations) if isinstance(annotations, dict) else {}


def _refusal(tool_id: str) -> str:
    return (
        f"Nobody says what {tool_id} does, and the policy is strict. Say it: `policy_action` in its override."
    )
