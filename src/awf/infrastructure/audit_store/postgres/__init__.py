"""The audit in PostgreSQL: one chain for every process of every machine that shares the database."""

from awf.infrastructure.audit_store.postgres.audit import PostgresAudit
from awf.infrastructure.audit_store.postgres.moving import copy_chain

__all__ = ["PostgresAudit", "copy_chain"]
