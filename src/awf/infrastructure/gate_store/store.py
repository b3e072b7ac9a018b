from __future__ import annotations

import os

from awf.infrastructure.gate_store.approvals import SqliteApprovals
from awf.infrastructure.gate_store.contexts import SqliteContexts
from awf.infrastructure.gate_store.database import GateDatabase
from awf.infrastructure.gate_store.grants import SqliteGrants
from awf.infrastructure.gate_store.operator_key import operator_key

__all__ = ["SqliteGateStore"]


class SqliteGateStore:
    """`gate.db` in a folder of its own. What was answered is on the disk: neither a kill nor a power cut takes it back."""

    def __init__(self, folder: str) -> None:
        """Raises `AwfError` (SYSTEM.GATE_STORE.*) when the file cannot be used."""
        self._database = GateDatabase(folder)
        self.path = self._database.path
        self.grants = SqliteGrants(self._database)
        self.approvals = SqliteApprovals(self._database)
        self.contexts = SqliteContexts(self._database)

    def operator_key(self) -> str:
        """The secret by which the gateway's page knows a person. Raises `AwfError`."""
        return operator_key(os.path.dirname(self.path))

    def close(self) -> None:
        """What is being written is finished first. Calls that come later are refused."""
        self._database.close()
