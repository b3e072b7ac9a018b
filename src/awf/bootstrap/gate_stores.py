"""What the gate remembers, and the services that change it. Each change is told to the audit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.grants import Grants
    from awf.bootstrap.guarded import Guarded
    from awf.domain.audit import AuditKind
    from awf.domain.gate_file import Approvals, Levels
    from awf.infrastructure.gate_store import SqliteGateStore
    from awf.infrastructure.stores.postgres.gate import PostgresGateStore

__all__ = ["approval_desk", "contexts", "grants", "open_gate_store", "tell_audit"]


def open_gate_store(app: Guarded) -> SqliteGateStore | PostgresGateStore:
    """In the database that several machines share, where one is set; or in a file of this one."""
    if app.shared_database is not None:
        return app.shared_database.gate
    from awf.infrastructure.gate_store import SqliteGateStore

    return SqliteGateStore(os.path.join(app.cwd, app.settings.storage.value, "gate"))


def grants(app: Guarded) -> Grants:
    from awf.application.gate.grants import Grants

    return Grants(app.gate_store.grants, app.clock, tell=app.tell_audit)


def contexts(app: Guarded, levels: Levels | None = None) -> Contexts:
    from awf.application.gate.contexts import Contexts

    return Contexts(app.gate_store.contexts, app.clock, levels, tell=app.tell_audit)


def approval_desk(app: Guarded, settings: Approvals | None = None) -> ApprovalDesk:
    from awf.application.gate.approvals import ApprovalDesk

    return ApprovalDesk(app.gate_store.approvals, app.clock, settings, tell=app.tell_audit)


def tell_audit(app: Guarded, kind: AuditKind, details: dict[str, Any]) -> Awaitable[None] | None:
    """The one place where changes that a person makes are told; one that cannot be recorded shows."""
    return app.gate_rooms.tell(kind, details)
