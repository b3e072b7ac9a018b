from __future__ import annotations

import contextlib
import shutil
import sqlite3

import psycopg
import pytest

from awf.bootstrap.audits import AuditServer
from awf.domain.audit import AuditEntry
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import SqliteAudit
from awf.infrastructure.audit_store.keys import Keys, SharedKeys
from awf.infrastructure.audit_store.noted_head import NotedHead
from awf.infrastructure.audit_store.postgres import PostgresAudit


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

    @property
    def keys(self):
        return Keys(str(self.folder), is_new=False)

    @property
    def note(self):
        """Where the head is noted beside the database."""
        return self.folder / "head"

    def save(self):
        self.saved = self.copy("earlier")

    def set_back(self):
        """The whole database is what it was."""
        for file in self.folder.glob("audit.db*"):
            file.unlink()
        shutil.copy(self.saved / "audit.db", self.folder / "audit.db")


TABLES = ("records", "head", "checkpoints", "open_calls")
DISGUISE = """
CREATE SCHEMA thief;
ALTER TABLE awf.audit_records ALTER writer SET DEFAULT 'thief', ALTER number SET DEFAULT -1;
CREATE VIEW thief.records AS SELECT sequence, previous, hash, entry FROM awf.audit_records;
CREATE VIEW thief.head AS SELECT sequence, hash, mac FROM awf.audit_head;
CREATE VIEW thief.checkpoints AS SELECT * FROM awf.audit_checkpoints;
CREATE VIEW thief.open_calls AS SELECT * FROM awf.audit_open_calls;
CREATE FUNCTION thief.replace(bytea, text, text) RETURNS bytea LANGUAGE sql
    RETURN convert_to(pg_catalog.replace(convert_from($1, 'UTF8'), $2, $3), 'UTF8');
"""


class PostgresBench(Bench):
    """The same in a database. Tables look as they do in the file, so that one can do the same to them."""

    def __init__(self, folder, url):
        super().__init__(folder)
        self.url = url

    def open(self, *, folder=None, **options):
        place = folder or self.folder
        given = {"key_file": str(place / "signing.key"), **options}
        made = PostgresAudit(AuditServer(self.url), str(place), **given)
        self.opened.append(made)
        return made

    @contextlib.contextmanager
    def sql(self):
        with psycopg.connect(self.url, autocommit=True) as connection:
            if connection.execute("SELECT to_regnamespace('thief')").fetchone() == (None,):
                connection.execute(DISGUISE)
            connection.execute("SET search_path TO thief, pg_catalog")
            yield _Spoken(connection)

    @property
    def keys(self):
        return SharedKeys(str(self.folder / "signing.key"))

    @property
    def note(self):
        (found,) = self.folder.glob("head-*")
        return found

    def save(self):
        with self.sql() as connection:
            for name in TABLES:
                connection.execute(f"CREATE TABLE thief.saved_{name} AS SELECT * FROM awf.audit_{name}")

    def set_back(self):
        with self.sql() as connection:
            for name in TABLES:
                connection.execute(f"DELETE FROM awf.audit_{name}")
                connection.execute(f"INSERT INTO awf.audit_{name} SELECT * FROM thief.saved_{name}")


class _Spoken:
    """A connection to PostgreSQL with the manners of SQLite's."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, sql, values=()):
        self._cursor = self._connection.execute(sql.replace("?", "%s"), values)
        return self

    def fetchone(self):
        return tuple(map(_plain, self._cursor.fetchone()))

    def fetchall(self):
        return [tuple(map(_plain, row)) for row in self._cursor.fetchall()]


def _plain(value):
    return value.decode() if isinstance(value, bytes) else value


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "audit")
    yield made
    made.close()


@pytest.fixture
def shared_bench(tmp_path, database_url):
    made = PostgresBench(tmp_path / "audit", database_url)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def any_bench(request):
    return request.getfixturevalue("bench" if request.param == "sqlite" else "shared_bench")


@pytest.fixture
def noted():
    def note(bench, sequence, said):
        NotedHead(str(bench.folder), bench.keys, bench.note.name).note(sequence, said)

    return note


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
