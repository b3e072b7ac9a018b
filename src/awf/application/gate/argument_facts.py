"""What one call is about: the files and hosts that its arguments name, and how risky that is.

Arguments come from an agent and may be anything. They are walked without recursion and with a bound; when there was more
than that, `complete` says so, and rules that depend on it refuse the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.argument_names import DELETES, OVERWRITES, Kind, kind_of, kinds_below, verbs_in
from awf.application.gate.host_names import files_of, hosts_of, is_address
from awf.application.gate.tool_facts import BUILTIN
from awf.domain.policy import RISK_TAGS, RiskTag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from awf.application.gate.tool_facts import ToolFacts
    from awf.domain.ports.surroundings import Surroundings

__all__ = ["ArgumentFacts", "ArgumentReader"]

_MOST_NODES = 10_000
_MOST_NAMED = 1_000  # paths, and hosts
_LONGEST = 4096
_OTHER = Kind.OTHER
_INHERITED = frozenset({Kind.PATH, Kind.SOURCE, Kind.HOST, Kind.BELOW_PATH, Kind.BELOW_SOURCE})
_SOURCES = frozenset({Kind.SOURCE, Kind.BELOW_SOURCE})
_TARGETS = frozenset({Kind.TARGETS, Kind.URIS})
_FILE_NAME = re.compile(r".*\.\w{1,10}|[A-Z][a-z]+file", re.DOTALL)  # `notes.txt`, `Makefile`
_ROOTED = re.compile(r"[/\\.~]|[A-Za-z]:[/\\]")
_WRITES = frozenset({"file.write", "file.*"})


class ArgumentFacts(msgspec.Struct, frozen=True):
    paths: tuple[str, ...] = ()  # absolute, links followed
    hosts: tuple[str, ...] = ()
    risk: tuple[RiskTag, ...] = ()
    complete: bool = True


class ArgumentReader:
    """Prepared once for a tool."""

    __slots__ = ("_around", "_default_root", "_files", "_sent", "_usual", "_writes", "risk")

    def __init__(
        self, facts: ToolFacts, around: Surroundings, sent: Callable[[Any], Any] | None = None
    ) -> None:
        """`sent`: arguments as the tool gets them, where that is not what the agent gives."""
        self._around, self._sent = around, sent
        self._files = any(action.startswith("file.") for action in facts.actions)
        self._writes = not _WRITES.isdisjoint(facts.actions)
        # Our own tools work in the root folder when they are given none.
        self._default_root = facts.source == BUILTIN and self._files
        self.risk = _risk_of_tool(facts)  # what is true of all its calls
        self._usual = ArgumentFacts((around.root,) if self._default_root else (), (), self.risk)

    def read(self, arguments: Any) -> ArgumentFacts:
        if self._sent is not None:
            arguments = self._sent(arguments)
        if not arguments:
            return self._usual
        walk = _Walk(arguments, files=self._files)
        if walk.found_nothing:
            return self._usual
        if walk.is_batch:
            walk.tags.add("batch")
        paths, sources = self._meant(walk, walk.paths), self._meant(walk, walk.sources)
        if not paths and not sources and self._default_root:
            paths = [self._around.root]
        tags = {*self.risk, *walk.tags}
        if walk.hosts:
            tags.add("network")
        if self._writes and walk.paths and any(map(self._around.exists, paths)):
            tags.add("overwrite")
        found = tuple(dict.fromkeys((*paths, *sources)))
        return ArgumentFacts(found, tuple(walk.hosts), _ordered(tags), walk.complete)

    def _meant(self, walk: _Walk, paths: Iterable[str]) -> list[str]:
        found: list[str] = []
        for path in paths:
            meanings = self._around.meanings(path)
            found += meanings
            if not meanings:
                walk.complete = False
        return found


class _Walk:
    """One look at all arguments. A text may stand for several paths or hosts."""

    __slots__ = ("_files", "_naming", "complete", "hosts", "paths", "sources", "tags")

    def __init__(self, arguments: Any, *, files: bool) -> None:
        self._files = files
        self.paths: dict[str, None] = {}
        self.sources: dict[str, None] = {}
        self.hosts: dict[str, None] = {}
        self.tags: set[RiskTag] = set()
        self._naming: dict[str, set[str]] = {"paths": set(), "sources": set(), "hosts": set()}
        self.complete = True
        self._all(arguments)

    def _all(self, arguments: Any) -> None:
        waiting: list[tuple[Kind, Any]] = [(_OTHER, arguments)]
        nodes = 0
        while waiting:
            kind, value = waiting.pop()
            nodes += 1
            if nodes > _MOST_NODES:
                self.complete = False
                return
            if isinstance(value, dict):
                nodes += len(value)
                kinds = kinds_below(kind, value) if kind is not _OTHER and kind in _INHERITED else None
                named = _named_beside(value) if kinds is None and "value" in value else ""
                for key, inner in value.items():
                    name = key if isinstance(key, str) else ""
                    if named and name == "value":
                        name = named
                    below = kind_of(name) if kinds is None else self._below(kind, name, inner, kinds)
                    if type(inner) is str:
                        if below is not _OTHER or ":" in inner:
                            self._text(below, inner)
                    elif inner is not None:
                        waiting.append((below, inner))
            elif isinstance(value, list | tuple):
                if kind in _TARGETS and len(value) > 1:
                    self.tags.add("batch")
                waiting.extend((kind, item) for item in reversed(value[:_MOST_NODES]))
            elif isinstance(value, str):
                self._text(kind, value)
            elif value is True and kind is Kind.OVERWRITE:
                self.tags.add("overwrite")
            elif type(value) is int and kind is Kind.HOST:  # an address that is written as one number
                self._text(kind, str(value))

    def _below(self, kind: Kind, name: str, inner: Any, kinds: Mapping[str, Kind]) -> Kind:
        """What is under this name of an object that is called like files or hosts: it may be a map from them to something."""
        if kind is Kind.HOST:
            if not (is_address(name) or "." in name or ":" in name or name.lower() == "localhost"):
                return kinds.get(name, _OTHER)
            self._text(kind, name)
            # Where the name leads to, or more about it.
            return kind if isinstance(inner, str | list) else _OTHER
        if not _names_a_file(name):
            return kinds.get(name, _OTHER)
        self._text(Kind.SOURCE if kind in _SOURCES else Kind.PATH, name)
        # Their contents, or more about them.
        return _OTHER if type(inner) is str else Kind.BELOW_SOURCE if kind in _SOURCES else Kind.BELOW_PATH

    @property
    def found_nothing(self) -> bool:
        return self.complete and not (self.paths or self.sources or self.hosts or self.tags)

    @property
    def is_batch(self) -> bool:
        return any(len(texts) > 1 for texts in self._naming.values())

    def _text(self, kind: Kind, text: str) -> None:
        """What looks like an address is a path all the same where a path is expected: folders may be called `x:`."""
        files = files_of(text) if ":" in text else ()
        is_remote = not files and (is_address(text) or (kind is Kind.HOST and text != ""))
        if files:
            self._path(text, files)
        if is_remote:
            self._add("hosts", text, self.hosts, hosts_of(text))
        if kind is Kind.PATH:
            self._path(text)
        elif kind is Kind.SOURCE:
            self._source(text)
        elif (kind is Kind.MAYBE_PATH or kind is Kind.URIS) and self._may_be_path(text, files or is_remote):
            self._path(text)
        elif kind is Kind.MAYBE_SOURCE and self._may_be_path(text, files or is_remote):
            self._source(text)
        elif kind is Kind.BELOW_PATH and self._may_be_path(text, is_remote) and _is_surely_path(text):
            self._add("", text, self.paths, (text,))
        elif kind is Kind.BELOW_SOURCE and self._may_be_path(text, is_remote) and _is_surely_path(text):
            self._add("", text, self.sources, (text,))
        elif kind is Kind.VERB and len(text.strip()) < 40 and not DELETES.isdisjoint(verbs_in(text)):
            self.tags.add("delete")

    def _may_be_path(self, text: str, is_address: object) -> bool:
        return self._files or (not is_address and _looks_like_path(text))

    def _path(self, text: str, files: Sequence[str] = ()) -> None:
        self._add("paths", text, self.paths, files or (text,))

    def _source(self, text: str) -> None:
        self._add("sources", text, self.sources, (text,))

    def _add(self, what: str, text: str, found: dict[str, None], meant: Sequence[str]) -> None:
        """Nothing is cut: of what is too long to be judged, nobody knows what it means. `what`: empty where it is not counted."""
        if not meant or len(found) >= _MOST_NAMED or max(map(len, meant)) > _LONGEST:
            self.complete = False
            return
        if what:
            self._naming[what].add(text)
        found.update(dict.fromkeys(meant))


def _named_beside(pair: dict[Any, Any]) -> str:
    """`{"name": "path", "value": "/etc"}` says the same as `{"path": "/etc"}`."""
    named = pair.get("name") or pair.get("key")
    return named if isinstance(named, str) else ""


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.startswith((".", "~"))


def _names_a_file(key: str) -> bool:
    return _looks_like_path(key) or (len(key) <= _LONGEST and _FILE_NAME.fullmatch(key) is not None)


def _is_surely_path(text: str) -> bool:
    """And no words about a file, or what is in it."""
    text = text.strip()
    if len(text) > _LONGEST or "\n" in text or not _looks_like_path(text):
        return False
    return _ROOTED.match(text) is not None or not any(map(str.isspace, text))


def _risk_of_tool(facts: ToolFacts) -> tuple[RiskTag, ...]:
    verbs = verbs_in(facts.id.partition(":")[2]) | verbs_in(facts.name)
    tags: set[RiskTag] = set()
    if not DELETES.isdisjoint(verbs):
        tags.add("delete")
    if not OVERWRITES.isdisjoint(verbs):
        tags.add("overwrite")
    if "network.request" in facts.actions:
        tags.add("network")
    if any(action.startswith("connector.") for action in facts.actions):
        tags.add("connector")
    return _ordered(tags)


def _ordered(tags: set[RiskTag]) -> tuple[RiskTag, ...]:
    return tuple(tag for tag in RISK_TAGS if tag in tags)
