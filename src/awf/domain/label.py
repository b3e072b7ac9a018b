"""How secret something is, and how far it can be trusted. Both only ever get worse where things are mixed."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = [
    "CLASSIFICATIONS",
    "PLAIN",
    "Classification",
    "Confidentiality",
    "Integrity",
    "Label",
    "joined",
    "level_of",
    "stricter_level",
]

Confidentiality = Literal["public", "confidential", "secret"]
Integrity = Literal["trusted", "untrusted"]
# As configuration files may write it: the sidecar's text has capital letters.
Classification = Literal["public", "confidential", "secret", "Public", "Confidential", "Secret"]
CLASSIFICATIONS: tuple[Confidentiality, ...] = ("public", "confidential", "secret")
_RANK = {name: rank for rank, name in enumerate(CLASSIFICATIONS)}


class Label(msgspec.Struct, frozen=True):
    confidentiality: Confidentiality = "public"
    integrity: Integrity = "trusted"

    def __str__(self) -> str:
        return f"{self.confidentiality}/{self.integrity}"

    def covers(self, other: Label) -> bool:
        """Whether mixing the other one in would change nothing."""
        return _RANK[self.confidentiality] >= _RANK[other.confidentiality] and (
            self.integrity == "untrusted" or other.integrity == "trusted"
        )


PLAIN = Label()


def joined(one: Label, other: Label) -> Label:
    """What is made of both."""
    if one.covers(other):
        return one
    if other.covers(one):
        return other
    secret = max(one.confidentiality, other.confidentiality, key=_RANK.__getitem__)
    return Label(secret, "untrusted" if "untrusted" in (one.integrity, other.integrity) else "trusted")


def stricter_level(said: object) -> Confidentiality:
    """The same of what somebody says who cannot be relied on: with another word than ours they mean something above public."""
    return level_of(said) or "confidential"


def level_of(said: object) -> Confidentiality | None:
    """What somebody wrote, in any case of letters; None for what is no level."""
    found = said.lower() if isinstance(said, str) else ""
    return found if found in _RANK else None
