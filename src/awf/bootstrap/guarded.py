"""What the gate is made of, for one folder: its stores, the record, the walls, and the gate itself."""

from __future__ import annotations

import functools
import os
import time
from typing import TYPE_CHECKING, Any

from awf.bootstrap.foundation import Foundation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.gate.gate import Gate
    from awf.bootstrap.gates import GateRooms
    from awf.bootstrap.sandboxes import Walls
    from awf.domain.audit import AuditCheckpoint, AuditKind
    from awf.domain.gateway_file import GatewayFile
    from awf.domain.ports.artifact_store import ArtifactStore
    from awf.domain.ports.sandbox import Sandbox
    from awf.infrastructure.audit_store import SqliteAudit
    from awf.infrastructure.audit_store.postgres import PostgresAudit
    from awf.infrastructure.gate_store import SqliteGateStore
    from awf.infrastructure.sandboxes import MachineFacts
    from awf.infrastructure.stores.postgres.database import PostgresDatabase
    from awf.infrastructure.stores.postgres.gate import PostgresGateStore

__all__ = ["Guarded"]


class Guarded(Foundation):
    lender: Guarded | None = None  # whose audit it shares
    serves_long = False  # as a server for many; said before anything is built

    @functools.cached_property
    def shared_database(self) -> PostgresDatabase | None:
        """The database that several machines share, where one is set."""
        url = self.settings.database_url.value
        if not url:
            return None
        from awf.infrastructure.stores.postgres.database import PostgresDatabase

        return PostgresDatabase(url, os.path.join(self.cwd, self.settings.storage.value))

    @property
    def clock(self) -> Callable[[], float]:
        """One time for all machines that share a database."""
        return self.shared_database.clock if self.shared_database is not None else time.time

    @property
    def audit_folder(self) -> str:
        return os.path.join(self.cwd, self.settings.storage.value, "audit")

    @functools.cached_property
    def audit(self) -> SqliteAudit | PostgresAudit:
        """One for all that this process does: an application that works for another one records with it."""
        if self.lender is not None:
            return self.lender.audit
        from awf.bootstrap.audits import open_audit

        return open_audit(self)

    @staticmethod
    def signature_holds(checkpoint: AuditCheckpoint, public_key: str) -> bool:
        from awf.infrastructure.audit_store import signature_holds

        return signature_holds(checkpoint, public_key)

    @functools.cached_property
    def artifacts(self) -> ArtifactStore:
        """Long results of tools."""
        if self.shared_database is not None:
            return self.shared_database.gate.artifacts
        from awf.infrastructure.artifact_files import FileArtifacts

        return FileArtifacts(os.path.join(self.cwd, self.settings.storage.value, "artifacts"))

    @functools.cached_property
    def gate_store(self) -> SqliteGateStore | PostgresGateStore:
        from awf.bootstrap.gate_stores import open_gate_store

        return open_gate_store(self)

    def tell_audit(self, kind: AuditKind, details: dict[str, Any]) -> Awaitable[None] | None:
        from awf.bootstrap.gate_stores import tell_audit

        return tell_audit(self, kind, details)

    @functools.cached_property
    def gate(self) -> Gate | None:
        """What the tool calls of steps have to pass, as the project's gateway file says."""
        file = self.project_file
        return self.gate_rooms.gate(file) if file is not None else None

    @functools.cached_property
    def gate_rooms(self) -> GateRooms:
        from awf.bootstrap.gates import GateRooms

        return GateRooms(self)

    @functools.cached_property
    def sandbox(self) -> Sandbox | None:
        """The best wall this machine can build, tried out; None when it can build none."""
        from awf.infrastructure.sandboxes import open_sandbox

        return open_sandbox(self.environment, self.runner.scratch)

    def sandbox_facts(self) -> MachineFacts:
        """What walls could be made of here."""
        from awf.infrastructure.sandboxes import machine_facts

        return machine_facts(self.environment)

    @functools.cached_property
    def walls(self) -> Walls:
        """Around what steps start, as the project's gateway file says."""
        from awf.bootstrap.sandboxes import Walls
        from awf.domain.sandbox import SandboxSettings

        file = self.project_file
        return Walls(self, file.sandbox if file is not None else SandboxSettings())

    @functools.cached_property
    def project_file(self) -> GatewayFile | None:
        """The project's gateway file, which governs the tools of steps too."""
        from awf.bootstrap.gates import project_file

        return project_file(self)
