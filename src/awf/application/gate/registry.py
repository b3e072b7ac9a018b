"""The tools that programs have registered: which there are, in which order, and what a name means.

Pure but for the listeners, who hear of what happens to servers and tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gate.manifest_checks import ManifestRules, known_manifest, known_server
from awf.application.gate.telling import Listeners
from awf.domain.errors import InvalidWorkflowError
from awf.domain.manifest import GatewayEvent, McpManifest, McpServerConfig, MCPTool, ToolRegistryEntry
from awf.domain.problem import Problem, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Registered", "RegistrationRefused", "Resolved", "ToolRegistry"]

_SERVER_TWICE = "USER.GATEWAY.DUPLICATE_SERVER"


class RegistrationRefused(InvalidWorkflowError):  # noqa: N818  as the other refusals
    """Nothing of it was registered. `problems` has everything that is wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.message = "\n".join(map(_line, problems))
        self.args = (self.message,)


class Registered(msgspec.Struct, frozen=True):
    """A server as it was registered; without a configuration nobody can call its tools."""

    manifest: McpManifest
    config: McpServerConfig | None = None

    @property
    def server_id(self) -> str:
        return self.manifest.server_id

    @property
    def enabled(self) -> bool:
        return self.config is None or self.config.enabled


class Resolved(NamedTuple):
    """What a name means: a tool, or why not."""

    tool_id: str
    server: Registered | None = None
    tool: MCPTool | None = None
    reason: str = ""
    candidates: tuple[str, ...] = ()  # where it may mean several


class ToolRegistry:
    def __init__(self, rules: ManifestRules) -> None:
        self._rules = rules
        self._servers: dict[str, Registered] = {}
        self._listeners: Listeners[GatewayEvent] = Listeners()

    def listen(self, listener: Callable[[GatewayEvent], None]) -> Callable[[], None]:
        """Gives what ends it."""
        return self._listeners.add(listener)

    def tell(self, event: GatewayEvent) -> None:
        self._listeners.tell(event)

    # -- changes -----------------------------------------------------------------------------------------------------

    def checked_manifest(self, given: Any) -> Registered:
        """Registers nothing yet. Raises `RegistrationRefused`."""
        found = known_manifest(given, self._rules)
        return self._fresh(found if isinstance(found, list) else Registered(found), given)

    def checked_server(self, given: Any) -> Registered:
        found = known_server(given, self._rules)
        return self._fresh(
            found if isinstance(found, list) else Registered(found.manifest, _named(found)), given
        )

    def _fresh(self, found: Registered | list[Problem], given: Any) -> Registered:
        problems = found if isinstance(found, list) else []
        server_id = given.get("serverId") if isinstance(given, dict) else None
        if isinstance(server_id, str) and server_id in self._servers:
            message = f"There is a server “{server_id}” already."
            hint = "Give it another id; `reset` forgets all servers."
            problems = [
                *problems,
                Problem(code=_SERVER_TWICE, message=message, path=("serverId",), hint=hint),
            ]
        if problems or isinstance(found, list):
            raise RegistrationRefused(problems)
        return found

    def add(self, server: Registered) -> None:
        self._servers = dict(sorted({**self._servers, server.server_id: server}.items()))
        self.tell(GatewayEvent(type="server_registered", server_id=server.server_id))

    def clear(self) -> None:
        gone, self._servers = list(self._servers), {}
        for server_id in gone:
            self.tell(GatewayEvent(type="server_unregistered", server_id=server_id))

    # -- looking -----------------------------------------------------------------------------------------------------

    def entries(self) -> list[ToolRegistryEntry]:
        """By the ids of servers, then by the names of tools; only of servers that are enabled."""
        return [
            ToolRegistryEntry(tool_id=f"{server_id}:{tool.name}", server_id=server_id, tool=tool)
            for server_id, server in self._servers.items()
            if server.enabled
            for tool in sorted(server.manifest.tools, key=lambda one: one.name)
        ]

    def resolve(self, name: str) -> Resolved:
        """`serverId:name`, or a name alone where only one server has it."""
        server = self._servers.get(name.partition(":")[0])
        if server is not None and ":" in name:
            return self._of(server, name)
        having = [f"{entry.server_id}:{name}" for entry in self.entries() if entry.tool.name == name]
        if len(having) == 1:
            return self._of(self._servers[having[0].partition(":")[0]], having[0])
        if having:
            reason = f"Several servers have a tool “{name}”: name one of {', '.join(having)}."
            return Resolved(name, reason=reason, candidates=tuple(having))
        return Resolved(name, reason=self.unknown(name))

    def _of(self, server: Registered, tool_id: str) -> Resolved:
        name = tool_id.partition(":")[2]
        tool = next((one for one in server.manifest.tools if one.name == name), None)
        if tool is None:
            return Resolved(tool_id, reason=self.unknown(tool_id))
        if not server.enabled:
            return Resolved(tool_id, reason=f"The server “{server.server_id}” is not enabled.")
        return Resolved(tool_id, server, tool)

    def unknown(self, name: str) -> str:
        """What is said of a name that no tool has."""
        close = suggest(name, [entry.tool_id for entry in self.entries()])
        return f"There is no tool “{name[:200]}”." + (f" Did you mean “{close}”?" if close else "")


def _named(config: McpServerConfig) -> McpServerConfig:
    """`http` is another word for the same."""
    if config.transport != "http":
        return config
    return msgspec.structs.replace(config, transport="streamableHttp")


def _line(problem: Problem) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem.path).lstrip(".")
    return f"{where}: {problem.message}" if where else problem.message
