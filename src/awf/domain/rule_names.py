"""Rules and overrides that name tools which nobody offers: known only when servers were asked for what they have.

A rule that denies is as good as none when its tool is misspelt, so that is told; but nothing else depends on it, since a server
may offer the tool tomorrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.domain.gateway_file import ANSWERED_HERE, REQUESTS
from awf.domain.name_patterns import fits, is_pattern
from awf.domain.problem import NodePath, Problem, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from awf.domain.gateway_file import GatewayFile

__all__ = ["Offered", "unknown_names"]

_CODE = "USER.GATEWAY.UNKNOWN_TOOL"
_BUILTIN = "builtin"
_NEARLY = 0.85  # how much two methods have in common, of which one is the other misspelt
_ONCE_GATED = "subscriptions/listen"  # its resources are, one by one


class Offered(NamedTuple):
    """By the name before the colon."""

    asked: Mapping[str, Collection[str]]  # who was asked, and has these tools
    unasked: Collection[str] = ()  # who may have any; `plugin.*`: plugins of any name


def unknown_names(file: GatewayFile, offered: Offered) -> Iterator[Problem]:
    """Warnings. Overrides of servers are not among them: what they say is held against the tools themselves."""
    for at, rule in enumerate(file.policy.rules if file.policy is not None else ()):
        for place, pattern in enumerate(rule.tools):
            yield from _unknown(pattern, ("policy", "rules", at, "tools", place), offered)
    for key in file.overrides:
        if key.partition(":")[0] not in file.servers:
            yield from _unknown(key, ("overrides", key), offered, at_key=True)


def _unknown(pattern: str, path: NodePath, offered: Offered, *, at_key: bool = False) -> Iterator[Problem]:
    server, _, tool = pattern.partition(":")
    if pattern == "*" or any(fits(name, server) or fits(server, name) for name in offered.unasked):
        return
    asked = [name for name in offered.asked if fits(name, server)]
    if any(_has(name, tool, pattern, offered.asked[name]) for name in asked):
        return
    message, hint = _words(pattern, asked, offered)
    yield Problem(code=_CODE, message=message, path=path, hint=hint, severity="warning", at_key=at_key)


def _has(server: str, tool: str, pattern: str, tools: Collection[str]) -> bool:
    if any(fits(f"{server}:{one}", pattern) for one in tools):
        return True
    return server != _BUILTIN and _may_be_method(server, tool, pattern)


def _may_be_method(server: str, tool: str, pattern: str) -> bool:
    """Servers know methods of their own; they are taken on trust, unless one that we know was meant."""
    if any(fits(f"{server}:{one}", pattern) for one in REQUESTS):
        return True
    if "/" not in tool or (tool in ANSWERED_HERE and tool != _ONCE_GATED):
        return False
    return is_pattern(tool) or not _meant_method(tool)


def _meant_method(tool: str) -> str:
    import difflib  # late: most files have no mistakes

    return next(iter(difflib.get_close_matches(tool, REQUESTS, n=1, cutoff=_NEARLY)), "")


def _words(pattern: str, asked: list[str], offered: Offered) -> tuple[str, str]:
    """What is wrong, and what to do."""
    server, _, tool = pattern.partition(":")
    if server.startswith("plugin."):
        close = suggest(server, offered.unasked)
        said = f"No plugin is named “{server.removeprefix('plugin.')}”"
        hint = _hint(f"{close}:{tool}" if close else "", "`awf plugin list` shows those that are here.")
    elif server != _BUILTIN and tool in ANSWERED_HERE:
        said = f"The gateway answers `{tool}` itself, and asks no rule about it"
        hint = f"Rules are asked about: {', '.join(REQUESTS)}."
    elif server == _BUILTIN and not is_pattern(tool):
        said = f"There is no built-in tool “{tool}”"
        known = f"There are: {', '.join(sorted(offered.asked[server]))}."
        hint = _hint(_meant(tool, [server], offered), known)
    else:
        said = f"The server “{server}” has no tool “{tool}”"
        if is_pattern(pattern):
            said = f"No tool here fits “{pattern}”"
        method = _meant_method(tool) if "/" in tool else ""
        close = f"{server}:{method}" if method else _meant(tool, asked, offered)
        hint = _hint(close, "`awf gateway tools` lists those that there are.")
    return f"{said}, so that “{pattern}” is about nothing.", hint


def _meant(tool: str, servers: list[str], offered: Offered) -> str:
    """The nearest tool of these servers, else of any."""
    for names in (servers, offered.asked):
        ids = {one: f"{name}:{one}" for name in names for one in offered.asked[name]}
        if close := suggest(tool, ids):
            return ids[close]
    return ""


def _hint(close: str, otherwise: str) -> str:
    return f"did you mean “{close}”?" if close else otherwise
