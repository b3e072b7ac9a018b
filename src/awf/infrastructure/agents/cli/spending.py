"""What sessions have cost so far, for programs that tell only the sum since a session began. Kept with the run."""

from __future__ import annotations

import contextlib
import json
import os
from urllib.parse import quote

__all__ = ["spent_before", "spent_by_now"]


def spent_before(state: str, session: str) -> float | None:
    """None where it is not known: a session that was begun elsewhere."""
    try:
        with open(_file(state, session), encoding="utf-8") as stream:
            spent = json.load(stream)
    except (OSError, ValueError):
        return None
    return float(spent) if isinstance(spent, int | float) else None


def spent_by_now(state: str, session: str, total: float) -> None:
    path = _file(state, session)
    temporary = f"{path}.{os.getpid()}"
    with contextlib.suppress(OSError):  # then the next call's share is not known, and is told as such
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as stream:
            json.dump(total, stream)
        os.replace(temporary, path)


def _file(state: str, session: str) -> str:
    return os.path.join(state, "spent", f"{quote(session, safe='')[:200]}.json")
