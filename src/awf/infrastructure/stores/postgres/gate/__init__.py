"""What the gate remembers, in PostgreSQL: grants, approvals, security contexts and long results of all replicas."""

from awf.infrastructure.stores.postgres.gate.store import PostgresGateStore

__all__ = ["PostgresGateStore"]
