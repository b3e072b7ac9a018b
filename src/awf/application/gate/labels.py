"""Labels on the wire: what a server says of its result, and what we say of it to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.label import PLAIN, Label, joined, stricter_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.tool import ToolResult

__all__ = ["LABEL_KEY", "label_meta", "labelled", "stated_label"]

LABEL_KEY = "awf/label"  # in the _meta of a result


def stated_label(meta: Mapping[str, Any]) -> Label:
    """What a result says of itself in `_meta.ifc`, or in our own key where it went through another gate of ours.

    What is not in our words counts as it does where a server says it of a tool: as the stricter of what it may mean.
    """
    label = PLAIN
    for key in ("ifc", LABEL_KEY):
        said = meta.get(key)
        if isinstance(said, dict):
            integrity = said.get("integrity")
            for secret in (said.get("confidentiality"), said.get("classification")):
                if secret is not None:
                    label = joined(label, Label(stricter_level(secret)))
            if integrity is not None and integrity != "trusted":
                label = joined(label, Label("public", "untrusted"))
        elif said is not None:
            label = joined(label, Label(stricter_level(said)))
    return label


def label_meta(label: Label) -> dict[str, Any]:
    return {LABEL_KEY: {"confidentiality": label.confidentiality, "integrity": label.integrity}}


def labelled(result: ToolResult, label: Label) -> ToolResult:
    """The result with its label, for whoever wants to know further on."""
    told, raw = label_meta(label), result.raw
    if raw is not None:  # whose `_meta` is passed on in the words of its server
        own = raw.get("_meta")
        raw = {**raw, "_meta": {**own, **told} if isinstance(own, dict) else told}
    return msgspec.structs.replace(result, meta={**result.meta, **told}, raw=raw)
