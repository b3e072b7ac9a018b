from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from awf.infrastructure.stores.postgres.gate.approvals import PostgresApprovals
from awf.infrastructure.stores.postgres.gate.artifacts import PostgresArtifacts
from awf.infrastructure.stores.postgres.gate.contexts import PostgresContexts
from awf.infrastructure.stores.postgres.gate.grants import PostgresGrants
from awf.infrastructure.stores.postgres.gate.keeping import Keeping

if TYPE_CHECKING:
    from awf.infrastructure.stores.postgres.database import PostgresDatabase

__all__ = ["PostgresGateStore"]

_KEY_BYTES = 32


class PostgresGateStore:
    """One for all replicas. Nothing is connected before something is asked."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._keeping = Keeping(database.url)
        self.grants = PostgresGrants(self._keeping)
        self.approvals = PostgresApprovals(self._keeping)
        self.contexts = PostgresContexts(self._keeping)
        self.artifacts = PostgresArtifacts(self._keeping)

    def operator_key(self) -> str:
        """The secret by which the gateways' page knows a person: made once, whichever replica came first."""
        new = (
            "INSERT INTO awf.operator (key) VALUES (%s) ON CONFLICT DO NOTHING",
            (secrets.token_urlsafe(_KEY_BYTES),),
        )
        self._database.write_now([new])
        ((key,),) = self._database.rows("SELECT key FROM awf.operator")
        return str(key)

    async def close(self) -> None:
        """What is being written is finished first. Calls that come later are refused."""
        await self._keeping.close()
