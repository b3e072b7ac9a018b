"""Where a submitted run waits: a queue, and the tags that a worker must have to take it."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MOST_RUN_TAGS", "MOST_WORKER_TAGS", "QueueName", "served_queues"]

# A worker listens for every set of its tags that a run may ask for: 32 tags, 4 at a time, are some 41 000 names.
MOST_RUN_TAGS = 4
MOST_WORKER_TAGS = 32

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_PREFIX = "awf-"


class QueueName(NamedTuple):
    queue: str
    tags: tuple[str, ...] = ()  # each once, in order: runs that ask for the same wait in one queue

    @classmethod
    def checked(cls, queue: str, tags: Sequence[str] = ()) -> QueueName:
        _require_name("queue", queue)
        for tag in tags:
            _require_name("tag", tag)
        wanted = tuple(sorted(set(tags)))
        _require_few(
            wanted, MOST_RUN_TAGS, "A run may ask for", "Give one tag to the machines that have them all."
        )
        return cls(queue, wanted)

    @classmethod
    def parse(cls, written: str) -> QueueName:
        queue, _, tags = written.removeprefix(_PREFIX).partition("#")
        return cls(queue, tuple(tags.split("+")) if tags else ())

    def __str__(self) -> str:
        return f"{_PREFIX}{self.queue}#{'+'.join(self.tags)}" if self.tags else f"{_PREFIX}{self.queue}"

    @property
    def awaited(self) -> str:
        """Who may take a run that waits here, in words."""
        tags = {0: "", 1: " with the tag "}.get(len(self.tags), " with all the tags ") + ", ".join(self.tags)
        queue = "" if self.queue == "default" else f" for the queue {self.queue}"
        return f"a worker{queue}{tags}"


def served_queues(queues: Sequence[str], tags: Sequence[str]) -> list[QueueName]:
    """Every queue whose runs a worker with these tags may take: its tags are a part of the worker's."""
    if not queues:
        _require_name("queue", "")
    own = sorted(set(tags))
    for tag in own:
        _require_name("tag", tag)
    _require_few(own, MOST_WORKER_TAGS, "A worker may have", "Start another worker for the others.")
    parts = [part for size in range(MOST_RUN_TAGS + 1) for part in combinations(own, size)]
    return [QueueName.checked(queue, part) for queue in dict.fromkeys(queues) for part in parts]


def _require_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise AwfError(
            "USER.INPUT.INVALID_FORMAT",
            f"'{name}' is no name for a {what}.",
            hint="Small letters, digits, - and _; at most 40 of them.",
        )


def _require_few(tags: Sequence[str], most: int, who: str, hint: str) -> None:
    if len(tags) > most:
        raise AwfError("USER.INPUT.INVALID_FORMAT", f"{who} at most {most} tags, not {len(tags)}.", hint=hint)
