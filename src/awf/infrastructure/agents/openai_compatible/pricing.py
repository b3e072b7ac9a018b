"""What a turn cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from awf.domain.run import Usage
    from awf.infrastructure.agents.openai_compatible.options import Prices

__all__ = ["priced"]

_MILLION = 1_000_000


def priced(usage: Usage | None, prices: Prices | None) -> Usage | None:
    """What the server says of its costs counts; else they are computed, if there is something to compute them from."""
    if usage is None or prices is None or usage.cost is not None or usage.tokens is None:
        return usage
    cost = (usage.input_tokens or 0) * prices.input + (usage.output_tokens or 0) * prices.output
    return msgspec.structs.replace(usage, cost=cost / _MILLION, cost_source="computed")
