"""The key by which the gateway's page knows a person."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys

import pytest

from awf.domain.errors import AwfError
from awf.infrastructure.gate_store import operator_key


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "s" / "gate"


def test_it_is_made_once_for_its_owner_only(folder):
    key = operator_key(str(folder))
    assert re.fullmatch(r"[\w-]{43}", key)
    assert stat.S_IMODE((folder / "operator.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert operator_key(str(folder)) == key
    assert operator_key(str(folder.parent / "other")) != key


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 43, b"a" * 44, b"a b" * 15])
def test_one_that_is_damaged_is_made_anew(folder, content):
    key = operator_key(str(folder))
    (folder / "operator.key").write_bytes(content)
    fresh = operator_key(str(folder))
    assert fresh != key
    assert operator_key(str(folder)) == fresh


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_one_that_others_may_have_read_or_written_is_made_anew(folder, mode):
    key = operator_key(str(folder))
    (folder / "operator.key").chmod(mode)
    assert operator_key(str(folder)) != key
    assert stat.S_IMODE((folder / "operator.key").stat().st_mode) == 0o600


def test_a_link_to_elsewhere_is_not_followed(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"{'a' * 43}\n")
    elsewhere.chmod(0o600)
    folder.mkdir(parents=True)
    (folder / "operator.key").symlink_to(elsewhere)
    assert operator_key(str(folder)) != "a" * 43
    assert elsewhere.read_text() == f"{'a' * 43}\n"


def test_what_lies_in_its_place_and_is_no_file_is_told(folder):
    (folder / "operator.key").mkdir(parents=True)
    with pytest.raises(AwfError) as failure:
        operator_key(str(folder))
    assert failure.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"


def test_a_pipe_in_its_place_holds_nobody_up(folder):
    folder.mkdir(parents=True)
    os.mkfifo(folder / "operator.key", 0o600)
    assert len(operator_key(str(folder))) == 43


def test_processes_that_begin_at_once_have_the_same(folder):
    code = (
        "import sys; from awf.infrastructure.gate_store import operator_key; print(operator_key(sys.argv[1]))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=60)[0] for process in started}) == 1
