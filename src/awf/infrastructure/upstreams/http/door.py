"""Requests to one address: sent, and redirected within the origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.ports.http_client import HttpFailure, HttpGarbled, HttpUnreachable
from awf.infrastructure.upstreams.failures import ServerFault, nonsense, unavailable
from awf.infrastructure.upstreams.http.redirects import led_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.http_client import HttpAnswer, HttpClient

__all__ = ["Door", "broken"]

REDIRECTS = 3
_REDIRECTED = frozenset({301, 302, 307, 308})
_PERMANENT = frozenset({301, 308})


class Door:
    """Whoever reads the answer lets go of it: it is a context manager."""

    def __init__(self, name: str, http: HttpClient, url: str, headers: Mapping[str, str]) -> None:
        self._name = name
        self._http = http
        self._url = url
        self._always = dict(headers)

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes = b"", *, repeatable: bool = False
    ) -> HttpAnswer:
        """`repeatable`: doing it twice does no harm."""
        target = self._url
        for _ in range(REDIRECTS + 1):
            answer = await self._send_to(target, method, headers, body, repeatable=repeatable)
            if answer.status not in _REDIRECTED or "location" not in answer.headers:
                return answer
            answer.finish()
            target = self._redirected(target, answer)
        raise nonsense(f'MCP server "{self._name}" redirects in circles.', hint="Correct its `url`.")

    def _redirected(self, source: str, answer: HttpAnswer) -> str:
        location = answer.headers["location"]
        target = led_to(source, location)
        if target is None:
            message = f'MCP server "{self._name}" redirects to another place: {location}.'
            raise nonsense(message, hint="If that is right, set its `url` to it.", status=answer.status)
        if answer.status in _PERMANENT:
            self._url = target
        return target

    async def _send_to(
        self, target: str, method: str, headers: Mapping[str, str], body: bytes, *, repeatable: bool
    ) -> HttpAnswer:
        try:
            return await self._http.send(
                method, target, headers={**self._always, **headers}, body=body, repeatable=repeatable
            )
        except HttpUnreachable as reason:
            message = f'MCP server "{self._name}" cannot be reached at {self._url}: {reason}.'
            raise unavailable(message, hint="Start the server, or correct its `url`.") from reason
        except HttpGarbled as reason:
            raise nonsense(f'MCP server "{self._name}" at {self._url}: {reason}.') from reason
        except HttpFailure as reason:
            raise broken(self._name, reason) from reason
        except ValueError as reason:
            raise nonsense(f'MCP server "{self._name}": {reason}.', hint="Correct its `headers`.") from reason


def broken(name: str, reason: Exception) -> ServerFault:
    message = f'The connection to MCP server "{name}" broke: {reason}.'
    return unavailable(message, hint="What was asked of it may or may not have been done.")
