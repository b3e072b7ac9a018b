"""Stored events, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.events import Stamped
    from awf.domain.ports.run_store import RunStore, StoredEvent

__all__ = ["all_events", "followed_events", "stored_events"]

_PAGE = 1000


def stored_events(store: RunStore, run_id: str, after: int = 0) -> Iterator[StoredEvent]:
    while page := store.events(run_id, after, _PAGE):
        yield from page
        after = page[-1].seq


def followed_events(store: RunStore, run_id: str) -> Iterator[Stamped]:
    """What happened and what happens, until the run has ended."""
    from awf.domain.events import stamped_from

    after = 0
    while True:
        going = store.goes_on(run_id)  # looked at first: what it wrote last is then read below
        for stored in stored_events(store, run_id, after):
            after = stored.seq
            if (stamped := stamped_from(stored.fields)) is not None:
                yield stamped
        if not going:
            return
        store.wait_for_news(run_id)


def all_events(store: RunStore, run_id: str) -> Iterator[Stamped]:
    from awf.domain.events import stamped_from

    for stored in stored_events(store, run_id):
        stamped = stamped_from(stored.fields)
        if stamped is not None:
            yield stamped
