"""Records in the form of draft-sharif-agent-audit-trail: twelve fields each, chained by SHA-256 over canonical JSON.

A call becomes two records, one before it and one after it. The trail begins with a record that says that it begins.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from awf.application.audit.events import in_calendar
from awf.domain.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.audit import AuditEntry, AuditRecord

__all__ = ["AgentTrail"]

_TIMEOUT = "TIMEOUT"
_OTHERS: dict[str, tuple[str, str, str]] = {
    "approval_required": ("escalation", "escalated", "pre_execution"),
    "approval_resolved": ("decision", "success", "concurrent"),
    "grant_added": ("delegation", "success", "concurrent"),
    "grant_revoked": ("delegation", "success", "concurrent"),
    "audit_gap": ("error", "failure", "concurrent"),
}
_PLAIN = "!$&'()*+,;=:@/~"  # in a URN, beside letters and digits; all else is percent-encoded
_LIFECYCLE = ("lifecycle", "success", "concurrent")


class AgentTrail:
    """Turns records into those of the trail, one by one."""

    def __init__(self, origin: str, version: str) -> None:
        self._origin = origin
        self._version = version
        self._parent: str | None = None
        self._hash: str | None = None

    def begin(self, moment: float) -> dict[str, Any]:
        return self._made(
            "begin", moment, "", "", ("lifecycle", "success", "concurrent"), {"event": "session_start"}
        )

    def documents(self, record: AuditRecord) -> Iterator[dict[str, Any]]:
        entry, number = record.entry, record.sequence
        call = ""
        if entry.kind in {"decision", "call"}:
            made = self._asked(number, entry)
            call = made["record_id"]
            yield made
        if entry.kind in {"effect", "call"}:
            call = call or self._id(f"{entry.follows}/asked")
            yield self._answered(number, entry, call)
        if entry.kind not in {"decision", "effect", "call"}:
            yield self._other(number, entry)

    def _asked(self, number: int, entry: AuditEntry) -> dict[str, Any]:
        outcome = (
            "denied"
            if entry.decision == "deny"
            else "failure"
            if entry.kind == "decision" and entry.is_final
            else "success"
        )
        detail = {
            **_about(entry),
            "parameters_hash": entry.input_hash,
            "decision": entry.decision,
            "reason": entry.reason,
            "rule": entry.rule,
        }
        return self._of(f"{number}/asked", entry, ("tool_call", outcome, "pre_execution"), detail)

    def _answered(self, number: int, entry: AuditEntry, call: str) -> dict[str, Any]:
        outcome = "success" if entry.success else "timeout" if entry.error == _TIMEOUT else "failure"
        detail = {
            **_about(entry),
            "response_hash": entry.output_hash,
            "parent_call_id": call,
            "duration_ms": entry.duration_ms,
            "error_code": entry.error,
        }
        if entry.success is None:
            detail["outcome_known"] = False
        return self._of(f"{number}/answered", entry, ("tool_response", outcome, "post_execution"), detail)

    def _other(self, number: int, entry: AuditEntry) -> dict[str, Any]:
        kind, outcome, phase = _OTHERS.get(entry.kind, _LIFECYCLE)
        if entry.decision == "deny" or entry.success is False:
            outcome = "denied"
        detail = {**_about(entry), "event": entry.kind, "reason": entry.reason, "details": entry.details}
        return self._of(f"{number}/told", entry, (kind, outcome, phase), detail)

    def _of(
        self, name: str, entry: AuditEntry, what: tuple[str, str, str], detail: dict[str, Any]
    ) -> dict[str, Any]:
        told = {key: value for key, value in detail.items() if value not in ("", (), {}, None)}
        return self._made(name, entry.created_at, entry.client, entry.label_before, what, told)

    def _made(
        self,
        name: str,
        moment: float,
        client: str,
        label: str,
        what: tuple[str, str, str],
        detail: dict[str, Any],
    ) -> dict[str, Any]:
        action, outcome, phase = what
        made: dict[str, Any] = {
            "record_id": self._id(name),
            "timestamp": _moment(moment),
            "agent_id": f"urn:awf:client:{quote(client or 'unknown', _PLAIN)}",
            "agent_version": self._version,
            "session_id": self._origin,
            "action_type": action,
            "action_detail": detail,
            "outcome": outcome,
            "trust_level": "L1" if label.endswith("untrusted") else "L2",
            "parent_record_id": self._parent,
            "prev_hash": self._hash,
            "record_phase": phase,
        }
        self._parent = made["record_id"]
        self._hash = hashlib.sha256(canonical(made)).hexdigest()
        return made

    def _id(self, name: str) -> str:
        """The same in every export of the same log."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._origin}/{name}"))


def _about(entry: AuditEntry) -> dict[str, Any]:
    return {
        "tool_name": entry.tool_id,
        "request_id": entry.request_id,
        "context": entry.context,
        "door": entry.door,
    }


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(in_calendar(seconds), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
