"""`/name k=v some words` becomes a workflow's name and the values of its inputs.

People write prose in a chat. So words stay as they were typed unless they are clearly an input: `name=value` or
`--name=value` with the name of a declared input, or whatever follows `--input` or `-i`. An apostrophe inside a word is
an apostrophe, and a quote that never closes is a plain character: nothing typed is ever a quoting error. Code blocks are
prose whatever is in them, so that an attached file cannot set inputs; so is everything after a lone `--`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from awf.domain.problem import suggest
from awf.domain.redaction import looks_secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.workflow import Input

__all__ = [
    "Arguments",
    "Command",
    "Gathered",
    "Plain",
    "Spoken",
    "designated_input",
    "gather",
    "is_secret",
    "parse_prompt",
    "quoted",
    "read_arguments",
]

# A slash within the first word makes it a path. At least one letter or digit: `/...` names nothing.
_COMMAND = re.compile(r"\s*/(?=[^\s/]*\w)([\w.:-][^\s/]*)(?!\S)(.*)", re.DOTALL)
_FREE_TEXT_NAMES = ("prompt", "task", "message", "text", "query", "question", "input")
_SHOWN = 40  # characters of what was not understood

_WORD, _LINE_END = re.compile(r"\S+"), re.compile(r"[ \t]*\n?")
# What begins a code block (```x``` in one line does not), or a word that may be an input.
_MARK = re.compile(
    r"^[ \t]*+(`{3,}+(?![^\n]*`)|~{3,}+)|(?<!\S)(?:--|-i[=\s]|[\"']?[A-Za-z_][\w-]*+=)", re.MULTILINE
)
_OPTION = re.compile(r"(--input|-i)(=|\s+|$)")
_NAME = re.compile(r"([A-Za-z_][\w-]*)=")
_NAMED = re.compile(r"(?:--)?([A-Za-z_][\w-]*)=(?!=)")  # `x==1` is a comparison in someone's sentence
_QUOTED_NAME = re.compile(r"[\"']([A-Za-z_][\w-]*)=")

_PLAIN = re.compile(r"[^\s\"'\\=][^\s\"'\\]*")
_RUN = re.compile(r"[^\s\"'\\]+")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')


class Plain(msgspec.Struct, frozen=True):
    text: str


class Command(msgspec.Struct, frozen=True):
    name: str
    rest: str = ""


Spoken = Plain | Command


class Arguments(msgspec.Struct, frozen=True):
    given: dict[str, str] = {}
    free_text: str = ""
    problems: tuple[str, ...] = ()


class Gathered(msgspec.Struct, frozen=True):
    given: dict[str, str] = {}
    problems: tuple[str, ...] = ()


class _Taken(NamedTuple):
    """An input found in the text, or what is wrong with it; with neither it is the lone `--`."""

    end: int
    name: str = ""
    value: str = ""
    problem: str = ""


def parse_prompt(text: str) -> Spoken:
    """A command where the first word is a slash and a name; all else is said to whoever listens."""
    found = _COMMAND.match(text)
    return Command(found.group(1), found.group(2).strip()) if found else Plain(text)


def is_secret(item: Input) -> bool:
    return item.secret or looks_secret(item.name)


def designated_input(inputs: Sequence[Input]) -> Input | None:
    """The input that takes words written without a name.

    The string input called prompt, task, message, text, query, question or input, in this order; else the only
    required string input without a default; else the only string input; else none. Never a secret one: prose must
    not become a password, and nobody should type a password as prose.
    """
    texts = {item.name: item for item in inputs if item.type == "string" and not is_secret(item)}
    for name in _FREE_TEXT_NAMES:
        if name in texts:
            return texts[name]
    needed = [item for item in texts.values() if item.required and item.default is None]
    for candidates in (needed, list(texts.values())):
        if len(candidates) == 1:
            return candidates[0]
    return None


def gather(rest: str, inputs: Sequence[Input]) -> Gathered:
    """The values in what follows a command's name, and everything about it that is not understood."""
    read = read_arguments(rest, inputs)
    if not read.free_text:
        return Gathered(read.given, read.problems)
    target = designated_input(inputs)
    if target is None or target.name in read.given:
        problem = _not_understood(read.free_text, inputs, target)
        return Gathered(read.given, (*read.problems, problem))
    return Gathered({**read.given, target.name: read.free_text}, read.problems)


def _not_understood(free_text: str, inputs: Sequence[Input], target: Input | None) -> str:
    said = f"'{_beginning(free_text)}' is not understood"
    if not inputs:
        return f"{said}: this workflow takes no inputs."
    names = [item.name for item in inputs]
    why = f", for '{target.name}' is given already" if target is not None else ""
    return f"{said}{why}; write name=value{_meant(free_text, names)}. Inputs: {', '.join(names)}"


def _meant(free_text: str, names: Sequence[str]) -> str:
    """The right spelling, where the name before an `=` is nearly that of an input."""
    for word in free_text[:1000].split():
        name, equals, _ = word.lstrip("-").partition("=")
        close = suggest(name, names) if equals else ""
        if close:
            return f" (did you mean {close}=…?)"
    return ""


def _beginning(text: str) -> str:
    line = " ".join(text[:1000].split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1].rstrip()}…"


def read_arguments(rest: str, inputs: Sequence[Input]) -> Arguments:
    """Which words are values of inputs. The others keep their order, spacing and line breaks."""
    names = [item.name for item in inputs]
    given: dict[str, str] = {}
    problems: dict[str, None] = {}  # each said once, in order
    cut: list[tuple[int, int]] = []
    at = _next_mark(rest, 0)
    while at < len(rest):
        taken = _take(rest, at, names)
        if taken is not None:
            cut.append((at, taken.end))
            if taken.problem or taken.name in given:
                problems[taken.problem or f"'{taken.name}' is given twice."] = None
            elif taken.name:
                given[taken.name] = taken.value
            else:
                break
        at = _next_mark(rest, taken.end if taken else _end(_WORD, rest, at))
    return Arguments(given, _without(rest, cut), tuple(problems))


def _next_mark(text: str, at: int) -> int:
    """Where the next word begins that may be an input and is not in a code block; else the end."""
    while found := _MARK.search(text, at):
        fence = found.group(1)
        if not fence:
            return found.start()
        close = re.compile(rf"^[ \t]*{fence[0]}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        end = close.search(text, found.end())
        at = end.end() if end else len(text)
    return len(text)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _without(text: str, cut: Sequence[tuple[int, int]]) -> str:
    """The text without some of its words and the gaps they would leave; trimmed."""
    kept: list[str] = []
    last, at_line_start = 0, True
    for start, end in cut:
        part = text[last:start].rstrip(" \t")
        kept.append(part)
        at_line_start = part.endswith("\n") if part else at_line_start
        last = _end(_LINE_END, text, end) if at_line_start else end  # a line of inputs only goes as a whole
    return "".join((*kept, text[last:])).strip()


def _take(text: str, at: int, names: Sequence[str]) -> _Taken | None:
    """The input that begins here, or the lone `--`; None where prose goes on."""
    if text.startswith("--", at) and _end(_WORD, text, at) == at + 2:
        return _Taken(at + 2)
    if option := _OPTION.match(text, at):
        return _option(text, option, names)
    found = _NAMED.match(text, at) or _QUOTED_NAME.match(text, at)
    if found is None or found.group(1) not in names:
        return None
    if text[at] not in "\"'":
        value, end = _read_word(text, found.end())
        return _Taken(end, found.group(1), value)
    word, end = _read_word(text, at)  # "name=two words", as a shell would take it
    name, _, value = word.partition("=")
    return _Taken(end, name, value) if name in names else None


def _option(text: str, option: re.Match[str], names: Sequence[str]) -> _Taken | None:
    """What `--input` or `-i` introduces."""
    start = option.end()
    found = _NAME.match(text, start)
    if option.group(1) == "-i" and not found and not _QUOTED_NAME.match(text, start):
        return None  # prose about some program's option
    if found and found.group(1) in names:
        value, end = _read_word(text, found.end())
        return _Taken(end, found.group(1), value)
    word, end = _read_word(text, start)
    name, equals, value = word.partition("=")
    if name in names and equals:
        return _Taken(end, name, value)
    if option.group() == "--input=" and "input" in names:  # it is the name of an input, too
        return _Taken(end, "input", word)
    return _Taken(end, problem=_misfit(option.group(1), name, equals, names))


def _misfit(option: str, name: str, equals: str, names: Sequence[str]) -> str:
    if not equals or not name:
        return f"'{f'{option} {name}'.strip()}' gives no value; write {option} name=value."
    if not names:
        return f"'{name}' is not an input of this workflow; it takes none."
    close = suggest(name, names)
    meant = f"did you mean {close}?" if close else f"inputs: {', '.join(names)}"
    return f"'{name}' is not an input of this workflow ({meant})"


def quoted(value: str) -> str:
    """The value as it can be written after `name=`, to be read back as it was."""
    if _PLAIN.fullmatch(value):
        return value
    inside = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


def _read_word(text: str, start: int) -> tuple[str, int]:
    """The word that begins at `start`, without its quotes, and where it ends."""
    parts: list[str] = []
    at = start
    while at < len(text) and not text[at].isspace():
        part, at = _segment(text, at, start)
        parts.append(part)
    return "".join(parts), at


def _segment(text: str, at: int, start: int) -> tuple[str, int]:
    """What stands at `at`: a run of plain characters, something in quotes, or one literal character."""
    if found := _RUN.match(text, at):
        return found.group(), found.end()
    here = text[at]
    if here == "\\" and text[at + 1 : at + 2] in {"'", '"'}:
        return text[at + 1], at + 2
    if here == '"' and (found := _DOUBLE.match(text, at)):
        return _ESCAPED.sub(r"\1", found.group(1)), found.end()
    within_a_word = at > start and text[at - 1].isalnum()  # the apostrophe of "don't"
    if here == "'" and not within_a_word and (found := _SINGLE.match(text, at)):
        return found.group(1), found.end()
    return here, at + 1
