"""A plugin does not outlive whoever started it, also when that one was killed and could say nothing."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["watch_parent"]

_CHECK = 0.5  # seconds
_PATIENCE = 5.0


def watch_parent(parent: int, stop: Callable[[], object], clean_up: Callable[[], None]) -> None:
    """Call `stop` when the parent has gone. A thread, since an author's code may hold up the loop."""

    def body() -> None:
        while os.getppid() == parent:
            time.sleep(_CHECK)
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            stop()
        time.sleep(_PATIENCE)
        clean_up()
        os._exit(1)  # something does not let the process end

    threading.Thread(target=body, name="awf-plugin-parent", daemon=True).start()
