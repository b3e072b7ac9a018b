from __future__ import annotations

import contextlib
import shutil
import sqlite3

import pytest

from awf.domain.audit import AuditEntry
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import SqliteAudit


class Bench:
    """A folder with an audit, and what one does to it."""

    def __init__(self, folder):
        self.folder = folder
        self.opened = []

    def open(self, *, folder=None, **options):
        settings = options.pop("settings", None) or Audit()
        made = SqliteAudit(str(folder or self.folder), settings, **options)
        self.opened.append(made)
        return made

    def close(self):
        for one in self.opened:
            one.close_now()

    @contextlib.contextmanager
    def sql(self):
        """The database as somebody with other intentions opens it."""
        connection = sqlite3.connect(self.folder / "audit.db", isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    def alter(self, *statements):
        with self.sql() as connection:
            for statement in statements:
                connection.execute(statement)

    def spills(self):
        return sorted(one.name for one in self.folder.glob("*.spill"))

    def copy(self, name):
        """As a folder of its own, with everything in the one file."""
        with self.sql() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return shutil.copytree(self.folder, self.folder.parent / name)


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "audit")
    yield made
    made.close()


def told(kind="configuration", moment=1000.25, **more):
    return AuditEntry(kind=kind, created_at=moment, **more)


@pytest.fixture(name="told")
def _told():
    return told


@pytest.fixture
def call():
    def made(log, request, **more):
        log.record(told("decision", request_id=request, tool_id="kb:get", decision="allow"))
        log.record(told("effect", **{"request_id": request, "success": True, "duration_ms": 3, **more}))

    return made
