"""The log in the forms of others: they can be read, checked and held together without us."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from pathlib import Path

import jsonschema_rs
import pytest
import rfc8785

from awf.application.audit.agent_trail import AgentTrail
from awf.application.audit.events import event_of
from awf.application.audit.exporting import exported
from awf.application.audit.jsonl import verify_lines
from awf.application.audit.ocsf import OcsfChain
from awf.domain.audit import AuditEntry, AuditRecord
from awf.domain.audit_chain import GENESIS
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import SqliteAudit, signature_holds
from awf.testing.memory_audit import MemoryAudit

pytestmark = pytest.mark.anyio

OCSF = Path(__file__).parents[2] / "protocols" / "ocsf" / "api_activity.json"
MANDATORY = [
    "record_id", "timestamp", "agent_id", "agent_version", "session_id", "action_type", "action_detail", "outcome",
    "trust_level", "parent_record_id", "prev_hash", "record_phase",
]  # fmt: skip


def told(kind, moment=1700000000.25, **more):
    return AuditEntry(kind=kind, created_at=moment, **more)


def fill(log):
    decided = {
        "tool_id": "kb:get",
        "client": "claude",
        "context": "c1",
        "decision": "allow",
        "input_hash": "ab" * 32,
    }
    log.record(told("configuration", reason="loaded", details={"hash": "x"}))
    log.record(told("decision", request_id="r1", rule="reads", **decided))
    log.record(told("effect", request_id="r1", success=True, duration_ms=12, output_hash="cd" * 32))
    log.record(
        told("decision", request_id="r2", label_before="secret/untrusted", risk=("delete",), **decided)
    )
    log.record(told("approval_required", request_id="r2"))
    log.record(told("effect", request_id="r2", success=False, error="TIMEOUT", duration_ms=900))
    log.record(told("decision", request_id="r3", tool_id="no:such", decision="deny", reason="unknown tool"))
    log.record(told("grant_added", grant_ids=("g1",)))
    log.record(told("approval_resolved", decision="deny", reason="no"))
    log.record(told("audit_gap"))


@pytest.fixture(params=["memory", "sqlite"])
async def log(request, tmp_path):
    made = (
        MemoryAudit()
        if request.param == "memory"
        else SqliteAudit(str(tmp_path / "audit"), Audit(checkpoint_records=3))
    )
    fill(made)
    yield made
    await made.close()


async def lines(log, form, **more):
    return [line async for line in exported(log, form, "1.2.3", **more)]


def refused(*_):
    raise AssertionError("there is no checkpoint here")


async def test_an_export_of_the_chain_can_be_checked_without_the_store(log):
    written = await lines(log, "jsonl")
    report = verify_lines(written, "", signature_holds)
    assert report.is_sound
    assert report.records == len(await log.records())
    assert report.head == (await log.verify()).head
    assert report.checkpoints == len(await log.checkpoints())
    for line in written:
        assert rfc8785.dumps(json.loads(line)) + b"\n" == line


async def test_a_part_of_the_chain_can_be_exported_and_checked(log):
    written = await lines(log, "jsonl", after=2, limit=3)
    report = verify_lines(written, "", signature_holds)
    assert (report.is_sound, report.first, report.records, report.sound_until) == (True, 3, 3, 5)


async def test_what_is_done_to_an_export_is_named_with_its_place(log):
    written = [line for line in await lines(log, "jsonl") if b'"checkpoint"' not in line]

    def flaw(changed):
        report = verify_lines(changed, "", refused)
        assert not report.is_sound
        return report.flaws[0].kind, report.flaws[0].sequence, report.sound_until

    changed = copy.copy(written)
    changed[2] = changed[2].replace(b"1700000000.25", b"1700000001.25")
    assert flaw(changed) == ("changed", 3, 2)
    assert flaw(written[:3] + written[4:]) == ("missing", 4, 3)
    assert flaw([*written[:3], written[4], written[3], *written[5:]])[:2] == ("missing", 4)
    assert flaw([*written[:3], b"hello\n", *written[3:]]) == ("changed", 4, 3)
    assert flaw([*written[:3], b"", *written[3:]])[:2] == ("changed", 4)


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ({"cause": "head lost", "found": "the keyed head was missing"}, "cut"),
        ({"cause": "entries lost", "spill": "x.spill", "bytes": 7}, "missing"),
        ({"cause": "damaged line", "spill": "x.spill"}, "missing"),
        ({"cause": "place lost", "spill": "x.spill"}, "database"),
        ({"cause": "checkpoints lost", "found": "all of them"}, "checkpoint"),
    ],
)
async def test_what_a_log_says_about_its_gaps_its_export_says_too(tmp_path, details, kind):
    log = SqliteAudit(str(tmp_path / "audit"))
    log.record(told("spooled"))
    log.record(told("audit_gap", details=details))
    exported_flaws = verify_lines(await lines(log, "jsonl"), "", signature_holds).flaws
    assert exported_flaws == (await log.verify()).flaws
    assert [(one.kind, one.sequence) for one in exported_flaws] == [(kind, 2)]
    await log.close()


async def test_checkpoints_of_an_export_are_held_against_the_key(tmp_path):
    log = SqliteAudit(str(tmp_path / "audit"), Audit(checkpoint_records=1))
    fill(log)
    written = await lines(log, "jsonl")
    assert any(b'"checkpoint"' in line for line in written)
    assert verify_lines(written, log.public_key, signature_holds).is_sound
    other = verify_lines(written, "A" * 43 + "=", signature_holds)
    assert {one.kind for one in other.flaws} == {"checkpoint"}
    moved = [line for line in written if b'"checkpoint"' in line] + [
        line for line in written if b'"checkpoint"' not in line
    ]
    assert verify_lines(moved, log.public_key, signature_holds).flaws[0].kind == "checkpoint"
    await log.close()


async def test_an_export_says_for_which_records_no_signature_vouches():
    log = MemoryAudit()
    fill(log)
    written = await lines(log, "jsonl")
    assert verify_lines(written, "", refused).notes == ()
    report = verify_lines(written, "A" * 43 + "=", refused)
    assert report.is_sound
    assert report.notes == (f"no signature vouches for records 1 to {report.records}",)


async def test_each_call_is_one_ocsf_event_with_what_the_class_requires(log):
    events = [json.loads(line) for line in await lines(log, "ocsf")]
    assert [one["api"]["request"]["uid"] for one in events] == ["r1", "r2", "r3"]
    for one in events:
        assert (one["class_uid"], one["category_uid"], one["metadata"]["version"]) == (6003, 6, "1.9.0")
        assert one["type_uid"] == 600300 + one["activity_id"]
        assert one.keys() >= {"time", "severity_id", "actor", "src_endpoint", "metadata", "api"}
        assert one["metadata"]["product"]["version"] == "1.2.3"
    assert [one["status_id"] for one in events] == [1, 2, 2]
    assert [one["action_id"] for one in events] == [1, 1, 2]
    assert [one["activity_id"] for one in events] == [99, 4, 99]
    assert events[0]["duration"] == 12
    assert events[1]["status_code"] == "TIMEOUT"
    assert events[2]["status_detail"] == "unknown tool"


async def test_ocsf_events_are_what_the_official_schema_allows(log):
    """It knows every name: one that is not its own is refused."""
    schema = jsonschema_rs.validator_for(json.loads(OCSF.read_bytes()))
    events = [json.loads(line) for line in await lines(log, "ocsf")]
    assert [error.message for one in events for error in schema.iter_errors(one)] == []
    del events[0]["attestation_list"][0]["fingerprint"]
    assert not schema.is_valid(events[0])


async def test_ocsf_events_are_chained_by_their_fingerprints(log):
    previous = None
    for line in await lines(log, "ocsf"):
        event = json.loads(line)
        (attestation,) = event["attestation_list"]
        fingerprint = attestation.pop("fingerprint")
        assert fingerprint["value"] == hashlib.sha256(rfc8785.dumps(event)).hexdigest()
        assert attestation.get("prev_event", {}).get("fingerprint") == previous
        assert attestation["chain_uid"] == log.origin
        previous = fingerprint


async def test_the_agent_trail_has_twelve_fields_and_is_chained(log):
    trail = [json.loads(line) for line in await lines(log, "agent-trail")]
    assert all(sorted(one) == sorted(MANDATORY) for one in trail)
    first = trail[0]
    assert (first["action_type"], first["record_phase"], first["parent_record_id"], first["prev_hash"]) == (
        "lifecycle", "concurrent", None, None,
    )  # fmt: skip
    for before, one in itertools.pairwise(trail):
        assert one["parent_record_id"] == before["record_id"]
        assert one["prev_hash"] == hashlib.sha256(rfc8785.dumps(before)).hexdigest()
    assert len({one["record_id"] for one in trail}) == len(trail)


async def test_a_call_is_two_records_of_the_agent_trail(log):
    trail = [json.loads(line) for line in await lines(log, "agent-trail")]
    calls = [one for one in trail if one["action_type"] == "tool_call"]
    answers = [one for one in trail if one["action_type"] == "tool_response"]
    assert {(one["action_detail"]["request_id"], one["outcome"], one["record_phase"]) for one in calls} == {
        ("r1", "success", "pre_execution"),
        ("r2", "success", "pre_execution"),
        ("r3", "denied", "pre_execution"),
    }
    assert {(one["action_detail"]["request_id"], one["outcome"]) for one in answers} == {
        ("r1", "success"),
        ("r2", "timeout"),
    }
    asked = {one["record_id"]: one["action_detail"]["request_id"] for one in calls}
    assert all(
        asked[one["action_detail"]["parent_call_id"]] == one["action_detail"]["request_id"] for one in answers
    )
    assert {one["trust_level"] for one in calls} == {"L1", "L2"}
    others = {(one["action_type"], one["outcome"]) for one in trail if one not in [*calls, *answers]}
    assert others == {
        ("lifecycle", "success"), ("escalation", "escalated"), ("delegation", "success"), ("decision", "denied"),
        ("error", "failure"),
    }  # fmt: skip


async def test_an_export_is_the_same_every_time(log):
    for form in ("jsonl", "ocsf", "agent-trail"):
        assert await lines(log, form) == await lines(log, form)


async def test_an_empty_log_exports_nothing():
    for form in ("jsonl", "ocsf", "agent-trail"):
        assert await lines(MemoryAudit(), form) == []


@pytest.mark.parametrize(("moment", "year", "milliseconds"), [
    (-1e18, "0001", -62135596800000), (1e12, "9999", 253402300799999), (1e300, "9999", 253402300799999),
    (1.7e308, "9999", 253402300799999),
])  # fmt: skip
def test_a_moment_that_is_in_no_calendar_is_exported_as_the_first_or_last_one(moment, year, milliseconds):
    entry = told("call", moment, request_id="r", tool_id="kb:get", success=True)
    record = AuditRecord(sequence=1, previous=GENESIS, hash="", entry=entry)
    trail = [AgentTrail("log", "1").begin(moment), *AgentTrail("log", "1").documents(record)]
    assert {one["timestamp"][:4] for one in trail} == {year}
    event = OcsfChain("log", "1").document(event_of(record))
    assert (event["time"], event["end_time"]) == (milliseconds, milliseconds)


@pytest.mark.parametrize(("client", "written"), [
    ("claude", "claude"), ("awf gateway call", "awf%20gateway%20call"), ("é/%#?[1]", "%C3%A9/%25%23%3F%5B1%5D"),
    ("", "unknown"), ("https://x.example/~a:1@b", "https://x.example/~a:1@b"),
])  # fmt: skip
def test_whatever_a_client_is_called_it_is_named_by_a_urn(client, written):
    record = AuditRecord(sequence=1, previous=GENESIS, hash="", entry=told("call", client=client))
    assert [one["agent_id"] for one in AgentTrail("log", "1").documents(record)] == [
        f"urn:awf:client:{written}"
    ] * 2
