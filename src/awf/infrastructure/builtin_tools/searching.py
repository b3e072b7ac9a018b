"""Grep: what to ask ripgrep, and its answer for a model."""

from __future__ import annotations

import os
import re
import stat
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.problem import suggest
from awf.domain.tool import ToolFailure, text_result
from awf.infrastructure.builtin_tools.listing import joined, newest_first
from awf.infrastructure.builtin_tools.paths import check_text
from awf.infrastructure.builtin_tools.ripgrep import escaped_glob
from awf.infrastructure.builtin_tools.territory import not_found
from awf.infrastructure.builtin_tools.wording import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from awf.domain.tool import ToolResult
    from awf.infrastructure.builtin_tools.arguments import GrepArguments
    from awf.infrastructure.builtin_tools.ripgrep import Answer, Ripgrep
    from awf.infrastructure.builtin_tools.territory import Territory

__all__ = ["Search", "rendered", "search", "start"]

MOST_OUTPUT = 8_000_000
LONGEST_LINE = 500
_CONTENT = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_MODES = {
    "content": ("--line-number", "--no-heading", f"--max-columns={LONGEST_LINE}", "--max-columns-preview"),
    "files_with_matches": ("--files-with-matches",),
    "count": ("--count",),
}


class Search(NamedTuple):
    folder: int  # an open descriptor; the caller closes it
    shown: str
    file: str  # the only one to search; empty for all below the folder


def start(territory: Territory, path: str) -> Search:
    with territory.readable(path or ".") as spot:
        status = spot.status()
        if status is None:
            raise not_found(spot)
        if stat.S_ISDIR(status.st_mode):
            return Search(spot.enter(), spot.shown, "")
        if not stat.S_ISREG(status.st_mode):
            raise ToolFailure(
                "INVALID_ARGUMENTS", f"{spot.shown} is {kind_of(status.st_mode)}, not a file or folder."
            )
        return Search(os.dup(spot.folder), os.path.dirname(spot.shown) or ".", spot.name)


async def search(ripgrep: Ripgrep, place: Search, wanted: GrepArguments) -> Answer:
    for what, text in (("pattern", wanted.pattern), ("glob", wanted.glob), ("type", wanted.type)):
        check_text(text, what)
    options = (*_options(place, wanted), "-e", wanted.pattern)
    answer = await ripgrep.run(place.folder, *options, paths=("--", "./"), most=MOST_OUTPUT)
    if answer.code not in {0, 1} and "--pcre2" in answer.complaints:  # look-around or references back
        answer = await ripgrep.run(place.folder, "--pcre2", *options, paths=("--", "./"), most=MOST_OUTPUT)
    about_files = answer.complaints.startswith("rg: ./")  # those it could not read; the others it searched
    if answer.code not in {0, 1} and not answer.output and not (about_files and not place.file):
        raise await _refusal(ripgrep, place, wanted, answer.complaints)
    return answer


def _options(place: Search, wanted: GrepArguments) -> Iterable[str]:
    yield from ("--with-filename", "--null", *_MODES[wanted.output_mode])
    if wanted.ignore_case:
        yield "--ignore-case"
    if wanted.multiline:
        yield from ("--multiline", "--multiline-dotall")
    if "$" in wanted.pattern:
        yield "--crlf"  # the end of a line is before `\r\n`, too
    if wanted.output_mode == "content":
        before, after = wanted.before or wanted.around, wanted.after or wanted.around
        yield from (f"--before-context={before}", f"--after-context={after}")
    yield from _selection(place, wanted)


def _selection(place: Search, wanted: GrepArguments) -> Iterable[str]:
    if place.file:
        # As a glob and not as a path, since paths that are named are followed when they are links.
        yield from ("--max-depth=1", f"--glob=/{escaped_glob(place.file)}")
        return
    if wanted.glob:
        yield f"--glob={wanted.glob}"
    if wanted.type:
        yield f"--type={wanted.type}"


async def _refusal(ripgrep: Ripgrep, place: Search, wanted: GrepArguments, complaints: str) -> ToolFailure:
    words = complaints.replace("rg: ", "", 1).strip()
    if words.startswith("unrecognized file type"):
        known = await ripgrep.run(place.folder, "--type-list", most=MOST_OUTPUT)
        names = [line.partition(":")[0] for line in known.output.decode("utf-8", "replace").splitlines()]
        near = suggest(wanted.type, names)
        starts = [name for name in names if wanted.type and name.startswith(wanted.type[:2])][:8]
        offer = ", ".join(dict.fromkeys(name for name in (near, *starts) if name))
        return ToolFailure(
            "INVALID_ARGUMENTS",
            f"There is no file type {wanted.type!r}.{f' Near ones: {offer}.' if offer else ''} "
            "Or use glob, such as *.ext.",
        )
    if "the literal" in words and "multiline" in words:
        return ToolFailure("INVALID_ARGUMENTS", "The pattern spans lines. Set multiline to true.")
    if "regex" in words or "PCRE2" in words:
        return ToolFailure("INVALID_ARGUMENTS", f"The pattern is not valid: {_last_line(words)}. {_ESCAPE}")
    if "glob" in words:
        return ToolFailure("INVALID_ARGUMENTS", f"The glob is not valid: {_last_line(words)}.")
    return ToolFailure("EXECUTION_FAILED", f"ripgrep failed: {words[:500] or 'it said nothing'}")


_ESCAPE = r"Escape special characters to search for them as they are: \( \[ \{ \. \* \\"


def _last_line(words: str) -> str:
    return words.splitlines()[-1].removeprefix("error: ").strip()[:300]


def rendered(
    place: Search, wanted: GrepArguments, answer: Answer, room: int, check: Callable[[], None]
) -> ToolResult:
    entries = _entries(place, wanted, answer, check)
    if not entries:
        return text_result("\n".join([_nothing(place, wanted), *_unread(answer)]))
    end = wanted.offset + wanted.head_limit if wanted.head_limit else len(entries)
    shown: list[str] = []
    for entry in entries[wanted.offset : end]:
        room -= len(entry) + 1
        if shown and room < 0:
            break
        shown.append(entry)
    return text_result("\n".join([*shown, *_notes(wanted, answer, len(entries), len(shown))]))


def _entries(place: Search, wanted: GrepArguments, answer: Answer, check: Callable[[], None]) -> list[str]:
    if wanted.output_mode == "files_with_matches":
        names = [os.fsdecode(name).removeprefix("./") for name in answer.output.split(b"\0") if name]
        return [joined(place.shown, name) for name in newest_first(place.folder, names, check)]
    lines = answer.output.split(b"\n")
    if answer.is_cut:
        lines.pop()
    if wanted.output_mode == "count":
        return sorted(entry for line in lines if (entry := _counted(place, line)))
    return _content(place, lines, numbers=wanted.line_numbers)


def _counted(place: Search, line: bytes) -> str:
    name, _, count = line.partition(b"\0")
    return f"{_shown(place, name)}:{count.decode('ascii', 'replace')}" if count.isdigit() else ""


class _Hit(NamedTuple):
    name: bytes
    number: bytes
    sign: str
    text: bytes


def _content(place: Search, lines: list[bytes], *, numbers: bool) -> list[str]:
    """File by file in order of their names: ripgrep searches them at the same time, and tells in the order of finding."""
    blocks = [
        (name, list(hits)) for name, hits in groupby(_hits(lines), key=lambda hit: hit.name if hit else None)
    ]
    files: dict[bytes, list[_Hit | None]] = {}
    for name, hits in blocks:
        if name is not None:
            gap: list[_Hit | None] = [None] if name in files else []
            files.setdefault(name, []).extend([*gap, *hits])
    entries: list[str] = []
    with_gaps = any(None in hits for hits in files.values())
    for name in sorted(files):
        entries += ["--"] if entries and with_gaps else []
        path = _shown(place, name)
        entries += [_line(path, hit, numbers=numbers) for hit in files[name]]
    return entries


def _hits(lines: list[bytes]) -> Iterable[_Hit | None]:
    """None stands for a gap between parts. Remarks of ripgrep on binary files are left out."""
    for line in lines:
        if line == b"--":
            yield None
            continue
        name, _, rest = line.partition(b"\0")
        match = _CONTENT.fullmatch(rest)
        if match:
            yield _Hit(name, match[1], match[2].decode(), match[3])


def _line(path: str, hit: _Hit | None, *, numbers: bool) -> str:
    if hit is None:
        return "--"
    text = hit.text.removesuffix(b"\r").decode("utf-8", "replace")
    number = f"{hit.number.decode()}{hit.sign}" if numbers else ""
    return f"{path}{hit.sign}{number}{text}"


def _shown(place: Search, name: bytes) -> str:
    return joined(place.shown, os.fsdecode(name.removeprefix(b"./")))


def _nothing(place: Search, wanted: GrepArguments) -> str:
    where = place.shown if not place.file else joined(place.shown, place.file)
    limits = "".join(
        f", {name} {value}" for name, value in (("glob", wanted.glob), ("type", wanted.type)) if value
    )
    return f"No match{'' if where == '.' else f' in {where}'}{limits}. Ignored (.gitignore) and binary files are not searched."


def _notes(wanted: GrepArguments, answer: Answer, total: int, shown: int) -> Iterable[str]:
    kind = "lines" if wanted.output_mode == "content" else "files"
    count = f"more than {total:,}" if answer.is_cut else f"{total:,}"
    following = wanted.offset + shown
    if not shown:
        yield f"[There are {count} {kind}; none after offset {wanted.offset:,}.]"
    elif following < total or answer.is_cut:
        yield f"[{kind.capitalize()} {wanted.offset + 1:,} to {following:,} of {count}. To go on: offset={following}]"
    yield from _unread(answer)


def _unread(answer: Answer) -> Iterable[str]:
    if answer.code not in {0, 1} and answer.complaints:
        yield f"[Not everything could be searched: {answer.complaints.strip().splitlines()[0].removeprefix('rg: ./')[:200]}]"
