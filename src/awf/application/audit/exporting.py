"""The audit in the forms of others, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.audit.agent_trail import AgentTrail
from awf.application.audit.jsonl import chain_lines
from awf.application.audit.ocsf import OcsfChain
from awf.application.audit.trail import AuditTrail
from awf.domain.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from awf.domain.ports.audit_log import AuditLog

__all__ = ["exported"]

_PAGE = 500


async def exported(
    log: AuditLog, form: str, version: str, *, after: int = 0, limit: int = 0
) -> AsyncIterator[bytes]:
    """`jsonl`, `ocsf` or `agent-trail`; at most `limit` records or calls (0: all)."""
    making = {"jsonl": _jsonl, "ocsf": _ocsf, "agent-trail": _agent_trail}[form]
    async for line in making(log, version, after, limit):
        yield line


async def _jsonl(log: AuditLog, version: str, after: int, limit: int) -> AsyncIterator[bytes]:
    del version
    async for line in chain_lines(log, after, limit):
        yield line


async def _ocsf(log: AuditLog, version: str, after: int, limit: int) -> AsyncIterator[bytes]:
    chain, trail = OcsfChain(log.origin, version), AuditTrail(log)
    left = limit or -1
    while left and (page := await trail.drain(after, min(_PAGE, left) if left > 0 else _PAGE)):
        for event in page:
            yield canonical(chain.document(event)) + b"\n"
        after = page[-1].sequence
        left -= len(page)


async def _agent_trail(log: AuditLog, version: str, after: int, limit: int) -> AsyncIterator[bytes]:
    trail = AgentTrail(log.origin, version)
    begun = False
    left = limit or -1
    while left and (page := await log.records(after=after, limit=min(_PAGE, left) if left > 0 else _PAGE)):
        if not begun:
            yield canonical(trail.begin(page[0].entry.created_at)) + b"\n"
            begun = True
        for record in page:
            for document in trail.documents(record):
                yield canonical(document) + b"\n"
        after = page[-1].sequence
        left -= len(page)
