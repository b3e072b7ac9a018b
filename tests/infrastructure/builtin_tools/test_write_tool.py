from __future__ import annotations

import os
import resource
import stat

import pytest


async def test_a_new_file_and_its_folders_are_made(bench):
    text = await bench.text("Write", file_path="a/b/c.txt", content="one\ntwo\n")
    assert text == "Created a/b/c.txt (2 lines, 8 bytes)."
    assert (bench.root / "a/b/c.txt").read_text() == "one\ntwo\n"
    assert bench.names() == ["a", "a/b", "a/b/c.txt"]


async def test_an_existing_file_is_replaced_and_keeps_its_mode(bench):
    path = bench.write("run.sh", "old")
    path.chmod(0o750)
    assert (
        await bench.text("Write", file_path="run.sh", content="new") == "Overwrote run.sh (1 line, 3 bytes)."
    )
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_a_new_file_has_the_mode_that_the_umask_gives(bench):
    old = os.umask(0o027)
    try:
        await bench.text("Write", file_path="a.txt", content="")
    finally:
        os.umask(old)
    assert stat.S_IMODE((bench.root / "a.txt").stat().st_mode) == 0o640


async def test_contents_are_written_as_they_are(bench):
    content = "a\r\nb\n\tc \u4e2d \N{GRINNING FACE}"
    await bench.text("Write", file_path="a.txt", content=content)
    assert (bench.root / "a.txt").read_bytes() == content.encode()
    assert "(0 lines, 0 bytes)" in await bench.text("Write", file_path="empty", content="")


async def test_a_link_stays_and_its_target_is_written(bench):
    bench.write("real/file.txt", "old")
    (bench.root / "link").symlink_to("real/file.txt")
    (bench.root / "dangling").symlink_to("real/new.txt")
    await bench.text("Write", file_path="link", content="new")
    await bench.text("Write", file_path="dangling", content="made")
    assert (bench.root / "link").is_symlink()
    assert (bench.root / "real/file.txt").read_text() == "new"
    assert (bench.root / "real/new.txt").read_text() == "made"


async def test_folders_pipes_and_devices_are_refused(bench):
    (bench.root / "folder").mkdir()
    os.mkfifo(bench.root / "pipe")
    assert "folder" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="folder", content="x")
    assert "folder" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path=".", content="x")
    assert "folder" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="new/", content="x")
    assert "named pipe" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="pipe", content="x")
    everywhere = bench.again(root="/")
    assert "device" in await everywhere.fails(
        "INVALID_ARGUMENTS", "Write", file_path="/dev/null", content="x"
    )
    assert bench.names() == ["folder", "pipe"]


async def test_text_that_no_file_can_hold_is_refused_before_anything_happens(bench):
    assert "surrogate" in await bench.fails("INVALID_ARGUMENTS", "Write", file_path="a/b", content="\ud800")
    assert bench.names() == []


@pytest.fixture
def little_room():
    """No file of this process may grow beyond some bytes: what a full disk does, on any machine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_else(bench, little_room):
    path = bench.write("a.txt", "old\n")
    message = await bench.fails("EXECUTION_FAILED", "Write", file_path="a.txt", content="x" * 10_000)
    assert "a.txt could not be written" in message
    await bench.fails("EXECUTION_FAILED", "Write", file_path="new/deep/b.txt", content="x" * 10_000)
    await bench.fails(
        "EXECUTION_FAILED", "Edit", file_path="a.txt", old_string="old", new_string="x" * 10_000
    )
    assert path.read_text() == "old\n"
    assert bench.names() == ["a.txt"]


async def test_a_write_protected_file_is_not_replaced_behind_its_back(bench, permissions_count):
    path = bench.write("a.txt", "old")
    path.chmod(0o444)
    assert "0444" in await bench.fails("PERMISSION_DENIED", "Write", file_path="a.txt", content="x")
    assert path.read_text() == "old"


async def test_a_large_file_is_written_whole(bench):
    content = "x" * 3_000_000
    assert "3.0 MB" in await bench.text("Write", file_path="a.txt", content=content)
    assert (bench.root / "a.txt").read_text() == content


async def test_a_write_that_is_cancelled_happened_or_did_not(bench):
    import asyncio

    for delay in (0.0, 0.001, 0.003):
        path = bench.write("a.txt", "old")
        call = bench.call("Write", file_path="a.txt", content="y" * 20_000_000)
        task = asyncio.get_running_loop().create_task(call)
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task], timeout=30)
        size = path.stat().st_size
        assert size in {3, 20_000_000}
        assert bench.names() == ["a.txt"]
        if task.cancelled():
            assert path.stat().st_size == size


async def test_many_writes_at_once_each_leave_a_whole_file(bench):
    import asyncio

    texts = [f"{n}" * 300_000 for n in range(8)]
    await asyncio.gather(*(bench.text("Write", file_path="a/b.txt", content=text) for text in texts))
    assert (bench.root / "a/b.txt").read_text() in texts
    assert bench.names() == ["a", "a/b.txt"]
