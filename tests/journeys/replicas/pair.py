"""Two gateways that share a database, and the way in that belongs to neither."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from awf.testing.round_robin import RoundRobin

if TYPE_CHECKING:
    from collections.abc import Iterator

stage = sys.modules["gateway_hostile_stage"]


class Pair:
    def __init__(self, journey: Any, config: dict[str, Any], *options: str) -> None:
        self.journey = journey
        self.config = _known(config)
        self.options = options
        self.houses = [self.start(0), self.start(1)]
        self.proxy = RoundRobin([house.client.port for house in self.houses])

    def configure(self, config: dict[str, Any]) -> None:
        """They read the same file."""
        self.houses[0].configure(_known(config))

    def until_said(self, text: str) -> None:
        for house in self.houses:
            house.until_said(text)

    def stop(self) -> None:
        for house in self.houses:
            house.stop()

    def start(self, number: int) -> Any:
        """As on a machine of its own: nothing but the database is shared, and the key that signs the audit."""
        environment = self.journey.environment
        own = environment["AWF_STORAGE"]
        environment["AWF_STORAGE"] = f"{own}-{number}"
        try:
            house = stage.House(self.journey, self.config, *self.options)
        finally:
            environment["AWF_STORAGE"] = own
        house.until_said("one of the gateways of this database")
        return house

    @property
    def client(self) -> Any:
        """Who comes in through the load balancer."""
        return stage.Client(self.proxy.port)

    def session_at(self, number: int, **options: Any) -> Any:
        """A session that begins at this gateway."""
        self.proxy.aim(number)
        session = self.client.session(**options)
        assert self.proxy.passed[-1].server == number
        return session

    def served(self, path: str = "/mcp") -> set[int]:
        """Which gateways were asked."""
        return {one.server for one in self.proxy.passed if one.path.startswith(path)}


@contextlib.contextmanager
def opened(journey: Any, config: dict[str, Any], *options: str) -> Iterator[Pair]:
    pair = Pair(journey, config, *options)
    with pair.proxy:
        yield pair
    pair.stop()


def _known(config: dict[str, Any]) -> dict[str, Any]:
    """Clients speak to the balancer, under its name."""
    return {**config, "listen": {"allowed_hosts": ["127.0.0.1", "localhost"], **config.get("listen", {})}}
