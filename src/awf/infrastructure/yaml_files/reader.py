"""YAML nodes → domain values, by the annotations of the domain types.

The reader never stops at the first mistake: it notes a located problem, leaves the value out and goes on. On the way
it collects every template, condition and state name it meets, for the checks that need the whole workflow.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import yaml

from awf.domain.draft import Use
from awf.domain.notation import parse_duration, parse_size
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.shape import Kind, Record, renamed_fields
from awf.infrastructure.yaml_files.nodes import MAX_DEPTH, TooLargeError, entries, key_text, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["BAD", "Reader"]

BAD: Any = object()  # stands for a value that could not be read; its problem has been noted

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*$")
_MAX_VALUES = 200_000  # anchors may multiply a small file into a huge one
_SIMPLE = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class Field(NamedTuple):
    key: str
    name: str
    read: Callable[[Reader, yaml.Node, NodePath], Any]
    required: bool


class Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.uses: list[Use] = []
        self._values = 0
        self._unknown_key = "WORKFLOW.PARSE.UNKNOWN_FIELD"

    # -- noting what is wrong ------------------------------------------------------------------------------------

    def note(self, code: str, message: str, path: NodePath, *, hint: str = "", at_key: bool = False) -> Any:
        way_on = hint or f"awf explain {code}"
        self.problems.append(Problem(code=code, message=message, path=path, hint=way_on, at_key=at_key))
        return BAD

    def wrong_type(self, node: yaml.Node, path: NodePath, wanted: str) -> Any:
        where = f"'{path[-1]}'" if path and isinstance(path[-1], str) else "This"
        return self.note(
            "WORKFLOW.PARSE.WRONG_TYPE", f"{where} must be {wanted}, not {describe(node)}.", path
        )

    # -- records -------------------------------------------------------------------------------------------------

    def mapping(self, node: yaml.Node, path: NodePath, wanted: str) -> dict[str, yaml.Node] | None:
        """The entries of a mapping by key; duplicate and odd keys are noted."""
        if not isinstance(node, yaml.MappingNode):
            self.wrong_type(node, path, wanted)
            return None
        self.count(len(node.value), len(path))
        found: dict[str, yaml.Node] = {}
        for key_node, value_node in entries(node):
            key = key_text(key_node)
            if key is None:
                self.note("WORKFLOW.PARSE.WRONG_TYPE", "A key must be plain text.", path)
            elif key in found:
                self._duplicate(key, key_node, path)
            else:
                found[key] = value_node
        return found

    def _duplicate(self, key: str, node: yaml.Node, path: NodePath) -> None:
        from awf.domain.problem import Place

        # Located here: a path finds only the first of the two.
        place = Place("", node.start_mark.line + 1, node.start_mark.column + 1)
        self.problems.append(
            Problem(
                code="WORKFLOW.PARSE.DUPLICATE_KEY",
                message=f"The key '{key}' is given twice.",
                path=path,
                place=place,
                hint="Remove or rename one of the two.",
            )
        )

    def count(self, more: int, depth: int) -> None:
        self._values += more
        if self._values > _MAX_VALUES or depth > MAX_DEPTH:
            raise TooLargeError

    def record(
        self, cls: type[Record], node: yaml.Node, path: NodePath, extra: Mapping[str, str] | None = None
    ) -> Any:
        """Read one record. `extra` names keys that the caller handles itself."""
        found = self.mapping(node, path, "a mapping of keys to values")
        return BAD if found is None else self.fields(cls, found, path, extra or {})

    def fields(
        self, cls: type[Record], found: dict[str, yaml.Node], path: NodePath, extra: Mapping[str, str]
    ) -> Any:
        before = self._unknown_key
        self._unknown_key = getattr(cls, "unknown_key", before)  # holds for everything inside, too
        try:
            return self._known_fields(cls, found, path, extra)
        finally:
            self._unknown_key = before

    def _known_fields(
        self, cls: type[Record], found: dict[str, yaml.Node], path: NodePath, extra: Mapping[str, str]
    ) -> Any:
        fields = fields_of(cls)
        known = _KEYS[cls] | extra.keys()
        for key in found.keys() - known:
            close = suggest(key, known)
            self.note(
                self._unknown_key,
                f"Unknown key '{key}' in {_place_name(cls)}.",
                (*path, key),
                at_key=True,
                hint=f"did you mean '{close}'?" if close else f"Keys here: {', '.join(sorted(known))}.",
            )
        values: dict[str, Any] = {}
        complete = True
        for field in fields:
            if field.key in found:
                value = field.read(self, found[field.key], (*path, field.key))
                if value is BAD:
                    complete = False
                else:
                    values[field.name] = value
            elif field.required:
                complete = False
                self.note(
                    "WORKFLOW.PARSE.MISSING_FIELD",
                    f"'{field.key}' is missing in {_place_name(cls)}.",
                    path,
                    hint=f"Add {field.key}: …",
                )
        return cls(**values) if complete else BAD

    def use(self, kind: Kind, text: str, path: NodePath) -> None:
        self.uses.append(Use(kind, text, path))

    def plain(self, node: yaml.Node, path: NodePath) -> Any:
        """Any value; mappings are still checked for duplicate keys."""
        if isinstance(node, yaml.ScalarNode):
            return plain_value(node)
        if isinstance(node, yaml.SequenceNode):
            self.count(len(node.value), len(path))
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]
        found = self.mapping(node, path, "a mapping") or {}
        return {key: self.plain(value, (*path, key)) for key, value in found.items()}


def describe(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    value = plain_value(node)
    if value is None:
        return "empty"
    shown = str(node.value)
    return f"'{shown}'" if len(shown) <= 40 else "a long text"


def _place_name(cls: type[Record]) -> str:
    kind = getattr(cls, "kind", "")
    if kind:
        return f"a state of type {kind}"
    words = re.sub(r"(?<!^)([A-Z])", r" \1", cls.__name__).lower()
    return "the workflow" if words == "workflow" else f"'{words}'" if " " not in words else words


# -- annotations → readers -----------------------------------------------------------------------------------------

_FIELDS: dict[type[Record], list[Field]] = {}
_KEYS: dict[type[Record], frozenset[str]] = {}


def fields_of(cls: type[Record]) -> list[Field]:
    """How to read each field of a record; worked out once per type."""
    cached = _FIELDS.get(cls)
    if cached is None:
        keys = renamed_fields(cls)
        hints: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            hints.update(inspect.get_annotations(base))
        cached = [
            Field(keys.get(f.name, f.name), f.name, reader_for(hints[f.name]), f.required)
            for f in msgspec.structs.fields(cls)
        ]
        _FIELDS[cls] = cached
        _KEYS[cls] = frozenset(field.key for field in cached)
    return cached


def reader_for(annotation: Any) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    kind: Kind | None = None
    while typing.get_origin(annotation) is typing.Annotated:
        annotation, *marks = typing.get_args(annotation)
        kind = kind or next((mark for mark in marks if isinstance(mark, Kind)), None)
    if kind is not None:
        return _KIND_READERS[kind]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        return _union(arguments)
    if origin is Literal:
        return _choice(arguments)
    if origin is list:
        return _list(reader_for(arguments[0]))
    if origin is dict:
        return _dict(reader_for(arguments[1]))
    if annotation is Any:
        return Reader.plain
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return lambda reader, node, path: reader.record(annotation, node, path)
    return _scalar(annotation)


def _scalar(wanted: type) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        if isinstance(node, yaml.ScalarNode):
            value = plain_value(node)
            if wanted is str and value is not None:
                return node.value
            if wanted is float and type(value) is int:
                return float(value)
            if type(value) is wanted:
                return value
        return reader.wrong_type(node, path, _SIMPLE[wanted])

    return read


def _choice(allowed: tuple[Any, ...]) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        value = node.value if isinstance(node, yaml.ScalarNode) else None
        if value in allowed:
            return value
        close = suggest(str(value), [str(item) for item in allowed])
        return reader.note(
            "WORKFLOW.PARSE.INVALID_VALUE",
            f"'{path[-1]}' must be {_or(allowed)}, not {describe(node)}.",
            path,
            hint=f"did you mean '{close}'?" if close else "",
        )

    return read


def _or(words: tuple[Any, ...]) -> str:
    shown = [str(word) for word in words]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _list(item: Callable[[Reader, yaml.Node, NodePath], Any]) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        if not isinstance(node, yaml.SequenceNode):
            return reader.wrong_type(node, path, "a list")
        reader.count(len(node.value), len(path))
        values = [item(reader, child, (*path, index)) for index, child in enumerate(node.value)]
        return BAD if any(value is BAD for value in values) else values

    return read


def _dict(item: Callable[[Reader, yaml.Node, NodePath], Any]) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        found = reader.mapping(node, path, "a mapping of names to values")
        if found is None:
            return BAD
        values = {key: item(reader, child, (*path, key)) for key, child in found.items()}
        return BAD if any(value is BAD for value in values.values()) else values

    return read


def _union(members: tuple[Any, ...]) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    """The member is chosen by the form of the node, so that problems speak of what the writer meant."""
    optional = type(None) in members
    mapping, sequence, scalars = None, None, []
    for member in members:
        bare = _bare(member)
        if bare is type(None):
            continue
        if typing.get_origin(bare) is dict or (isinstance(bare, type) and issubclass(bare, Record)):
            mapping = reader_for(member)
        elif typing.get_origin(bare) is list:
            sequence = reader_for(member)
        else:
            scalars.append((bare, reader_for(member)))
    wanted = _or(
        (
            *(_SIMPLE.get(bare, "text") for bare, _ in scalars),
            *(["a list"] if sequence else []),
            *(["a mapping"] if mapping else []),
        )
    )

    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        if isinstance(node, yaml.MappingNode) and mapping:
            return mapping(reader, node, path)
        if isinstance(node, yaml.SequenceNode) and sequence:
            return sequence(reader, node, path)
        if isinstance(node, yaml.ScalarNode):
            value = plain_value(node)
            if value is None and optional:
                return None
            exact = [read_one for bare, read_one in scalars if bare is type(value)]
            chosen = exact or [read_one for _, read_one in scalars]
            if chosen:
                return chosen[0](reader, node, path)
        return reader.wrong_type(node, path, wanted)

    return read


def _bare(annotation: Any) -> Any:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


# -- kinds ---------------------------------------------------------------------------------------------------------


def _text_of(kind: Kind) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    text = _scalar(str)

    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        value = text(reader, node, path)
        if value is not BAD:
            reader.use(kind, value, path)
        return value

    return read


def _notation(
    parse: Callable[[Any], float | None], wanted: str, example: str
) -> Callable[[Reader, yaml.Node, NodePath], Any]:
    def read(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
        value = plain_value(node) if isinstance(node, yaml.ScalarNode) else None
        parsed = None if value is None else parse(value)
        if parsed is not None:
            return parsed
        return reader.note(
            "WORKFLOW.PARSE.INVALID_VALUE",
            f"'{path[-1]}' must be {wanted}, not {describe(node)}.",
            path,
            hint=f"Write it like {example}.",
        )

    return read


def _name(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
    value = _scalar(str)(reader, node, path)
    if value is BAD or _NAME.match(value):
        return value
    return reader.note(
        "WORKFLOW.PARSE.INVALID_VALUE",
        f"'{value}' is not a usable name.",
        path,
        hint="Use letters, digits, _ and -, beginning with a letter or _.",
    )


def _value(reader: Reader, node: yaml.Node, path: NodePath) -> Any:
    value = reader.plain(node, path)
    _collect(reader, value, path)
    return value


def _collect(reader: Reader, value: Any, path: NodePath) -> None:
    if isinstance(value, str):
        reader.use(Kind.TEMPLATE, value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(reader, item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(reader, item, (*path, key))


_KIND_READERS: dict[Kind, Callable[[Reader, yaml.Node, NodePath], Any]] = {
    Kind.TEMPLATE: _text_of(Kind.TEMPLATE),
    Kind.CONDITION: _text_of(Kind.CONDITION),
    Kind.STATE: _text_of(Kind.STATE),
    Kind.DURATION: _notation(parse_duration, "a duration", "500ms, 30s, 5m or 1h30m"),
    Kind.SIZE: _notation(parse_size, "a size", "64KiB, 10MB or a number of bytes"),
    Kind.NAME: _name,
    Kind.VALUE: _value,
}
