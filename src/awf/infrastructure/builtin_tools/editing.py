"""Edit: replace text in a file, keeping everything else of it as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from awf.domain.tool import ToolFailure, text_result
from awf.infrastructure.builtin_tools.near_match import why_not_found
from awf.infrastructure.builtin_tools.reading import numbered, open_regular
from awf.infrastructure.builtin_tools.replacing import line_of, occurrences, replaced
from awf.infrastructure.builtin_tools.text_encoding import decoded
from awf.infrastructure.builtin_tools.wording import failure_of, size_of
from awf.infrastructure.builtin_tools.writing import check_writable, encoded, replace_contents, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.tool import ToolResult
    from awf.infrastructure.builtin_tools.arguments import EditArguments
    from awf.infrastructure.builtin_tools.paths import Spot
    from awf.infrastructure.builtin_tools.replacing import Occurrence, Replaced

__all__ = ["edit_file"]

LARGEST = 50_000_000
MOST_LINES_TOLD = 10
CONTEXT = 2
MOST_LINES_SHOWN = 16


def edit_file(spot: Spot, wanted: EditArguments, check: Callable[[], None]) -> ToolResult:
    """`check` raises when nobody wants the change any more."""
    if wanted.old_string == "":
        return _begin(spot, wanted.new_string, check)
    fd, before = open_regular(spot)
    try:
        check_writable(spot, before)
        data = _contents(spot, fd, before)
    finally:
        os.close(fd)
    text, encode = _decoded(spot, data)
    found = _found(spot, text, wanted)
    result = replaced(text, wanted.old_string, wanted.new_string, found)

    def last_check() -> None:
        check()
        _check_unchanged(spot, before)

    replace_contents(spot, encode(result.text), before, last_check)
    return text_result(_report(spot, result))


def _begin(spot: Spot, text: str, check: Callable[[], None]) -> ToolResult:
    """Nothing to replace: only where there is nothing yet."""
    status = spot.status()
    check_writable(spot, status)
    if status is not None and status.st_size:
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"{spot.shown} has contents, so old_string must not be empty. Give the exact text to replace.",
        )
    return write_file(spot, encoded(text, "new_string"), check)


def _contents(spot: Spot, fd: int, status: os.stat_result) -> bytes:
    if status.st_size > LARGEST:
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"{spot.shown} has {size_of(status.st_size)}; Edit takes files up to {size_of(LARGEST)}. "
            "Use Bash, for example with sed -i.",
        )
    try:
        with open(fd, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    except OSError as reason:
        raise failure_of(reason, spot.shown) from reason


def _decoded(spot: Spot, data: bytes) -> tuple[str, Callable[[str], bytes]]:
    try:
        text, encoding = decoded(data)
    except UnicodeDecodeError as reason:
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"{spot.shown} is not valid {reason.encoding}, which its first bytes announce.",
        ) from reason

    def encode(changed: str) -> bytes:
        try:
            return encoding.encode(changed)
        except UnicodeEncodeError as reason:
            odd = ascii(changed[reason.start])
            raise ToolFailure(
                "INVALID_ARGUMENTS",
                f"{spot.shown} is encoded as {encoding.name}, which has no character {odd}. Leave it out of new_string, "
                "or convert the file to UTF-8 first (Bash: iconv).",
            ) from reason

    return text, encode


def _found(spot: Spot, text: str, wanted: EditArguments) -> list[Occurrence]:
    found = occurrences(text, wanted.old_string)
    if not found:
        why = why_not_found(text, wanted.old_string) or "Read the part again and copy the text exactly."
        raise ToolFailure("INVALID_ARGUMENTS", f"old_string was not found in {spot.shown}. {why}")
    if len(found) > 1 and not wanted.replace_all:
        lines = [str(line_of(text, one.start)) for one in found[:MOST_LINES_TOLD]]
        more = ", …" if len(found) > MOST_LINES_TOLD else ""
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            f"old_string occurs {len(found)} times in {spot.shown} (lines {', '.join(lines)}{more}). Add lines around it "
            "until it is unique, or set replace_all.",
        )
    return found


def _check_unchanged(spot: Spot, before: os.stat_result) -> None:
    now = spot.status()
    if now is None or _version(now) != _version(before):
        raise ToolFailure(
            "CONFLICT",
            f"{spot.shown} was changed by something else while it was edited. Nothing was written. Read it again.",
        )


def _version(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _report(spot: Spot, result: Replaced) -> str:
    times = "1 occurrence" if result.times == 1 else f"{result.times} occurrences"
    return f"Replaced {times} in {spot.shown}.{_snippet(result)}"


def _snippet(result: Replaced) -> str:
    """The first change with a little around it."""
    text = result.text
    first = max(1, line_of(text, result.start) - CONTEXT)
    last = line_of(text, result.end) + CONTEXT
    lines = text.split("\n")[first - 1 : last]
    if lines and last >= first + len(lines) and lines[-1] == "":
        lines.pop()
    shown = [numbered(number, _fit(line)) for number, line in enumerate(lines[:MOST_LINES_SHOWN], first)]
    return "".join(f"\n{line}" for line in shown) + ("\n   …" if len(lines) > MOST_LINES_SHOWN else "")


def _fit(line: str) -> str:
    line = line.removesuffix("\r").encode("utf-8", "replace").decode("utf-8", "replace")
    return line if len(line) <= 200 else f"{line[:200]} …"
