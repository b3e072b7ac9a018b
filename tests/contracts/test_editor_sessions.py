"""What every store of editor sessions must promise, and what the one in files promises besides."""

from __future__ import annotations

import json
import logging
import os
import resource
import subprocess
import sys
import time

import msgspec
import pytest

from awf.domain.editor import SessionRecord, TurnRecord
from awf.domain.errors import AwfError
from awf.infrastructure.editor_sessions import FileEditorSessions
from awf.testing.memory_editor_sessions import MemoryEditorSessions

PATIENCE = 60
BAD_IDS = ["", ".", "..", "../s1", "a/b", "/etc/passwd", "s1.json", "s1\n", "a b", "é", "s\0", "x" * 129]


def session(session_id="s1", updated_at=2.0, **more):
    return SessionRecord(
        id=session_id, cwd=more.pop("cwd", "/project"), created_at=1.0, updated_at=updated_at, **more
    )


RICH = session(
    title="/deploy env=prod — é \U0001f600 \ud800",  # a lone surrogate, as JSON can carry it
    turns=(
        TurnRecord(prompt="/deploy\nenv=prod", run_id="r1", first_seq=3, last_seq=9),
        TurnRecord(prompt="", said="nothing to do"),
    ),
    parked="r2",
    workflow="deploy",
    approvals="auto",
    allowed=("deploy/approve", "b c"),
)


@pytest.fixture(params=["memory", "files"])
def store(request, tmp_path):
    return MemoryEditorSessions() if request.param == "memory" else FileEditorSessions(str(tmp_path / "made"))


# -- every store -----------------------------------------------------------------------------------------------------


def test_a_session_comes_back_as_it_was_saved(store):
    store.save(RICH)
    assert store.find("s1") == RICH
    assert list(store.sessions()) == [RICH]


def test_saving_again_replaces_what_was_known(store):
    store.save(RICH)
    store.save(session(updated_at=3.0))
    assert store.find("s1") == session(updated_at=3.0)
    assert len(store.sessions()) == 1


def test_an_empty_store_knows_nothing(store):
    assert store.find("s1") is None
    assert list(store.sessions()) == []
    store.delete("s1")


def test_the_latest_session_is_listed_first_and_equal_ones_in_a_fixed_order(store):
    for name, when in [("b", 5.0), ("c", 7.5), ("a", 5.0), ("d", 1.0)]:
        store.save(session(name, when))
    assert [one.id for one in store.sessions()] == ["c", "a", "b", "d"]


def test_sessions_of_one_folder_are_found_by_it(store):
    store.save(session("here", cwd="/project"))
    store.save(session("there", cwd="/project/sub"))
    assert [one.id for one in store.sessions("/project")] == ["here"]
    assert list(store.sessions("/nowhere")) == []


def test_a_deleted_session_is_forgotten_and_deleting_twice_is_fine(store):
    store.save(RICH)
    store.save(session("other"))
    store.delete("s1")
    store.delete("s1")
    assert store.find("s1") is None
    assert [one.id for one in store.sessions()] == ["other"]


def test_a_deleted_session_may_be_saved_again(store):
    store.save(RICH)
    store.delete("s1")
    store.save(session())
    assert store.find("s1") == session()


@pytest.mark.parametrize("bad", BAD_IDS)
def test_an_id_that_could_name_another_file_is_never_known_and_never_saved(store, bad):
    assert store.find(bad) is None
    store.delete(bad)
    with pytest.raises(ValueError, match="not an id"):
        store.save(session(bad))


# -- the one in files ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "sessions"


@pytest.fixture
def files(folder):
    return FileEditorSessions(str(folder))


def test_files_and_their_folder_are_for_the_owner_only(files, folder):
    before = os.umask(0)
    try:
        files.save(RICH)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "s1.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == ["s1.json"]


def test_what_another_process_does_is_seen_at_once(files, folder):
    other = FileEditorSessions(str(folder))
    files.save(session(updated_at=2.0))
    other.save(session(updated_at=3.0))
    assert files.find("s1") == session(updated_at=3.0)
    other.save(session("s2", 4.0))
    assert [one.id for one in files.sessions()] == ["s2", "s1"]
    other.delete("s1")
    assert files.find("s1") is None
    assert [one.id for one in files.sessions()] == ["s2"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b'{"form": 1, "session": {"id": "s1"',
        b"\xff\xfe",
        b"[1]",
        b"{}",
        b'{"form": true}',
        b'{"form": 1}',
        b'{"form": 1, "session": {"id": "s1"}}',
        b"[" * 100_000,
        json.dumps({"form": 2, "session": "of another kind"}).encode(),
        json.dumps({"form": 1, "session": msgspec.to_builtins(session("s9"))}).encode(),
    ],
)
def test_a_file_that_is_no_session_is_left_out_with_one_warning_and_left_alone(files, folder, caplog, text):
    files.save(session("good"))
    (folder / "s1.json").write_bytes(text)
    with caplog.at_level(logging.WARNING, "awf"):
        assert [one.id for one in files.sessions()] == ["good"]
        assert [one.id for one in files.sessions()] == ["good"]
        assert files.find("s1") is None
    assert [str(folder / "s1.json") in record.getMessage() for record in caplog.records] == [True]
    assert (folder / "s1.json").read_bytes() == text


def test_a_mended_file_is_read_again(files, folder):
    files.save(session())
    whole = (folder / "s1.json").read_bytes()
    (folder / "s1.json").write_bytes(b"torn")
    assert files.find("s1") is None
    (folder / "s1.json").write_bytes(whole)
    assert files.find("s1") == session()


def test_keys_of_a_later_version_of_the_same_form_do_no_harm(files, folder):
    folder.mkdir()
    value = {**msgspec.to_builtins(session()), "colour": "green"}
    (folder / "s1.json").write_text(json.dumps({"form": 1, "session": value}), encoding="utf-8")
    assert files.find("s1") == session()


def test_other_files_in_the_folder_are_no_sessions(files, folder):
    files.save(session())
    for name in ["notes.txt", "a b.json", ".hidden.json", "s3.json.1-ab.part"]:
        (folder / name).write_bytes((folder / "s1.json").read_bytes())
    (folder / "folder.json").mkdir()
    assert [one.id for one in files.sessions()] == ["s1"]


def test_what_a_killed_writer_left_goes_after_a_while_and_no_sooner(files, folder):
    files.save(session())
    old, new = folder / "s1.json.1-aa.part", folder / "s1.json.2-bb.part"
    for path in (old, new):
        path.write_bytes(b"half")
    an_hour_and_a_bit_ago = time.time() - 3700
    os.utime(old, (an_hour_and_a_bit_ago, an_hour_and_a_bit_ago))
    files.sessions()
    assert (old.exists(), new.exists()) == (False, True)


def test_a_full_disk_is_told_and_the_old_file_stays_whole(files, folder):
    files.save(session())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises(AwfError) as told:
            files.save(session(updated_at=3.0, title="x" * 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.value.code == "SYSTEM.IO.WRITE_FAILED"
    assert str(folder) in told.value.message
    assert files.find("s1") == FileEditorSessions(str(folder)).find("s1") == session()
    assert [path.name for path in folder.iterdir()] == ["s1.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_told_and_can_still_be_read(files, folder):
    files.save(session())
    folder.chmod(0o500)
    try:
        for attempt in (lambda: files.save(session("s2")), lambda: files.delete("s1")):
            with pytest.raises(AwfError) as told:
                attempt()
            assert told.value.code == "SYSTEM.IO.WRITE_FAILED"
        assert FileEditorSessions(str(folder)).find("s1") == session()
    finally:
        folder.chmod(0o700)


def test_a_folder_that_is_a_file_is_told_in_words(files, folder):
    folder.write_text("mine", encoding="utf-8")
    for attempt, code in [
        (lambda: files.save(session()), "SYSTEM.IO.WRITE_FAILED"),
        (lambda: files.delete("s1"), "SYSTEM.IO.WRITE_FAILED"),
        (lambda: files.find("s1"), "SYSTEM.IO.READ_FAILED"),
        (files.sessions, "SYSTEM.IO.READ_FAILED"),
    ]:
        with pytest.raises(AwfError) as told:
            attempt()
        assert told.value.code == code
        assert str(folder) in told.value.message
        assert told.value.hint
    assert folder.read_text(encoding="utf-8") == "mine"


WRITER = """
import sys
from awf.domain.editor import SessionRecord
from awf.infrastructure.editor_sessions import FileEditorSessions
store = FileEditorSessions(sys.argv[1])
for number in range(200):
    who = sys.argv[2]
    store.save(SessionRecord(id="shared", cwd=who, created_at=1.0, updated_at=float(number), title=who * 2000))
    store.save(SessionRecord(id=f"own-{who}-{number}", cwd=who, created_at=1.0, updated_at=2.0))
"""


def test_several_processes_write_at_once_and_a_reader_sees_whole_sessions_only(files, folder, caplog):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), who], stderr=subprocess.PIPE)
        for who in ("a", "b")
    ]
    try:
        end = time.monotonic() + PATIENCE
        while any(writer.poll() is None for writer in writers):
            assert time.monotonic() < end
            shared = files.find("shared")
            assert shared is None or shared.title == shared.cwd * 2000
            files.sessions()
    finally:
        for writer in writers:
            writer.kill()
            told = writer.communicate(timeout=PATIENCE)[1].decode()
    assert [writer.returncode for writer in writers] == [0, 0], told
    assert len(files.sessions()) == 401
    assert caplog.records == []
    assert {path.suffix for path in folder.iterdir()} == {".json"}


def test_a_second_listing_reads_no_file_again(files, folder):
    """By taking away what the files say without their looking changed: who reads them again notices."""
    for number in range(50):
        files.save(session(f"s{number}", float(number)))
    fresh = FileEditorSessions(str(folder))
    first = list(fresh.sessions())
    for path in folder.iterdir():
        status = path.stat()
        path.write_bytes(b"#" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert list(fresh.sessions()) == first
    assert len(first) == 50
