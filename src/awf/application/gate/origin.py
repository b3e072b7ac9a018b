"""Where a call comes from, as far as the gate wants to know."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from awf.domain.grant import Holder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.approval import Approval

__all__ = ["Asking", "Door", "NeedsInput", "Origin", "Said"]

Door = Literal["gateway", "step", "mcp-serve", "api"]


class Origin(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Made once for each who calls, not for each call."""

    context: str  # the security context its calls belong to
    door: Door
    named: bool = False  # the caller itself said which context it is
    holder: Holder = Holder()
    client: str = ""
    profile: str = ""
    workflow: str = ""
    step: str = ""
    # None: any grant that its holder has counts. Else only these, named with the call.
    grant_ids: tuple[str, ...] | None = None
    redact_keys: tuple[str, ...] = ()
    links: bool = True  # whether it knows links to resources
    waits: bool = True  # whether its calls may wait for a person

    @functools.cached_property
    def seen(self) -> dict[str, str]:
        """What conditions may ask about it."""
        holder = self.holder
        return {
            "id": self.context,
            "door": self.door,
            "client": self.client,
            "profile": self.profile,
            "workspace": holder.workspace,
            "user": holder.user,
            "session": holder.session,
            "workflow": self.workflow,
            "step": self.step,
        }


class Asking(Protocol):
    """A way to the person behind a call."""

    @property
    def patient(self) -> bool:
        """Whether the call can wait for as long as the question is open."""
        ...

    async def ask(self, approval: Approval, arguments: Mapping[str, Any]) -> Said | None:
        """None: nobody can be asked this way; the answer may still come from elsewhere. May raise `NeedsInput`."""
        ...

    async def settled(self, approval: Approval) -> None:
        """Somebody else has answered: there is nothing to ask any more."""
        ...


class Said(NamedTuple):
    granted: bool
    by: str


class NeedsInput(Exception):  # noqa: N818  not a failure: the client asks its person, and calls again
    def __init__(self, approval: Approval) -> None:
        super().__init__(approval.approval_id)
        self.approval = approval
