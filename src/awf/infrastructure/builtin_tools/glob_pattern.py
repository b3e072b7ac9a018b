"""Glob patterns as regular expressions that cannot run away. Pure.

`*`, `?` and `[…]` stay within one name, `**` as a whole name is any number of folders, `{a,b}` is a choice. Choices are
written out first, so that every piece between two stars has a fixed length; then the earliest place where a piece fits
is always a right one, and the groups can be atomic: matching takes time in proportion, whatever the pattern.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from awf.domain.tool import ToolFailure

__all__ = ["Wanted", "fitting", "split_literal"]

MOST_CHOICES = 256
_MAGIC = set("*?[{\\")
_ONLY_ENDING = re.compile(r"\*\*/\*[^*?\[\]{}\\/]+")


class Wanted(NamedTuple):
    folder: str  # the part before the first special character
    rest: str


def split_literal(pattern: str) -> Wanted:
    """The folder where everything that fits must be, and the pattern below it."""
    parts = pattern.split("/")
    count = next((n for n, part in enumerate(parts) if _MAGIC & set(part)), len(parts) - 1)
    count = min(count, len(parts) - 1)
    if ".." in parts[count:]:
        raise ToolFailure(
            "INVALID_ARGUMENTS", "`..` may not follow a wildcard. Name the folder in `path` instead."
        )
    folder = "/".join(parts[:count])
    rest = [part for part in parts[count:] if part not in {"", "."}]
    return Wanted("/" if folder == "" and pattern.startswith("/") else folder, "/".join(rest))


def fitting(names: list[str], pattern: str) -> list[str]:
    """Those relative paths that fit. One that is the pattern itself, letter by letter, fits too."""
    if pattern in {"**", "**/*"}:
        return names
    choices = _choices(pattern)
    endings = tuple(_ending(choice) for choice in choices)
    if all(endings) and "[" not in pattern:  # comparing ends is much faster than anything else
        names = [name for name in names if name.endswith(endings)]
        if all(_ONLY_ENDING.fullmatch(choice) for choice in choices):
            return names
    fits = _compiled(pattern, choices).fullmatch
    return [name for name in names if fits(name)]


def _ending(choice: str) -> str:
    """What every name that fits ends with; empty when that is not plain."""
    last = choice.rpartition("/")[2]
    return "" if "\\" in last or last == "**" else re.split(r"[*?\[\]]", last)[-1]


def _compiled(pattern: str, choices: list[str]) -> re.Pattern[str]:
    expressions = [_path(choice) for choice in choices]
    if "[" in pattern:  # `app/[id]/page.tsx` is a usual name in some projects
        expressions.append(re.escape(pattern))
    return re.compile("|".join(f"(?:{one})" for one in expressions), re.DOTALL)


def _choices(pattern: str) -> list[str]:
    done: list[str] = []
    todo = [pattern]
    while todo:
        text = todo.pop(0)
        group = _first_group(text)
        if group is None:
            done.append(text)
        else:
            start, end, options = group
            todo[:0] = [text[:start] + option + text[end:] for option in options]
        if len(todo) + len(done) > MOST_CHOICES:
            raise ToolFailure(
                "INVALID_ARGUMENTS", f"The pattern has more than {MOST_CHOICES} choices in braces."
            )
    return list(dict.fromkeys(done))


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    """The first pair of braces that holds a comma, and what is between its commas."""
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "{":
            found = _group_at(text, at)
            if found:
                return found
        at += 1
    return None


def _group_at(text: str, start: int) -> tuple[int, int, list[str]] | None:
    depth, options, begun = 0, [], start + 1
    at = start
    while at < len(text):
        c = text[at]
        if c == "\\":
            at += 1
        elif c == "{":
            depth += 1
        elif c == "," and depth == 1:
            options.append(text[begun:at])
            begun = at + 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                options.append(text[begun:at])
                return (start, at + 1, options) if len(options) > 1 else None
        at += 1
    return None


def _path(pattern: str) -> str:
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    runs = _runs(names)
    if len(runs) == 1:
        return "/".join(map(_name, runs[0]))
    first, *middle, last = runs
    begin = "".join(f"{_name(name)}/" for name in first)
    between = "".join(
        f"(?>(?:[^/]+/)*?{''.join(f'{_name(name)}/' for name in run)})" for run in middle if run
    )
    end = "/".join(map(_name, last)) if last else "[^/]+"
    return f"{begin}{between}(?:[^/]+/)*{end}"


def _runs(names: list[str]) -> list[list[str]]:
    """The names between one `**` and the next."""
    runs: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            runs.append([])
        else:
            runs[-1].append(name)
    return runs


def _name(pattern: str) -> str:
    first, *others = _pieces(pattern)
    if not others:
        return first
    *middle, last = others
    return f"{first}{''.join(f'(?>[^/]*?{piece})' for piece in middle if piece)}[^/]*{last}"


def _pieces(pattern: str) -> list[str]:
    """What stands between the stars, each of a fixed length."""
    pieces = [""]
    at = 0
    while at < len(pattern):
        c = pattern[at]
        at += 1
        if c == "*":
            pieces.append("")
        elif c == "?":
            pieces[-1] += "[^/]"
        elif c == "[" and (found := _class_at(pattern, at)):
            text, at = found
            pieces[-1] += text
        else:
            if c == "\\" and at < len(pattern):
                c = pattern[at]
                at += 1
            pieces[-1] += re.escape(c)
    return pieces


def _class_at(pattern: str, at: int) -> tuple[str, int] | None:
    """`[abc]`, `[a-z]`, `[!a]`, `[^a]`; a `]` in the first place is one of the characters."""
    negated = pattern[at : at + 1] in {"!", "^"}
    begin = at + negated
    end = pattern.find("]", begin + 1)
    if end < 0:
        return None
    body = _class_body(pattern[begin:end])
    return None if body is None else (f"(?!/)[{'^' if negated else ''}{body}]", end + 1)


def _class_body(inner: str) -> str | None:
    """None when a range runs backwards: then the bracket is just a bracket."""
    items: list[str] = []
    at = 0
    while at < len(inner):
        if inner[at + 1 : at + 2] == "-" and at + 2 < len(inner):
            first, last = inner[at], inner[at + 2]
            if first > last:
                return None
            items.append(f"{re.escape(first)}-{re.escape(last)}")
            at += 3
        else:
            items.append(re.escape(inner[at]))
            at += 1
    return "".join(items)
