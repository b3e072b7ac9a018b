"""Calls as OCSF 1.9 events of the class API Activity (6003), with the profile Record Integrity: each names the one before."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from awf.application.audit.events import in_calendar
from awf.domain.canonical import canonical

if TYPE_CHECKING:
    from awf.application.audit.events import Outcome, ToolAuditEvent

__all__ = ["OcsfChain"]

VERSION = "1.9.0"
_CLASS, _OTHER = 6003, 99
_ACTIVITIES = {"delete": (4, "Delete"), "overwrite": (3, "Update")}
_STATUS: dict[Outcome, tuple[int, str]] = {
    "success": (1, "Success"),
    "failure": (2, "Failure"),
    "denied": (2, "Failure"),
}
_SHA256, _HEX, _JCS = 3, 1, 2
_UNMAPPED = (
    "input_hash",
    "output_hash",
    "grant_ids",
    "label_before",
    "label_after",
    "shadowed",
    "door",
    "reason",
)


class OcsfChain:
    """Turns events into OCSF one by one; the fingerprint of each is in the next."""

    def __init__(self, origin: str, product_version: str) -> None:
        self._origin = origin
        self._product_version = product_version
        self._previous: dict[str, Any] | None = None

    def document(self, event: ToolAuditEvent) -> dict[str, Any]:
        made = self._document(event)
        attestation: dict[str, Any] = {"chain_uid": self._origin, "authority_uid": self._origin}
        if self._previous is not None:
            attestation["prev_event"] = self._previous
        made["attestation_list"] = [attestation]
        fingerprint = {
            "algorithm_id": _SHA256,
            "algorithm": "SHA-256",
            "encoding_id": _HEX,
            "encoding": "Hex",
            "serialization_id": _JCS,
            "serialization": "JCS",
            "value": hashlib.sha256(canonical(made)).hexdigest(),
        }
        attestation["fingerprint"] = fingerprint
        self._previous = {
            "uid": made["metadata"]["uid"],
            "type_uid": made["type_uid"],
            "fingerprint": fingerprint,
        }
        return made

    def _document(self, event: ToolAuditEvent) -> dict[str, Any]:
        activity, activity_name = next(
            (_ACTIVITIES[tag] for tag in event.risk_tags if tag in _ACTIVITIES), (_OTHER, "Invoke")
        )
        status, status_name = _STATUS.get(event.outcome, (0, "Unknown"))
        denied = event.outcome == "denied"
        moment = round(in_calendar(event.created_at) * 1000)
        return {
            "activity_id": activity,
            "activity_name": activity_name,
            "category_uid": 6,
            "category_name": "Application Activity",
            "class_uid": _CLASS,
            "class_name": "API Activity",
            "type_uid": _CLASS * 100 + activity,
            "type_name": f"API Activity: {'Other' if activity == _OTHER else activity_name}",
            "time": moment,
            "start_time": moment,
            "end_time": moment + event.duration_ms,
            "duration": event.duration_ms,
            "severity_id": 2 if denied else 1,
            "severity": "Low" if denied else "Informational",
            "status_id": status,
            "status": status_name,
            **({"status_code": event.error} if event.error else {}),
            **({"status_detail": event.reason} if event.reason else {}),
            "action_id": 2 if denied else 1,
            "action": "Denied" if denied else "Allowed",
            "disposition_id": 2 if denied else 1,
            "disposition": "Blocked" if denied else "Allowed",
            "metadata": self._metadata(event),
            "actor": {"session": {"uid": event.context or "default"}},
            "src_endpoint": {"svc_name": event.client or event.door or "unknown"},
            "api": _api(event),
            **({"policy": {"uid": event.rule, "is_applied": True}} if event.rule else {}),
            "unmapped": {name: value for name in _UNMAPPED if (value := getattr(event, name))},
        }

    def _metadata(self, event: ToolAuditEvent) -> dict[str, Any]:
        return {
            "version": VERSION,
            "profiles": ["record_integrity", "security_control"],
            "product": {"name": "AWF", "vendor_name": "AWF", "version": self._product_version},
            "uid": f"{self._origin}#{event.sequence}",
            "sequence": event.sequence,
            "log_name": self._origin,
            **({"correlation_uid": event.trace_id} if event.trace_id else {}),
        }


def _api(event: ToolAuditEvent) -> dict[str, Any]:
    server, _, _ = event.tool_id.partition(":")
    response = {"error": event.error} if event.error else {"code": 0} if event.outcome == "success" else {}
    return {
        "operation": event.tool_id or "unknown",
        "service": {"name": server or "unknown"},
        "request": {"uid": event.request_id or str(event.sequence)},
        **({"response": response} if response else {}),
    }
