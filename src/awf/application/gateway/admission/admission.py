"""Every request passes here first, and comes out as a caller or as the answer that refuses it.

The order: a Unix socket is guarded by its file; else the host and the origin, what a browser asks in advance, the token,
its scopes, and how often the caller came. Places for work at the same time are taken apart from that (`acquire`), because
only whoever answers knows which requests are work: a stream that waits for news is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.application.gateway.admission import refusals
from awf.application.gateway.admission.bearer import TOKEN, StaticTokens, sent_token
from awf.application.gateway.admission.caller import Caller
from awf.application.gateway.admission.cross_origin import is_preflight, permission, preflight
from awf.application.gateway.admission.names import DoorNames
from awf.application.gateway.admission.protected_resource import (
    WELL_KNOWN,
    metadata_address,
    protected_resource,
    resource_path,
)
from awf.application.gateway.admission.rate import RateLimit
from awf.domain.errors import AwfError
from awf.domain.gateway_file import is_loopback
from awf.domain.ports.http_server import HttpReply
from awf.domain.ports.token_verifier import IssuerUnreachable, TokenRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from awf.domain.gateway_file import Listen, ListenOAuth
    from awf.domain.ports.http_server import HeaderFields, HttpRequest
    from awf.domain.ports.token_verifier import TokenVerifier, VerifiedToken

__all__ = ["Admission"]

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
NAMES_KEPT = 256
LONGEST_KEPT = 512
_PROGRAM = "client:"  # how the subjects of programs begin that speak for themselves
_OTHER = "oauth:"
_NO_SCOPES: frozenset[str] = frozenset()
_UNIX = Caller("", _NO_SCOPES, "unix", "unix")


class _Welcome(msgspec.Struct, frozen=True):
    """Host and origin are fine; an allowed page has to be told so in the answer."""

    headers: HeaderFields = ()


class Admission:
    """`addresses`: host:port of each socket, the port that was really taken. `now`: seconds that never go back.

    `is_open` says of which addresses, besides those for watchdogs, there is nothing to hide. `naming_key`: for names of
    tokens that have none.
    """

    def __init__(
        self,
        listen: Listen,
        addresses: Iterable[str],
        verifier: TokenVerifier | None,
        now: Callable[[], float],
        is_open: Callable[[str], bool] = lambda _: False,
        naming_key: bytes = b"",
    ) -> None:
        self._oauth = listen.oauth
        self._guarded = listen.needs_token
        if listen.oauth is not None and verifier is None:
            raise ValueError("tokens of an authorization server need a verifier")
        addresses = tuple(addresses)
        _refuse_open_door(addresses, guarded=self._guarded)
        self._names = DoorNames(addresses, listen.allowed_hosts, listen.allowed_origins)
        self._tokens = StaticTokens(listen.tokens, naming_key)
        self._verifier = verifier
        self._rate = RateLimit(listen.rate) if listen.rate is not None else None
        self._now = now
        self._is_open = is_open
        self._places = listen.concurrency
        self._working = 0
        self._verdicts: dict[tuple[str, str | None], _Welcome | HttpReply] = {}
        self._locals: dict[str, Caller] = {}
        # Nothing to ask but the names: then a known pair of them is all that it takes.
        self._plain = not self._guarded and self._rate is None

    async def admit(self, request: HttpRequest) -> Caller | HttpReply:
        client = request.client
        if client == "unix":
            return _UNIX if self._rate is None else self._limited(_UNIX)
        headers = request.headers
        host, origin = headers.get("host", ""), headers.get("origin")
        verdict = self._verdicts.get((host, origin)) or self._judge(host, origin)
        if type(verdict) is HttpReply:
            return verdict
        if origin is None:
            if self._plain:
                return self._locals.get(client) or self._local(client)
            return await self._enter(request, host)
        assert type(verdict) is _Welcome
        if is_preflight(request.method, headers):
            return preflight(headers, verdict.headers)
        answer = await self._enter(request, host)
        return refusals.with_headers(answer, verdict.headers) if type(answer) is HttpReply else answer

    def known(self, request: HttpRequest) -> Caller | None:
        """A caller from no page, who comes in with this head now and later; else None."""
        if self._rate is not None:
            return None
        if request.client == "unix":
            return _UNIX
        host = request.headers.get("host", "")
        if type(self._verdicts.get((host, None))) is not _Welcome:
            return None
        if self._plain:
            return self._local(request.client)
        token = self._tokens.find(sent_token(request.headers.get("authorization", "")))
        return None if token is None else Caller(token.subject, _NO_SCOPES, request.client, token.key)

    def headers_for(self, request: HttpRequest) -> HeaderFields:
        """What every answer to this request has to carry, streams too; mostly nothing."""
        origin = request.headers.get("origin")
        if origin is None or request.client == "unix":
            return ()
        verdict = self._judge(request.headers.get("host", ""), origin)
        return verdict.headers if type(verdict) is _Welcome else ()

    def require(self, request: HttpRequest, caller: Caller, scopes: Collection[str]) -> HttpReply | None:
        """Refuse a caller that lacks some of these scopes; those that the door itself wants are checked already."""
        missing = sorted(set(scopes) - caller.scopes)
        if not missing:
            return None
        needed = dict.fromkeys((*(self._oauth.scopes if self._oauth else ()), *sorted(scopes)))
        challenge = self._challenge(request, request.headers.get("host", ""), needed)
        return refusals.with_headers(refusals.lacks_scopes(challenge, missing), self.headers_for(request))

    def acquire(self) -> HttpReply | None:
        """Take a place for work; each one taken is given back with `release`. An answer means: there is none."""
        if self._working >= self._places:
            return refusals.busy(self._places)
        self._working += 1
        return None

    def take_place(self) -> bool:
        """The same for whoever cannot tell a caller that there is none."""
        if self._working >= self._places:
            return False
        self._working += 1
        return True

    def release(self) -> None:
        assert self._working > 0, "a place was given back twice"
        self._working -= 1

    @property
    def working(self) -> int:
        return self._working

    # Host and origin

    def _judge(self, host: str, origin: str | None) -> _Welcome | HttpReply:
        known = self._verdicts.get((host, origin))
        if known is not None:
            return known
        verdict = self._look_at(host, origin)
        if len(host) + len(origin or "") <= LONGEST_KEPT:
            if len(self._verdicts) >= NAMES_KEPT:
                self._verdicts.clear()
            self._verdicts[host, origin] = verdict
        return verdict

    def _look_at(self, host: str, origin: str | None) -> _Welcome | HttpReply:
        if not self._names.knows_host(host):
            return refusals.foreign_host(host)
        if origin is None:
            return _Welcome()
        if self._names.allows_origin(origin) or self._names.is_own_origin(origin, host):
            return _Welcome(permission(origin))
        return refusals.foreign_origin(origin)

    # Tokens

    async def _enter(self, request: HttpRequest, host: str) -> Caller | HttpReply:
        path = request.path
        if path in OPEN_PATHS or self._is_open(path):
            return self._local(request.client)
        if not self._guarded:
            return self._limited(self._local(request.client))
        if self._oauth is not None and path.startswith(WELL_KNOWN):
            return _metadata(self._oauth, request, host)
        caller = await self._identify(request, host)
        if type(caller) is HttpReply:
            # Guesses are counted by address, apart from those who have a token.
            return self._too_fast(f"unknown:{request.client}") or caller
        assert type(caller) is Caller
        return self._limited(caller)

    async def _identify(self, request: HttpRequest, host: str) -> Caller | HttpReply:
        token = sent_token(request.headers.get("authorization", ""))
        if not token:
            in_address = "access_token" in request.query
            return refusals.wants_token(self._challenge(request, host), in_address=in_address)
        known = self._tokens.find(token)
        if known is not None:
            return Caller(known.subject, _NO_SCOPES, request.client, known.key)
        if self._oauth is None or self._verifier is None:
            return refusals.wrong_token(self._challenge(request, host), "it is not one of this gateway's")
        return await self._verify(request, token, self._oauth, self._verifier)

    async def _verify(
        self, request: HttpRequest, token: str, oauth: ListenOAuth, verifier: TokenVerifier
    ) -> Caller | HttpReply:
        host = request.headers.get("host", "")
        try:
            good = await verifier.verify(token)
        except TokenRefused as reason:
            return refusals.wrong_token(self._challenge(request, host), str(reason))
        except IssuerUnreachable:  # whoever asks the issuer says so in the log, and not for every request
            return refusals.issuer_unreachable()
        missing = [scope for scope in dict.fromkeys(oauth.scopes) if scope not in good.scopes]
        if missing:
            return refusals.lacks_scopes(self._challenge(request, host), missing)
        # A program may have the name of a person; lengths keep the two parts apart.
        key = f"oauth:{len(good.client)}:{good.client}:{good.subject}"
        return Caller(_subject(good), good.scopes, request.client, key)

    def _challenge(self, request: HttpRequest, host: str, scopes: Iterable[str] | None = None) -> str:
        oauth = self._oauth
        if oauth is None:
            return 'Bearer realm="awf"'
        named = " ".join(dict.fromkeys(oauth.scopes if scopes is None else scopes))
        scope = f', scope="{named}"' if named else ""
        return f'Bearer realm="awf", resource_metadata="{metadata_address(oauth, host, request.path)}"{scope}'

    # Callers and how often they come

    def _local(self, client: str) -> Caller:
        known = self._locals.get(client)
        if known is None:
            if len(self._locals) >= NAMES_KEPT:
                self._locals.clear()
            # One key for all of this machine: a client may come by either address family.
            known = self._locals[client] = Caller("", _NO_SCOPES, client, "local")
        return known

    def _limited(self, caller: Caller) -> Caller | HttpReply:
        return self._too_fast(caller.key) or caller

    def _too_fast(self, key: str) -> HttpReply | None:
        limit = self._rate
        if limit is None:
            return None
        seconds = limit.wait(key, self._now())
        return refusals.too_fast(seconds, limit.rate) if seconds else None


def _subject(token: VerifiedToken) -> str:
    """Nobody is taken for one of our own tokens, or for a program, because of what an authorization server calls them; and
    no program for a person.
    """
    if not token.subject:
        return f"{_PROGRAM}{token.client}"
    return (
        f"{_OTHER}{token.subject}" if token.subject.startswith((TOKEN, _PROGRAM, _OTHER)) else token.subject
    )


def _metadata(oauth: ListenOAuth, request: HttpRequest, host: str) -> HttpReply:
    path = resource_path(request.path)
    if path is None:
        return refusals.refusal(404, "NOT_FOUND", "There is no such document here.")
    if request.method not in {"GET", "HEAD"}:
        return refusals.refusal(405, "WRONG_METHOD", "This can only be read.", (("Allow", "GET, HEAD"),))
    body = msgspec.json.encode(protected_resource(oauth, host, path))
    return HttpReply(200, (("Content-Type", "application/json"), ("Cache-Control", "max-age=300")), body)


def _refuse_open_door(addresses: Iterable[str], *, guarded: bool) -> None:
    """The file was checked; an address that was given elsewhere, such as on the command line, was not."""
    for address in addresses:
        if not guarded and not is_loopback(address.rpartition(":")[0]):
            raise AwfError(
                "USER.GATEWAY.OPEN_DOOR",
                f"Anyone who can reach {address} could use every tool.",
                hint="Add `tokens` or `oauth` under `listen`, or listen at 127.0.0.1.",
            )
