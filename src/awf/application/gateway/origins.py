"""Who a client of the gateway is to the gate. Made once for each; a call only looks it up.

Which context its calls belong to: the one it names (`X-AWF-Context`), else that of its credential, else the one of the
gateway. Never its MCP session: clients open a new one as they please.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.origin import Origin
from awf.application.gateway.client import Exchange
from awf.domain.grant import Holder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gateway.client import Client

__all__ = ["CONTEXT_HEADER", "Apart", "Origins"]

CONTEXT_HEADER = "x-awf-context"
KEPT = 4096
LONGEST = 200
_LINKS_SINCE = "2025-06-18"
_OURS = ("subject:", "gateway:", "mcp-serve:")  # how contexts begin that nobody has named
LONGEST_CONTEXT = 257  # one more than counts: what is too long stays so


class Origins:
    def __init__(
        self, default: str, workspace: str, mask: Callable[[str], str] = str, place: str = ""
    ) -> None:
        """`mask`: what a client says of itself is recorded, so it must hold no secret that is known. `place`: of this gateway;
        somebody with the same name elsewhere has another context.
        """
        self._mask = mask
        self._default = default
        self._place = f"@{place}" if place else ""
        self._workspace = workspace
        self._subjects: dict[str, str] = {}  # by the key of a credential
        self._lasting: dict[str, str] = {}  # the same of those that are few
        self._made: dict[tuple[str, str, str, str, str, str], Origin] = {}

    def remember(self, key: str, subject: str, *, lasting: bool = False) -> None:
        """Whose credential a key stands for. Keys are new in every process, subjects are not.

        Who is remembered for good need not be named with every request.
        """
        if lasting and self._lasting.get(key) != subject:
            self._lasting[key] = subject
        elif not lasting and self._lasting.get(key, subject) != subject:
            del self._lasting[key]
        elif self._subjects.get(key) == subject:
            return
        kept = self._subjects if len(self._subjects) < KEPT else {}
        self._subjects = {**kept, key: subject}  # another one: who was met before is looked at again

    def of(self, client: Client, headers: Mapping[str, str]) -> Origin:
        named = headers.get(CONTEXT_HEADER, "")
        latest = client.origin
        if latest is not None and latest[0] is self._subjects and latest[1] == named:
            return latest[2]
        subject = self._lasting.get(client.key) or self._subjects.get(client.key, "")
        known = client.key, subject, named, client.name, client.profile, client.version
        origin = self._made.get(known)
        if origin is None:
            if len(self._made) >= KEPT:
                self._made.clear()
            origin = self._made[known] = self._new(client, subject, named[:LONGEST_CONTEXT])
        client.context = origin.context
        client.origin = self._subjects, named, origin
        return origin

    def _new(self, client: Client, subject: str, named: str) -> Origin:
        usual = f"subject:{subject}{self._place}" if subject else self._default
        if named != usual and (named.startswith(_OURS) or named == self._default):
            named = f"client:{named}"  # what stands for somebody else is not theirs to name
        context = self._mask(named) or usual
        return Origin(
            context=context,
            named=bool(named),
            door="gateway",
            holder=Holder(self._workspace, subject, context),
            client=self._mask(" ".join(client.name[:LONGEST].split())),  # in one line: people read it
            profile=client.profile,
            links=client.version >= _LINKS_SINCE,
        )


class Apart(Exchange):
    """Something about a client while it asks for nothing. It counts as of the context that its latest request named."""

    __slots__ = ()

    def __init__(self, client: Client) -> None:
        named = client.origin[1] if client.origin is not None else ""
        super().__init__(client, None, _Nowhere(), meta={}, headers={CONTEXT_HEADER: named} if named else {})


class _Nowhere:
    def send(self, message: dict[str, Any]) -> bool:
        del message
        return False

    def pause(self) -> None:
        pass
