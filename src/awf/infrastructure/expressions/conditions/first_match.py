"""Which of many conditions is the first that holds: one program for many, and their values converted once.

Those that only compare texts need no program (plain_texts.py).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.conditions.errors import explain
from awf.infrastructure.expressions.conditions.flattening import Flattening
from awf.infrastructure.expressions.conditions.functions import FUNCTIONS
from awf.infrastructure.expressions.conditions.library import cel
from awf.infrastructure.expressions.conditions.parser import parse
from awf.infrastructure.expressions.conditions.plain_texts import plain_texts
from awf.infrastructure.expressions.conditions.references import findings_in
from awf.infrastructure.expressions.conditions.writer import executable
from awf.infrastructure.expressions.failures import explained
from awf.infrastructure.expressions.values import MISSING, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.ports.expressions import Reference
    from awf.infrastructure.expressions.conditions.nodes import Node
    from awf.infrastructure.expressions.conditions.plain_texts import PlainTexts

__all__ = ["CelFirstMatch", "faithful"]

# The library counts how deep a text is nested, and each choice is one level. Conditions may have eighty of their own.
_IN_ONE_PROGRAM = 12
_DEEPEST = 100
_LEAST, _MOST = -(2**63), 2**63 - 1
_NONE = -1


class CelFirstMatch:
    """The library is loaded, and the programs are made, when it is first needed."""

    def __init__(self, lists: Sequence[Sequence[str]]) -> None:
        flattening = Flattening()
        trees = [[_read(text) for text in texts] for texts in lists]
        self.references: tuple[Reference, ...] = tuple(
            reference for read in trees for _, references in read for reference in references
        )
        flat = [[flattening.flat(node) for node, _ in read] for read in trees]
        self._fields: dict[str, list[tuple[str, Part]]] = {}  # one step below a name, as most are
        self._values: list[tuple[str, str, tuple[Part, ...]]] = []
        for parts, name in flattening.values.items():
            root = str(parts[0])
            if len(parts) == 2:
                self._fields.setdefault(root, []).append((name, parts[1]))
            else:
                self._values.append((name, root, parts[1:]))
        self._questions = [(name, str(parts[0]), parts[1:]) for parts, name in flattening.questions.items()]
        self._names = {str(parts[0]): name for parts, name in flattening.values.items() if len(parts) == 1}
        self._parts: list[list[_Part]] = [
            [
                _Part(start, nodes[start : start + _IN_ONE_PROGRAM], flattening)
                for start in range(0, len(nodes), _IN_ONE_PROGRAM)
            ]
            for nodes in flat
        ]
        simple = len(self._parts) == 1 and not (self._values or self._questions)
        self._plain = [part.plain for part in self._parts[0] if part.plain is not None] if simple else []
        self._is_plain = bool(self._plain) and len(self._plain) == len(self._parts[0])
        self._is_prepared = False
        self._functions: dict[str, Any] = {}
        self._context: Any = None

    def facts(self, document: Mapping[str, Any]) -> Any:
        """What the conditions need of the document. Raises `ExpressionError`."""
        values: dict[str, Any] = {}
        try:
            for root, fields in self._fields.items():
                base = document.get(root)
                if isinstance(base, dict):
                    for name, key in fields:
                        value = base.get(key, MISSING)
                        if value is not MISSING:
                            values[name] = (
                                value if type(value) is str and value.isascii() else faithful(value)
                            )
            for name, root, rest in self._values:
                value = _found(document, root, rest)
                if value is not MISSING:
                    values[name] = value if type(value) is str and value.isascii() else faithful(value)
            for name, root, rest in self._questions:
                values[name] = _found(document, root, rest) is not MISSING
        except RecursionError as error:
            raise _failure(error) from None
        return _Facts(values)

    def first_in(self, document: Mapping[str, Any]) -> int:
        """Raises `ExpressionError`."""
        return self.first(self.facts(document))

    def glance(self) -> Callable[[Any], int | None] | None:
        """The same for arguments alone, where only texts among them have a say. None: there is more to it.

        What it gives is None where one of them is no text: then `first_in` knows.
        """
        if not self._is_plain or self._fields.keys() != {"arguments"}:
            return None
        fields, tests = tuple(self._fields["arguments"]), tuple(plain.first_of for plain in self._plain)
        if len(fields) == 1 and len(tests) == 1:
            return _of_one_text(*fields[0], self._plain[0])

        def look(arguments: Any) -> int | None:
            if type(arguments) is not dict:
                return None
            values: dict[str, str] = {}
            for name, key in fields:
                value = arguments.get(key)
                if type(value) is not str or not value.isascii():
                    return None
                values[name] = value
            start = 0
            for first_of in tests:
                at = first_of(values)
                if at != _NONE:
                    return start + at
                start += _IN_ONE_PROGRAM
            return _NONE

        return look

    def put(self, facts: _Facts, name: str, value: str) -> None:
        """Give one name of the document another value."""
        known = self._names.get(name)
        if known is not None:
            facts.values[known] = faithful(value)
            facts.context = None

    def first(self, facts: _Facts, which: int = 0, document: Mapping[str, Any] | None = None) -> int:
        """The place of the first condition that holds in this list, or -1. Raises `ExpressionError`.

        With the document the error says what was wrong with it.
        """
        values = facts.values
        try:
            for part in self._parts[which]:
                plain = part.plain
                at = plain.first(values) if plain is not None else None
                if at is None:
                    at = self._executed(part, facts)
                if at != _NONE:
                    return part.start + at
        except BaseException as error:  # noqa: BLE001 (its panics; others go on)
            if document is None:
                raise _failure(error) from None
            _failure(error)
            raise explained(error, partial(explain, error, self.references, document)) from None
        return _NONE

    def _executed(self, part: _Part, facts: _Facts) -> int:
        if not self._is_prepared:
            self._prepare()
        if facts.context is None:
            facts.context = self._context(facts.values, self._functions)
        at: int = part.program.execute(facts.context)
        return at

    def _prepare(self) -> None:
        library = cel()
        parts = [part for one in self._parts for part in one]
        for part in parts:
            part.program = library.compile(part.text)
        used = {name for part in parts for name in part.program.functions()}
        self._functions = {name: FUNCTIONS[name] for name in FUNCTIONS if name in used}
        self._context = library.Context
        self._is_prepared = True


class _Facts:
    """The values of our variables; and the same in the form the library has it, once it is asked."""

    __slots__ = ("context", "values")

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.context: Any = None


class _Part:
    """As many conditions as fit into one program."""

    __slots__ = ("plain", "program", "start", "text")

    def __init__(self, start: int, nodes: Sequence[Node], flattening: Flattening) -> None:
        self.start = start
        choices = " : ".join(f"({executable(node, {})}) ? {at}" for at, node in enumerate(nodes))
        self.text = f"{choices} : {_NONE}"
        self.plain = plain_texts(
            nodes, frozenset(flattening.values.values()), frozenset(flattening.questions.values())
        )
        self.program: Any = None


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Node, tuple[Reference, ...]]:
    """The same rules are asked about many tools."""
    node = parse(text)
    return node, findings_in(node).references


def _failure(error: BaseException) -> ExpressionError:
    """The library's panics are no ordinary exceptions; whatever else is none goes its way."""
    if isinstance(error, ExpressionError):
        return error
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ExpressionError(f"The condition cannot be evaluated: {reason}")


def _of_one_text(name: str, key: Part, plain: PlainTexts) -> Callable[[Any], int | None]:
    """The place of the first condition that holds for arguments of which only one has a say."""
    first_of, beginnings = plain.first_of, plain.beginnings

    def look(arguments: Any) -> int | None:
        value = arguments.get(key) if type(arguments) is dict else None
        if type(value) is not str or not value.isascii():
            return None
        if beginnings and not value.startswith(beginnings):
            return _NONE
        return first_of({name: value})

    return look


def _found(document: Mapping[str, Any], root: str, rest: tuple[Part, ...]) -> Any:
    """As the language has it: keys of objects and places of lists, and nothing else."""
    value = document.get(root, MISSING)
    for part in rest:
        if isinstance(value, dict):
            value = value.get(part, MISSING)
        elif isinstance(part, int) and isinstance(value, list | tuple) and part < len(value):
            value = value[part]
        else:
            return MISSING
    return value


def faithful(value: Any, depth: int = 0) -> Any:
    """The value as the library can hold it. Raises `ExpressionError` where it would become another one."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if _LEAST <= value <= _MOST:
            return value
        raise ExpressionError("a number is too large to be compared")
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise ExpressionError("a number is not one that can be compared")
    if depth >= _DEEPEST:
        raise ExpressionError("the data is nested too deeply")
    if isinstance(value, dict):
        return {faithful(str(key)): faithful(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [faithful(item, depth + 1) for item in value]
    raise ExpressionError(f"a value is of a kind that conditions do not know: {type(value).__name__}")
