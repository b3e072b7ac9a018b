"""What every store of pins must promise, and what the one in a file promises besides."""

from __future__ import annotations

import json
import logging
import os
import resource
import stat

import pytest

from awf.domain.errors import AwfError
from awf.domain.pinning import Pin
from awf.domain.problem import Problem
from awf.infrastructure.pin_files import FilePins
from awf.testing.memory_pins import MemoryPins

RICH = Pin(
    "weather:tell — é 😀 \ud800",  # a lone surrogate, as JSON can carry it
    "ab" * 32,
    1234.5,
    {
        "name": "tell",
        "description": "a\nb\u2028\0",
        "inputSchema": {"n": [1, 2.5, None, True, 2**70]},
        "_meta": {},
    },
)
PLAIN = Pin("a:x", "cd" * 32, 1.0, {"name": "x"})


def by_id(*pins):
    return {pin.id: pin for pin in pins}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gateway.pins.json"


@pytest.fixture
def file(path):
    return FilePins(str(path))


@pytest.fixture(params=["memory", "file"])
def store(request, file):
    return MemoryPins() if request.param == "memory" else file


# -- every store -----------------------------------------------------------------------------------------------------


def test_an_empty_store_has_no_pins(store):
    assert store.load() == {}


def test_pins_come_back_as_they_were_saved(store):
    assert store.save(by_id(RICH, PLAIN)) is None
    assert store.load() == by_id(RICH, PLAIN)


def test_saving_replaces_all_pins(store):
    store.save(by_id(RICH))
    store.save(by_id(PLAIN))
    assert store.load() == by_id(PLAIN)
    store.save({})
    assert store.load() == {}


def test_what_a_caller_does_with_loaded_or_saved_pins_changes_nothing(store):
    mine = by_id(PLAIN)
    store.save(mine)
    mine.clear()
    store.load().clear()
    assert store.load() == by_id(PLAIN)


def test_a_store_in_memory_can_be_told_to_refuse():
    store = MemoryPins(by_id(PLAIN))
    store.refusal = Problem(code="SYSTEM.IO.WRITE_FAILED", message="full", severity="warning")
    assert store.save(by_id(RICH)) is store.refusal
    assert store.load() == by_id(PLAIN)


# -- the one in a file -----------------------------------------------------------------------------------------------


def limited(size):
    """No file may become longer: what a full disk does, without filling one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_a_warning_told_once_and_the_old_file_stays_whole(file, path, caplog):
    file.save(by_id(PLAIN))
    back = limited(300)
    try:
        with caplog.at_level(logging.WARNING, "awf"):
            problems = [file.save(by_id(PLAIN, RICH)) for _ in range(3)]
    finally:
        back()
    assert {(one.code, one.severity) for one in problems} == {("SYSTEM.IO.WRITE_FAILED", "warning")}
    assert "gateway.pins.json" in problems[0].message
    assert "free space" in problems[0].hint
    assert len(caplog.records) == 1
    assert FilePins(str(path)).load() == file.load() == by_id(PLAIN)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_after_a_failure_that_passed_the_next_one_is_told_again(file, caplog):
    with caplog.at_level(logging.WARNING, "awf"):
        for _ in range(2):
            back = limited(10)
            try:
                file.save(by_id(PLAIN))
            finally:
                back()
            assert file.save(by_id(PLAIN)) is None
    assert len(caplog.records) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_a_warning(file, path):
    file.save(by_id(PLAIN))
    path.parent.chmod(0o500)
    try:
        assert file.save(by_id(RICH)).severity == "warning"
        assert FilePins(str(path)).load() == by_id(PLAIN)
    finally:
        path.parent.chmod(0o700)


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path):
    (tmp_path / "folder").write_text("mine", encoding="utf-8")
    store = FilePins(str(tmp_path / "folder" / "pins.json"))
    problem = store.save(by_id(PLAIN))
    assert problem.severity == "warning"
    assert (tmp_path / "folder").read_text(encoding="utf-8") == "mine"


def test_the_folder_of_the_file_is_made_when_it_is_missing(tmp_path):
    store = FilePins(str(tmp_path / "a" / "b" / "pins.json"))
    assert store.load() == {}
    assert store.save(by_id(PLAIN)) is None
    assert store.load() == by_id(PLAIN)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not valid JSON"),
        (b'{"form": 1,\n "pins": {', "gateway.pins.json:2:11"),
        (b"\xff\xfe\xfd", "not UTF-8"),
        (b"[1]", "something else"),
        (b"{}", "something else"),
        (b'{"form": true}', "something else"),
        (b'{"mcpServers": {}}', "something else"),
        (b'{"form": 2, "pins": {}}', "newer version"),
        (b'{"form": 1}', "`pins` is missing"),
        (b'{"form": 1, "pins": []}', "`pins` is missing"),
        (b'{"form": 1, "pins": {"a:x": 1}}', "'a:x' is no object"),
        (b'{"form": 1, "pins": {"a:x": {"fingerprint": 1}}}', "'a:x' is broken"),
        (b"[" * 100_000, "no JSON that can be read"),
        (b'{"form": ' + b"1" * 5_000 + b"}", "no JSON that can be read"),
    ],
)
def test_a_broken_file_is_told_with_its_place_and_never_overwritten(file, path, data, said):
    path.write_bytes(data)
    with pytest.raises(AwfError) as told:
        file.load()
    assert told.value.code == "USER.GATEWAY.INVALID_PINS"
    assert path.name in told.value.message
    assert said in told.value.message
    assert "remove it" in told.value.hint
    problem = file.save(by_id(PLAIN))
    assert problem.severity == "warning"
    assert path.read_bytes() == data


def test_a_file_that_is_mended_or_removed_is_usable_again(file, path):
    path.write_bytes(b"torn")
    assert file.save(by_id(PLAIN)) is not None
    path.unlink()
    assert file.load() == {}
    assert file.save(by_id(PLAIN)) is None


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_plain_file_is_told_and_waited_for_by_nobody(file, path, make):
    make(str(path))
    with pytest.raises(AwfError) as told:
        file.load()
    assert told.value.code == "USER.GATEWAY.INVALID_PINS"
    assert "no plain file" in told.value.message
    assert file.save(by_id(PLAIN)).severity == "warning"
    assert not stat.S_ISREG(path.stat().st_mode)


def test_a_name_that_leads_through_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AwfError) as told:
        FilePins(str(tmp_path / "file" / "pins.json")).load()
    assert told.value.code == "USER.GATEWAY.INVALID_PINS"
    assert "cannot be read" in told.value.message
    assert "pinning.file" in told.value.hint


def test_a_definition_too_deep_to_be_written_is_a_warning(file):
    value = {}
    for _ in range(100_000):
        value = {"a": value}
    problem = file.save(by_id(Pin("a:deep", "0", 1.0, value)))
    assert "nested too deeply" in problem.message
    assert file.load() == {}
    while value:  # one by one: to let go of it all at once is deep as well
        value = value.pop("a")


def test_what_another_process_accepted_is_seen_at_once(file, path):
    other = FilePins(str(path))
    file.save(by_id(PLAIN))
    assert other.load() == by_id(PLAIN)
    other.save(by_id(RICH))
    assert file.load() == by_id(RICH)


def test_a_file_that_did_not_change_is_not_read_again(file, path):
    """By taking away what it says without its looking changed: who reads it again notices."""
    file.save(by_id(PLAIN))
    status = path.stat()
    path.write_bytes(b"#" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.load() == by_id(PLAIN)


def test_the_text_has_one_line_for_each_tool_in_the_order_of_their_ids(file, path):
    file.save(by_id(RICH, PLAIN))
    lines = path.read_text(encoding="ascii").splitlines()
    assert [json.loads(f"{{{line.rstrip(',')}}}").keys() for line in lines[1:-1]] == [{"a:x"}, {RICH.id}]
    assert set(json.loads(path.read_bytes())) == {"form", "pins"}


def test_keys_of_a_later_version_of_the_same_form_do_no_harm(file, path):
    file.save(by_id(PLAIN))
    value = json.loads(path.read_bytes())
    value["pins"]["a:x"]["colour"] = value["colour"] = "green"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert file.load() == by_id(PLAIN)


def test_a_link_stays_a_link(file, path, tmp_path):
    real = tmp_path / "elsewhere.json"
    path.symlink_to(real)
    file.save(by_id(PLAIN))
    assert path.is_symlink()
    assert FilePins(str(real)).load() == file.load() == by_id(PLAIN)


def test_who_may_read_the_file_stays_as_it_was_set(file, path):
    file.save(by_id(PLAIN))
    path.chmod(0o640)
    file.save(by_id(RICH))
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_file_stands_beside_the_configuration_that_names_it(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    store = FilePins.beside("project/gateway.yaml", "gateway.pins.json")
    monkeypatch.chdir("/")
    store.save(by_id(PLAIN))
    assert (folder / "gateway.pins.json").exists()
    FilePins.beside(str(folder / "gateway.yaml"), str(tmp_path / "own.json")).save(by_id(PLAIN))
    assert (tmp_path / "own.json").exists()
