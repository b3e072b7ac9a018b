"""What the page asks of the gateway. Plain values, ready to be JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Desk", "Watch"]


class Watch(Protocol):
    """What happens from now on: `{"type": "call", "call": {…}}` and `{"type": "status"}`. Ends with the gateway."""

    def __aiter__(self) -> Watch: ...
    async def __anext__(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...


class Desk(Protocol):
    def status(self) -> Mapping[str, Any]:
        """The gateway and its servers, profiles, changed definitions and problems."""
        ...

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Each with its `original` and its `published` definition.

        A tool may have `edits`, the paths that its override names: `{"hidden": [path], "sent": [path], "renamed":
        {path: name}}`. Never their values, which may be secrets. Without it the page tells from the two definitions
        what was done, and cannot tell a hidden argument from one that the gateway fills in.
        """
        ...

    def calls(self) -> Sequence[Mapping[str, Any]]:
        """The latest ones, newest first."""
        ...

    def watch(self) -> Watch: ...
