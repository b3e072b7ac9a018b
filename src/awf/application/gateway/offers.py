"""What is published now: the tools of all servers as agents see them, each ready to be called, and the lists as bytes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gateway.eras import SERVER_INFO
from awf.application.tools.pipeline import checker
from awf.domain.mcp import INVALID_PARAMS, RpcError
from awf.domain.mirroring import mirrored_parameters
from awf.domain.tool import ToolDefinition
from awf.domain.value_source import asks_headers, without_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gate.gate import Gate
    from awf.application.gate.passage import GatedTool
    from awf.application.gateway.composition.call_plan import CallPlan
    from awf.application.gateway.eras import Lowering
    from awf.application.gateway.server import Server
    from awf.application.gateway.view import PublishedTool, View
    from awf.application.tools.pipeline import ArgumentChecks
    from awf.domain.gateway_file import GatewayFile

__all__ = ["KnownToGate", "Offer", "Offers", "gated_offer", "sent_by"]

_encode = msgspec.json.Encoder().encode


class KnownToGate(NamedTuple):
    gate: Gate
    tool: GatedTool


class Offer:
    """One published tool."""

    __slots__ = ("_check", "_checks", "by_headers", "gated", "mirrored", "published", "server", "tool")

    def __init__(
        self, published: PublishedTool, server: Server, checks: ArgumentChecks, gate: Gate | None = None
    ) -> None:
        shown = published.definition
        schema = shown.get("inputSchema")
        self.published = published
        self.server = server
        self.tool = ToolDefinition(
            name=shown["name"],
            input_schema=schema if isinstance(schema, dict) else {"type": "object"},
            source=f"mcp:{published.server}",
        )
        self.mirrored = _mirrored(schema)
        self.gated = KnownToGate(gate, gated_offer(gate, published, server)) if gate is not None else None
        # The gate has to know headers of the request, too: they are what the client chooses.
        self.by_headers = gate is not None and any(map(asks_headers, published.plan.defaults))
        self._checks = checks
        self._check: Callable[[Any], list[str]] | None = None

    @property
    def known_to_gate(self) -> GatedTool | None:
        """None: there is no gate."""
        return None if self.gated is None else self.gated.tool

    def sends_like(self, other: Offer, arguments: dict[str, Any]) -> bool:
        """Whether the same server gets the same for them: defaults and hidden fields may be others."""
        plan, theirs = self.published.plan, other.published.plan
        return (
            self.server is other.server
            and not plan.refused(arguments)
            and plan.upstream(arguments, _unresolved) == theirs.upstream(arguments, _unresolved)
        )

    def check(self, arguments: Mapping[str, Any]) -> list[str]:
        """What is wrong with them, in the light of what the agent was shown."""
        refused = self.published.plan.refused(arguments)
        if refused:
            return [refused]
        if self._check is None:
            self._check = checker(self._checks, self.tool)
        wrong = self._check(arguments)
        if wrong and None in arguments.values():  # some clients say null for what they leave out
            required = self.tool.input_schema.get("required", ())
            given = {key: value for key, value in arguments.items() if value is not None or key in required}
            wrong = self._check(given)
        return wrong


class Offers:
    def __init__(
        self,
        file: GatewayFile,
        view: View,
        servers: Mapping[str, Server],
        checks: ArgumentChecks,
        lowering: Lowering,
        info: dict[str, Any],
        gate: Gate | None = None,
    ) -> None:
        self.view = view
        self._file = file
        self._lowering = lowering
        self._info = info
        self._views = {"": view}
        self._found: dict[tuple[str, str], Offer] = {}
        self._lists: dict[tuple[str, str, bool], msgspec.Raw] = {}
        self._offers = {one.id: Offer(one, servers[one.server], checks, gate) for one in view.tools}
        self._servers, self._gate = servers, gate

    def within(self, profile: str) -> View:
        found = self._views.get(profile)
        if found is None:
            if profile not in self._file.profiles:  # a reload may take it away from those who use it
                raise RpcError(INVALID_PARAMS, f"There is no profile '{profile}' any more.")
            found = self._views[profile] = self.view.within(self._file.profiles[profile])
        return found

    def known(self, name: str, profile: str) -> Offer | None:
        """The same without a word about a profile that is gone."""
        found = self._found.get((name, profile))
        return found or (self.find(name, profile) if profile in self._views else None)

    def find(self, name: str, profile: str) -> Offer | None:
        published = self.within(profile).find(name)
        if published is None:
            return None
        found = self._found[name, profile] = self._offers[published.id]
        return found

    def listed(self, version: str, profile: str, *, modern: bool, within_walls: bool = False) -> msgspec.Raw:
        """The result of `tools/list`, made once. `within_walls`: without the tools that reach others."""
        key = version, profile, within_walls
        made = self._lists.get(key)
        if made is None:
            tools = self._tools(profile, within_walls=within_walls)
            made = self._lists[key] = msgspec.Raw(_encode(self._list(version, tools, modern=modern)))
        return made

    def _tools(self, profile: str, *, within_walls: bool) -> list[dict[str, Any]]:
        chosen = self.within(profile).tools
        return [self._shown(one) for one in chosen if not (within_walls and self._reaches_others(one.id))]

    def _shown(self, published: PublishedTool) -> dict[str, Any]:
        """Clients hold results to a promised form; a result that may be cut cannot keep it."""
        known, shown = self._offers[published.id].gated, published.definition
        if known is None or known.tool.bounds is None or "outputSchema" not in shown:
            return shown
        return {key: value for key, value in shown.items() if key != "outputSchema"}

    def of_id(self, tool_id: str) -> Offer | None:
        return self._offers.get(tool_id)

    def known_to_gate(self, tool_id: str) -> GatedTool | None:
        """None: there is no gate, or no such tool."""
        offer = self.of_id(tool_id)
        return None if offer is None else offer.known_to_gate

    def reach_others(self, server: str) -> bool:
        """Whether any tool of it does, be it offered or not."""
        return server in self._reaching

    @functools.cached_property
    def _reaching(self) -> frozenset[str]:
        gate = self._gate
        if gate is None:
            return frozenset()
        return frozenset(
            name
            for name, server in self._servers.items()
            if any(_known_of(gate, server, tool).facts.open_world for tool in server.tools)
        )

    def _reaches_others(self, tool_id: str) -> bool:
        known = self._offers[tool_id].gated
        return known is not None and known.tool.facts.open_world

    def _list(self, version: str, tools: list[dict[str, Any]], *, modern: bool) -> dict[str, Any]:
        if modern:
            meta = {SERVER_INFO: self._info}
            return {
                "resultType": "complete",
                "tools": tools,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": meta,
            }
        return {"tools": self._lowering.tools(version, tools)}


def gated_offer(gate: Gate, published: PublishedTool, server: Server) -> GatedTool:
    """The gate goes by what the server itself says, not by what agents are shown of it."""
    shown = published.definition
    original = next((one for one in server.tools if one.get("name") == published.tool), shown)
    return _known_of(gate, server, original, published)


def _known_of(
    gate: Gate, server: Server, said: Mapping[str, Any], published: PublishedTool | None = None
) -> GatedTool:
    own = str(said.get("name", ""))
    return gate.tool(
        published.id if published is not None else f"{server.name}:{own}",
        published.definition["name"] if published is not None else own,
        f"mcp:{server.name}",
        annotations=said.get("annotations"),
        meta=said.get("_meta"),
        folders=server.config.folders,
        sent=sent_by(published.plan) if published is not None else None,
    )


def sent_by(plan: CallPlan) -> Callable[[Any], Any] | None:
    """Rules about files and hosts go by what the server gets.

    What a client chose by its headers is among the arguments already (`calling.chosen_by`); what else is different in each
    call, such as the time, is nobody's choice.
    """
    if plan.changes_nothing:
        return None
    return lambda arguments: plan.judged(arguments, without_headers)


def _unresolved(value: Any) -> Any:
    return value


def _mirrored(schema: Any) -> dict[tuple[str, ...], str]:
    try:
        return mirrored_parameters(schema)
    except ValueError:
        return {}
