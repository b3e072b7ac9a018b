"""What things are called in DBOS."""

from __future__ import annotations

import re
from typing import NamedTuple

from awf.domain.errors import AwfError

__all__ = ["APPLICATION", "VERSION", "WORKFLOW", "QueueName", "dbos_url", "require_dbos"]

APPLICATION = "awf"
# Of the way in which recorded runs are interpreted, not of the program: workers of another one leave these runs alone.
VERSION = "runs-1"
WORKFLOW = "awf.run"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class QueueName(NamedTuple):
    """A queue, and a tag that a worker must have to serve it."""

    queue: str
    tag: str = ""

    @classmethod
    def checked(cls, queue: str, tag: str = "") -> QueueName:
        for what, name in (("queue", queue), ("tag", tag)):
            if name and not _NAME.fullmatch(name):
                raise AwfError(
                    "USER.INPUT.INVALID_FORMAT",
                    f"'{name}' is no name for a {what}.",
                    hint="Small letters, digits, - and _; at most 40 of them.",
                )
        return cls(queue, tag)

    def __str__(self) -> str:
        return f"awf-{self.queue}#{self.tag}" if self.tag else f"awf-{self.queue}"


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
