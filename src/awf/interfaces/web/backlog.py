"""What happened since a page was last told: of each call the latest, and of too many the newest. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.interfaces.web.json_bytes import json_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Backlog"]

LIMIT = 500  # calls that one message tells of; a page shows fewer


class News(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message to the page."""

    calls: list[Mapping[str, Any]]  # in the order in which they began
    skipped: int  # calls of which it was told nothing: it should ask for the list
    status: bool  # the status or the tools have changed
    approvals: bool = False  # something was asked or answered


class Backlog:
    """It never grows beyond its limit, however slowly a page reads."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._skipped = 0
        self._status = False
        self._approvals = False

    def add(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "status":
            self._status = True
        elif event["type"] == "approvals":
            self._approvals = True
        elif event["type"] == "call":
            self._add_call(event["call"])

    def _add_call(self, call: Mapping[str, Any]) -> None:
        self._calls[call["id"]] = call
        if len(self._calls) > self._limit:
            del self._calls[next(iter(self._calls))]
            self._skipped += 1

    def take(self) -> bytes:
        """The message, as JSON; the backlog is empty afterwards."""
        news = News(list(self._calls.values()), self._skipped, self._status, self._approvals)
        self._calls, self._skipped, self._status, self._approvals = {}, 0, False, False
        return json_bytes(news)
