"""What the page asks of the gateway. Plain values, ready to be JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Desk", "Gate", "Watch"]


class Watch(Protocol):
    """What happens from now on: `{"type": "call", "call": {…}}`, `{"type": "status"}` and `{"type": "approvals"}`.

    Ends with the gateway.
    """

    def __aiter__(self) -> Watch: ...
    async def __anext__(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...


class Gate(Protocol):
    """What calls have to pass. `operator`: whoever asks has the operator key, and may see everything."""

    def is_operator(self, key: str) -> bool: ...

    async def status(self, *, operator: bool) -> Mapping[str, Any]:
        """Whether it only watches (`shadow`), and which contexts have read something (`contexts`)."""
        ...

    async def approvals(self, *, operator: bool) -> Mapping[str, Any]:
        """How many calls are `waiting` for a person, and the first of them. Raises `AwfError`."""
        ...

    async def answer(self, approval_id: str, *, granted: bool) -> Mapping[str, Any]:
        """Raises `AwfError`: USER.APPROVAL.UNKNOWN, and USER.APPROVAL.REFUSED for one that is not open."""
        ...


class Desk(Protocol):
    @property
    def gate(self) -> Gate | None: ...

    def status(self) -> Mapping[str, Any]:
        """The gateway and its servers, profiles, changed definitions and problems."""
        ...

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Each with its `original` and its `published` definition.

        A tool may have `edits`, the paths that its override names: `{"hidden": [path], "sent": [path], "renamed":
        {path: name}}`. Never their values, which may be secrets. Without it the page tells from the two definitions
        what was done, and cannot tell a hidden argument from one that the gateway fills in. Where there is a gate, a tool
        has what that knows of it (`gate`).
        """
        ...

    def calls(self, *, operator: bool = False) -> Sequence[Mapping[str, Any]]:
        """The latest ones, newest first. One that the gate has refused has a `reason`: with whole ids only for operators."""
        ...

    def watch(self, *, operator: bool = False) -> Watch: ...
