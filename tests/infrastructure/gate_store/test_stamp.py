from __future__ import annotations

import os
import sqlite3
import threading
import time

import pytest

from awf.domain.errors import AwfError
from awf.domain.label import Label
from awf.infrastructure.gate_store import SqliteGateStore, watch
from awf.infrastructure.gate_store.stamp import Stamp


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "the.stamp")


def test_a_change_is_seen_by_everyone_at_once(path):
    mine, yours = Stamp(path), Stamp(path)
    before = yours.look()
    assert mine.look() == before
    mine.change()
    assert yours.look() == mine.look() != before
    mine.close()
    assert yours.look() != before
    yours.close()


def test_it_stays_as_it_is_when_somebody_comes(path):
    mine = Stamp(path)
    before = mine.look()
    Stamp(path).close()
    assert mine.look() == before
    mine.close()


async def test_what_a_program_writes_that_knows_no_stamp_is_seen_soon(tmp_path):
    folder = tmp_path / "gate"
    store = SqliteGateStore(str(folder))
    await store.contexts.raise_label("c", Label("secret"), "t", 1.0)
    before = store.contexts.version()
    with sqlite3.connect(folder / "gate.db") as database:
        database.execute("UPDATE changes SET count = count + 1")
    database.close()
    deadline = time.monotonic() + 30
    while store.contexts.version() == before:
        assert time.monotonic() < deadline
    store.close()


async def test_a_change_of_any_kind_is_one(tmp_path):
    mine, yours = (SqliteGateStore(str(tmp_path / "gate")) for _ in range(2))
    before = mine.changes()
    assert mine.changes() == before
    await yours.contexts.raise_label("c", Label("secret"), "t", 1.0)
    assert mine.changes() != before
    mine.close()
    yours.close()


async def test_a_closed_store_has_no_version(tmp_path):
    store = SqliteGateStore(str(tmp_path / "gate"))
    store.contexts.version()
    store.close()
    for look in (store.contexts.version, store.changes):
        with pytest.raises(AwfError, match="closed"):
            look()


async def test_a_mark_that_somebody_cuts_short_harms_nobody(tmp_path, monkeypatch):
    folder = str(tmp_path / "gate")
    mine, yours = SqliteGateStore(folder), SqliteGateStore(folder)
    before = mine.contexts.version()
    (tmp_path / "gate" / "gate.db.stamp").write_bytes(b"")
    assert mine.contexts.version() == before
    assert yours.contexts.version() == before
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 1e9)  # from now on only the mark tells
    assert mine.contexts.version() == before
    await yours.contexts.raise_label("c", Label("secret"), "t", 1.0)
    assert mine.contexts.version() != before
    mine.close()
    yours.close()


async def test_a_mark_is_not_written_into_another_file(tmp_path, monkeypatch):
    """The file may be replaced by one thread while another writes to it."""
    stamp = Stamp(str(tmp_path / "s"))
    inside, go_on = threading.Event(), threading.Event()
    real = os.pwrite

    def slow(handle, data, offset):
        inside.set()
        assert go_on.wait(60)
        return real(handle, data, offset)

    monkeypatch.setattr(os, "pwrite", slow)
    writer = threading.Thread(target=stamp.change)
    writer.start()
    assert inside.wait(60)
    closer = threading.Thread(target=stamp.close)
    closer.start()
    closer.join(0.05)
    assert closer.is_alive()  # the handle is kept for as long as somebody writes to it
    go_on.set()
    writer.join(60)
    closer.join(60)
    assert not closer.is_alive()


async def test_where_no_mark_can_be_written_the_store_is_asked_each_time(tmp_path, monkeypatch):
    monkeypatch.setattr(Stamp, "change", lambda _: None)
    folder = str(tmp_path / "gate")
    mine, yours = SqliteGateStore(folder), SqliteGateStore(folder)
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 1e9)
    before = mine.changes()
    await yours.contexts.raise_label("c", Label("secret"), "t", 1.0)
    assert mine.changes() != before
    mine.close()
    yours.close()


async def test_a_mark_of_a_file_that_was_removed_is_not_taken_for_one_of_the_next(tmp_path, monkeypatch):
    folder = str(tmp_path / "gate")
    mine, yours = SqliteGateStore(folder), SqliteGateStore(folder)
    for number in range(3):
        await yours.contexts.raise_label(f"c{number}", Label("secret"), "t", 1.0)
    mine.changes()
    yours.close()
    stamp = tmp_path / "gate" / "gate.db.stamp"
    stamp.unlink()
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 1e9)  # from now on only the mark tells
    deadline = time.monotonic() + 30
    while not stamp.exists():
        assert time.monotonic() < deadline
        before = mine.changes()
    other = SqliteGateStore(folder)
    await other.contexts.raise_label("d", Label("secret"), "t", 1.0)
    assert mine.changes() != before
    mine.close()
    other.close()
