"""Runs to report on, told through the events and rows that a store would give."""

from __future__ import annotations

import pytest

from awf.domain.events import Stamped, event_fields
from awf.domain.ports.run_store import StepRow, StoredEvent
from awf.domain.run import RunRecord, StepResult

BEGIN = 1_763_200_000.0


class Recording:
    """Events one after the other, and what the steps came to."""

    def __init__(self):
        self.events = []
        self.rows = []
        self.now = BEGIN

    def hear(self, event, after=0.5):
        self.now += after
        stamped = Stamped("run-1", len(self.events) + 1, self.now, event)
        self.events.append(StoredEvent(stamped.seq, event_fields(stamped)))
        return self

    def keep(self, path, status="success", *, seconds=1.0, **result):
        result = {"started_at": self.now - seconds, "finished_at": self.now, **result}
        self.rows.append(StepRow(path, StepResult(status=status, **result)))
        return self

    def run(self, status="completed", **fields):
        ended = status not in {"running", "waiting"}
        record = {"started_at": BEGIN, "finished_at": self.now if ended else None, **fields}
        return RunRecord(
            id="run-1", workflow=record.pop("workflow", "demo"), source="demo.yaml", status=status, **record
        )


@pytest.fixture
def recording():
    return Recording()
