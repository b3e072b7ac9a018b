"""OAuth 2.0 client credentials (RFC 6749, section 4.4): a secret of our own is exchanged for tokens that do not last."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote_plus, urlencode, urlsplit, urlunsplit

from awf.domain.ports.http_client import HttpFailure, HttpGarbled, HttpTooLarge
from awf.infrastructure.upstreams.failures import ServerFault, nonsense, unavailable
from awf.infrastructure.upstreams.oauth.token_answer import Token, is_wrong_client, refused, token_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.ports.http_client import HttpClient

__all__ = ["ClientCredentials"]

ANSWER_LIMIT = 1024 * 1024
ASKING_SECONDS = 30.0
MARGIN = 60.0  # seconds before its end at which a token is no longer used, or a tenth of a short life


class _Kept(NamedTuple):
    text: str
    until: float


class ClientCredentials:
    """`name` is that of the MCP server, for messages. The secret and the tokens are in none of them."""

    def __init__(
        self,
        http: HttpClient,
        token_url: str,
        client_id: str,
        client_secret: str,
        scope: str = "",
        resource: str = "",
        *,
        name: str = "",
        on_token: Callable[[str], None] | None = None,
    ) -> None:
        """`on_token` hears of each token before it is used, so that it can be kept secret."""
        self._http = http
        self._on_token = on_token
        self._url = token_url
        self._id = client_id
        self._secret = client_secret
        wanted = {"grant_type": "client_credentials", "scope": scope, "resource": resource}
        self._wanted = {key: value for key, value in wanted.items() if value}
        place = urlunsplit((*urlsplit(token_url)[:3], "", ""))
        self._who = f'The token server of MCP server "{name}" at {place}'
        self._in_header = True  # client_secret_basic, which every server has to know; else client_secret_post
        self._kept: _Kept | None = None
        self._fault: ServerFault | None = None
        self._asking = asyncio.Lock()
        self._rounds = 0  # questions that have been answered, one way or the other

    async def token(self, *, refresh: bool = False) -> str:
        """Raises `ServerFault`. `refresh`: the one before was refused, however long it should have lasted."""
        if not refresh and (kept := self._kept) is not None and _now() < kept.until:
            return kept.text
        rounds = self._rounds
        async with self._asking:
            # Whoever waited while another asked shares what came of it, be it good or bad.
            if self._rounds == rounds:
                await self._ask()
            if self._kept is None:
                assert self._fault is not None
                raise self._fault
            return self._kept.text

    async def authorization(self, refresh: bool) -> str:
        """The value of the header."""
        return f"Bearer {await self.token(refresh=refresh)}"

    async def _ask(self) -> None:
        kept = fault = None
        asked_at = _now()
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                token = await self._fetch()
            if self._on_token is not None:
                self._on_token(token.text)
            kept = _Kept(token.text, asked_at + _use(token.lifetime))
        except ServerFault as reason:
            fault = reason
        except TimeoutError:
            message = f"{self._who} did not answer within {ASKING_SECONDS:g} s."
            fault = unavailable(message, hint="Try again later.", tool_code="TIMEOUT")
        self._kept, self._fault = kept, fault
        self._rounds += 1

    async def _fetch(self) -> Token:
        status, body = await self._send()
        if self._in_header and is_wrong_client(status, body):
            self._in_header = False
            second = await self._send()
            if second[0] == 200:
                status, body = second
            else:
                self._in_header = True  # it was not that; the first answer is the one that counts
        if status != 200:
            raise refused(self._who, status, body, self._secret)
        return token_in(self._who, body)

    async def _send(self) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        form = dict(self._wanted)
        if self._in_header:
            headers["Authorization"] = _basic(self._id, self._secret)
        else:
            form.update(client_id=self._id, client_secret=self._secret)
        try:
            answer = await self._http.send(
                "POST", self._url, headers=headers, body=urlencode(form).encode(), repeatable=True
            )
            async with answer:
                return answer.status, await answer.body(ANSWER_LIMIT)
        except (HttpGarbled, HttpTooLarge, ValueError) as reason:
            hint = "Correct `oauth.token_url`."
            raise nonsense(f"{self._who} cannot be understood: {reason}.", hint=hint) from reason
        except HttpFailure as reason:
            hint = "Start it, or correct `oauth.token_url`."
            raise unavailable(f"{self._who} cannot be reached: {reason}.", hint=hint) from reason


def _basic(client_id: str, client_secret: str) -> str:
    pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _use(lifetime: float | None) -> float:
    """For how long a token is used. Without a lifetime: until it is refused."""
    return float("inf") if lifetime is None else lifetime - min(MARGIN, lifetime / 10)


def _now() -> float:
    return asyncio.get_running_loop().time()
