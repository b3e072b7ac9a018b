"""Conditions that only compare texts, as functions of our own.

To hand a text to the library costs more than to compare it. Where every value that a condition names is a text, comparing,
searching and `in` mean the same here as there, nothing can fail, and so `&&` and `||` need no more than Python has. Whatever
else a condition does is left to the library, and so is a condition one of whose values turns out to be no text.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.infrastructure.expressions.conditions.nodes import (
    Call,
    Chain,
    Group,
    Items,
    Literal,
    Name,
    Node,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Test = Callable[[Mapping[str, Any]], bool]

__all__ = ["PlainTexts", "plain_texts"]

_WORDS = {"true": True, "false": False}


class PlainTexts:
    """Several conditions, in their order."""

    __slots__ = ("_names", "_runs", "_tests", "beginnings")

    def __init__(self, tests: Sequence[Test], names: Sequence[str]) -> None:
        self._tests = tuple(tests)
        self._names = tuple(names)
        self._runs = tuple(_runs(self._tests))
        # Where nothing else is asked of a value than how it begins: one of these, or none of them holds.
        self.beginnings = self._runs[0].texts if len(self._runs) == 1 else ()

    def first(self, values: Mapping[str, Any]) -> int | None:
        """The place of the first one that holds, or -1. None: they have to be left to the library."""
        for name in self._names:
            if type(values.get(name)) is not str:
                return None
        return self.first_of(values)

    def first_of(self, values: Mapping[str, str]) -> int:
        """The same where all of them are texts."""
        for name, texts, start, end in self._runs:
            if texts and not values[name].startswith(texts):
                continue
            for at in range(start, end):
                if self._tests[at](values):
                    return at
        return -1


class _Beginning:
    """Whether a text begins so: what rules ask most. Many of them need not be asked one by one."""

    __slots__ = ("name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def __call__(self, values: Mapping[str, Any]) -> bool:
        return bool(values[self.name].startswith(self.text))


class _Run(NamedTuple):
    """Tests from one place to another that ask the same of one value; without texts for any others."""

    name: str
    texts: tuple[str, ...]
    start: int
    end: int


def _runs(tests: Sequence[Test]) -> Iterator[_Run]:
    start = 0
    for name, group in groupby(tests, key=lambda test: test.name if isinstance(test, _Beginning) else ""):
        run = list(group)
        texts = tuple(test.text for test in run if isinstance(test, _Beginning))
        yield _Run(name, texts, start, start + len(run))
        start += len(run)


def plain_texts(
    nodes: Sequence[Node], values: frozenset[str], questions: frozenset[str]
) -> PlainTexts | None:
    """None where one of them does something else. `values`, `questions`: the variables of a `Flattening`."""
    reading = _Reading(values, questions)
    tests = []
    for node in nodes:
        test = reading.test(node)
        if test is None:
            return None
        tests.append(test)
    return PlainTexts(tests, sorted(reading.names))


class _Reading:
    def __init__(self, values: frozenset[str], questions: frozenset[str]) -> None:
        self._values = values
        self._questions = questions
        self.names: set[str] = set()

    def test(self, node: Node) -> Test | None:
        match node:
            case Group(inner):
                return self.test(inner)
            case Unary("!", operand):
                return _negated(self.test(operand))
            case Literal(word) if word in _WORDS:
                said = _WORDS[word]
                return lambda _: said
            case Name(name) if name in self._questions:
                return lambda values: bool(values[name])
            case Call(Name(name), function, (Literal(value=str(text)),)) if name in self._values:
                return self._search(name, function, text)
            case Chain(first, rest):
                return self._chain(first, rest)
        return None

    def _search(self, name: str, function: str, text: str) -> Test | None:
        self.names.add(name)
        match function:
            case "startsWith":
                return _Beginning(name, text)
            case "endsWith":
                return lambda values: values[name].endswith(text)
            case "contains":
                return lambda values: text in values[name]
        return None

    def _chain(self, first: Node, rest: tuple[tuple[str, Node], ...]) -> Test | None:
        match first, rest:
            case Name(name), (("==", Literal(value=str(text))),) if name in self._values:
                self.names.add(name)
                return lambda values: values[name] == text
            case Name(name), (("!=", Literal(value=str(text))),) if name in self._values:
                self.names.add(name)
                return lambda values: values[name] != text
            case Name(name), (("in", Items(items)),) if name in self._values:
                return self._among(name, items)
        signs = {sign for sign, _ in rest}
        tests = [self.test(node) for node in (first, *(node for _, node in rest))]
        known = [test for test in tests if test is not None]
        if len(known) < len(tests) or len(signs) != 1:
            return None
        return _joined(signs.pop(), known)

    def _among(self, name: str, items: Sequence[Node]) -> Test | None:
        self.names.add(name)
        texts = [item.value for item in items if isinstance(item, Literal) and isinstance(item.value, str)]
        if len(texts) != len(items):
            return None
        among = frozenset(texts)
        return lambda values: values[name] in among


def _negated(test: Test | None) -> Test | None:
    return None if test is None else lambda values: not test(values)


def _joined(sign: str, tests: Sequence[Test]) -> Test | None:
    if sign == "&&":
        return lambda values: all(test(values) for test in tests)
    if sign == "||":
        return lambda values: any(test(values) for test in tests)
    return None
