"""An entry as bytes, at the moment when it is recorded: whatever becomes of it later changes nothing."""

from __future__ import annotations

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import entry_json
from awf.domain.canonical import sha256_hex

__all__ = ["LONGEST", "packed", "shortened"]

LONGEST = 256 * 1024  # of an entry; what is longer loses its details
_encode = msgspec.json.Encoder().encode


def packed(entry: AuditEntry) -> bytes:
    """Never raises. The canonical form is made of it later."""
    try:
        # NaN has no form of its own.
        data = _encode(entry) if entry.created_at * 0 == 0 else entry_json(entry)
    except Exception:  # noqa: BLE001  half characters, or details that are no JSON: there is a form for everything
        data = entry_json(entry)
    return entry_json(shortened(entry)) if len(data) > LONGEST else data


def shortened(entry: AuditEntry) -> AuditEntry:
    """Without what makes it too long, but with the hash of it."""
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    for name, value in fields.items():
        if isinstance(value, str) and len(value) > 4096:
            fields[name] = value[:4096]
        elif isinstance(value, tuple) and len(value) > 64:
            fields[name] = value[:64]
    return AuditEntry(**{**fields, "details": {"omitted": {"sha256": sha256_hex(entry.details)}}})
