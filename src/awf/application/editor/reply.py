"""How a turn ended."""

from __future__ import annotations

from typing import Any

import msgspec

from awf.domain.editor import StopReason  # noqa: TC001  msgspec reads the annotations

__all__ = ["Reply"]


class Reply(msgspec.Struct, frozen=True):
    stop: StopReason
    meta: dict[str, Any] = {}
