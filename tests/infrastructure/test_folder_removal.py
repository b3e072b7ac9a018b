"""Removing folders that programs have filled as they liked."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from awf.infrastructure.folder_removal import remove_folder


def test_a_folder_is_removed_with_all_that_is_in_it(tmp_path):
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / "top" / name).mkdir(parents=True)
        (tmp_path / "top" / name / "file").write_text("x")
    (tmp_path / "top" / "pipe.sock").touch()
    os.mkfifo(tmp_path / "top" / "a" / "pipe")
    remove_folder(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []


def test_no_folder_is_too_deep(tmp_path):
    """Deeper than functions can call each other, than a path can be long, and than files can be open."""
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        os.mkdir("top", dir_fd=here)
        for name in ["top", *["d" * 30] * 3000]:
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
            os.mkdir("d" * 30, dir_fd=here)
            os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    finally:
        os.close(here)
    before = len(os.listdir("/dev/fd"))
    remove_folder(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/dev/fd")) == before


def test_links_are_removed_and_not_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    top = tmp_path / "top"
    top.mkdir()
    (top / "folder").symlink_to(kept)
    (top / "file").symlink_to(kept / "file")
    (top / "nowhere").symlink_to("nowhere")
    remove_folder(str(top))
    assert os.listdir(tmp_path) == ["kept"]
    assert os.listdir(kept) == ["file"]

    (tmp_path / "link").symlink_to(kept)
    remove_folder(str(tmp_path / "link"))
    assert os.listdir(kept) == ["file"]


@pytest.mark.skipif(os.getuid() != 0, reason="root becomes somebody whom modes hold")
def test_folders_that_nobody_may_enter_are_removed_by_their_owner(tmp_path_factory):
    """Also the outermost, and those that may be read and not written."""
    code = """
import os, shutil, sys, tempfile
sys.path[:] = sys.argv[1:]
from awf.infrastructure.folder_removal import remove_folder
os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
top = tempfile.mkdtemp(dir="/tmp")
os.makedirs(top + "/shut/inner/shut")
os.makedirs(top + "/read/inner")
open(top + "/read/inner/file", "w").close()
for name in ("/shut/inner/shut", "/shut/inner", "/shut", ""):
    os.chmod(top + name, 0o700 if not name else 0)
for name in ("/read/inner", "/read"):
    os.chmod(top + name, 0o500)
os.chmod(top, 0)
remove_folder(top)
print(os.path.exists(top))
"""
    said = subprocess.run([sys.executable, "-c", code, *sys.path], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_what_cannot_be_removed_is_no_trouble(tmp_path):
    remove_folder(str(tmp_path / "none"))
    (tmp_path / "file").touch()
    remove_folder(str(tmp_path / "file"))
    assert os.listdir(tmp_path) == ["file"]
