"""What conditions of rules are about: one call, as a document (domain/decision_fields.py has its names)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from awf.application.gate.argument_facts import ArgumentFacts
from awf.application.gate.tool_facts import ToolFacts
from awf.domain.decision_fields import CONTEXT_FIELDS
from awf.domain.label import PLAIN, Label

__all__ = ["CallView", "context_of", "document", "labels_of", "tool_part"]


class CallView(msgspec.Struct, frozen=True):
    """One call, as rules see it."""

    arguments: Any
    context: Mapping[str, str] = {}  # CONTEXT_FIELDS; those left out are empty
    label: Label = PLAIN  # of the context: what whoever calls already knows


_NO_CONTEXT = dict.fromkeys(CONTEXT_FIELDS, "")
_LABELS: dict[Label, dict[str, str]] = {}
_NOTHING = ArgumentFacts()


def context_of(call: CallView) -> dict[str, str]:
    return {**_NO_CONTEXT, **call.context}


def labels_of(label: Label) -> dict[str, str]:
    made = _LABELS.get(label)
    if made is None:
        made = _LABELS[label] = {"confidentiality": label.confidentiality, "integrity": label.integrity}
    return made


def tool_part(facts: ToolFacts) -> dict[str, Any]:
    return {
        "id": facts.id,
        "name": facts.name,
        "server": facts.server,
        "source": facts.source,
        "action": facts.action or facts.actions[0],
        "readOnly": not facts.consequential,
        "openWorld": facts.open_world,
        "annotations": facts.annotations,
    }


def document(
    facts: ToolFacts, call: CallView, found: ArgumentFacts = _NOTHING, *, path: str = "", host: str = ""
) -> dict[str, Any]:
    """All of it."""
    return {
        "tool": tool_part(facts),
        "arguments": call.arguments,
        "context": context_of(call),
        "labels": labels_of(call.label),
        "risk": list(found.risk),
        "paths": list(found.paths),
        "hosts": list(found.hosts),
        "path": path or next(iter(found.paths), ""),
        "host": host or next(iter(found.hosts), ""),
    }
