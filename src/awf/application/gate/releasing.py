"""What comes of a call, on its way to the agent: labelled, cut to size, freed of secrets, and hashed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gate.labels import labelled, stated_label
from awf.application.gate.output_limits import limited
from awf.application.gate.spooling import Source
from awf.domain.canonical import canonical
from awf.domain.label import PLAIN, joined
from awf.domain.tool import ToolResult, words_of_server

if TYPE_CHECKING:
    from awf.application.gate.passage import Passage
    from awf.application.gate.spooling import Spooled, Spooler
    from awf.domain.label import Label
    from awf.domain.redaction.redactor import Redactor

__all__ = ["Released", "Releasing", "as_raw", "received"]


class Released(NamedTuple):
    result: ToolResult
    label: Label
    output_hash: str
    spooled: Spooled | None = None  # where it was too long


class Releasing:
    def __init__(self, spooler: Spooler, redactor: Redactor) -> None:
        self._spooler = spooler
        self._redactor = redactor

    async def released(self, passage: Passage, result: ToolResult) -> Released:
        raw = whole = result.raw if result.raw is not None else as_raw(result)
        label = passage.tool.label
        if result.meta:
            label = joined(label, stated_label(result.meta))
        meta = raw.get("_meta")
        if meta and self._redactor.holds_values(canonical(meta)):
            raw = {**raw, "_meta": self._redactor.without_values(meta)}
        spooled, encoded = None, canonical(_payload(raw))
        bounds = passage.tool.bounds
        if bounds is not None and (cut := limited(raw, bounds, encoded)) is not None:
            spooled = await self._spooler.spool(raw, cut, self._source(passage, label))
            raw = spooled.result
            encoded = canonical(_payload(raw))
        keys = passage.origin.redact_keys
        if self._redactor.suspicious(encoded, keys):
            raw, encoded = self._cleaned(raw, encoded, keys)
        output = hashlib.sha256(encoded).hexdigest()
        if raw is not whole:
            result = received(raw, whole=result.raw is not None)
        return Released(result if label == PLAIN else labelled(result, label), label, output, spooled)

    def released_now(self, passage: Passage, result: ToolResult) -> Released | None:
        """The same for a result of the usual kind; None for others."""
        raw, bounds = result.raw, passage.tool.bounds
        if raw is None or "_meta" in raw:
            return None
        encoded = canonical(raw)
        if bounds is not None and limited(raw, bounds, encoded) is not None:
            return None
        if self._redactor.suspicious(encoded, passage.origin.redact_keys):
            return None
        label = passage.tool.label
        output = hashlib.sha256(encoded).hexdigest()
        return Released(result if label == PLAIN else labelled(result, label), label, output)

    def _cleaned(
        self, raw: dict[str, Any], encoded: bytes, keys: tuple[str, ...]
    ) -> tuple[dict[str, Any], bytes]:
        """What the agent gets, all but known secrets; and what is hashed, without anything that looks like one."""
        if self._redactor.holds_values(encoded):
            raw = self._redactor.without_values(raw)
        return raw, canonical(self._redactor.redacted(_payload(raw), keys))

    def _source(self, passage: Passage, label: Label) -> Source:
        return Source(
            tool_id=passage.tool.facts.id,
            request_id=passage.request_id,
            context=passage.origin.context,
            label=label,
            links=passage.origin.links,
            redact_keys=passage.origin.redact_keys,
        )


def _payload(raw: dict[str, Any]) -> dict[str, Any]:
    """The hash is about what the tool said, not about what was noted along the way."""
    return {key: value for key, value in raw.items() if key != "_meta"} if "_meta" in raw else raw


def as_raw(result: ToolResult) -> dict[str, Any]:
    """A result of our own making, as MCP has it."""
    raw: dict[str, Any] = {"content": result.content, "isError": result.is_error}
    if result.structured is not msgspec.UNSET:
        raw["structuredContent"] = result.structured
    if result.meta:
        raw["_meta"] = result.meta
    return raw


def received(raw: dict[str, Any], *, whole: bool = True) -> ToolResult:
    """`whole`: of a server, for doors that pass it on as it is."""
    content, said = raw.get("content"), raw.get("_meta")
    meta = said if isinstance(said, dict) else {}
    return ToolResult(
        content=[block for block in content if isinstance(block, dict)] if isinstance(content, list) else [],
        is_error=raw.get("isError") is True,
        structured=raw.get("structuredContent", msgspec.UNSET),
        meta=words_of_server(meta) if whole else meta,
        raw=raw if whole else None,
    )
