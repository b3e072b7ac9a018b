"""The gateway: requests of any client in, answers of the right server out.

It knows no transport. A door brings a `Client` and an `Exchange`, and takes the result away.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from awf.application.gate.artifacts import is_artifact
from awf.application.gateway.calling import ToolCalls, arguments_of, cleaned_error
from awf.application.gateway.client import LEVELS, Client, Exchange
from awf.application.gateway.eras import SERVER_INFO
from awf.application.gateway.fleet import Fleet
from awf.application.gateway.forwarding import Forwarding
from awf.application.gateway.gated_requests import GatedRequests
from awf.application.gateway.greeting import joined_capabilities, joined_instructions
from awf.application.gateway.hub import SUBSCRIPTION, Hub, Listener
from awf.application.gateway.lane import least_grave
from awf.application.gateway.origins import Apart, Origins
from awf.application.gateway.parking import Parking
from awf.application.gateway.prompts import published_prompts
from awf.application.gateway.put_aside import PutAside
from awf.application.gateway.quick_calls import QuickCalls
from awf.application.gateway.resources import Resources
from awf.application.gateway.vigil import Vigil
from awf.application.gateway.watching import Watching
from awf.application.running.tasks import spawn
from awf.application.tools.pipeline import CallPipeline
from awf.domain.errors import AwfError
from awf.domain.mcp import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LEGACY_VERSIONS,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    RpcError,
)
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractContextManager

    import msgspec

    from awf.application.gate.contexts import LabelChange
    from awf.application.gate.gate import Gate
    from awf.application.gateway.fleet import GatewayParts
    from awf.application.gateway.offers import Offers
    from awf.application.gateway.quick_call import QuickCall, Tell
    from awf.application.gateway.server import Server
    from awf.domain.gateway_file import GatewayFile
    from awf.domain.ports.tracer import Attribute, Span

    Answer = dict[str, Any] | msgspec.Raw
    Handle = Callable[[Exchange, dict[str, Any]], Awaitable[Answer]]

__all__ = ["Gateway"]

MOST_LISTENERS = 10_000
SHOWN = 200  # signs of a name that a client chose
_log = logging.getLogger("awf.gateway")


class Gateway:
    def __init__(
        self, parts: GatewayParts, file: GatewayFile, *, alone: bool = False, origins: Origins | None = None
    ) -> None:
        self.origins = origins or Origins("gateway", "", parts.observers.masker.mask)
        self.alone = alone  # with one client for all its life
        self.hub = Hub()
        self.info = {"name": "awf-gateway", "version": parts.version}
        self.new_name = parts.name
        self._parking = Parking(parts.name)
        self._forwarding = Forwarding(self._parking)
        self._pipeline = CallPipeline(parts.observers)
        self.requests = GatedRequests(
            self._forwarding, self.origins, lambda: self.fleet.gate, self._pipeline.new_id, self._now
        )
        self.fleet = Fleet(parts, file, self.hub, self.info, self.requests)
        self.calls = ToolCalls(
            self._pipeline, self._forwarding, parts.book, self.info, parts.lowering, self.origins, self._now
        )
        self._vigil = Vigil(parts.awake, lambda: self.fleet.file.listen.stay_awake)
        self._quick_calls = QuickCalls(
            self.calls, self._pipeline, self._forwarding, parts.book, self.origins, self._vigil, parts.turn
        )
        self._masker = parts.observers.masker
        self._resources = Resources(self._forwarding, self.requests)
        self._put_aside = PutAside(self.origins, lambda: self.fleet.gate)
        self._watching = Watching(self.requests)
        both: dict[str, Handle] = {
            "tools/list": self._tools_list,
            "tools/call": self._tools_call,
            "prompts/list": self._prompts_list,
            "prompts/get": self._prompts_get,
            "resources/list": self._resource_page("resources/list"),
            "resources/templates/list": self._resource_page("resources/templates/list"),
            "resources/read": self._resources_read,
            "completion/complete": self._complete,
        }
        self._modern = both | {"server/discover": self._discover, "subscriptions/listen": self._listen}
        self._legacy = both | {
            "ping": self._ping,
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "server/discover": self._discover,
        }

    def _now(self) -> Offers:
        return self.fleet.offers

    # Clients

    async def greet(self, client: Client) -> dict[str, Any]:
        """The result of `initialize`, after which the client is known."""
        client.guarded = self.fleet.guarded
        self.fleet.start(client if self.alone else None)
        await self.fleet.settle()
        self.hub.clients[client.id] = client
        return {
            "protocolVersion": client.version,
            "capabilities": self._capabilities(client),
            "serverInfo": self.info,
            **self._instructions(client),
        }

    async def leave(self, client: Client) -> None:
        """A session has ended."""
        if self.hub.clients.pop(client.id, None) is None:
            return
        client.lost()
        exchange = Apart(client)
        for uri in list(client.subscriptions):
            with contextlib.suppress(AwfError, RpcError):
                await self._unsubscribe(exchange, {"uri": uri})
        for server in list(self.fleet.servers.values()):
            await server.forget(client)
        if client.level:
            await self._set_shared_levels(list(self.fleet.servers.values()))

    def heard(self, client: Client, message: dict[str, Any]) -> None:
        """A notification of a client that is not about one of its requests: for those that know it."""
        if message["method"] in {"notifications/initialized", "notifications/cancelled"}:
            return
        if self.fleet.gate is not None:  # which nothing passes unseen
            if message["method"] != "notifications/roots/list_changed":
                return
            message = {"jsonrpc": "2.0", "method": message["method"]}
        for server in self.fleet.servers.values():
            lane = server.lane_of(client)
            if lane is not None:
                spawn(_tell(lane.upstream.notify, message), f"telling MCP server {server.name}")

    # Requests

    async def answer(self, exchange: Exchange, method: str, params: dict[str, Any]) -> Answer:
        """The result. Raises `RpcError`."""
        handle = (self._modern if exchange.client.modern else self._legacy).get(method)
        self.fleet.start()
        if self.fleet.guarded:
            params = exchange.made_plain(params)
        try:
            if method == "tools/call":  # the pipeline of tool calls has a span of its own
                return await self._tools_call(exchange, params)
            with self._span(exchange, method, params) as span:
                try:
                    return await self._handled(handle, exchange, method, self._traced(exchange, params))
                except (AwfError, RpcError) as error:
                    span.set("error.type", str(error.code))
                    span.fail(self._shown(error.message))
                    raise
        except AwfError as error:
            text = self._masker.mask(f"{error.message} {error.hint}".strip())
            raise RpcError(INTERNAL_ERROR, text, {"code": error.code}) from error
        except RpcError as error:
            raise cleaned_error(error, self._masker.mask) from error
        except Exception as error:
            _log.exception("%s failed", method[:200])
            raise RpcError(INTERNAL_ERROR, "Internal error: the gateway failed on this request.") from error
        finally:
            self._vigil.keep()

    def begin_call(self, exchange: Exchange, params: dict[str, Any], tell: Tell) -> QuickCall | None:
        """A plain `tools/call`, sent at once; `tell` hears what came of it. None: `answer` it."""
        name, arguments = params.get("name"), params.get("arguments")
        if arguments is None:
            arguments = {}
        if type(name) is not str or type(arguments) is not dict:
            return None
        offer = self.fleet.offers.known(name, exchange.client.profile)
        return None if offer is None else self._quick_calls.begin(offer, exchange, params, arguments, tell)

    async def _handled(
        self, handle: Handle | None, exchange: Exchange, method: str, params: dict[str, Any]
    ) -> Answer:
        if handle is not None:
            return await handle(exchange, params)
        return await self._of_the_only_one(exchange, method, params)

    def _span(self, exchange: Exchange, method: str, params: dict[str, Any]) -> AbstractContextManager[Span]:
        """Named and described as OpenTelemetry's conventions for MCP have it."""
        client, tracer = exchange.client, self._pipeline.observers.tracer
        target, method = params.get("name") or params.get("uri"), self._masker.mask(method)
        attributes: dict[str, Attribute] = {
            "mcp.method.name": method,
            "mcp.protocol.version": client.version,
            "jsonrpc.request.id": str(exchange.id),
        }
        if client.id:
            attributes["mcp.session.id"] = client.id
        if isinstance(target, str):
            attributes["gen_ai.prompt.name" if method == "prompts/get" else "mcp.resource.uri"] = (
                self._masker.mask(target)
            )
        return tracer.span(method[:SHOWN], attributes, below=self._pipeline.place_of(exchange.meta))

    def _shown(self, text: str) -> str:
        return self._masker.mask(text)[:SHOWN]  # cut before, half a secret would be left

    def _traced(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        """Servers are handed the trace."""
        carried = self._pipeline.observers.tracer.carrier()
        if not carried:
            return params
        exchange.meta = {**exchange.meta, **{key.lower(): value for key, value in carried.items()}}
        return {**params, "_meta": exchange.meta}

    async def _of_the_only_one(self, exchange: Exchange, method: str, params: dict[str, Any]) -> Answer:
        """A method we do not know may be known to the server, where there is no doubt which is meant."""
        servers = await self._visible(exchange.client)
        withdrawn = method in self._legacy or method in self._modern or method == "initialize"
        if len(servers) != 1 or withdrawn:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {self._shown(method)}")
        return await self.requests.send(servers[0], exchange, method, params)

    async def _ping(self, exchange: Exchange, params: dict[str, Any]) -> Answer:  # noqa: ARG002
        return {}

    async def _tools_list(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        if params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor; the list is one page")
        await self.fleet.settle()
        self.fleet.look_at_stale_ones()
        client, gate = exchange.client, self.fleet.gate
        hidden = gate is not None and not client.modern and await self._knows_secrets(gate, exchange)
        return self.fleet.offers.listed(
            client.version, client.profile, modern=client.modern, within_walls=hidden
        )

    async def _knows_secrets(self, gate: Gate, exchange: Exchange) -> bool:
        """The newer era forbids lists that depend on what was called; there only calls are refused."""
        if gate.lets_all_pass:
            return False
        origin = self.origins.of(exchange.client, exchange.headers)
        return (await gate.label(origin)).confidentiality != "public"

    def label_changed(self, change: LabelChange) -> None:
        """Sessions of this context see fewer tools from now on, or all of them again."""
        if (change.before.confidentiality == "public") is (change.after.confidentiality == "public"):
            return
        for client in list(self.hub.clients.values()):
            if client.context == change.context_id:
                client.tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    async def _tools_call(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        name, arguments = params.get("name"), arguments_of(params)
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "Invalid params: name must be a string")
        client = exchange.client
        offer = self.fleet.offers.find(name, client.profile)
        if offer is None:
            await self.fleet.settle()
            offer = self.fleet.offers.find(name, client.profile)
        if offer is None:
            raise await self._unknown_tool(name, arguments, exchange)
        return await self.calls.call(offer, exchange, params, arguments)

    async def _unknown_tool(self, name: str, arguments: dict[str, Any], exchange: Exchange) -> RpcError:
        client = exchange.client
        lost = self.fleet.lost(name, client.profile)
        name = self._shown(name)
        if lost is not None:
            message = f"The tool '{name}' is not available now: MCP server \"{lost.name}\" has failed: {lost.detail}"
        else:
            shown = [tool["name"] for tool in self.fleet.offers.within(client.profile).definitions()]
            close = suggest(name, shown)
            message = f"Unknown tool: {name}." + (f" Did you mean '{close}'?" if close else "")
        call_id = self._pipeline.unknown(name, arguments, message)
        if self.fleet.gate is not None:
            origin = self.origins.of(client, exchange.headers)
            await self.fleet.gate.unknown(name, arguments, origin, call_id)
        return RpcError(INVALID_PARAMS, message)

    async def _prompts_list(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        if params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor; the list is one page")
        servers = await self._visible(exchange.client, "prompts")
        prompts = [one.definition for one in published_prompts(servers).values()]
        if not exchange.client.modern:
            return {"prompts": prompts}
        return self._complete_result({"prompts": prompts, "ttlMs": 0, "cacheScope": "private"})

    async def _prompts_get(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        servers = await self._visible(exchange.client, "prompts")
        found = published_prompts(servers).get(str(params.get("name")))
        if found is None and len(servers) != 1:
            raise RpcError(INVALID_PARAMS, f"Unknown prompt: {self._shown(str(params.get('name')))}")
        server, name = (found.server, found.prompt) if found else (servers[0], params.get("name"))
        return await self.requests.send(server, exchange, "prompts/get", {**params, "name": name})

    def _resource_page(self, method: str) -> Handle:
        async def page(exchange: Exchange, params: dict[str, Any]) -> Answer:
            servers = await self._visible(exchange.client, "resources")
            if self.fleet.gate is None:
                return await self._resources.page(servers, exchange, method, params)
            page = await self._resources.page(servers, exchange, method, params) if servers else None
            return await self._put_aside.joined(page, exchange, method)

        return page

    async def _resources_read(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        if self.fleet.gate is not None and is_artifact(str(params.get("uri"))):
            return await self._put_aside.read(self.fleet.gate, exchange, params["uri"])
        servers = await self._visible(exchange.client, "resources")
        return await self._resources.read(servers, exchange, params)

    async def _complete(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        servers = await self._visible(exchange.client, "completions")
        ref = params.get("ref")
        if not servers:
            raise RpcError(METHOD_NOT_FOUND, "Method not found: completion/complete")
        if not isinstance(ref, dict):
            raise RpcError(INVALID_PARAMS, "Invalid params: ref must be an object")
        server: Server | None = servers[0] if len(servers) == 1 else None
        found = published_prompts(servers).get(str(ref.get("name"))) if "name" in ref else None
        if found is not None:
            server, ref = found.server, {**ref, "name": found.prompt}
        elif server is None and isinstance(ref.get("uri"), str):
            server = await self._resources.owner(servers, exchange, ref["uri"])
        if server is None:
            raise RpcError(INVALID_PARAMS, "Invalid params: the reference leads to nothing here")
        return await self.requests.send(server, exchange, "completion/complete", {**params, "ref": ref})

    # What servers say by themselves

    async def _set_level(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        level, client = params.get("level"), exchange.client
        if level not in LEVELS:
            raise RpcError(INVALID_PARAMS, f"Invalid params: level must be one of {', '.join(LEVELS)}")
        client.level = level
        servers = await self._visible(client, "logging")
        for server in servers:
            own = server.lane_of(client)
            if own is not None:
                await own.set_level(level)
        await self._set_shared_levels([one for one in servers if one.lane_of(client) is None])
        return {}

    async def _set_shared_levels(self, servers: Sequence[Server]) -> None:
        """So that everyone hears what they asked for; each gets only that."""
        wanted = least_grave(list(self.hub.levels()))
        for server in servers:
            for lane in server.shared_lanes() if wanted and "logging" in server.capabilities else ():
                await lane.set_level(wanted)

    async def _subscribe(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        uri, server = await self._resource(exchange, params)
        if uri in exchange.client.subscriptions:
            return {}
        result = await self._watching.watch(server, exchange, uri)
        exchange.client.subscriptions.add(uri)
        return result

    async def _unsubscribe(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        uri, server = await self._resource(exchange, params)
        if uri not in exchange.client.subscriptions:
            return await self._watching.passed_on(server, exchange, uri)
        exchange.client.subscriptions.discard(uri)
        return await self._watching.unwatch(server, exchange, uri)

    async def _resource(self, exchange: Exchange, params: dict[str, Any]) -> tuple[str, Server]:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "Invalid params: uri must be a string")
        servers = await self._visible(exchange.client, "resources")
        server = await self._resources.owner(servers, exchange, uri) if servers else None
        if server is None:
            raise RpcError(INVALID_PARAMS, f"No server here has the resource {self._shown(uri)}.")
        return uri, server

    async def _listen(self, exchange: Exchange, params: dict[str, Any]) -> Answer:
        """Until the client leaves. What it hears goes along the exchange."""
        wanted = params.get("notifications")
        if len(self.hub.listeners) >= MOST_LISTENERS:
            raise RpcError(INTERNAL_ERROR, "There are too many who listen already.")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "Invalid params: notifications must be an object")
        kinds = {
            kind for kind in ("tools", "prompts", "resources") if wanted.get(f"{kind}ListChanged") is True
        }
        capabilities = self._capabilities(exchange.client)
        kinds = {kind for kind in kinds if kind == "tools" or kind in capabilities}
        asked = wanted.get("resourceSubscriptions")
        uris = {uri for uri in asked if isinstance(uri, str)} if isinstance(asked, list) else set()
        watched: dict[str, Server] = {}
        try:
            await self._watch_all(exchange, uris, watched)
            return await self._listened(exchange, kinds, watched)
        finally:
            for uri, server in watched.items():
                with contextlib.suppress(AwfError, RpcError):
                    await self._watching.unwatch(server, exchange, uri)

    async def _listened(self, exchange: Exchange, kinds: set[str], watched: dict[str, Server]) -> Answer:
        agreed: dict[str, Any] = {f"{kind}ListChanged": True for kind in sorted(kinds)}
        if watched:
            agreed["resourceSubscriptions"] = sorted(watched)
        listener = Listener(exchange, frozenset(kinds), frozenset(watched))
        listener.tell("notifications/subscriptions/acknowledged", {"notifications": agreed})
        self.hub.listeners.add(listener)
        try:
            await self.fleet.closing.wait()
        finally:
            self.hub.listeners.discard(listener)
        return self._complete_result({"_meta": {SUBSCRIPTION: exchange.id}})

    async def _watch_all(self, exchange: Exchange, uris: set[str], watched: dict[str, Server]) -> None:
        servers = await self._visible(exchange.client, "resources") if uris else []
        for uri in sorted(uris):
            with contextlib.suppress(AwfError, RpcError):
                server = await self._resources.owner(servers, exchange, uri)
                if server is not None:
                    await self._watching.watch(server, exchange, uri)
                    watched[uri] = server

    # About the gateway

    async def _discover(self, exchange: Exchange, params: dict[str, Any]) -> Answer:  # noqa: ARG002
        await self.fleet.settle()
        body = {
            "supportedVersions": [*MODERN_VERSIONS, *reversed(LEGACY_VERSIONS)],
            "capabilities": self._capabilities(exchange.client),
            **self._instructions(exchange.client),
            "ttlMs": 0,
            "cacheScope": "private",
        }
        return self._complete_result(body)

    def _capabilities(self, client: Client) -> dict[str, Any]:
        eras = [server.last_era for server in self._of(client)]
        found = joined_capabilities([era for era in eras if era is not None])
        if self.fleet.gate is not None:  # what was put aside can be read
            found.setdefault("resources", {})
        return found

    def _instructions(self, client: Client) -> dict[str, str]:
        told = [(one.name, one.last_era.instructions) for one in self._of(client) if one.last_era is not None]
        profile = self.fleet.file.profiles.get(client.profile)
        text = joined_instructions(told, profile.description if profile is not None else "")
        return {"instructions": text} if text else {}

    def _complete_result(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"resultType": "complete", **body, "_meta": {**body.get("_meta", {}), SERVER_INFO: self.info}}

    def _of(self, client: Client) -> list[Server]:
        """The servers that a client may know of."""
        return self.fleet.servers_within(client.profile)

    async def _visible(self, client: Client, capability: str = "") -> list[Server]:
        """Those of them that can be asked now, and can do it."""
        await self.fleet.settle()
        return [
            one
            for one in self._of(client)
            if one.state != "failed"
            and one.last_era is not None
            and (not capability or capability in one.capabilities or not one.capabilities)
        ]

    async def close(self) -> None:
        self.fleet.closing.set()
        for client in list(self.hub.clients.values()):
            client.lost()
        await self._parking.close()
        await self._watching.close()
        await self.fleet.close()


async def _tell(notify: Callable[..., Awaitable[None]], message: dict[str, Any]) -> None:
    try:
        await notify(message["method"], message.get("params"))
    except AwfError as reason:
        _log.debug("a notification could not be passed on: %s", reason)
