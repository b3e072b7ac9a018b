"""A look at the gateway from the shell: its servers are started, asked, and ended again."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from awf.domain.errors import AwfError
from awf.domain.problem import suggest
from awf.interfaces.cli.options import make_app

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from awf.application.gateway.client import Client
    from awf.application.gateway.gateway import Gateway
    from awf.application.gateway.pinning import Drift
    from awf.bootstrap.gateways import GatewayHouse
    from awf.domain.problem import Problem

__all__ = [
    "arguments_of",
    "call_once",
    "look_at_drift",
    "look_at_tools",
    "shell_client",
    "unknown_tool",
    "warn",
    "with_gateway",
]

T = TypeVar("T")
_UNUSABLE = ("failed", "starting")
_SLOW = (
    "It has not answered yet. What npx or uvx have to fetch first takes long once, and cannot be fetched in a sandbox"
    " without a network: run its command by hand."
)


class SeenTools(NamedTuple):
    tools: list[dict[str, Any]]
    servers: list[dict[str, Any]]
    drift: list[dict[str, Any]]

    @property
    def exit_status(self) -> int:
        """A server that cannot be used is worth knowing of in a script."""
        return 3 if any(server["state"] in _UNUSABLE for server in self.servers) else 0

    def document(self) -> dict[str, Any]:
        keys = ("name", "transport", "state", "detail", "protocol", "tools")
        servers = [{key: server[key] for key in keys} for server in self.servers]
        return {"tools": self.tools, "servers": servers, "drift": self.drift}

    def lines(self) -> Iterator[str]:
        for server in self.servers:
            tools = [tool for tool in self.tools if tool["server"] == server["name"]]
            told = f", {server['protocol']}" if server["protocol"] else ""
            yield f"{server['name']}  {server['state']}{told}, {len(tools)} tools"
            trouble = _trouble(server["state"], server["detail"])
            if trouble:
                yield f"  {trouble}"
            for tool in tools:
                yield from _tool_lines(tool)
        if self.drift:
            yield ""
            yield "Definitions that have changed since they were first seen (awf gateway drift):"
            yield from (f"  {change['id']}  {change['what']}" for change in self.drift)


def _trouble(state: str, detail: str) -> str:
    return detail or (_SLOW if state == "starting" else "")


def _tool_lines(tool: dict[str, Any]) -> Iterator[str]:
    own = tool["id"].partition(":")[2]
    was = f"  (there: {own})" if tool["name"] != own else ""
    if tool["quarantined"]:
        yield f"  {tool['name']}{was}  withheld: its definition has changed"
        return
    shown = tool["published"]
    schema = shown.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required", []) if isinstance(schema, dict) else []
    names = [
        f"{name}*" if name in required else name
        for name in (properties if isinstance(properties, dict) else ())
    ]
    yield f"  {tool['name']}({', '.join(names)}){was}"
    text = " ".join(str(shown.get("description", "")).split())
    if text and text != tool["name"]:
        yield f"      {text[:100]}{'…' if len(text) > 100 else ''}"


def look_at_tools(config: str, profile: str) -> SeenTools:
    async def look(house: GatewayHouse, gateway: Gateway) -> SeenTools:
        desk = house.desk(gateway)
        tools, status = desk.tools(), desk.status()
        if profile:
            tools = [tool for tool in tools if profile in tool["profiles"]]
        return SeenTools(tools, status["servers"], status["drift"])

    return with_gateway(config, look, profile)


class Called(NamedTuple):
    result: dict[str, Any]

    @property
    def exit_status(self) -> int:
        return 3 if self.result.get("isError") is True else 0

    def lines(self) -> Iterator[str]:
        structured = self.result.get("structuredContent")
        content = self.result.get("content")
        blocks = content if isinstance(content, list) else []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "text":
                yield from str(block.get("text", "")).splitlines()
            else:
                yield json.dumps(block, ensure_ascii=False)
        if not blocks and structured is not None:
            yield json.dumps(structured, ensure_ascii=False, indent=2)


def call_once(config: str, profile: str, tool: str, arguments: str) -> Called:
    given = arguments_of(arguments)

    async def call(_house: GatewayHouse, gateway: Gateway) -> Called:
        from awf.application.gateway.client import Exchange
        from awf.domain.mcp import RpcError

        exchange = Exchange(shell_client("awf gateway call", profile), 1, _Silence(), meta={}, headers={})
        try:
            result = await gateway.answer(exchange, "tools/call", {"name": tool, "arguments": given})
        except RpcError as error:
            raise _refused(gateway, tool, profile, error) from error
        assert isinstance(result, dict)
        return Called(result)

    return with_gateway(config, call, profile)


def shell_client(name: str, profile: str = "") -> Client:
    from awf.application.gateway.client import Client
    from awf.domain.mcp import LEGACY_VERSIONS

    return Client(
        version=LEGACY_VERSIONS[-1],
        modern=False,
        capabilities={},
        info={"name": name} if name else {},
        id="shell",
        profile=profile,
    )


class _Silence:
    def send(self, message: dict[str, Any]) -> bool:
        del message
        return False

    def pause(self) -> None:
        pass


def _refused(gateway: Gateway, tool: str, profile: str, error: Exception) -> AwfError:
    if gateway.fleet.offers.find(tool, profile) is None:
        names = (one["name"] for one in gateway.fleet.offers.within(profile).definitions())
        return unknown_tool(tool, names, gateway)
    return AwfError("EXECUTION.MCP_SERVER.PROTOCOL", str(error), hint="Its server has refused the call.")


def unknown_tool(tool: str, names: Iterable[str], gateway: Gateway | None = None) -> AwfError:
    """It may be one of a server that cannot be used."""
    close = suggest(tool, names)
    servers = gateway.fleet.servers.values() if gateway else ()
    failed = "".join(
        f"{one.name}: {_trouble(one.state, one.detail)}\n" for one in servers if one.state in _UNUSABLE
    )
    hint = "`awf gateway tools` lists them."
    if close:
        hint = f"did you mean '{close}'?"
    elif failed:
        hint = f"Not all servers can be used. {failed}{hint}"
    return AwfError("USER.GATEWAY.UNKNOWN_TOOL", f"There is no tool '{tool}'.", hint=hint)


def arguments_of(text: str) -> dict[str, Any]:
    """Raises `AwfError` for what no door would take as arguments either."""
    from awf.domain.json_form import without_json_form

    try:
        given = json.loads(text, parse_constant=_no_constant)
        wrong = without_json_form(given)
    except (ValueError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        message = f"The arguments are not JSON: {wrong.encode('utf-8', 'backslashreplace').decode()}."
        raise AwfError("USER.INPUT.USAGE", message, hint="""Write them as '{"city": "Oslo"}'.""")
    if not isinstance(given, dict):
        message = "The arguments must be a JSON object."
        raise AwfError("USER.INPUT.USAGE", message, hint="""Write them as '{"city": "Oslo"}'.""")
    return given


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


class SeenDrift(NamedTuple):
    drift: Drift
    accepted: list[str]

    @property
    def exit_status(self) -> int:
        return 1 if self.drift.changes and not self.accepted else 0

    def document(self) -> dict[str, Any]:
        changes = [{"id": one.id, "kind": one.kind, "what": one.what} for one in self.drift.changes]
        return {"changes": changes, "accepted": self.accepted}

    def lines(self) -> Iterator[str]:
        from awf.application.gateway.pinning import described

        if self.accepted:
            yield from (f"accepted: {one}" for one in self.accepted)
        elif not self.drift.changes:
            yield "Every tool is defined as it was when it was first seen."
        else:
            yield from described(self.drift)
            yield ""
            yield "To trust them as they are now: awf gateway drift --accept ID (or --accept '*')"


def look_at_drift(config: str, accept: Sequence[str]) -> SeenDrift:
    async def look(house: GatewayHouse, gateway: Gateway) -> SeenDrift:
        from awf.application.gateway.pinning import accepted, compare

        offered = {name: one.tools for name, one in gateway.fleet.servers.items() if one.state == "ready"}
        store, clock = house.pins, gateway.fleet.clock
        quarantine = house.file.pinning.mode == "quarantine"
        drift = compare(store.load(), offered, now=clock(), quarantine_new=quarantine)
        if not accept:
            return SeenDrift(drift, [])
        wanted = None if "*" in accept else list(accept)
        pins = accepted(drift.pins, drift, wanted, now=clock())
        problem = store.save(pins)
        if problem is not None:
            raise AwfError(problem.code, problem.message, hint=problem.hint)
        left = {one.id for one in compare(pins, offered, now=clock(), quarantine_new=quarantine).changes}
        return SeenDrift(drift, [one.id for one in drift.changes if one.id not in left])

    return with_gateway(config, look)


def warn(problem: Problem) -> None:
    from awf.interfaces.cli.rendering.problems import warning_line

    click.echo(warning_line(problem), err=True)


def with_gateway(
    config: str,
    work: Callable[[GatewayHouse, Gateway], Awaitable[T]],
    profile: str = "",
    *,
    shadow: bool = False,
) -> T:
    from awf.bootstrap.gateways import GatewayHouse, gateway_path

    app = make_app()
    path = gateway_path(app, config)

    async def run() -> T:
        app.set_up_logging()
        house = GatewayHouse(app, path, shadow=shadow)
        house.warn = warn
        house.check_profile(profile)
        gateway = house.open()
        gateway.fleet.start()
        try:
            await gateway.fleet.settle()
            if gateway.fleet.problems:
                raise house.located(gateway.fleet.problems)
            return await work(house, gateway)
        finally:
            await gateway.close()
            await app.close()

    return asyncio.run(run())
