from __future__ import annotations

import base64
import os
import socket

import pytest

from awf.infrastructure.builtin_tools import reading
from awf.infrastructure.builtin_tools.line_window import LineWindow

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


async def test_lines_are_numbered_as_cat_does(bench):
    bench.write("a.txt", "one\n\n\ttwo\n")
    assert await bench.text("Read", file_path="a.txt") == "     1\tone\n     2\t\n     3\t\ttwo"


async def test_a_last_line_without_an_end_counts(bench):
    bench.write("a.txt", "one\ntwo")
    assert await bench.text("Read", file_path="a.txt") == "     1\tone\n     2\ttwo"


async def test_line_endings_of_windows_are_not_shown(bench):
    bench.write("a.txt", "one\r\ntwo\r\n")
    assert await bench.text("Read", file_path="a.txt") == "     1\tone\n     2\ttwo"


async def test_an_empty_file_is_said_to_be_empty(bench):
    bench.write("a.txt")
    assert await bench.text("Read", file_path="a.txt") == "[a.txt is empty.]"


async def test_a_page_ends_after_2000_lines_and_says_how_to_go_on(bench):
    bench = bench.again(max_output=1_000_000)
    bench.write("a.txt", "".join(f"line {n}\n" for n in range(1, 5001)))
    first = (await bench.text("Read", file_path="a.txt")).splitlines()
    assert first[1999] == "  2000\tline 2000"
    assert first[2000:] == ["[Lines 1 to 2,000 of 5,000. To go on: offset=2001]"]
    last = (await bench.text("Read", file_path="a.txt", offset=4001)).splitlines()
    assert (last[0], last[-1]) == ("  4001\tline 4001", "  5000\tline 5000")


async def test_offset_and_limit_choose_lines(bench):
    bench.write("a.txt", "a\nb\nc\nd\n")
    assert await bench.text("Read", file_path="a.txt", offset=2, limit=2) == (
        "     2\tb\n     3\tc\n[Lines 2 to 3 of 4. To go on: offset=4]"
    )
    assert (await bench.text("Read", file_path="a.txt", offset=0, limit=1)).startswith("     1\ta")


async def test_an_offset_beyond_the_end_says_how_many_lines_there_are(bench):
    bench.write("a.txt", "a\nb\nc")
    assert (
        await bench.text("Read", file_path="a.txt", offset=10) == "[a.txt has 3 lines; there is no line 10.]"
    )


async def test_a_page_also_ends_when_the_room_is_used_up_and_pages_join_without_a_gap(bench):
    bench = bench.again(max_output=300)
    lines = [f"line number {n}" for n in range(1, 101)]
    bench.write("a.txt", "\n".join(lines))
    seen, offset = [], 1
    while offset:
        text = await bench.text("Read", file_path="a.txt", offset=offset)
        assert len(text) < 400
        *page, note = text.splitlines()
        if not note.startswith("["):
            page, note = [*page, note], ""
        seen += [line.partition("\t")[2] for line in page]
        offset = int(note.rpartition("=")[2].rstrip("]")) if note else 0
    assert seen == lines


async def test_at_least_one_line_is_shown_however_small_the_room(bench):
    bench = bench.again(max_output=10)
    bench.write("a.txt", "a long first line\nb\n")
    text = await bench.text("Read", file_path="a.txt")
    assert text == "     1\ta long first line\n[Lines 1 to 1 of 2. To go on: offset=2]"


async def test_a_long_line_is_cut_with_a_mark(bench):
    bench.write("a.txt", "x" * 5000 + "\nshort\n")
    first, second = (await bench.text("Read", file_path="a.txt")).splitlines()
    assert first == f"     1\t{'x' * 2000} … [cut: the line has 5.0 kB]"
    assert second == "     2\tshort"


async def test_a_long_line_of_wide_characters_is_cut_between_two_of_them(bench):
    bench.write("a.txt", "a" + "\N{GRINNING FACE}" * 3000 + "\n")
    line = (await bench.text("Read", file_path="a.txt")).splitlines()[0]
    assert "\ufffd" not in line
    assert line.count("\N{GRINNING FACE}") >= 1998


async def test_a_single_line_of_many_megabytes_is_cut_too(bench):
    path = bench.root / "long.txt"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"y" * (1 << 20))
        file.write(b"\nend\n")
    first, second = (await bench.text("Read", file_path="long.txt")).splitlines()
    assert len(first) < 2100
    assert "67.1 MB" in first
    assert second == "     2\tend"


async def test_a_huge_file_is_not_counted_to_its_end(bench):
    with (bench.root / "huge.txt").open("wb") as file:
        file.write(b"first\nsecond\n")
        file.truncate(20 << 30)  # the rest is a hole, which costs nothing on disk
        file.seek(12)
        file.write(b"\n" * 9000)
    text = await bench.text("Read", file_path="huge.txt", limit=1)
    assert text.startswith("     1\tfirst\n[Lines 1 to 1 of more than 9,0")


async def test_waiting_for_a_far_page_of_a_huge_file_can_be_cancelled(bench, until):
    import asyncio

    with (bench.root / "huge.txt").open("wb") as file:
        file.write(b"\n" * 9000)
        file.truncate(1 << 40)
    task = asyncio.get_running_loop().create_task(bench.call("Read", file_path="huge.txt", offset=20_000))
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=30)
    assert done
    assert task.cancelled()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("text", [b"", b"a", b"a\n", b"\n", b"\n\n", b"aa\nbb\n\ncc", b"aa\nbb\n\ncc\n"])
@pytest.mark.parametrize(("first", "limit"), [(1, 100), (2, 1), (3, 2), (9, 9)])
def test_the_window_sees_the_same_lines_however_the_bytes_come(text, size, first, limit):
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    window = LineWindow(first, limit, 10_000)
    for at in range(0, len(text), size):
        window.feed(text[at : at + size])
    window.finish()
    assert [line.data for line in window.lines] == lines[first - 1 : first - 1 + limit]
    assert window.total == len(lines)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
async def test_a_byte_order_mark_decides_the_encoding_and_is_not_shown(bench, codec):
    bench.write("a.txt", "gr\u00fc\u00df\nzwei \u4e2d\n".encode(codec))
    assert await bench.text("Read", file_path="a.txt") == "     1\tgr\u00fc\u00df\n     2\tzwei \u4e2d"


async def test_a_long_utf_16_file_is_read_in_pages(bench):
    bench = bench.again(max_output=10_000_000)
    bench.write("a.txt", "".join(f"Zeile \u00fc {n}\n" for n in range(40_000)).encode("utf-16"))
    text = await bench.text("Read", file_path="a.txt", offset=39_999)
    assert text == " 39999\tZeile \u00fc 39998\n 40000\tZeile \u00fc 39999"


async def test_an_old_western_encoding_is_recognised(bench):
    bench.write("a.txt", "caf\u00e9 \u201cx\u201d\n".encode("cp1252"))
    text = await bench.text("Read", file_path="a.txt")
    assert text == "     1\tcaf\u00e9 \u201cx\u201d\n[Not UTF-8; shown as cp1252.]"


async def test_stray_bytes_in_utf_8_are_shown_as_such(bench):
    bench.write("a.txt", b"gr\xc3\xbc\xc3\x9f \xff end\n")
    text = await bench.text("Read", file_path="a.txt")
    assert text.startswith("     1\tgr\u00fc\u00df \ufffd end\n[Some bytes")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg"),
        (b"GIF89a" + bytes(20), "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + bytes(20), "image/webp"),
    ],
)
async def test_a_picture_is_shown_as_one_whatever_it_is_called(bench, data, kind):
    bench.write("picture.txt", data)
    result = await bench.call("Read", file_path="picture.txt")
    assert result.content == [{"type": "image", "data": base64.b64encode(data).decode(), "mimeType": kind}]


async def test_a_picture_of_many_chunks_comes_whole_and_one_too_large_is_refused(bench):
    data = PNG + bytes(4_900_000)
    bench.write("large.png", data)
    result = await bench.call("Read", file_path="large.png")
    assert base64.b64decode(result.content[0]["data"]) == data
    bench.write("huge.png", PNG + bytes(5_000_001))
    assert "5.0 MB" in await bench.fails("INVALID_ARGUMENTS", "Read", file_path="huge.png")


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"%PDF-1.7\nbinary", "PDF"),
        (b"PK\x03\x04rest", "ZIP"),
        (b"\x7fELF\x02\x01", "ELF"),
        (b"SQLite format 3\0", "SQLite"),
        (b"abc\0def", "binary file of 7 bytes"),
    ],
)
async def test_another_binary_file_is_an_error_that_says_what_it_is(bench, data, word):
    bench.write("file", data)
    assert word in await bench.fails("INVALID_ARGUMENTS", "Read", file_path="file")


async def test_text_that_begins_like_a_binary_format_is_still_text(bench):
    bench.write("a.txt", "BZh is how bzip2 begins\n")
    assert "BZh is how" in await bench.text("Read", file_path="a.txt")


async def test_a_folder_is_an_error_that_names_glob(bench):
    (bench.root / "src").mkdir()
    assert "Glob" in await bench.fails("INVALID_ARGUMENTS", "Read", file_path="src")
    assert "Glob" in await bench.fails("INVALID_ARGUMENTS", "Read", file_path=".")


async def test_pipes_sockets_and_devices_are_not_opened(bench):
    os.mkfifo(bench.root / "pipe")
    assert "named pipe" in await bench.fails("INVALID_ARGUMENTS", "Read", file_path="pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(bench.root)  # the full path may be too long for a socket
        try:
            server.bind("sock")
        finally:
            os.chdir(here)
        assert "socket" in await bench.fails("INVALID_ARGUMENTS", "Read", file_path="sock")
    everywhere = bench.again(root="/")
    assert "device" in await everywhere.fails("INVALID_ARGUMENTS", "Read", file_path="/dev/zero")


async def test_a_missing_file_offers_names_that_are_near(bench):
    bench.write("src/settings.py")
    bench.write("src/README.md")
    assert "Did you mean src/settings.py?" in await bench.fails(
        "RESOURCE_NOT_FOUND", "Read", file_path="src/setings.py"
    )
    assert "src/README.md" in await bench.fails("RESOURCE_NOT_FOUND", "Read", file_path="src/readme.txt")
    message = await bench.fails("RESOURCE_NOT_FOUND", "Read", file_path="scr/settings.py")
    assert "no folder scr. Did you mean src?" in message
    assert "**/settings.py" in message


async def test_a_file_without_permission_is_told(bench, permissions_count):
    bench.write("a.txt", "x").chmod(0)
    assert "permissions" in await bench.fails("PERMISSION_DENIED", "Read", file_path="a.txt")


async def test_reading_leaves_no_descriptor_open(bench):
    bench.write("a.txt", "x\n")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        await bench.text("Read", file_path="a.txt")
        await bench.fails("RESOURCE_NOT_FOUND", "Read", file_path="b/c")
        await bench.fails("PERMISSION_DENIED", "Read", file_path="../b")
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_page_of_the_definition_is_the_page_of_the_tool():
    assert reading.PAGE == 2000
