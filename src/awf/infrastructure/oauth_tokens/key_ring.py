"""The keys of an issuer, kept for a while.

They are fetched again when they are old, and when a token names a key that is not among them, for issuers change their
keys; the latter seldom, since anyone can make up names. If the issuer is away, the keys it gave last do for a day.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING

from awf.domain.ports.token_verifier import IssuerUnreachable
from awf.infrastructure.oauth_tokens.signatures import keys_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.infrastructure.oauth_tokens.issuer import FetchKeys
    from awf.infrastructure.oauth_tokens.signatures import IssuerKey

__all__ = ["KeyRing", "usable_keys"]

FRESH = 900.0
USABLE = 24 * 3600.0
PAUSE = 30.0  # between two fetches for keys that were not there, or while old ones do
PAUSE_AFTER_FAILURE = 5.0
_log = logging.getLogger("awf.gateway")


class KeyRing:
    """`ticks`: seconds that never go back."""

    def __init__(self, fetch: FetchKeys, ticks: Callable[[], float]) -> None:
        self.generation = 0  # changes with the keys
        self._fetch = fetch
        self._ticks = ticks
        self._keys: list[IssuerKey] = []
        self._document = b""
        self._fetched = self._failed = self._looked = -math.inf
        self._fault = "the issuer gave no keys"
        self._fetching = asyncio.Lock()

    @property
    def is_fresh(self) -> bool:
        return self._ticks() - self._fetched < FRESH

    async def keys(self, key_id: str | None) -> list[IssuerKey]:
        """Those that may have made a signature: by name, or all of them. Raises `IssuerUnreachable`."""
        before = self._fetched
        # Old keys do while somebody else fetches new ones.
        if not self.is_fresh and not (self._is_usable and self._fetching.locked()):
            await self._refresh()
        found = self._named(key_id)
        if not found and self._fetched == before:
            await self.look_again()
            found = self._named(key_id)
        if not found and self._failed > self._fetched:  # perhaps it is a new one; nobody can tell
            raise IssuerUnreachable(self._fault)
        return found

    async def look_again(self) -> bool:
        """Fetch them once more, unless that was done a moment ago; whether they are others now."""
        before = self.generation
        async with self._fetching:
            if self._ticks() - self._looked >= PAUSE:
                self._looked = self._ticks()
                await self._load()
        return self.generation != before

    @property
    def _is_usable(self) -> bool:
        return self._ticks() - self._fetched < USABLE

    def _named(self, key_id: str | None) -> list[IssuerKey]:
        return [key for key in self._keys if key_id is None or key.id == key_id]

    async def _refresh(self) -> None:
        """Whoever waited while another fetched shares what came of it."""
        async with self._fetching:
            pause = PAUSE if self._is_usable else PAUSE_AFTER_FAILURE
            if not self.is_fresh and self._ticks() - self._failed >= pause:
                await self._load()
            if not self._is_usable:
                raise IssuerUnreachable(self._fault)

    async def _load(self) -> None:
        try:
            document = await self._fetch()
            if document != self._document:
                self._keys, self._document = usable_keys(document), document
                self.generation += 1
        except (IssuerUnreachable, ValueError) as reason:
            self._failed = self._ticks()
            self._fault = str(reason)
            _log.warning("the keys for tokens could not be fetched: %s", reason)
        else:
            self._fetched = self._ticks()


def usable_keys(document: bytes) -> list[IssuerKey]:
    """Raises ValueError."""
    keys = keys_in(document)
    if not keys:
        raise ValueError("there is no key in the set that can check a signature")
    return keys
