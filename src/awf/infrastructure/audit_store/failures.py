from __future__ import annotations

from awf.domain.errors import AwfError

__all__ = ["unavailable"]


def unavailable(path: str, why: str, hint: str = "") -> AwfError:
    return AwfError(
        "SYSTEM.AUDIT.UNAVAILABLE",
        f"The audit {path} cannot be used: {why}.",
        hint=hint or "Check its permissions, or choose another directory with --storage DIR or AWF_STORAGE.",
    )
