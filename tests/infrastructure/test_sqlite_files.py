from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from awf.infrastructure.sqlite_files import Layout, alone, make_private

if TYPE_CHECKING:
    from pathlib import Path


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_a_file_and_what_sqlite_puts_beside_it_are_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        make_private(str(tmp_path / "a.db"))
        connection = sqlite3.connect(tmp_path / "a.db")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        assert len(list(tmp_path.iterdir())) == 3
        assert modes(tmp_path) == {0o600}
        connection.close()
    finally:
        os.umask(before)


def test_what_is_in_a_file_stays_there(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"something")
    make_private(str(path))
    assert path.read_bytes() == b"something"


def test_only_the_missing_steps_are_taken_in_their_order(tmp_path):
    for number, statement in ((2, "INSERT INTO t VALUES (2)"), (10, "INSERT INTO t VALUES (10)")):
        (tmp_path / f"{number:04}_more.sql").write_text(f"{statement};", encoding="utf-8")
    (tmp_path / "0001_begin.sql").write_text("CREATE TABLE t (x);", encoding="utf-8")
    (tmp_path / "README.md").write_text("no step", encoding="utf-8")
    layout = Layout(str(tmp_path))
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for _ in range(2):
        layout.bring_up_to_date(connection)
    assert layout.newest == layout.of(connection) == 10
    assert connection.execute("SELECT x FROM t").fetchall() == [(2,), (10,)]
    connection.close()


def test_a_step_that_fails_leaves_the_layout_before_it(tmp_path):
    (tmp_path / "0001_begin.sql").write_text("CREATE TABLE t (x);", encoding="utf-8")
    (tmp_path / "0002_wrong.sql").write_text("CREATE TABLE u (x); CREATE TABLE t (x);", encoding="utf-8")
    layout = Layout(str(tmp_path))
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        layout.bring_up_to_date(connection)
    connection.execute("ROLLBACK")
    assert layout.of(connection) == 1
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]
    connection.close()


def test_the_lock_keeps_other_processes_out_until_it_is_given_back(tmp_path):
    lock = str(tmp_path / "lock")
    program = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1])\n"
        "try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except BlockingIOError: print('kept out')\n"
        "else: print('got it')\n"
    )

    def other() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, lock],
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
        return done.stdout.strip()

    with alone(lock):
        assert other() == "kept out"
    assert other() == "got it"
