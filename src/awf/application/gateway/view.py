"""What agents see of many servers: one list of tools, in a fixed order, under names that every model API takes. Pure.

A tool has two names. Its id, `server:tool`, is the one in configuration, policy and records, and never changes. The
published name is what agents see: what an override says, else the tool's own where no other tool has it, else
`server__tool`. Calls by id are understood as well.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gateway.composition import compose
from awf.application.tools.naming import folded, legal_name
from awf.domain.gateway_file import REQUESTS
from awf.domain.name_patterns import fits
from awf.domain.problem import Problem, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from awf.application.gateway.composition import CallPlan, Composed
    from awf.domain.gateway_file import GatewayFile, Profile
    from awf.domain.override import ToolOverride

__all__ = ["PublishedTool", "View", "build_view"]

Tool = dict[str, Any]  # a definition as its server sent it


class PublishedTool(NamedTuple):
    id: str
    server: str
    tool: str  # its name on the server
    definition: Tool  # as agents see it, published name included
    plan: CallPlan


class _Candidate(NamedTuple):
    server: str
    tool: str
    override: ToolOverride | None
    composed: Composed

    @property
    def id(self) -> str:
        return f"{self.server}:{self.tool}"


class View:
    """The tools of all servers, or those that a profile leaves of them."""

    def __init__(self, tools: Iterable[PublishedTool]) -> None:
        self.tools = tuple(tools)
        self._named = {one.definition["name"]: one for one in self.tools}
        self._ids = {one.id: one for one in self.tools}

    def find(self, name: str) -> PublishedTool | None:
        return self._named.get(name) or self._ids.get(name)

    def definitions(self) -> list[Tool]:
        return [one.definition for one in self.tools]

    def within(self, profile: Profile) -> View:
        """What a profile leaves. Names are those of the whole, so that a tool has one name in all profiles."""
        return View(one for one in self.tools if _admits(profile, one.id))


def _admits(profile: Profile, tool_id: str) -> bool:
    chosen = profile.tools is None or any(fits(tool_id, pattern) for pattern in profile.tools)
    return chosen and not any(fits(tool_id, pattern) for pattern in profile.deny)


def build_view(
    file: GatewayFile, offered: Mapping[str, Sequence[Tool]], withheld: frozenset[str] = frozenset()
) -> tuple[View, list[Problem]]:
    """The view of what the servers offer now, and what is wrong with the configuration in the light of it.

    A tool with a problem, or with a warning, is not published, nor are those that are `withheld`, by id. Overrides of servers that could not
    be asked are taken on trust.
    """
    found = [
        one
        for server in sorted(offered)
        for one in _candidates(file, server, offered[server])
        if one.id not in withheld
    ]
    candidates = [one for one in found if one.tool not in REQUESTS]
    problems = [*_unknown_tools(file, offered), *_misfits(candidates), *_reserved(found)]
    sound = [one for one in candidates if one.composed.definition is not None]
    names = _names(sound)
    taken: dict[str, _Candidate] = {}
    published: list[PublishedTool] = []
    for one, name in zip(sound, names, strict=True):
        other = taken.setdefault(folded(name), one)
        if other is not one:
            problems.append(_collision(one, other, name))
            continue
        assert one.composed.definition is not None
        definition = {**one.composed.definition, "name": name}
        published.append(PublishedTool(one.id, one.server, one.tool, definition, one.composed.plan))
    return View(published), problems


def _candidates(file: GatewayFile, server: str, tools: Sequence[Tool]) -> Iterator[_Candidate]:
    """In the order of their names; of two with one name the server's first counts."""
    config = file.servers[server]
    seen: set[str] = set()
    for tool in sorted(tools, key=lambda one: str(one.get("name", ""))):
        name = tool.get("name")
        if not isinstance(name, str) or not name or name in seen:
            continue
        seen.add(name)
        chosen = config.tools is None or any(fits(name, pattern) for pattern in config.tools)
        if not chosen or any(fits(name, pattern) for pattern in config.deny):
            continue
        override = file.overrides.get(f"{server}:{name}")
        yield _Candidate(server, name, override, compose(tool, override))


def _names(candidates: Sequence[_Candidate]) -> list[str]:
    """What a person chose stands. Names that servers chose give way to it, and to each other."""
    renamed = [one.override.rename if one.override is not None else None for one in candidates]
    names = [rename or legal_name(one.tool) for one, rename in zip(candidates, renamed, strict=True)]
    for _ in range(2):  # a name that is made so may be another tool's own
        counts = Counter(folded(name).lower() for name in names)
        names = [
            name if rename or counts[folded(name).lower()] == 1 else legal_name(f"{one.server}__{one.tool}")
            for one, rename, name in zip(candidates, renamed, names, strict=True)
        ]
    return names


def _misfits(candidates: Sequence[_Candidate]) -> Iterator[Problem]:
    for one in candidates:
        for problem in one.composed.problems:
            path = ("overrides", one.id, *([problem.field.split("[")[0]] if problem.field else []))
            message = f"{one.id}: {problem.message}"
            yield Problem(code=problem.code, message=message, path=path, hint=problem.hint)


def _unknown_tools(file: GatewayFile, offered: Mapping[str, Sequence[Tool]]) -> Iterator[Problem]:
    for key in file.overrides:
        server, _, tool = key.partition(":")
        if server not in offered:
            continue
        names = [str(one.get("name", "")) for one in offered[server]]
        if tool not in names and tool not in REQUESTS:
            close = suggest(tool, names)
            hint = (
                f"did you mean '{server}:{close}'?"
                if close
                else f"`awf gateway tools` lists those of {server}."
            )
            message = f"The server '{server}' has no tool '{tool}'."
            yield Problem(
                code="USER.GATEWAY.UNKNOWN_TOOL", message=message, path=("overrides", key), hint=hint
            )


def _reserved(found: Sequence[_Candidate]) -> Iterator[Problem]:
    """No mistake of the file, so it is served all the same."""
    for one in found:
        if one.tool in REQUESTS:
            yield Problem(
                code="USER.GATEWAY.RESERVED_NAME",
                message=f"A tool of '{one.server}' is not offered: {one.id} means the request of that name.",
                path=("mcpServers", one.server),
                hint=f'Leave it out: mcpServers: {{{one.server}: {{deny: ["{one.tool}"]}}}}.',
                severity="warning",
            )


def _collision(one: _Candidate, other: _Candidate, name: str) -> Problem:
    """Told at whichever of the two has an override: there it can be mended."""
    where = next((each for each in (one, other) if each.override is not None), None)
    return Problem(
        code="USER.GATEWAY.NAME_COLLISION",
        message=f"Two tools would be called '{name}': {other.id} and {one.id}.",
        path=("overrides", where.id, "rename") if where is not None else ("overrides",),
        hint=f'Give one of them another name: overrides: {{"{one.id}": {{rename: …}}}}.',
    )
