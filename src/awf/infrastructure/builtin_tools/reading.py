"""Read: a page of a text file, or a picture."""

from __future__ import annotations

import codecs
import itertools
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.tool import ToolFailure, ToolResult, text_result
from awf.infrastructure.builtin_tools.line_window import LineWindow
from awf.infrastructure.builtin_tools.media import binary_kind, image_type
from awf.infrastructure.builtin_tools.territory import not_found
from awf.infrastructure.builtin_tools.text_encoding import encoding_of, mark_of
from awf.infrastructure.builtin_tools.wording import failure_of, kind_of, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.infrastructure.builtin_tools.line_window import Line
    from awf.infrastructure.builtin_tools.paths import Spot

__all__ = ["LONGEST_LINE", "PAGE", "numbered", "open_regular", "read_opened"]

PAGE = 2000
LONGEST_LINE = 2000
LARGEST_IMAGE = 5_000_000
CHUNK = 1 << 18
COUNTED_BEYOND = 1 << 28  # how far to look for the end of a huge file only to say how many lines it has


class Page(NamedTuple):
    first: int
    limit: int
    room: int  # characters


def open_regular(spot: Spot) -> tuple[int, os.stat_result]:
    """Only what is looked at first is opened, and looked at again: opening a pipe or a device can hang or do harm."""
    before = spot.status()
    if before is None:
        raise not_found(spot)
    _check_regular(spot, before)
    fd = spot.open(os.O_RDONLY)
    status = os.fstat(fd)
    try:
        _check_regular(spot, status)
    except ToolFailure:
        os.close(fd)
        raise
    return fd, status


def _check_regular(spot: Spot, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    what = f"{spot.shown} is {kind_of(status.st_mode)}"
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"{what}, not a file. Glob with path {spot.shown} and pattern ** lists its files.",
        )
    raise ToolFailure("INVALID_ARGUMENTS", f"{what}, not a regular file. It was not opened.")


def read_opened(
    spot: Spot, fd: int, status: os.stat_result, page: Page, check: Callable[[], None]
) -> ToolResult:
    """`check` is called now and then and raises when nobody waits any more."""
    try:
        head = os.read(fd, CHUNK)
        kind = image_type(head)
        if kind:
            return _image(spot, fd, head, status, kind)
        _refuse_binary(spot, head[:8192], status)
        return text_result(_text(spot, fd, head, page, check))
    except OSError as reason:
        raise failure_of(reason, spot.shown) from reason


def _image(spot: Spot, fd: int, head: bytes, status: os.stat_result, kind: str) -> ToolResult:
    if status.st_size > LARGEST_IMAGE:
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"{spot.shown} is a picture of {size_of(status.st_size)}; at most {size_of(LARGEST_IMAGE)} can be shown. "
            "Make a smaller copy with Bash and read that.",
        )
    import base64  # few files are pictures

    data = head + b"".join(
        itertools.takewhile(bool, (os.read(fd, CHUNK) for _ in range(LARGEST_IMAGE // CHUNK + 2)))
    )
    return ToolResult(
        content=[{"type": "image", "data": base64.b64encode(data).decode("ascii"), "mimeType": kind}]
    )


def _refuse_binary(spot: Spot, head: bytes, status: os.stat_result) -> None:
    kind = "" if mark_of(head) else binary_kind(head)
    if kind:
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"{spot.shown} is {kind} of {size_of(status.st_size)}, not text. Use Bash with a program that can read it.",
        )


def _text(spot: Spot, fd: int, head: bytes, page: Page, check: Callable[[], None]) -> str:
    window = LineWindow(page.first, page.limit, 4 * page.room)
    beyond = 0
    counted = True
    for chunk in _utf8_chunks(fd, head):
        check()
        beyond += len(chunk) if window.full else 0
        if beyond > COUNTED_BEYOND:
            counted = False
            break
        window.feed(chunk)
    window.finish()
    total = f"{window.total:,}" if counted else f"more than {window.total:,}"
    if not window.lines:
        return _nothing(spot, page, total, empty=window.total == 0)
    return _rendered(window, page, total)


def _utf8_chunks(fd: int, head: bytes) -> Iterator[bytes]:
    """The file as UTF-8 when its mark says what it is, else as it is."""
    mark = mark_of(head)
    chunks = itertools.chain([head[len(mark.mark) if mark else 0 :]], iter(lambda: os.read(fd, CHUNK), b""))
    if mark is None or mark.name == "utf-8":
        return (chunk for chunk in chunks if chunk)
    decoder = codecs.getincrementaldecoder(mark.name)("replace")
    return (part for chunk in chunks if (part := decoder.decode(chunk).encode("utf-8", "replace")))


def _nothing(spot: Spot, page: Page, total: str, *, empty: bool) -> str:
    if empty:
        return f"[{spot.shown} is empty.]"
    return f"[{spot.shown} has {total} lines; there is no line {page.first:,}.]"


def _rendered(window: LineWindow, page: Page, total: str) -> str:
    lines, note = _decoded(window.lines)
    shown: list[str] = []
    room = page.room
    for number, line in enumerate(lines, page.first):
        text = numbered(number, line)
        room -= len(text) + 1
        if shown and room < 0:
            break
        shown.append(text)
    following = page.first + len(shown)
    if following <= window.total:
        note += f"\n[Lines {page.first:,} to {following - 1:,} of {total}. To go on: offset={following}]"
    return "\n".join(shown) + note


def numbered(number: int, line: str) -> str:
    return f"{number:6}\t{line}"


def _decoded(lines: list[Line]) -> tuple[list[str], str]:
    """All of a page in one encoding; the note says when it is not UTF-8."""
    encoding = encoding_of(b"\n".join(_whole_characters(line) for line in lines))
    texts = [_shortened(line, encoding.name) for line in lines]
    if encoding.errors != "strict":
        return texts, "\n[Some bytes here are not UTF-8; they are shown as \ufffd.]"
    return texts, "" if encoding.name == "utf-8" else f"\n[Not UTF-8; shown as {encoding.name}.]"


def _whole_characters(line: Line) -> bytes:
    """Without the part of a character that a cut leaves at the end."""
    if not line.is_cut:
        return line.data
    tail = line.data[-3:]
    begun = next((i for i in range(len(tail)) if tail[i] >= 0xC0), len(tail))
    return line.data[: len(line.data) - len(tail) + begun]


def _shortened(line: Line, encoding: str) -> str:
    data = _whole_characters(line) if encoding == "utf-8" else line.data
    text = data.decode(encoding, "replace").removesuffix("\r")
    if line.is_cut or len(text) > LONGEST_LINE:
        return f"{text[:LONGEST_LINE]} … [cut: the line has {size_of(line.size)}]"
    return text
