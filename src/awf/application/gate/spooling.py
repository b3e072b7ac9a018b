"""Results that are too long are put aside whole, and the agent gets their head and a link.

What is put aside is redacted first. If it cannot be put aside, the agent still gets the head and is told: a full disk is
no reason to fail a call that has happened.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.artifact_views import address, left_out, view_of, view_of_blocks
from awf.application.gate.output_limits import as_json, binary_of, limited
from awf.application.gate.text_cutting import size_of_text
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN, Label
from awf.domain.ports.artifact_store import Artifact

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gate.output_limits import Cut, Shown
    from awf.domain.gate_file import Spool
    from awf.domain.ports.artifact_store import ArtifactStore
    from awf.domain.redaction.redactor import Redactor

__all__ = ["SPOOLED_KEY", "Source", "Spooled", "Spooler"]

SPOOLED_KEY = "awf/spooled"  # in the _meta of a result
_SWEEP_EVERY = 60.0  # seconds
_ELSEWHERE = 1 << 20  # bytes; from there on the work is done beside the event loop
_log = logging.getLogger("awf.gate")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Whose result it is."""

    tool_id: str
    request_id: str = ""
    context: str = ""
    label: Label = PLAIN
    links: bool = True  # whether the client knows `resource_link`, which came with 2025-06-18
    redact_keys: tuple[str, ...] = ()


class Spooled(msgspec.Struct, frozen=True, kw_only=True):
    result: dict[str, Any]  # for the agent
    artifact: Artifact | None = None  # for the audit; None when nothing was put aside
    error: str = ""  # why not, if it should have been
    bytes: int = 0  # of what was, or should have been


class _Whole(msgspec.Struct, frozen=True):
    artifact: Artifact
    body: bytes
    size: int  # of what can be read at its address
    read_on: int  # the offset at which the shown head ends


class Spooler:
    def __init__(
        self, store: ArtifactStore, redactor: Redactor, settings: Spool, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._redactor = redactor
        self._settings = settings
        self._clock = clock
        self._swept = clock()
        self._kept = 0  # bytes since then

    async def spool(self, raw: dict[str, Any], cut: Cut, source: Source) -> Spooled:
        """The result as the agent gets it. Known secrets are masked first, so that none is cut in two."""
        size = cut.whole.bytes + (0 if cut.keeps_structured else _ELSEWHERE)
        if size > _ELSEWHERE:
            clean, found, whole = await asyncio.to_thread(self._prepared, raw, cut, source)
        else:
            clean, found, whole = self._prepared(raw, cut, source)
        if found is None or whole is None:
            return Spooled(result=clean)
        error = await self._keep(whole)
        result = _shown(clean, found, source, whole, error)
        artifact = None if error else whole.artifact
        return Spooled(result=result, artifact=artifact, error=error, bytes=whole.artifact.byte_size)

    def _prepared(
        self, raw: dict[str, Any], cut: Cut, source: Source
    ) -> tuple[dict[str, Any], Cut | None, _Whole | None]:
        clean: dict[str, Any] = self._redactor.without_values(raw)
        found = limited(clean, cut.bounds) if clean is not raw else cut
        return clean, found, self._whole(clean, found, source) if found else None

    def _whole(self, raw: dict[str, Any], cut: Cut, source: Source) -> _Whole:
        artifact_id = secrets.token_hex(20)
        kept = self._redactor.redacted(raw, source.redact_keys)
        view, body = view_of(kept, artifact_id), as_json(kept)
        size = size_of_text(view)
        head = view_of_blocks(_seen(raw, cut), artifact_id)
        artifact = Artifact(
            artifact_id=artifact_id,
            tool_id=source.tool_id,
            request_id=source.request_id,
            context=source.context,
            label=source.label,
            created_at=self._clock(),
            byte_size=len(body),
            line_count=size.lines,
            content_hash=hashlib.sha256(body).hexdigest(),
        )
        return _Whole(artifact, body, size.bytes, size_of_text(_common(head, view)).bytes)

    async def _keep(self, whole: _Whole) -> str:
        """Why it could not be kept, or nothing."""
        if whole.artifact.byte_size > self._settings.max_size:
            return f"it is larger than all that may be kept ({self._settings.max_size} bytes)"
        try:
            await self._store.keep(whole.artifact, whole.body)
        except AwfError as error:
            _log.warning("a long result of %s is not kept: %s", whole.artifact.tool_id, error.message)
            return error.message
        await self._sweep(whole.artifact.byte_size)
        return ""

    async def _sweep(self, size: int) -> None:
        """Now and then, and before a tenth of the room can have been filled since the last time."""
        now = self._clock()
        self._kept += size
        if now - self._swept < _SWEEP_EVERY and self._kept < self._settings.max_size // 10:
            return
        self._swept, self._kept = now, 0
        try:
            await self._store.sweep(before=now - self._settings.retention, max_size=self._settings.max_size)
        except AwfError as error:
            _log.warning("old results could not be removed: %s", error.message)


# -- what the agent gets ---------------------------------------------------------------------------------------------


def _shown(raw: dict[str, Any], cut: Cut, source: Source, whole: _Whole, error: str) -> dict[str, Any]:
    kept = not error
    content = [_block(one, raw, whole.artifact, kept=kept, links=source.links) for one in cut.blocks]
    content.append({"type": "text", "text": _disclosure(cut, whole, error)})
    if kept and source.links:
        content.append(_link(whole.artifact, whole.size))
    result = {**raw, "content": content}
    if not cut.keeps_structured:
        del result["structuredContent"]
    meta = raw.get("_meta")
    return {
        **result,
        "_meta": {**(meta if isinstance(meta, dict) else {}), SPOOLED_KEY: _facts(cut, whole, kept=kept)},
    }


def _block(one: Shown, raw: dict[str, Any], artifact: Artifact, *, kept: bool, links: bool) -> dict[str, Any]:
    if one.block is not None:
        return one.block
    missing = raw["content"][one.at]
    if not kept or not links:
        where = f", at {address(artifact.artifact_id, one.at)}" if kept else ""
        return {"type": "text", "text": f"[Left out: {left_out(missing)}{where}]"}
    binary = binary_of(missing)
    size = len(binary[0]) * 3 // 4 - binary[0][-2:].count("=") if binary else len(as_json(missing))
    return {
        "type": "resource_link",
        "uri": address(artifact.artifact_id, one.at),
        "name": f"{artifact.tool_id} part {one.at + 1}",
        "description": f"Left out of the result: {left_out(missing)}.",
        "mimeType": binary[1] if binary else "application/json",
        "size": size,
    }


def _link(artifact: Artifact, size: int) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": address(artifact.artifact_id),
        "name": f"{artifact.tool_id} result",
        "description": "The whole result. Read it in pages with ?offset=BYTES or ?lines=FIRST-LAST.",
        "mimeType": "text/plain",
        "size": size,
    }


def _disclosure(cut: Cut, whole: _Whole, error: str) -> str:
    shown, all_of_it = cut.shown, cut.whole
    said = (
        f"[This result was cut: {shown.bytes} of {all_of_it.bytes} bytes,"
        f" {shown.lines} of {all_of_it.lines} lines are shown."
    )
    if not cut.keeps_structured:
        said += " Its structured content is left out."
    if error:
        return f"{said} The rest was not kept: {error.rstrip('.')}.]"
    artifact_id = whole.artifact.artifact_id
    said += f" The call itself is done. The whole is at {address(artifact_id)}"
    if shown.bytes < all_of_it.bytes:
        said += f"; it goes on at {address(artifact_id)}?offset={whole.read_on}"
    if not cut.keeps_structured:
        said += f"; the structured content is at {address(artifact_id, 'structured')}"
    return f"{said}]"


def _facts(cut: Cut, whole: _Whole, *, kept: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "kept": kept,
        "byteSize": cut.whole.bytes,
        "lineCount": cut.whole.lines,
        "shownBytes": cut.shown.bytes,
        "shownLines": cut.shown.lines,
    }
    if kept:
        facts |= {"uri": address(whole.artifact.artifact_id), "contentHash": whole.artifact.content_hash}
    return facts


def _seen(raw: dict[str, Any], cut: Cut) -> list[tuple[int, Any]]:
    return [(one.at, raw["content"][one.at] if one.block is None else one.block) for one in cut.blocks]


def _common(one: str, other: str) -> str:
    """What both begin with: what was redacted after that may have moved the rest."""
    if other.startswith(one):
        return one
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[:middle] == other[:middle]:
            least = middle
        else:
            most = middle - 1
    return one[:least]
