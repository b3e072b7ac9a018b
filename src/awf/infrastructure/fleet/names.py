"""What things are called in DBOS."""

from __future__ import annotations

from awf.domain.errors import AwfError

__all__ = ["APPLICATION", "VERSION", "WORKFLOW", "dbos_url", "require_dbos"]

APPLICATION = "awf"
# Of the way in which recorded runs are interpreted, not of the program: workers of another one leave these runs alone.
VERSION = "runs-1"
WORKFLOW = "awf.run"


def dbos_url(url: str) -> str:
    return url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url


def require_dbos() -> None:
    import importlib.util

    if importlib.util.find_spec("dbos") is None:
        raise AwfError(
            "SYSTEM.STORE.UNAVAILABLE",
            "Workers need packages that are missing.",
            hint="Install the extra: pip install 'awf-suite[postgres]'",
        )
