"""Requests to one address: sent with credentials where they are needed, and redirected within the origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.ports.http_client import HttpBroken, HttpFailure, HttpGarbled, HttpTooLarge, HttpUnreachable
from awf.infrastructure.upstreams.channel import MESSAGE_LIMIT
from awf.infrastructure.upstreams.failures import ServerFault, nonsense, unavailable
from awf.infrastructure.upstreams.http.events import EventTooLarge
from awf.infrastructure.upstreams.http.redirects import led_to

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.ports.http_client import HttpAnswer, HttpClient, HttpRoute, QuickAnswer

__all__ = ["Door", "broken", "explained"]

REDIRECTS = 3
_REDIRECTED = frozenset({301, 302, 307, 308})
_PERMANENT = frozenset({301, 308})


class Door:
    """Whoever reads the answer lets go of it: it is a context manager.

    `authorization` gives the header of that name. When the server refuses it, it is called once more with True, to get
    another one.
    """

    def __init__(
        self,
        name: str,
        http: HttpClient,
        url: str,
        headers: Mapping[str, str],
        authorization: Callable[[bool], Awaitable[str]] | None = None,
    ) -> None:
        self._name = name
        self._http = http
        self._url = url
        self._always = dict(headers)
        self._authorization = authorization

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes = b"", *, repeatable: bool = False
    ) -> HttpAnswer:
        """`repeatable`: doing it twice does no harm."""
        if self._authorization is None:
            answer = await self._send_to(self._url, method, headers, body, repeatable=repeatable)
            if answer.status not in _REDIRECTED:
                return answer
            return await self._follow(answer, method, headers, body, repeatable=repeatable)
        shown = {**headers, "Authorization": await self._authorization(False)}
        answer = await self._send_to(self._url, method, shown, body, repeatable=repeatable)
        answer = await self._follow(answer, method, shown, body, repeatable=repeatable)
        if answer.status != 401:
            return answer
        answer.finish()  # refused before it was looked at, so sending it again does no harm
        shown["Authorization"] = await self._authorization(True)
        answer = await self._send_to(self._url, method, shown, body, repeatable=repeatable)
        return await self._follow(answer, method, shown, body, repeatable=repeatable)

    def route(self, headers: Mapping[str, str]) -> HttpRoute | None:
        """For POSTs with these headers, where no credentials are to be fetched first."""
        if self._authorization is not None:
            return None
        try:
            return self._http.route("POST", self._url, {**self._always, **headers})
        except ValueError:
            return None  # `send` says why

    async def sent(self, answer: QuickAnswer, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """What `send` gives, for a POST that went out by the route."""
        try:
            await answer.opened()
        except HttpFailure as reason:
            answer.abort()
            raise self._in_words(reason) from reason
        except BaseException:
            answer.abort()
            raise
        return await self._follow(answer, "POST", headers, body, repeatable=False)

    async def _follow(
        self, answer: HttpAnswer, method: str, headers: Mapping[str, str], body: bytes, *, repeatable: bool
    ) -> HttpAnswer:
        """The answer at the place to which this one leads, if it does."""
        target = self._url
        for _ in range(REDIRECTS + 1):
            if answer.status not in _REDIRECTED or "location" not in answer.headers:
                return answer
            answer.finish()
            target = self._redirected(target, answer)
            answer = await self._send_to(target, method, headers, body, repeatable=repeatable)
        answer.finish()
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
        except HttpFailure as reason:
            raise self._in_words(reason) from reason
        except ValueError as reason:
            raise nonsense(f'MCP server "{self._name}": {reason}.', hint="Correct its `headers`.") from reason

    def _in_words(self, reason: HttpFailure) -> ServerFault:
        if isinstance(reason, HttpUnreachable):
            message = f'MCP server "{self._name}" cannot be reached at {self._url}: {reason}.'
            return unavailable(message, hint="Start the server, or correct its `url`.")
        if isinstance(reason, HttpGarbled):
            return nonsense(f'MCP server "{self._name}" at {self._url}: {reason}.')
        return broken(self._name, reason)


def broken(name: str, reason: Exception) -> ServerFault:
    message = f'The connection to MCP server "{name}" broke: {reason}.'
    return unavailable(message, hint="What was asked of it may or may not have been done.")


def explained(name: str, reason: Exception) -> ServerFault:
    """Why an answer could not be read to its end."""
    if isinstance(reason, HttpTooLarge | EventTooLarge):
        size = MESSAGE_LIMIT // 1024 // 1024
        return nonsense(f'MCP server "{name}" sent a message of over {size} MiB.')
    if isinstance(reason, HttpBroken):
        return broken(name, reason)
    return nonsense(f'MCP server "{name}": {reason}.')
