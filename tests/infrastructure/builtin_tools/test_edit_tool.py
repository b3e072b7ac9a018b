from __future__ import annotations

import asyncio
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.tool import ToolFailure
from awf.infrastructure.builtin_tools.near_match import why_not_found
from awf.infrastructure.builtin_tools.replacing import occurrences, replaced


async def edited(bench, before, old, new, **more):
    """The bytes of a file after an edit."""
    path = bench.write("file.txt", before)
    await bench.text("Edit", file_path="file.txt", old_string=old, new_string=new, **more)
    return path.read_bytes()


async def refused(bench, before, old, new="x", **more):
    path = bench.write("file.txt", before)
    data = path.read_bytes()
    message = await bench.fails(
        "INVALID_ARGUMENTS", "Edit", file_path="file.txt", old_string=old, new_string=new, **more
    )
    assert path.read_bytes() == data
    assert bench.names() == ["file.txt"]
    return message


async def test_an_exact_text_is_replaced_and_shown(bench):
    path = bench.write("a.py", "def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    text = await bench.text("Edit", file_path="a.py", old_string="return 1", new_string="return 10")
    assert path.read_text() == "def f():\n    return 10\n\n\ndef g():\n    return 2\n"
    assert (
        text == "Replaced 1 occurrence in a.py.\n     1\tdef f():\n     2\t    return 10\n     3\t\n     4\t"
    )


async def test_all_occurrences_are_replaced_when_asked(bench):
    assert await edited(bench, "a b a b a", "a", "cc", replace_all=True) == b"cc b cc b cc"


async def test_several_matches_are_an_error_with_their_lines(bench):
    message = await refused(bench, "x = 1\ny\nx = 1\nx = 1\n", "x = 1")
    assert "3 times" in message
    assert "lines 1, 3, 4" in message
    assert "replace_all" in message
    many = await refused(bench, "x\n" * 50, "x")
    assert "50 times" in many
    assert "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …" in many


async def test_the_same_text_twice_is_refused(bench):
    assert "same" in await refused(bench, "abc", "b", "b")
    assert "line endings only" in await refused(bench, "a\r\nb", "a\nb", "a\r\nb")


@pytest.mark.parametrize(
    ("text", "old", "word"),
    [
        ("def f():\n    return 1\n", "def f():\n  return 1", "indentation only"),
        ("def f():\n\treturn 1\n", "def f():\n    return 1", "tabs or spaces"),
        ("one  \ntwo\n", "one\ntwo", "spaces at the end of lines"),
        ("a = 1\nb = 2\n", "     1\ta = 1\n     2\tb = 2", "line numbers"),
        ('say("hi")\n', 'say(\\"hi\\")', "escape sequences"),
        ("it\u2019s\n", "it's", "quotation marks"),
        ("alpha = compute(1)\nbeta = 2\n", "alpha = compue(1)", "     1\talpha = compute(1)"),
        ("completely\ndifferent\n", "zzzzzz qqqqq", "copy the text exactly"),
    ],
)
async def test_a_text_that_is_not_there_is_an_error_that_helps(bench, text, old, word):
    message = await refused(bench, text, old)
    assert "not found in file.txt" in message
    assert word in message


def test_the_nearest_text_is_shown_with_its_line_numbers():
    text = "\n".join(f"line {n}" for n in range(200)) + "\nvalue = other(thing)\nend\n"
    hint = why_not_found(text, "value = othr(thing)\nend")
    assert "   201\tvalue = other(thing)\n   202\tend" in hint


@given(
    st.text(alphabet="ab \t\n\\\"'1", max_size=40), st.text(alphabet="ab \t\n\\\"'1", min_size=1, max_size=20)
)
def test_a_hint_never_fails(text, old):
    assert isinstance(why_not_found(text, old), str)


async def test_windows_line_endings_stay_when_models_write_plain_ones(bench):
    assert (
        await edited(bench, b"one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2\n2b")
        == b"1\r\n2\r\n2b\r\nthree\r\n"
    )
    assert await edited(bench, b"one\r\ntwo\r\n", "one", "1\n1b") == b"1\r\n1b\r\ntwo\r\n"
    assert await edited(bench, b"one\r\ntwo", "two", "2\n3") == b"one\r\n2\r\n3"


async def test_plain_line_endings_stay_when_models_write_those_of_windows(bench):
    assert await edited(bench, "one\ntwo\n", "one\r\ntwo", "1\r\n2") == b"1\n2\n"


async def test_in_a_mixed_file_each_place_keeps_its_own(bench):
    assert await edited(bench, b"a\r\nx\nb\r\na\nx\n", "a\nx", "a\ny\nx", replace_all=True) == (
        b"a\r\ny\r\nx\nb\r\na\ny\nx\n"
    )


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
async def test_encoding_and_mark_are_kept(bench, codec):
    mark = b"\xfe\xff" if codec == "utf-16-be" else b""
    before = mark + "gr\u00fc\u00df\nwelt\n".encode(codec)
    after = mark + "gr\u00fc\u00df\nm\u00f6nd\n".encode(codec)
    assert await edited(bench, before, "welt", "m\u00f6nd") == after


async def test_an_old_western_encoding_is_kept_and_what_it_lacks_is_refused(bench):
    assert await edited(bench, b"caf\xe9 ol\xe9\n", "caf\u00e9", "th\u00e9") == b"th\xe9 ol\xe9\n"
    assert "cp1252" in await refused(bench, b"caf\xe9\n", "caf\u00e9", "\u4e2d")


async def test_stray_bytes_elsewhere_in_the_file_stay(bench):
    assert (
        await edited(bench, b"\xc3\xbc \xff here \x80", "here", "\u4e2d")
        == b"\xc3\xbc \xff \xe4\xb8\xad \x80"
    )


async def test_a_file_that_is_not_what_its_mark_says_is_left_alone(bench):
    assert "utf-16" in await refused(bench, b"\xff\xfea", "a")


async def test_the_mode_is_kept(bench):
    bench.write("file.txt", "a").chmod(0o751)
    await bench.text("Edit", file_path="file.txt", old_string="a", new_string="b")
    assert stat.S_IMODE((bench.root / "file.txt").stat().st_mode) == 0o751


async def test_an_empty_old_string_creates_a_file_or_fills_an_empty_one(bench):
    assert "Created a/new.txt" in await bench.text(
        "Edit", file_path="a/new.txt", old_string="", new_string="x\n"
    )
    assert (bench.root / "a/new.txt").read_text() == "x\n"
    bench.write("empty.txt")
    await bench.text("Edit", file_path="empty.txt", old_string="", new_string="y")
    assert (bench.root / "empty.txt").read_text() == "y"
    message = await bench.fails(
        "INVALID_ARGUMENTS", "Edit", file_path="a/new.txt", old_string="", new_string="z"
    )
    assert "has contents" in message
    assert (bench.root / "a/new.txt").read_text() == "x\n"


async def test_missing_files_folders_and_pipes_are_told(bench):
    bench.write("main.py", "x")
    os.mkfifo(bench.root / "pipe")
    assert "main.py" in await bench.fails("RESOURCE_NOT_FOUND", "Edit", file_path="mian.py", old="a", new="b")
    for path in (".", "pipe"):
        await bench.fails("INVALID_ARGUMENTS", "Edit", file_path=path, old_string="a", new_string="b")
        await bench.fails("INVALID_ARGUMENTS", "Edit", file_path=path, old_string="", new_string="b")


async def test_a_file_too_large_to_edit_is_told(bench):
    with (bench.root / "huge").open("wb") as file:
        file.truncate(60_000_000)
    assert "60.0 MB" in await bench.fails("INVALID_ARGUMENTS", "Edit", file_path="huge", old="a", new="b")


async def test_a_file_that_changes_meanwhile_is_a_conflict_and_stays_as_it_became(bench, monkeypatch):
    from awf.infrastructure.builtin_tools import editing

    path = bench.write("a.txt", "one two\n")

    def meanwhile(text, old):  # exactly between the reading and the replacing
        path.write_text("someone else was here\n")
        return occurrences(text, old)

    monkeypatch.setattr(editing, "occurrences", meanwhile)
    message = await bench.fails("CONFLICT", "Edit", file_path="a.txt", old_string="two", new_string="2")
    assert "Nothing was written" in message
    assert path.read_text() == "someone else was here\n"
    assert bench.names() == ["a.txt"]


async def test_a_file_that_is_exchanged_or_removed_meanwhile_is_a_conflict(bench, monkeypatch):
    from awf.infrastructure.builtin_tools import editing

    path = bench.write("a.txt", "one\n")
    acts = [path.unlink, lambda: (bench.write("b.txt", "one\n"), os.replace(bench.root / "b.txt", path))]

    def meanwhile(text, old):
        acts.pop()()
        return occurrences(text, old)

    monkeypatch.setattr(editing, "occurrences", meanwhile)
    await bench.fails("CONFLICT", "Edit", file_path="a.txt", old_string="one", new_string="2")
    assert path.read_text() == "one\n"
    await bench.fails("CONFLICT", "Edit", file_path="a.txt", old_string="one", new_string="2")
    assert bench.names() == []


@pytest.mark.race
async def test_edits_of_one_file_at_the_same_time_all_happen(bench):
    filling = "-" * 300_000  # large enough to be worked on beside the loop
    path = bench.write("a.txt", "".join(f"<{n}>\n" for n in range(20)) + filling)
    calls = (
        bench.text("Edit", file_path="a.txt", old_string=f"<{n}>", new_string=f"[{n}]") for n in range(20)
    )
    await asyncio.gather(*calls)
    assert path.read_text() == "".join(f"[{n}]\n" for n in range(20)) + filling


plain = st.text(alphabet=st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=12)
lines = st.text(alphabet="ab\n", max_size=30)
piece = st.text(alphabet="ab\n", max_size=4)


@given(plain, plain, plain.filter(bool), plain)
def test_a_unique_text_is_replaced_and_nothing_else(before, after, old, new):
    text = before + old + after
    found = occurrences(text, old)
    if old == new:
        with pytest.raises(ToolFailure):
            replaced(text, old, new, found)
    else:
        result = replaced(text, old, new, found)
        assert result.text == text.replace(old, new)
        assert result.times == text.count(old)
        assert result.text[result.start : result.end] == new


@given(lines, piece.filter(bool), piece)
def test_a_file_with_windows_line_endings_is_edited_as_if_it_had_plain_ones(text, old, new):
    found = occurrences(text.replace("\n", "\r\n"), old)
    assert len(found) == text.count(old)
    if found and old != new:
        result = replaced(text.replace("\n", "\r\n"), old, new, found).text
        wanted = text.replace(old, new)
        if "\n" in text:
            assert result == wanted.replace("\n", "\r\n")
        else:
            assert result == wanted


@given(
    st.lists(st.tuples(st.text(alphabet="ab", max_size=3), st.sampled_from(["\n", "\r\n"])), max_size=8),
    piece,
    piece,
)
def test_an_edit_of_a_mixed_file_leaves_everything_around_it_untouched(parts, old, new):
    text = "".join(map("".join, parts))
    found = occurrences(text, old) if old else []
    if found and old != new:
        result = replaced(text, old, new, found[:1])
        assert result.text[: result.start] == text[: found[0].start]
        assert result.text[result.end :] == text[found[0].end :]
        assert result.text[result.start : result.end].replace("\r\n", "\n") == new
