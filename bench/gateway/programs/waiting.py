"""awf with a gateway that waits: so many nanoseconds before a plain call goes out, and so many before its answer goes back.

It shows what this machine makes of a gateway that takes longer, whatever it does with the time: processors that sleep for
longer may take longer to wake up.
"""

from __future__ import annotations

import sys
from time import perf_counter_ns
from typing import Any

from awf.__main__ import main
from awf.application.gateway import gateway
from awf.application.gateway.quick_calls import QuickCalls


def wait(nanoseconds: int) -> None:
    end = perf_counter_ns() + nanoseconds
    while perf_counter_ns() < end:
        pass


class WaitingCalls(QuickCalls):
    before = after = 0

    def _sent(self, *given: Any) -> bool:
        wait(self.before)
        return super()._sent(*given)

    def _plain(self, *given: Any) -> dict[str, Any]:
        wait(self.after)
        return super()._plain(*given)


if __name__ == "__main__":
    WaitingCalls.before, WaitingCalls.after = int(sys.argv.pop(1)), int(sys.argv.pop(1))
    gateway.QuickCalls = WaitingCalls  # type: ignore[misc]
    main()
