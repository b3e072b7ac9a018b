"""What people see of the gateway."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from awf.application.gateway.gate_desk import GateDesk, known_of
from awf.domain.mcp_server import transport_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.application.gateway.call_book import CallBook, Subscription
    from awf.application.gateway.gateway import Gateway
    from awf.application.gateway.metrics import Gauges
    from awf.domain.override import ToolOverride

__all__ = ["GatewayDesk"]


class GatewayDesk:
    """The page's `Desk`."""

    def __init__(
        self,
        gateway: Gateway,
        book: CallBook,
        config: str,
        clock: Callable[[], float] = time.time,
        operator: Callable[[], str] | None = None,
    ) -> None:
        self._gateway = gateway
        self._book = book
        self._config = config
        self._started = clock()
        self._gate = GateDesk(gateway, book, operator, clock)
        self.reload_error = ""
        self.counts: Callable[[], tuple[int, int]] = lambda: (
            len(gateway.hub.clients),
            len(gateway.hub.listeners),
        )

    @property
    def gate(self) -> GateDesk | None:
        """Whether there is one may change with the configuration."""
        return self._gate if self._gateway.fleet.gate is not None else None

    def tick(self) -> None:
        """Once a second or so."""
        self._gate.tick()

    def status(self) -> dict[str, Any]:
        fleet = self._gateway.fleet
        sessions, streams = self.counts()
        return {
            "version": self._gateway.info["version"],
            "started": self._started,
            "config": self._config,
            "reloads": sum(self._book.reloads.values()),
            "reload_error": self.reload_error,
            "sessions": sessions,
            "streams": streams,
            "in_flight": self._book.in_flight,
            "servers": self._servers(),
            "profiles": [
                {
                    "name": name,
                    "description": profile.description,
                    "tools": len(fleet.offers.within(name).tools),
                    "path": f"/mcp/{name}",
                }
                for name, profile in fleet.file.profiles.items()
            ],
            "drift": [
                {
                    "id": change.id,
                    "kind": change.kind,
                    "what": change.what,
                    "quarantined": change.id in fleet.withheld,
                }
                for change in fleet.changes
            ],
            "problems": [
                f"{problem.message} {problem.hint}".strip() for problem in (*fleet.problems, *fleet.warnings)
            ],
        }

    def _servers(self) -> list[dict[str, Any]]:
        fleet, figures = self._gateway.fleet, self._book.servers()
        shown = []
        for name, config in sorted(fleet.file.servers.items()):
            server, figure = fleet.servers.get(name), figures.get(name)
            era = server.last_era if server is not None else None
            shown.append(
                {
                    "name": name,
                    "transport": transport_of(config),
                    "state": server.state if server is not None else "disabled",
                    "detail": server.detail if server is not None else "",
                    "protocol": era.version if era is not None else "",
                    "tools": len(server.tools) if server is not None else 0,
                    "calls": figure.calls if figure is not None else 0,
                    "errors": figure.errors if figure is not None else 0,
                    "restarts": server.restarts if server is not None else 0,
                    "in_flight": server.in_flight if server is not None else 0,
                    "since": server.since if server is not None else self._started,
                }
            )
        return shown

    def tools(self) -> list[dict[str, Any]]:
        fleet = self._gateway.fleet
        names = list(fleet.file.profiles)
        within = {name: {one.id for one in fleet.offers.within(name).tools} for name in names}
        originals = {name: _by_name(server.tools) for name, server in fleet.servers.items()}
        shown = [
            {
                "id": one.id,
                "name": one.definition["name"],
                "server": one.server,
                "original": originals[one.server].get(one.tool, {}),
                "published": one.definition,
                "profiles": [name for name in names if one.id in within[name]],
                "quarantined": False,
                "edits": _edits(fleet.file.overrides.get(one.id)),
                **self._known_to_gate(one.id),
            }
            for one in fleet.offers.view.tools
        ]
        return [*shown, *self._withheld()]

    def _known_to_gate(self, tool_id: str) -> dict[str, Any]:
        known = self._gateway.fleet.offers.known_to_gate(tool_id)
        return {"gate": known_of(known)} if known is not None else {}

    def _withheld(self) -> list[dict[str, Any]]:
        fleet = self._gateway.fleet
        found = []
        for tool_id in sorted(fleet.withheld):
            server, _, name = tool_id.partition(":")
            tools = fleet.servers[server].tools if server in fleet.servers else ()
            original = _by_name(tools).get(name, {})
            found.append(
                {
                    "id": tool_id,
                    "name": name,
                    "server": server,
                    "original": original,
                    "published": {},
                    "profiles": [],
                    "quarantined": True,
                }
            )
        return found

    def calls(self, *, operator: bool = False) -> list[dict[str, Any]]:
        return self._book.calls(operator=operator)

    def watch(self, *, operator: bool = False) -> Subscription:
        return self._book.watch(operator=operator)

    def gauges(self) -> Gauges:
        servers = self._gateway.fleet.servers
        return {
            "server_up": {name: one.state == "ready" for name, one in servers.items()},
            "server_restarts": {name: one.restarts for name, one in servers.items()},
            "in_flight": self._book.in_flight,
        }


def _by_name(tools: Sequence[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {tool.get("name"): tool for tool in tools}


def _edits(override: ToolOverride | None) -> dict[str, Any]:
    """Which arguments are not what they were. No values: they may be secret."""
    if override is None:
        return {"hidden": [], "sent": [], "renamed": {}}
    return {
        "hidden": [field for field in override.hide_fields if field not in override.defaults],
        "sent": list(override.defaults),
        "renamed": override.rename_fields,
    }
