"""The audit in a folder: spill files that survive their writer, one SQLite file with the chain, and the keys."""

from awf.infrastructure.audit_store.audit import SqliteAudit
from awf.infrastructure.audit_store.keys import signature_holds

__all__ = ["SqliteAudit", "signature_holds"]
