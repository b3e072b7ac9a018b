from __future__ import annotations

import pytest

from awf.application.audit.events import event_of
from awf.domain.audit import AuditEntry, AuditRecord
from awf.interfaces.cli.rendering.audit_lines import event_lines, record_lines


def lines(**fields):
    entry = AuditEntry(created_at=1.5, **fields)
    return list(event_lines([event_of(AuditRecord(sequence=7, previous="", hash="", entry=entry))]))


def test_an_answer_names_who_gave_it_and_what_it_was():
    details = {"status": "granted", "decidedBy": "anna"}
    (line,) = lines(kind="approval_resolved", tool_id="kb:drop", reason="It deletes.", details=details)
    assert "approval_resolved kb:drop" in line
    assert line.endswith("granted by anna: It deletes.")


def test_a_change_names_who_made_it():
    (line,) = lines(kind="grant_revoked", details={"by": "bert"})
    assert line.endswith("by bert")


def test_details_of_other_kinds_are_no_names():
    (line,) = lines(kind="configuration", details={"by": 7, "status": ["x"]})
    assert "7 " in line
    assert "by" not in line


def test_a_grant_says_what_was_granted_and_by_whom():
    (line,) = lines(kind="grant_added", details={"grant": {"capability": "file.*", "issuedBy": "anna"}})
    assert line.endswith("file.* by anna")


def test_a_call_that_only_shadow_mode_let_pass_says_what_would_have_been_decided():
    call = {"kind": "effect", "success": True, "decision": "allow", "tool_id": "kb:drop"}
    (line,) = lines(**call, shadowed="deny", reason="It needs a grant.")
    assert line.endswith("would be denied: It needs a grant.")
    (line,) = lines(**call, shadowed="allow_with_confirm", rule="ask-first", reason="It deletes.")
    assert line.endswith("would be asked: ask-first")


@pytest.mark.parametrize("moment", [-1e18, 1e18, 1e300, -1e300])
def test_a_moment_that_is_in_no_calendar_is_shown_as_its_number(moment):
    entry = AuditEntry(kind="configuration", created_at=moment, reason="loaded")
    record = AuditRecord(sequence=7, previous="", hash="", entry=entry)
    (line,) = event_lines([event_of(record)])
    assert f"{moment:g}" in line
    assert f"  createdAt: {moment}" in list(record_lines(record))
