"""Labels on the wire: what a server says of its result, and what we say of it to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.label import PLAIN, Label, joined, level_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.tool import ToolResult

__all__ = ["LABEL_KEY", "label_meta", "labelled", "stated_label"]

LABEL_KEY = "awf/label"  # in the _meta of a result
_PRIVATE = {"private": "confidential"}  # a word of others for it


def stated_label(meta: Mapping[str, Any]) -> Label:
    """What a result says of itself in `_meta.ifc`, or in our own key where it went through another gate of ours."""
    label = PLAIN
    for key in ("ifc", LABEL_KEY):
        said = meta.get(key)
        if isinstance(said, dict):
            secret = said.get("confidentiality")
            level = level_of(_PRIVATE.get(secret, secret) if isinstance(secret, str) else None) or "public"
            label = joined(
                label, Label(level, "untrusted" if said.get("integrity") == "untrusted" else "trusted")
            )
    return label


def label_meta(label: Label) -> dict[str, Any]:
    return {LABEL_KEY: {"confidentiality": label.confidentiality, "integrity": label.integrity}}


def labelled(result: ToolResult, label: Label) -> ToolResult:
    """The result with its label, for whoever wants to know further on."""
    meta = {**result.meta, **label_meta(label)}
    raw = None if result.raw is None else {**result.raw, "_meta": meta}
    return msgspec.structs.replace(result, meta=meta, raw=raw)
