"""What is said when the file cannot be used."""

from __future__ import annotations

from awf.domain.errors import AwfError

__all__ = ["newer", "unavailable"]


def unavailable(path: str, why: object) -> AwfError:
    return AwfError(
        "SYSTEM.GATE_STORE.UNAVAILABLE",
        f"The gate's store {path} cannot be used: {why}.",
        hint="Check its permissions and the free space, or choose another directory with AWF_STORAGE.",
    )


def newer(path: str, current: int, known: int) -> AwfError:
    return AwfError(
        "SYSTEM.GATE_STORE.NEWER",
        f"{path} has layout {current}; this version knows {known}.",
        hint="Upgrade awf, or choose another directory with AWF_STORAGE.",
    )
