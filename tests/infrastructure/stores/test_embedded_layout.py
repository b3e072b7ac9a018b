"""The embedded store of an older version is brought up to date, with everything in it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import awf.infrastructure.stores.database as layout
from awf.infrastructure.stores.database import Database
from awf.infrastructure.stores.runs import SqliteRunStore


def test_a_store_from_before_contexts_keeps_its_runs(tmp_path):
    first = os.path.join(os.path.dirname(layout.__file__), "migrations", "0001_runs.sql")
    connection = sqlite3.connect(tmp_path / "awf.db")
    with open(first, encoding="utf-8") as stream:
        connection.executescript(f"{stream.read()} PRAGMA user_version = 1;")
    connection.execute(
        "INSERT INTO runs (id, workflow, source, status, started_at, definition) VALUES ('r1','w','w.yaml','completed',1.0,'{}')"
    )
    connection.commit()
    connection.close()
    database = Database(str(tmp_path))
    try:
        kept = SqliteRunStore(database).find("r1")
        assert (kept.id, kept.workflow, kept.context) == ("r1", "w", "")
    finally:
        database.close()


OPENING = """
import sys
from awf.infrastructure.stores.database import Database
for line in sys.stdin:
    Database(line.strip()).close()
    print("opened", flush=True)
"""


def test_several_processes_may_be_the_first_to_open_a_store(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    try:
        for number in range(40):
            for process in processes:
                process.stdin.write(f"{tmp_path / str(number)}\n")
                process.stdin.flush()
            assert [process.stdout.readline() for process in processes] == ["opened\n"] * 4
    finally:
        for process in processes:
            process.communicate(timeout=60)
