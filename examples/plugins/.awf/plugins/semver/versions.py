"""Semantic versions: read, compare, raise."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import total_ordering
from typing import Literal

Part = Literal["major", "minor", "patch", "prerelease"]

_NUMBER = r"(?:0|[1-9]\d*)"
_LABELS = r"(?:[0-9A-Za-z-]+\.)*[0-9A-Za-z-]+"
_VERSION = re.compile(rf"v?({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_LABELS}))?(?:\+{_LABELS})?")


@total_ordering
@dataclass(frozen=True)
class Version:
    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Version:
        """Raises ValueError when it is not a version."""
        found = _VERSION.fullmatch(text.strip())
        labels = tuple(found[4].split(".")) if found and found[4] else ()
        if found is None or any(label.isdigit() and label[0] == "0" != label for label in labels):
            raise ValueError(f"'{text}' is not a semantic version such as 1.2.3 or 1.2.3-rc.1")
        return cls(int(found[1]), int(found[2]), int(found[3]), labels)

    def __str__(self) -> str:
        labels = f"-{'.'.join(self.prerelease)}" if self.prerelease else ""
        return f"{self.major}.{self.minor}.{self.patch}{labels}"

    def __lt__(self, other: Version) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[object, ...]:
        # A version without labels comes after all of its prereleases; numbers come before words.
        labels = tuple((0, int(label), "") if label.isdigit() else (1, 0, label) for label in self.prerelease)
        return (self.major, self.minor, self.patch, not self.prerelease, labels)

    def raised(self, part: Part, label: str = "rc") -> Version:
        if part == "prerelease":
            return self._next_prerelease(label)
        if self.prerelease and self._is_first_of(part):
            return replace(self, prerelease=())  # 2.0.0-rc.1 is on its way to 2.0.0 already
        if part == "major":
            return Version(self.major + 1, 0, 0)
        if part == "minor":
            return Version(self.major, self.minor + 1, 0)
        return Version(self.major, self.minor, self.patch + 1)

    def _is_first_of(self, part: Part) -> bool:
        return part == "patch" or (self.patch == 0 and (part == "minor" or self.minor == 0))

    def _next_prerelease(self, label: str) -> Version:
        if not self.prerelease:
            return replace(self.raised("patch"), prerelease=(label, "1"))
        *kept, last = self.prerelease
        if last.isdigit():
            return replace(self, prerelease=(*kept, str(int(last) + 1)))
        return replace(self, prerelease=(*self.prerelease, "1"))
