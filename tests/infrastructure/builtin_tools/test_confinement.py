"""No path leads out of the root, whatever is swapped in while a tool is at work."""

from __future__ import annotations

import ctypes
import os
import shutil
import sysconfig
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.tool import ToolFailure
from awf.infrastructure.builtin_tools.paths import Folder, MissingParent

SECRET = "top secret"


async def every_file_tool_refuses(bench, path):
    for name, more in (
        ("Read", {}),
        ("Write", {"content": "x"}),
        ("Edit", {"old_string": "top", "new_string": "x"}),
        ("Edit", {"old_string": "", "new_string": "x"}),
    ):
        message = await bench.fails("PERMISSION_DENIED", name, file_path=path, **more)
        assert str(bench.root) in message
        assert SECRET not in message
    await bench.fails("PERMISSION_DENIED", "Grep", pattern="secret", path=path)


@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "a/../../outside/secret.txt", "./.././outside/secret.txt"]
)
async def test_dots_do_not_lead_out(bench, outside, path):
    bench.write("a/b", "")
    await every_file_tool_refuses(bench, path)
    assert (outside / "secret.txt").read_text() == "top secret\n"


async def test_an_absolute_path_outside_is_refused(bench, outside):
    await every_file_tool_refuses(bench, str(outside / "secret.txt"))
    await every_file_tool_refuses(bench, str(outside / "new.txt"))
    await every_file_tool_refuses(bench, f"{bench.root}-suffix/file")
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]


async def test_a_link_to_a_file_outside_is_refused(bench, outside):
    (bench.root / "link").symlink_to(outside / "secret.txt")
    (bench.root / "relative").symlink_to("../outside/secret.txt")
    (bench.root / "dangling").symlink_to(outside / "new.txt")
    for name in ("link", "relative", "dangling"):
        await every_file_tool_refuses(bench, name)
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "top secret\n"


async def test_a_linked_folder_outside_is_refused_also_for_files_that_do_not_exist_yet(bench, outside):
    (bench.root / "folder").symlink_to(outside)
    (bench.root / "chain").symlink_to("folder")
    for path in ("folder/secret.txt", "folder/new/deep.txt", "chain/secret.txt", "chain/../outside/x"):
        await every_file_tool_refuses(bench, path)
    await bench.fails("PERMISSION_DENIED", "Glob", pattern="*", path="folder")
    await bench.fails("PERMISSION_DENIED", "Glob", pattern="folder/*")
    await bench.fails("PERMISSION_DENIED", "Bash", command="ls", cwd="folder")
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]


async def test_links_that_stay_inside_work(bench):
    bench.write("real/file.txt", "one\n")
    (bench.root / "relative").symlink_to("real/file.txt")
    (bench.root / "absolute").symlink_to(bench.root / "real" / "file.txt")
    (bench.root / "folder").symlink_to("./real/../real")
    (bench.root / "real" / "up").symlink_to("../relative")
    for path in ("relative", "absolute", "folder/file.txt", "folder/up", "real/../folder/./file.txt"):
        assert "one" in await bench.text("Read", file_path=path)
    assert "real/file.txt:1:one" in await bench.text(
        "Grep", pattern="one", path="relative", output_mode="content"
    )


async def test_a_path_may_leave_the_root_and_come_back(bench):
    bench.write("file.txt", "one\n")
    assert "one" in await bench.text("Read", file_path="../root/file.txt")
    assert "one" in await bench.text("Read", file_path=f"{bench.root}/../root/file.txt")
    (bench.root / "back").symlink_to("../root/file.txt")
    assert "one" in await bench.text("Read", file_path="back")


async def test_the_root_may_be_a_link_and_files_may_be_named_by_either_name(bench, tmp_path):
    bench.write("file.txt", "one\n")
    (tmp_path / "alias").symlink_to(bench.root)
    (tmp_path / "other").symlink_to(bench.root)
    aliased = bench.again(root=tmp_path / "alias")
    for path in (
        "file.txt",
        f"{tmp_path}/alias/file.txt",
        f"{bench.root}/file.txt",
        f"{tmp_path}/other/file.txt",
    ):
        assert "one" in await aliased.text("Read", file_path=path)
    assert await aliased.text("Glob", pattern="**") == "file.txt"


async def test_a_root_that_is_gone_is_told(bench):
    bench.root.rmdir()
    assert "root folder" in await bench.fails("RESOURCE_NOT_FOUND", "Read", file_path="a")
    assert "root folder" in await bench.fails("RESOURCE_NOT_FOUND", "Glob", pattern="a")


async def test_links_in_a_circle_are_told(bench):
    (bench.root / "a").symlink_to("b")
    (bench.root / "b").symlink_to("a")
    assert "symbolic links" in await bench.fails("INVALID_ARGUMENTS", "Read", file_path="a")
    assert "symbolic links" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="a/x", content="")


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("a\0b", "null character"),
        ("x" * 300, "too long"),
        ("d/" * 2500, "bytes"),
        ("\ud800", "surrogate"),
        ("~", "not expanded"),
        ("~/notes", "not expanded"),
    ],
)
async def test_impossible_names_are_refused_in_plain_words(bench, path, word):
    assert word in await bench.fails("INVALID_ARGUMENTS", "Read", file_path=path)
    assert word in await bench.fails("INVALID_ARGUMENTS", "Write", file_path=path.rstrip("/"), content="")
    assert bench.names() == []


async def test_a_line_break_in_a_name_is_read_when_it_is_there_but_never_made(bench):
    bench.write("odd\nname", "one\n")
    assert "one" in await bench.text("Read", file_path="odd\nname")
    assert "\n" not in await bench.fails("RESOURCE_NOT_FOUND", "Read", file_path="no\nsuch")
    assert "line break" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="new\n", content="")
    assert "line break" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="a/new\n/b", content="")
    assert "line break" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="a/b/new\n", content="")
    assert bench.names() == ["odd\nname"]
    await bench.text("Write", file_path="odd\nname", content="two\n")
    await bench.text("Edit", file_path="odd\nname", old_string="two", new_string="three")
    assert (bench.root / "odd\nname").read_text() == "three\n"


async def test_dots_behind_a_folder_that_is_not_there_are_told_and_nothing_is_made(bench):
    message = await bench.fails("RESOURCE_NOT_FOUND", "Write", file_path="new/../file", content="")
    assert "no folder new" in message
    assert bench.names() == []


async def test_a_file_in_the_place_of_a_folder_is_told(bench):
    bench.write("file")
    for name, more in (("Read", {}), ("Write", {"content": ""})):
        assert "file is a file" in await bench.fails(
            "INVALID_ARGUMENTS", name, file_path="file/inner", **more
        )


async def test_a_root_that_is_the_whole_file_system_reaches_everything(bench, outside):
    everywhere = bench.again(root="/")
    assert SECRET in await everywhere.text("Read", file_path=str(outside / "secret.txt"))
    assert SECRET in await everywhere.text("Read", file_path=str(outside / "secret.txt")[1:])


async def test_spooled_outputs_can_be_read_and_searched_but_not_changed(bench, outside):
    bench.spool.mkdir()
    (bench.spool / "out.txt").write_text("spooled line\n")
    (bench.spool / "link").symlink_to(outside / "secret.txt")
    path = str(bench.spool / "out.txt")
    assert "spooled line" in await bench.text("Read", file_path=path)
    assert f"{path}:1:spooled" in await bench.text(
        "Grep", pattern="spooled", path=path, output_mode="content"
    )
    assert await bench.text("Grep", pattern="spooled", path=str(bench.spool)) == path
    await bench.fails("PERMISSION_DENIED", "Write", file_path=path, content="x")
    await bench.fails("PERMISSION_DENIED", "Edit", file_path=path, old_string="spooled", new_string="x")
    await bench.fails("PERMISSION_DENIED", "Read", file_path=str(bench.spool / "link"))
    await bench.fails("PERMISSION_DENIED", "Read", file_path=f"{bench.spool}/../outside/secret.txt")
    assert (bench.spool / "out.txt").read_text() == "spooled line\n"


@pytest.fixture(scope="module")
def maze(tmp_path_factory):
    """Folders and links of every kind, two of which lead out."""
    top = tmp_path_factory.mktemp("maze").resolve()
    root = top / "root"
    (root / "a" / "b").mkdir(parents=True)
    (top / "out").mkdir()
    for folder in (root, root / "a", root / "a" / "b", top / "out", top):
        (folder / "f").write_text(str(folder))
    (root / "in").symlink_to("a/b")
    (root / "a" / "up").symlink_to("..")
    (root / "a" / "abs").symlink_to(root / "in")
    (root / "exit").symlink_to("../out")
    (root / "a" / "b" / "far").symlink_to(top / "out")
    (root / "a" / "b" / "wide").symlink_to("../../..")
    return root


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [".", "..", "", "a", "b", "in", "up", "abs", "exit", "far", "wide", "f", "root", "new"]
        ),
        max_size=8,
    )
)
def test_a_path_is_found_exactly_when_it_really_lies_inside(maze, parts):
    path = "/".join(parts) or "."
    real = os.path.realpath(maze / path.lstrip("/"))
    inside = Path(real).is_relative_to(maze)
    try:
        with Folder(str(maze)).find(path.lstrip("/") or ".") as spot:
            assert inside
            assert os.path.realpath(spot.path) == real
            assert (spot.status() is not None) == os.path.lexists(real)
            if os.path.isfile(real):
                fd = spot.open(os.O_RDONLY)
                assert os.read(fd, 4096) == Path(real).read_bytes()
                os.close(fd)
    except MissingParent as reason:
        reason.found.close()
        assert not os.path.exists(maze / path.lstrip("/"))
    except ToolFailure as failure:
        assert failure.code == "INVALID_ARGUMENTS" or not inside


class Swapper:
    """Keeps exchanging two names as fast as it can."""

    def __init__(self, swap):
        self._swap = swap
        self._stop = threading.Event()
        self.rounds = 0
        self._thread = threading.Thread(target=self._run, name="awf-test-swapper")

    def _run(self):
        while not self._stop.is_set():
            self._swap()
            self.rounds += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def exchange(first, second):
    """In one step, so that both names are always there. Lets other threads run meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        pytest.skip("needs renameat2")
    here, at_once = -100, 2
    names = [os.fsencode(first), os.fsencode(second)]

    def swap():
        assert libc.renameat2(here, names[0], here, names[1], at_once) == 0, os.strerror(ctypes.get_errno())

    return swap


@pytest.mark.race
async def test_a_folder_that_is_swapped_for_a_link_never_leads_out(bench, outside):
    bench.write("folder/secret.txt", "harmless\n")
    (bench.root / "link").symlink_to(outside)
    seen = set()
    with Swapper(exchange(bench.root / "folder", bench.root / "link")) as swapper:
        for number in range(1500):
            try:
                read = await bench.call("Read", file_path="folder/secret.txt")
                seen.add(read.text)
                await bench.call("Write", file_path=f"folder/new{number % 7}/x", content="x")
                await bench.call(
                    "Edit", file_path="folder/secret.txt", old_string="harmless", new_string="harmless "
                )
            except ToolFailure as failure:
                seen.add(failure.code)
    assert swapper.rounds > 10
    assert not any(SECRET in text for text in seen)
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "top secret\n"


@pytest.mark.race
async def test_a_file_that_is_swapped_for_a_link_never_leads_out(bench, outside):
    bench.write("file.txt", "harmless\n")
    (bench.root / "link").symlink_to(outside / "secret.txt")
    seen = set()
    with Swapper(exchange(bench.root / "file.txt", bench.root / "link")) as swapper:
        for _ in range(1500):
            for name, more in (("Read", {}), ("Edit", {"old_string": "secret", "new_string": "found"})):
                try:
                    seen.add((await bench.call(name, file_path="file.txt", **more)).text)
                except ToolFailure as failure:
                    seen.add(failure.message)
    assert swapper.rounds > 10
    assert not any(SECRET in text for text in seen)
    assert (outside / "secret.txt").read_text() == "top secret\n"


@pytest.mark.race
async def test_a_search_in_a_folder_that_is_swapped_for_a_link_never_leads_out(bench, outside):
    bench.write("folder/secret.txt", "harmless secret\n")
    (bench.root / "link").symlink_to(outside)
    seen = Counter()
    end = time.monotonic() + 60
    with Swapper(exchange(bench.root / "folder", bench.root / "link")):
        # Long enough to meet the folder at least once, however the two threads take turns.
        while seen.total() < 50 or (not any("harmless" in text for text in seen) and time.monotonic() < end):
            for path in ("folder", "folder/secret.txt"):
                try:
                    result = await bench.call("Grep", pattern="secret", path=path, output_mode="content")
                    seen[result.text] += 1
                except ToolFailure as failure:
                    seen[failure.code] += 1
    assert any("harmless" in text for text in seen), seen
    assert not any(SECRET in text for text in seen)


@pytest.mark.parametrize("path", ["folder", "folder/file.txt"])
@pytest.mark.parametrize(
    "swap",
    [
        "mv {root}/folder {root}/moved; ln -s {outside} {root}/folder",
        "rm {root}/folder/file.txt; ln -s {outside}/file.txt {root}/folder/file.txt",
    ],
)
async def test_what_is_swapped_right_before_ripgrep_starts_does_not_lead_out(
    bench, outside, tmp_path, path, swap
):
    bench.write("folder/file.txt", "harmless secret\n")
    (outside / "file.txt").write_text(SECRET)
    script = tmp_path / "bin" / "rg"
    script.parent.mkdir()
    real = shutil.which("rg", path=f"{os.environ['PATH']}:{sysconfig.get_path('scripts')}")
    script.write_text(f'#!/bin/sh\n{swap.format(root=bench.root, outside=outside)}\nexec {real} "$@"\n')
    script.chmod(0o755)
    swapping = bench.again(environment={"PATH": f"{script.parent}:{os.environ['PATH']}"})
    text = await swapping.text("Grep", pattern="secret", path=path, output_mode="content")
    assert SECRET not in text
    assert ("harmless" in text) == swap.startswith("mv")
    assert (bench.root / "folder" / "file.txt").read_text() == SECRET  # the swap did happen


async def test_the_root_stays_where_it_was_when_its_link_is_turned_elsewhere(bench, outside, tmp_path):
    bench.write("secret.txt", "harmless\n")
    (tmp_path / "alias").symlink_to(bench.root)
    aliased = bench.again(root=tmp_path / "alias")
    (tmp_path / "alias").unlink()
    (tmp_path / "alias").symlink_to(outside)
    assert "harmless" in await aliased.text("Read", file_path="secret.txt")
    bench.root.rename(tmp_path / "moved")
    bench.root.symlink_to(outside)
    assert SECRET not in str(await aliased.fails("INVALID_ARGUMENTS", "Read", file_path="secret.txt"))
