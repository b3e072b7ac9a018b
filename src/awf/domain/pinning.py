"""What a tool's definition was when it was first trusted. A server that changes it later is noticed by that."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from awf.domain.problem import Problem
from awf.domain.shape import Record

__all__ = ["Pin", "Pinning", "PinningMode", "problems_of_pinning"]

PinningMode = Literal["off", "report", "quarantine"]


class Pin(msgspec.Struct, frozen=True):
    """A tool as it was trusted, whole: only so can a difference be shown."""

    id: str  # `server:tool`
    fingerprint: str
    first_seen: float  # seconds since 1970
    definition: dict[str, Any]


class Pinning(Record, frozen=True, kw_only=True):
    """What is done when a server changes the definition of a tool that was seen before."""

    mode: Annotated[
        PinningMode,
        "`report` tells of changed, new and vanished tools. `quarantine` also withholds changed tools, and new ones of "
        "servers that were seen before, until someone accepts them. `off` does not look.",
    ] = "report"
    file: Annotated[str, "Where the definitions are kept, relative to the folder of the configuration."] = (
        "gateway.pins.json"
    )


def problems_of_pinning(pinning: Pinning) -> Iterator[Problem]:
    """What is wrong with it by itself; paths start at `pinning`."""
    if not pinning.file.strip() or "\0" in pinning.file or pinning.file.endswith("/"):
        yield Problem(
            code="USER.GATEWAY.INVALID_FILE",
            message=f"{pinning.file!r} cannot be the name of a file.",
            path=("pinning", "file"),
            hint="Write a name such as gateway.pins.json, or leave it out.",
        )
