"""What the audit is told, and what happens while it cannot be told anything."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gate.recording import Recorder
from awf.application.running.tasks import spawn
from awf.domain.audit import AuditEntry, AuditUnavailable

pytestmark = pytest.mark.anyio


class Log:
    """An `AuditLog` that can be out of order."""

    is_immediate = True

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.broken = False

    def record(self, entry: AuditEntry) -> None:
        if self.broken:
            raise AuditUnavailable("the disk is full")
        self.entries.append(entry)

    async def records(self, *, after: int = 0, limit: int = 1000) -> list:
        raise NotImplementedError

    async def close(self) -> None:
        pass


def entry(number: int) -> AuditEntry:
    return AuditEntry(kind="decision", created_at=float(number), request_id=str(number))


async def test_an_entry_that_is_needed_and_cannot_be_recorded_is_told():
    log = Log()
    log.broken = True
    with pytest.raises(AuditUnavailable):
        await Recorder(log, lambda: 5.0).record(entry(1), needed=True)


async def test_what_is_not_needed_is_kept_and_added_later_with_a_note_of_the_gap():
    log = Log()
    recorder = Recorder(log, lambda: 5.0)
    log.broken = True
    await recorder.record(entry(1), needed=False)
    await recorder.record(entry(2), needed=False)
    log.broken = False
    await recorder.record(entry(3), needed=True)
    assert [one.kind for one in log.entries] == ["audit_gap", "decision", "decision", "decision"]
    assert log.entries[0].details == {"entries": 2, "lost": 0, "since": 1.0}
    assert [one.request_id for one in log.entries[1:]] == ["1", "2", "3"]
    assert [one.details.get("recordedLate") for one in log.entries[1:]] == [True, True, None]


async def test_while_nothing_can_be_recorded_what_is_needed_is_still_refused_and_what_was_kept_stays():
    log = Log()
    recorder = Recorder(log, lambda: 5.0)
    log.broken = True
    await recorder.record(entry(1), needed=False)
    with pytest.raises(AuditUnavailable):
        await recorder.record(entry(2), needed=True)
    log.broken = False
    await recorder.record(entry(3), needed=False)
    assert [one.request_id for one in log.entries] == ["", "1", "3"]


async def test_without_a_log_nothing_is_recorded_and_nothing_is_missed():
    await Recorder(None, lambda: 5.0).record(entry(1), needed=True)


async def test_changes_are_noted_with_their_details_in_the_words_of_the_record():
    log = Log()
    details = {"tool_id": "a:b", "context": "c", "approval_id": "x", "decided_by": "ann"}
    await Recorder(log, lambda: 5.0).note("approval_resolved", details)
    made = log.entries[0]
    assert (made.kind, made.tool_id, made.context) == ("approval_resolved", "a:b", "c")
    assert made.details == {"approvalId": "x", "decidedBy": "ann"}


async def test_what_is_still_kept_at_the_end_is_added_or_its_loss_is_told(caplog):
    log = Log()
    recorder = Recorder(log, lambda: 5.0)
    await recorder.finish()
    assert log.entries == []
    log.broken = True
    await recorder.record(entry(1), needed=False)
    await recorder.finish()
    assert "1 entries of the audit are lost: the disk is full" in caplog.text
    log.broken = False
    await recorder.finish()
    assert [one.kind for one in log.entries] == ["audit_gap", "decision"]


class SlowLog(Log):
    """One that has to be waited for."""

    is_immediate = False

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[asyncio.Future[None]] = []

    def record(self, entry: AuditEntry) -> asyncio.Future[None]:
        super().record(entry)
        self.pending.append(asyncio.get_running_loop().create_future())
        if entry.kind == "audit_gap":
            self.pending[-1].set_result(None)
        return self.pending[-1]


async def test_what_was_kept_for_a_log_that_has_to_be_waited_for_is_waited_for_together():
    log = SlowLog()
    recorder = Recorder(log, lambda: 5.0)
    log.broken = True
    for number in range(50):
        await recorder.record(entry(number), needed=False)
    log.broken = False
    waiting = spawn(recorder.record(entry(50), needed=True), name="record", awaited=True)
    while len(log.pending) < 51:
        await asyncio.sleep(0)
    assert not waiting.done()
    for one in log.pending[1:]:
        one.set_result(None)
    while len(log.pending) < 52:
        await asyncio.sleep(0)
    log.pending[-1].set_result(None)
    await waiting
    assert [one.request_id for one in log.entries] == ["", *map(str, range(51))]


async def test_what_was_kept_and_fails_again_is_kept_still(caplog):
    log = SlowLog()
    recorder = Recorder(log, lambda: 5.0)
    log.broken = True
    await recorder.record(entry(1), needed=False)
    log.broken = False
    waiting = spawn(recorder.record(entry(2), needed=False), name="record", awaited=True)
    while len(log.pending) < 2:
        await asyncio.sleep(0)
    log.pending[1].set_exception(AuditUnavailable("gone again"))
    await waiting
    assert not recorder.is_immediate
    log.broken = True
    await recorder.finish()
    assert "2 entries of the audit are lost" in caplog.text


async def test_nothing_is_recorded_in_passing_by_a_log_that_has_to_be_waited_for():
    log = SlowLog()
    recorder = Recorder(log, lambda: 5.0)
    assert not recorder.record_now(entry(1))
    assert log.entries == []
    recorder.keep_or_record(entry(2))
    waiting = spawn(recorder.record(entry(3), needed=True), name="record", awaited=True)
    while not waiting.done():
        await asyncio.sleep(0)
        for one in log.pending:
            if not one.done():
                one.set_result(None)
    assert [one.request_id for one in log.entries] == ["", "2", "3"]
