"""What the name of a file stands for on this machine."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.infrastructure.real_paths import RealPaths


def test_names_are_relative_to_the_root_and_links_are_followed(tmp_path):
    root, other = tmp_path / "inner", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (root / "link").symlink_to(other)
    paths = RealPaths(str(root))
    real = os.path.realpath(tmp_path)
    assert paths.root == f"{real}/inner"
    assert paths.meanings("a/../b") == (f"{real}/inner/b",)
    assert paths.meanings("link/new.txt") == (f"{real}/other/new.txt",)
    assert paths.meanings("../../../../../../../../etc/hostname") == (os.path.realpath("/etc/hostname"),)
    assert paths.meanings("") == (f"{real}/inner",)


def test_a_tilde_may_be_a_name_or_the_home(tmp_path):
    paths = RealPaths(str(tmp_path), home="/home/nobody-here")
    real = os.path.realpath(tmp_path)
    assert paths.meanings("~/.ssh") == (f"{real}/~/.ssh", "/home/nobody-here/.ssh")
    assert paths.meanings("~") == (f"{real}/~", "/home/nobody-here")
    assert paths.meanings("~bob/x") == (f"{real}/~bob/x",)


def test_more_slashes_and_other_users_lead_to_homes_too(tmp_path):
    paths = RealPaths(str(tmp_path), home="/home/nobody-here")
    assert paths.meanings("~//.ssh")[1:] == ("/home/nobody-here/.ssh",)
    assert paths.meanings("~root/x")[1:] == (os.path.join(os.path.expanduser("~root"), "x"),)


def test_behind_a_link_two_dots_mean_both_where_it_leads_and_where_it_is(tmp_path):
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/deep")
    real = os.path.realpath(tmp_path)
    assert RealPaths(str(tmp_path)).meanings("link/../x") == (f"{real}/far/x", f"{real}/x")


def test_a_root_that_is_a_link_is_told_without_it(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert RealPaths(str(tmp_path / "link")).root == os.path.realpath(tmp_path / "there")


def test_what_is_there_is_a_file_or_a_link_but_no_folder(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    paths = RealPaths(str(tmp_path))
    assert paths.exists(str(tmp_path / "file"))
    assert not paths.exists(str(tmp_path / "new"))
    assert not paths.exists(str(tmp_path))
    assert paths.meanings("loop") == (f"{os.path.realpath(tmp_path)}/loop",)


@pytest.mark.parametrize("name", ["\ud800", "~\ud800/x", "x" * 100_000, "/".join(["d"] * 5_000)])
def test_names_that_no_file_can_have_are_taken_as_they_are(tmp_path, name):
    paths = RealPaths(str(tmp_path), home=str(tmp_path))
    (meaning,) = paths.meanings(name)
    assert meaning.startswith(paths.root)
    assert not paths.exists(meaning)


@pytest.mark.parametrize("name", ["a\0b", "~\0/x", "/etc/passwd\0.txt"])
def test_nobody_can_tell_what_a_name_with_a_zero_in_it_means(tmp_path, name):
    assert RealPaths(str(tmp_path), home=str(tmp_path)).meanings(name) == ()


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="this system has no /proc")
@pytest.mark.parametrize(
    "name",
    [
        "/proc/self/cwd/x",
        "/proc/thread-self/cwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        "/proc/self/task/../cwd/x",
        "/proc/1/../self/cwd",
        "mine/x",
        "far/x",
        "there/../proc/self/cwd/x",
    ],
)
def test_nobody_can_tell_where_links_of_a_process_lead_to(tmp_path, name):
    """The one that is asked is not the one that follows them."""
    (tmp_path / "mine").symlink_to("/proc/self/cwd")
    (tmp_path / "near").symlink_to("mine")
    (tmp_path / "far").symlink_to("near")
    (tmp_path / "there").symlink_to("/etc")
    assert RealPaths(str(tmp_path)).meanings(name) == ()


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="this system has no /proc")
def test_what_a_process_says_of_itself_is_a_file_like_others(tmp_path):
    assert RealPaths(str(tmp_path)).meanings(f"/proc/{os.getpid()}/status") == (
        f"/proc/{os.getpid()}/status",
    )


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["", "~", "~/"]))
def test_no_name_is_too_odd(name, before):
    paths = RealPaths("/", home="/home/x")
    for meaning in paths.meanings(before + name):
        assert meaning.startswith("/")
        paths.exists(meaning)
