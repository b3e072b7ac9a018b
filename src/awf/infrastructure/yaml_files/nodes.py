"""Text → YAML nodes that know their place. Everything odd about a file is found here or by the reader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from awf.domain.problem import NodePath, Place, Problem

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # a build of PyYAML without libyaml
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "TooLargeError",
    "YamlText",
    "entries",
    "key_text",
    "parse_yaml",
    "plain_value",
    "too_large",
]

MAX_BYTES = 5 * 1024 * 1024
MAX_DEPTH = 100
_MOST_MERGED = 100  # mappings merged into one with `<<`
_INT = re.compile(r"[-+]?(0|[1-9][0-9_]*)$|0o[0-7_]+$|0x[0-9a-fA-F_]+$")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)
_WORDS: dict[str, Any] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


class TooLargeError(Exception):
    """The file unfolds into too many values: anchors multiply what a small file says."""


class _Loader(_Base):
    """Tags are not worked out: `_scalar` reads values by its own, stricter rules."""

    _level = 0

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        del kind, value, implicit
        return ""

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Called on the way into each node. The C composer recurses without a limit of its own, and crashes."""
        del current_node, current_index
        self._level += 1
        if self._level > MAX_DEPTH + 1:
            raise TooLargeError

    def ascend_resolver(self) -> None:
        self._level -= 1


class YamlText:
    """One file: its text, its root node, and how a path in it becomes a place."""

    def __init__(self, file: str, text: str, root: yaml.Node | None) -> None:
        self.file = file
        self.root = root
        self.text = text
        self.problems: list[Problem] = []  # that kept it from being parsed
        self._lines: list[str] | None = None

    def node_at(self, path: NodePath, *, key: bool = False) -> yaml.Node | None:
        """The node of a path, or the nearest one above it that exists."""
        node = self.root
        for depth, part in enumerate(path):
            at_key = key and depth == len(path) - 1
            # A key of an agent state may stand in its nested `agent:` block.
            found = _child(node, part, key=at_key) or _child(
                _child(node, "agent", key=False), part, key=at_key
            )
            if found is None:
                return node
            node = found
        return node

    def locate(self, problem: Problem, offset: int = 0) -> Problem:
        """The same problem with its place and source line. `offset` is a position inside a scalar's text."""
        import msgspec

        if problem.place is not None:
            if problem.place.file:
                return problem
            place = msgspec.structs.replace(problem.place, file=self.file)
            return msgspec.structs.replace(problem, place=place, source_line=self.line(place.line - 1))
        node = self.node_at(problem.path, key=problem.at_key)
        if node is None:
            return msgspec.structs.replace(problem, place=Place(self.file))
        line, column = self._position(node, offset)
        foreign = _foreign_file(node)
        source = "" if foreign else self.line(line)
        return msgspec.structs.replace(
            problem, place=Place(foreign or self.file, line + 1, column + 1), source_line=source
        )

    def line(self, number: int) -> str:
        if self._lines is None:
            self._lines = self.text.splitlines()
        return self._lines[number] if number < len(self._lines) else ""

    def _position(self, node: yaml.Node, offset: int) -> tuple[int, int]:
        line, column = node.start_mark.line, node.start_mark.column
        if not offset or not isinstance(node, yaml.ScalarNode):
            return line, column
        if node.style in {"|", ">"}:
            before = node.value[:offset]
            row = line + 1 + before.count("\n")
            indent = len(self.line(row)) - len(self.line(row).lstrip())
            return row, indent + len(before) - (before.rfind("\n") + 1)
        quote = 1 if node.style else 0
        return (line, column + quote + offset) if "\n" not in node.value else (line, column)


def _child(node: yaml.Node | None, part: str | int, *, key: bool) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in entries(node):
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == str(part):
                return key_node if key else value_node
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        found: yaml.Node = node.value[part]
        return found
    return None


def _foreign_file(node: yaml.Node) -> str:
    name = str(node.start_mark.name)
    return "" if name.startswith("<") else name


def parse_yaml(file: str, data: bytes) -> tuple[YamlText, list[Problem]]:
    """Parse one document. The text is returned also when it is broken, so that problems can show their line."""
    if len(data) > MAX_BYTES:
        return YamlText(file, "", None), [too_large(file, f"The file has more than {MAX_BYTES:,} bytes.")]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return YamlText(file, "", None), [_not_utf8(file, data, error)]
    document = YamlText(file, text, None)
    try:
        document.root = _Loader(text).get_single_node()
    except TooLargeError:
        return document, [too_large(file, f"The file nests more than {MAX_DEPTH} levels deep.")]
    except yaml.YAMLError as error:
        return document, [_syntax_problem(document, error)]
    if document.root is None:
        return document, [_empty(file)]
    return document, []


def too_large(file: str, message: str = "") -> Problem:
    return Problem(
        code="WORKFLOW.PARSE.TOO_LARGE",
        message=message
        or f"The file unfolds into too many values, or nests more than {MAX_DEPTH} levels deep.",
        place=Place(file),
        hint="Move bulk text to prompt_file or script_file, and split the workflow with call_workflow.",
    )


def _empty(file: str) -> Problem:
    return Problem(
        code="WORKFLOW.PARSE.MISSING_FIELD",
        message="The file is empty.",
        place=Place(file, 1, 1),
        hint="`awf new NAME` writes a workflow to start from.",
    )


def _not_utf8(file: str, data: bytes, error: UnicodeDecodeError) -> Problem:
    before = data[: error.start]
    return Problem(
        code="WORKFLOW.PARSE.ENCODING",
        message=f"Byte 0x{data[error.start]:02x} is not UTF-8 text.",
        place=Place(file, before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1),
        hint="Save the file as UTF-8.",
    )


def _syntax_problem(document: YamlText, error: yaml.YAMLError) -> Problem:
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    marks = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    # What never ends is best mended where it begins.
    mark = marks[1] if marks[1] and "end of stream" in what else marks[0] or marks[1]
    place = Place(document.file, mark.line + 1, mark.column + 1) if mark else _reader_place(document, error)
    tab = place.line and "\t" in document.line(place.line - 1)[: place.column]
    return Problem(
        code="WORKFLOW.PARSE.YAML_SYNTAX",
        message=f"Not valid YAML: {_joined(what, context)}.",
        place=place,
        source_line=document.line(place.line - 1) if place.line else "",
        hint=_syntax_hint(what, tab=bool(tab)),
    )


def _syntax_hint(what: str, *, tab: bool) -> str:
    if tab:
        return "Indent with spaces, not tabs."
    if "another document" in what:
        return "Put each workflow into a file of its own."
    return "Look at indentation, quotes and brackets just before this place."


def _joined(what: str, context: str | None) -> str:
    """The parser says either what it found and where, or what it expected *but* found."""
    if not context:
        return what
    return f"{context}, {what}" if what.startswith("but ") else f"{what} {context}"


def _reader_place(document: YamlText, error: yaml.YAMLError) -> Place:
    position = getattr(error, "position", None)
    if not isinstance(position, int):
        return Place(document.file)
    before = document.text[:position]
    return Place(document.file, before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)


def key_text(node: yaml.Node) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def entries(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The entries of a mapping, then what `<<` merges in; own keys win, then those of the nearer mapping.

    Each mapping is merged once, for it has nothing new to say the second time: merges may lead in a circle, and
    aliases of aliases would otherwise be followed along every path.
    """
    known = {key_text(key) for key, _ in node.value}
    yield from ((key, value) for key, value in node.value if not _is_merge(key))
    seen, todo = {id(node)}, _merged(node)
    while todo:
        merged = todo.pop()
        if id(merged) in seen:
            continue
        seen.add(id(merged))
        if len(seen) > _MOST_MERGED:
            raise TooLargeError
        for key, value in merged.value:
            if key_text(key) not in known and not _is_merge(key):
                known.add(key_text(key))
                yield key, value
        todo += _merged(merged)


def _is_merge(key: yaml.Node) -> bool:
    return key_text(key) == "<<" and not getattr(key, "style", None)


def _merged(node: yaml.MappingNode) -> list[yaml.MappingNode]:
    """The mappings that are merged into one, the first to be looked at last."""
    values = [value for key, value in node.value if _is_merge(key)]
    listed = [
        one for value in values for one in (value.value if isinstance(value, yaml.SequenceNode) else [value])
    ]
    return [one for one in reversed(listed) if isinstance(one, yaml.MappingNode)]


def plain_value(node: yaml.Node) -> Any:
    """The value of a node as plain data. Only true/false are booleans: on, off, yes and no stay text."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [plain_value(item) for item in node.value]
    assert isinstance(node, yaml.MappingNode)
    return {key_text(key) or "": plain_value(value) for key, value in entries(node)}


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if node.style or node.tag == "tag:yaml.org,2002:str":
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        digits = text.replace("_", "")
        return int(digits, 0 if digits[:2] in {"0x", "0o"} else 10)
    if _FLOAT.match(text):
        return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
