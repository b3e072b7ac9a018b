"""The environments of the official test peers are made once, whole or not at all, and never in silence."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from awf.testing import peers

ASK = "import sys; from awf.testing.peers import python_peer; print(python_peer(*sys.argv[1:]))"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AWF_PEERS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def wheel(tmp_path):
    """A package that needs no index: one module that says where it is."""
    about = "Metadata-Version: 2.1\nName: tinypeer\nVersion: 1.0\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {"tinypeer.py": "print('here I am')\n", "METADATA": about, "WHEEL": kind, "RECORD": ""}
    path = tmp_path / "tinypeer-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name if name.endswith(".py") else f"tinypeer-1.0.dist-info/{name}", text)
    return str(path)


def said_by(python: str) -> str:
    return subprocess.run([python, "-m", "tinypeer"], capture_output=True, text=True, check=True).stdout


def test_several_workers_that_ask_at_once_get_the_same_whole_environment(cache, wheel):
    asking = [
        subprocess.Popen([sys.executable, "-c", ASK, wheel], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = {process.communicate(timeout=200)[0].strip() for process in asking}
    assert len(answers) == 1
    (python,) = answers
    assert said_by(python) == "here I am\n"
    made = Path(python).lstat().st_mtime_ns
    assert peers.python_peer(wheel) == python
    assert Path(python).lstat().st_mtime_ns == made
    assert len([entry for entry in cache.iterdir() if entry.is_dir()]) == 1


def test_an_environment_without_its_mark_is_made_again(cache, wheel):
    python = Path(peers.python_peer(wheel))
    folder = python.parents[1]
    (folder / ".complete").unlink()
    next(folder.glob("lib/python*/site-packages/tinypeer.py")).unlink()
    assert said_by(peers.python_peer(wheel)) == "here I am\n"


def test_other_versions_get_another_environment(cache):
    one = peers._name("python", ["mcp==1.30.0"], "here")
    assert one != peers._name("python", ["mcp==2.3.0"], "here")
    assert one != peers._name("python", ["mcp==1.30.0"], "elsewhere")
    assert one == peers._name("python", ["mcp==1.30.0"], "here")


def test_what_cannot_be_installed_leaves_nothing_and_says_why(cache):
    with pytest.raises(peers.PeerUnavailable, match="not-there-at-all"):
        peers.python_peer("./not-there-at-all-1.0-py3-none-any.whl")
    assert [entry.suffix for entry in cache.iterdir()] == [".lock"]


@pytest.mark.parametrize("variable", ["AWF_REQUIRE_PEERS", "CI"])
def test_a_missing_peer_skips_the_test_or_fails_it_where_peers_are_required(tmp_path, monkeypatch, variable):
    (tmp_path / "file").touch()
    monkeypatch.setenv("AWF_PEERS_CACHE", str(tmp_path / "file" / "cache"))
    for name in ("AWF_REQUIRE_PEERS", "CI"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no test peer: cannot make"):
        peers.requested(lambda: peers.python_peer("tinypeer"))
    monkeypatch.setenv(variable, "1")
    with pytest.raises(pytest.fail.Exception, match="a required test peer is missing"):
        peers.requested(lambda: peers.python_peer("tinypeer"))


def test_a_peer_gets_a_home_of_its_own(tmp_path):
    environment = peers.peer_environment(tmp_path / "home")
    assert environment["HOME"] == str(tmp_path / "home")
    assert (tmp_path / "home").is_dir()
