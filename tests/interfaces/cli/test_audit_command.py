"""`awf audit`: the record of calls, for people and for programs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time

import pytest

from awf.domain.audit import AuditEntry
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import SqliteAudit
from awf.interfaces.cli.app import run_cli

SHAPE = [
    "sequence", "toolId", "requestId", "grantIds", "inputHash", "outputHash", "success", "durationMs", "createdAt",
]  # fmt: skip


@pytest.fixture
def audit(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "runs"))

    def run(*arguments, status=0):
        capfd.readouterr()
        assert run_cli(["audit", *arguments]) == status
        return capfd.readouterr()

    return run


@pytest.fixture
def recorded(tmp_path):
    log = SqliteAudit(
        str(tmp_path / "runs" / "audit"), Audit(checkpoint_records=2, witness=str(tmp_path / "witness"))
    )
    now = time.time()

    def call(request, tool, moment, context="", decision="allow"):
        log.record(
            AuditEntry(
                kind="decision",
                created_at=moment,
                request_id=request,
                tool_id=tool,
                context=context,
                decision=decision,
            )
        )
        if decision == "allow":
            log.record(
                AuditEntry(kind="effect", created_at=moment, request_id=request, success=True, duration_ms=4)
            )

    call("r1", "kb:get", now - 7200.5)
    call("r2", "kb:put", now - 60.5, context="one")
    call("r3", "no:such\x1b[31m", now - 50.5, context="one", decision="deny")
    log.record(AuditEntry(kind="grant_added", created_at=now - 40.5, grant_ids=("g1",)))
    asyncio.run(log.close())
    return tmp_path / "runs" / "audit"


def alter(folder, statement, *values):
    with sqlite3.connect(folder / "audit.db") as connection:
        connection.execute(statement, values)
    connection.close()


def listed(audit, *arguments):
    return [one["requestId"] for one in json.loads(audit("list", "-o", "json", *arguments).out)]


def test_a_list_has_events_in_the_shape_of_the_specification(audit, recorded):
    events = json.loads(audit("list", "-o", "json").out)
    assert [list(one)[:9] for one in events] == [SHAPE] * 3
    assert [(one["requestId"], one["success"], one["decision"]) for one in events] == [
        ("r1", True, "allow"), ("r2", True, "allow"), ("r3", False, "deny"),
    ]  # fmt: skip
    lines = audit("list", "-o", "ndjson").out.splitlines()
    assert [json.loads(line) for line in lines] == events


def test_a_list_can_be_narrowed(audit, recorded):
    assert listed(audit, "--tool", "kb:*") == ["r1", "r2"]
    assert listed(audit, "--context", "one") == ["r2", "r3"]
    assert listed(audit, "--denied") == ["r3"]
    assert listed(audit, "--since", "1h") == ["r2", "r3"]
    assert listed(audit, "--until", "1h") == ["r1"]
    assert listed(audit, "--limit", "1") == ["r3"]
    assert listed(audit, "--after", "1", "--limit", "1") == ["r2"]
    assert listed(audit, "--request", "r2") == ["r2"]
    assert [one["kind"] for one in json.loads(audit("list", "-o", "json", "--kind", "grant_added").out)] == [
        "grant_added"
    ]
    assert len(json.loads(audit("list", "-o", "json", "--kind", "any").out)) == 4


def test_a_list_for_people_shows_one_line_a_call_and_nothing_that_moves_the_cursor(audit, recorded):
    out = audit("list").out
    assert len(out.splitlines()) == 3
    assert "kb:put" in out
    assert "denied" in out
    assert "\x1b" not in out


def test_without_an_audit_a_list_is_empty_and_none_is_made(audit, tmp_path):
    assert json.loads(audit("list", "-o", "json").out) == []
    assert "Nothing is recorded" in audit("list").out
    for command in (["verify"], ["export"], ["show", "1"]):
        assert "USER.AUDIT.NOT_FOUND" in audit(*command, status=1).err
    assert not (tmp_path / "runs").exists()


def test_a_storage_that_is_a_file_is_told(audit, tmp_path):
    (tmp_path / "runs").write_text("mine", encoding="utf-8")
    for command in (["list"], ["verify"]):
        assert "SYSTEM.AUDIT.UNAVAILABLE" in audit(*command, status=4).err


def test_one_record_is_shown_as_it_is_in_the_chain(audit, recorded):
    record = json.loads(audit("show", "2", "-o", "json").out)
    assert record["sequence"] == 2
    assert record["entry"]["requestId"] == "r2"
    text = audit("show", "2").out
    assert record["hash"] in text
    assert "requestId: r2" in text
    assert "USER.AUDIT.NOT_FOUND" in audit("show", "99", status=1).err


def test_a_sound_log_is_told_with_what_vouches_for_it(audit, recorded):
    assert audit("verify").out.startswith("Sound: 4 records, ")
    report = json.loads(audit("verify", "-o", "json", "--witness", "witness").out)
    assert (report["records"], report["soundUntil"], report["flaws"]) == (4, 4, [])
    assert report["witnessed"] == report["checkpoints"] > 0
    key = (recorded / "signing.pub").read_text(encoding="ascii").strip()
    assert audit("verify", "--key", key).out == audit("verify", "--key", str(recorded / "signing.pub")).out


def test_checkpoints_that_were_removed_are_told_every_time(audit, recorded):
    alter(recorded, "DELETE FROM checkpoints")
    for _ in range(3):
        assert "heckpoints were signed and" in audit("verify", status=3).err
    audit("export", "--file", "out.jsonl")
    assert "heckpoints were signed and" in audit("verify", "out.jsonl", status=3).err


def test_several_keys_may_be_trusted_one_by_one_or_in_a_file(audit, recorded, tmp_path):
    key, other = (recorded / "signing.pub").read_text(encoding="ascii").strip(), "A" * 43 + "="
    (tmp_path / "keys").write_text(f"{other}\n{key}\n", encoding="ascii")
    exported = str(tmp_path / "export.jsonl")
    audit("export", "--file", exported)
    for file in ([], [exported]):
        for given in (["--key", other, "--key", key], ["--key", str(tmp_path / "keys")]):
            assert audit("verify", *file, *given).out.startswith("Sound: 4 records, ")
        assert "not signed with this log's key" in audit("verify", *file, "--key", other, status=3).err


def test_a_broken_log_ends_with_status_3_and_names_the_place(audit, recorded):
    with sqlite3.connect(recorded / "audit.db") as connection:
        connection.execute("UPDATE records SET entry = replace(entry, 'kb:put', 'kb:pot')")
    connection.close()
    told = audit("verify", status=3)
    assert "EXECUTION.AUDIT.BROKEN" in told.err
    assert "Record 2 was changed" in told.err
    assert "Records 1 to 1 are sound" in told.err
    error = json.loads(audit("verify", "-o", "json", status=3).out)["error"]
    assert error["code"] == "EXECUTION.AUDIT.BROKEN"
    assert "record 2" in error["message"]


DEEP = '{"x":' + "[" * 10_000 + "]" * 10_000 + "}"


def test_a_record_that_is_nested_too_deeply_is_named_like_other_damage(audit, recorded, tmp_path):
    written = audit("export").out
    (tmp_path / "deep.jsonl").write_text(written.replace('"kind"', f'"details":{DEEP},"kind"', 1), "utf-8")
    assert "Record 1 is no entry of an audit" in audit("verify", "deep.jsonl", status=3).err
    entry = f'{{"createdAt":1,"details":{DEEP},"kind":"spooled"}}'
    alter(recorded, "UPDATE records SET entry = ? WHERE sequence = 2", entry)
    assert "Record 2 is no entry of an audit" in audit("verify", status=3).err
    for command in (["show", "2"], ["export"], ["export", "--format", "agent-trail"]):
        assert "Record 2 of the audit cannot be read" in audit(*command, status=3).err


def test_a_line_of_an_export_that_is_nested_too_deeply_is_no_checkpoint(audit, recorded, tmp_path):
    (tmp_path / "deep.jsonl").write_text(audit("export").out + DEEP + "\n", encoding="utf-8")
    assert "is neither a record nor a checkpoint" in audit("verify", "deep.jsonl", status=3).err
    (tmp_path / "witness").write_text(DEEP + "\n", encoding="utf-8")
    assert (
        "Line 1 of the witness file is no checkpoint" in audit("verify", "--witness", "witness", status=3).err
    )


@pytest.mark.parametrize(
    ("done", "hint"),
    [
        ("DELETE FROM records WHERE sequence = 3", "awf audit show 2"),
        ("DELETE FROM records WHERE sequence = 4", "awf audit show 3"),
        ("UPDATE records SET entry = replace(entry, 'kb:put', 'kb:pot')", "awf audit show 2"),
        ("DELETE FROM records WHERE sequence = 1", "Compare with an export or a copy that lies elsewhere."),
    ],
)
def test_what_is_to_be_shown_of_a_broken_log_is_a_record_that_is_there(audit, recorded, done, hint):
    alter(recorded, done)
    told = audit("verify", status=3).err
    assert [line for line in told.splitlines() if "hint:" in line] == [f"  hint: {hint}"]
    if hint.startswith("awf "):
        audit(*hint.split()[2:])


def test_programs_are_told_of_a_broken_log_as_of_a_sound_one(audit, recorded):
    sound = json.loads(audit("verify", "-o", "json").out)
    with sqlite3.connect(recorded / "audit.db") as connection:
        connection.execute("UPDATE records SET entry = replace(entry, 'kb:put', 'kb:pot')")
    connection.close()
    broken = json.loads(audit("verify", "-o", "json", status=3).out)
    assert broken.keys() == {*sound, "error"}
    assert (broken["records"], broken["soundUntil"], broken["head"]) == (4, 1, sound["head"])
    assert [(one["kind"], one["sequence"]) for one in broken["flaws"]] == [("changed", 2)]


@pytest.mark.parametrize("given", ["", "\n", "nothing", "A" * 43, "A" * 88, "ä" * 44])
def test_what_is_no_key_vouches_for_nothing(audit, recorded, tmp_path, given):
    key = (recorded / "signing.pub").read_text(encoding="ascii")
    (tmp_path / "keys").write_text(f"{key if given.strip() else ''}{given}\n", encoding="utf-8")
    told = audit("verify", "--key", str(tmp_path / "keys"), status=1).err
    assert "USER.AUDIT.NO_EVIDENCE" in told
    assert "signing.pub" in told


def test_a_key_file_that_is_not_there_is_no_tampering(audit, recorded, tmp_path):
    told = audit("verify", "--key", str(tmp_path / "signing.pbu"), status=1).err
    assert "USER.AUDIT.NO_EVIDENCE" in told
    assert "is no public key, nor a file with one" in told


def test_a_witness_file_without_a_checkpoint_vouches_for_nothing(audit, recorded, tmp_path):
    (tmp_path / "empty").touch()
    assert "USER.AUDIT.NO_EVIDENCE" in audit("verify", "--witness", "empty", status=1).err
    with sqlite3.connect(recorded / "audit.db") as connection:
        connection.execute("UPDATE records SET entry = replace(entry, 'kb:put', 'kb:pot')")
    connection.close()
    assert "Record 2 was changed" in audit("verify", "--witness", "empty", status=3).err


def test_an_export_without_a_record_vouches_for_nothing(audit, recorded, tmp_path):
    (tmp_path / "empty").touch()
    for given in ([], ["--key", str(recorded / "signing.pub")]):
        told = audit("verify", "empty", *given, status=1).err
        assert "USER.AUDIT.NO_EVIDENCE" in told
        assert "empty has no record" in told
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    assert "EXECUTION.AUDIT.BROKEN" in audit("verify", "empty", status=3).err


def test_a_key_says_what_of_an_export_it_does_not_vouch_for(audit, recorded, tmp_path):
    lines = [line for line in audit("export").out.splitlines(keepends=True) if "checkpoint" not in line]
    (tmp_path / "bare.jsonl").write_text("".join(lines), encoding="utf-8")
    told = audit("verify", "bare.jsonl", "--key", str(recorded / "signing.pub")).out
    assert "Not checked: no signature vouches for records 1 to 4\n" in told
    whole = str(tmp_path / "whole.jsonl")
    audit("export", "--file", whole)
    assert "Not checked" not in audit("verify", whole, "--key", str(recorded / "signing.pub")).out


def test_a_key_that_is_not_the_logs_is_told(audit, recorded):
    assert "not signed with this log's key" in audit("verify", "--key", "A" * 43 + "=", status=3).err


def test_an_export_can_be_checked_where_there_is_no_log(audit, recorded, tmp_path):
    assert audit("export", "--file", "out.jsonl").out.strip() == str(tmp_path / "out.jsonl")
    written = (tmp_path / "out.jsonl").read_bytes()
    assert audit("export").out.encode() == written
    assert "Sound: 4 records" in audit("verify", "out.jsonl").out
    (tmp_path / "out.jsonl").write_bytes(written.replace(b"kb:get", b"kb:got"))
    told = audit("verify", "out.jsonl", status=3).err
    assert "Record 1 was changed" in told
    assert "awf audit export --file" in told  # not: awf audit show, which looks at the log
    assert [one.name for one in tmp_path.glob("*.part")] == []


@pytest.mark.parametrize("form", ["ocsf", "agent-trail"])
def test_a_call_that_says_it_follows_a_record_that_cannot_be_is_told_without_it(audit, recorded, form):
    entry = f'{{"createdAt":1,"follows":{"9" * 30},"kind":"effect","requestId":"r2","success":true}}'
    alter(recorded, "UPDATE records SET entry = ? WHERE sequence = 2", entry)
    assert "r2" in listed(audit)
    assert audit("export", "--format", form).out


@pytest.mark.parametrize("form", ["ocsf", "agent-trail"])
def test_exports_for_others_are_lines_of_json(audit, recorded, form):
    lines = audit("export", "--format", form).out.splitlines()
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_an_export_that_cannot_be_written_is_told_and_leaves_nothing(audit, recorded, tmp_path):
    assert "SYSTEM.IO.WRITE_FAILED" in audit("export", "--file", "no/such/folder/x", status=4).err
    (tmp_path / "here").mkdir()
    assert "SYSTEM.IO.WRITE_FAILED" in audit("export", "--file", "here", status=4).err
    assert [one.name for one in tmp_path.glob("*.part")] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["list", "--since", "yesterday"], "USER.INPUT.USAGE"),
        (["list", "--kind", "nonsense"], "USER.INPUT.USAGE"),
        (["list", "--limit", "0"], "USER.INPUT.USAGE"),
        (["list", "--after", "9" * 20], "USER.INPUT.USAGE"),
        (["export", "--after", "9" * 20], "USER.INPUT.USAGE"),
        (["list", "--tool", "a\udcffb"], "USER.INPUT.INVALID_FORMAT"),
        (["list", "--context", "a\udcffb"], "USER.INPUT.INVALID_FORMAT"),
        (["list", "--request", "a\udcffb"], "USER.INPUT.INVALID_FORMAT"),
        (["show", "9" * 20], "USER.INPUT.USAGE"),
        (["show", "x"], "USER.INPUT.USAGE"),
        (["verify", "missing.jsonl"], "USER.INPUT.MISSING_FILE"),
        (["verify", "--witness", "missing"], "USER.INPUT.MISSING_FILE"),
        (["verify", __file__, "--witness", __file__], "USER.INPUT.USAGE"),
        (["export", "--format", "xml"], "USER.INPUT.USAGE"),
    ],
)
def test_mistakes_are_told_with_a_code(audit, recorded, arguments, code):
    assert code in audit(*arguments, status=1).err
