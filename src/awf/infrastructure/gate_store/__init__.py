"""Grants, approvals and security contexts in one SQLite file that several processes use at once."""

from awf.infrastructure.gate_store.operator_key import operator_key
from awf.infrastructure.gate_store.store import SqliteGateStore

__all__ = ["SqliteGateStore", "operator_key"]
