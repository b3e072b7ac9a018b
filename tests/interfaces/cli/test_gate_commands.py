"""`awf grant`, and what `awf gateway` says about approvals and security contexts."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from awf.bootstrap import App
from awf.bootstrap.gate_stores import approval_desk, contexts
from awf.domain.grant import CapabilityGrant
from awf.domain.label import Label
from awf.interfaces.cli.app import run_cli

CALL = ("mail:send", "ab" * 32, "ctx")


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "runs"))
    monkeypatch.setenv("LOGNAME", "tess")
    return folder


@pytest.fixture
def told(capsys):
    """The answer of a command in JSON; its exit status must be as expected."""

    def told(*arguments: str, status: int = 0):
        capsys.readouterr()
        assert run_cli([*arguments, "-o", "json"]) == status
        return json.loads(capsys.readouterr().out)

    return told


@pytest.fixture
def said(capsys):
    def said(*arguments: str) -> str:
        capsys.readouterr()
        assert run_cli(list(arguments)) == 0
        return capsys.readouterr().out

    return said


def in_app(work):
    """What a gateway of this folder would do."""

    async def run():
        app = App(cwd=os.getcwd(), environment=os.environ)
        try:
            return await work(app)
        finally:
            await app.close()

    return asyncio.run(run())


def ask(*call: str):
    return in_app(
        lambda app: approval_desk(app).request(*(call or CALL), "it sends", "no-mail", "to: bob", "editor")
    )


def recorded():
    return in_app(lambda app: app.audit.records())


# -- grants ----------------------------------------------------------------------------------------------------------


def test_a_grant_is_added_listed_and_revoked(told):
    grant = told("grant", "add", "file.*", "--expires", "1h")
    assert (grant["capability"], grant["issuedBy"], grant["state"]) == ("file.*", "tess", "live")
    assert grant["expiresAt"] - grant["issuedAt"] == pytest.approx(3600)
    assert told("grant", "list") == [grant]
    revoked = told("grant", "revoke", grant["grantId"])
    assert revoked["state"] == "revoked"
    assert told("grant", "list") == []
    assert told("grant", "list", "--all") == [revoked]


def test_a_grant_may_be_for_a_place_a_user_and_a_context(told, project, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(project)
    grant = told("grant", "add", "x", "--workspace", str(link), "--user", "me", "--session", "ctx")
    assert grant["scope"] == {"workspace": os.path.realpath(project), "user": "me", "session": "ctx"}
    assert "expiresAt" not in grant


def test_grants_are_told_in_lines(said):
    assert said("grant", "list") == "No grants. `awf grant add CAPABILITY` makes one.\n"
    added = said("grant", "add", "file.read", "--user", "me")
    assert added.endswith("  file.read  for me, until revoked\n")
    said("grant", "add", "*", "--expires", "2m")
    first, second = said("grant", "list").splitlines()
    assert first.split() == [added.split()[0], "file.read", "until", "revoked", "for", "me"]
    assert second.endswith("everywhere")
    assert "revoked 2" in said("grant", "revoke", added.split()[0])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add", "fi*"], "USER.GRANT.INVALID"),
        (["add", ""], "USER.GRANT.INVALID"),
        (["add", "x", "--expires", "soon"], "USER.INPUT.USAGE"),
        (["add", "x", "--expires", "0s"], "USER.INPUT.USAGE"),
        (["add", "x", "--expires", "9" * 400 + "h"], "USER.GRANT.INVALID"),
        (["add", "x", "--expires", "9999999999d"], "USER.GRANT.INVALID"),
        (["add", "x", "--expires", ""], "USER.INPUT.USAGE"),
        (["add", "x", "--workspace", ""], "USER.INPUT.USAGE"),
        (["add", "x", "--user", ""], "USER.INPUT.USAGE"),
        (["add", "x", "--session", ""], "USER.INPUT.USAGE"),
        (["add", "x", "--session="], "USER.INPUT.USAGE"),
        (["add", "x", "--approval", ""], "USER.INPUT.USAGE"),
        (["add", "x", "--storage", ""], "USER.INPUT.USAGE"),
        (["add", "x", "--workspace", "nowhere"], "USER.INPUT.MISSING_FILE"),
        (["add", "x", "--approval", "forged"], "USER.APPROVAL.UNKNOWN"),
        (["add", "x\udcff"], "USER.INPUT.INVALID_FORMAT"),
        (["revoke", "nothing"], "USER.GRANT.UNKNOWN"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_kept(told, arguments, code):
    assert told("grant", *arguments, status=1)["error"]["code"] == code
    assert told("grant", "list", "--all") == []


def test_an_approval_may_come_with_a_grant(told):
    asked = ask()
    assert told("grant", "add", "x", "--approval", asked.approval_id)["approvalId"] == asked.approval_id


def test_a_grant_for_longer_than_the_calendar_goes_can_be_listed(said):
    old = CapabilityGrant(grant_id="old", capability="x", issued_at=1.0, expires_at=1e20)
    in_app(lambda app: app.gate_store.grants.add(old))
    assert "until 1" in said("grant", "list")


@pytest.mark.parametrize(
    "arguments",
    [
        ["gateway", "context", "new", "--parent"],
        ["gateway", "serve", "--stdio", "--profile"],
        ["gateway", "serve", "--unix"],
        ["gateway", "serve", "--host"],
        ["gateway", "serve", "--config"],
        ["gateway", "api", "--stdio", "--storage"],
        ["gateway", "api", "--stdio", "--config"],
        ["gateway", "approvals", "--storage"],
        ["gateway", "explain-decision", "kb:find", "--config"],
        ["approve", "run"],
        ["audit", "list", "--context"],
        ["audit", "list", "--since"],
        ["audit", "export", "--file"],
        ["audit", "verify", "--witness"],
        ["audit", "verify", "--key"],
    ],
)
def test_what_is_empty_is_not_taken_for_what_is_left_out(capsys, arguments):
    assert run_cli([*arguments, ""]) == 1
    told = capsys.readouterr().err
    assert "USER.INPUT.USAGE" in told
    assert "is empty" in told


# -- approvals -------------------------------------------------------------------------------------------------------


def test_open_questions_are_listed_until_they_are_answered(told):
    asked, other = ask(), ask("mail:read", "h", "ctx")
    listed = told("gateway", "approvals")
    assert [one["approvalId"] for one in listed] == [asked.approval_id, other.approval_id]
    assert (listed[0]["status"], listed[0]["summary"], listed[0]["client"]) == (
        "pending",
        "to: bob",
        "editor",
    )
    answer = told("gateway", "approve", asked.approval_id)
    assert (answer["status"], answer["decidedBy"]) == ("granted", "tess")
    assert told("gateway", "deny", other.approval_id)["status"] == "denied"
    assert told("gateway", "approvals") == []
    assert in_app(lambda app: approval_desk(app).take(asked)).status == "used"


def test_nothing_that_others_wrote_hides_or_makes_lines(said):
    tool = "mail:send\napproval_0  mail:read \u202e"
    summary = '{"to": "a  b \x9d; rm -rf ~\x9c"}'
    asked = in_app(lambda app: approval_desk(app).request(tool, "h", "ctx", "why\nso", "r", summary, "me\n"))
    first, second, third, _ = said("gateway", "approvals").splitlines()
    assert first == f"{asked.approval_id}  mail:send\\napproval_0  mail:read \\u202e"
    assert second == '  {"to": "a  b \\u009d; rm -rf ~\\u009c"}'
    assert third == "  why\\nso (rule r)"
    (answer,) = said("gateway", "approve", asked.approval_id).splitlines()
    assert answer == f"{first}: granted"


def test_questions_are_told_in_lines(said):
    assert said("gateway", "approvals") == "Nothing waits for an answer.\n"
    asked = ask()
    first, second, third, fourth = said("gateway", "approvals").splitlines()
    assert first == f"{asked.approval_id}  mail:send"
    assert (second, third) == ("  to: bob", "  it sends (rule no-mail)")
    assert "by editor, context ctx, until " in fourth
    assert said("gateway", "deny", asked.approval_id) == f"{asked.approval_id}  mail:send: denied\n"


def test_what_is_not_open_cannot_be_answered(told):
    asked = ask()
    assert told("gateway", "approve", "forged", status=1)["error"]["code"] == "USER.APPROVAL.UNKNOWN"
    told("gateway", "deny", asked.approval_id)
    for answer in ("approve", "deny"):
        refused = told("gateway", answer, asked.approval_id, status=1)["error"]
        assert refused["code"] == "USER.APPROVAL.REFUSED"
        assert "denied" in refused["message"]


# -- contexts --------------------------------------------------------------------------------------------------------


def test_a_new_context_is_one_word_that_nobody_can_guess(said, told):
    name = said("gateway", "context", "new").strip()
    assert len(name) >= 32
    (listed,) = told("gateway", "context", "list")
    plain = {"confidentiality": "public", "integrity": "trusted"}
    assert (listed["contextId"], listed["minted"], listed["label"]) == (name, True, plain)


def test_a_context_shows_what_raised_it_and_a_reset_takes_it_back(said, told):
    in_app(lambda app: contexts(app).raise_("ctx", Label("secret", "untrusted"), "kb:read"))
    shown = told("gateway", "context", "show", "ctx")
    assert shown["label"] == {"confidentiality": "secret", "integrity": "untrusted"}
    assert (shown["raisedBy"], shown["minted"]) == ("kb:read", False)
    lines = said("gateway", "context", "show", "ctx")
    assert "secret, untrusted" in lines
    assert "by kb:read" in lines
    assert "by its first use" in lines
    child = told("gateway", "context", "new", "--parent", "ctx")
    assert (child["parent"], child["label"]) == ("ctx", shown["label"])
    reset = told("gateway", "context", "reset", "ctx")
    assert (reset["label"]["confidentiality"], reset["resets"]) == ("public", 1)
    assert "resets   1" in said("gateway", "context", "show", "ctx")
    assert "secret, untrusted" in said("gateway", "context", "show", child["contextId"])


@pytest.mark.parametrize("arguments", [["show", "x"], ["reset", "x"], ["new", "--parent", "x"]])
def test_a_context_that_nobody_made_is_told(told, arguments):
    assert told("gateway", "context", *arguments, status=1)["error"]["code"] == "USER.CONTEXT.UNKNOWN"
    assert told("gateway", "context", "list") == []


def test_no_contexts_are_told_in_words(said):
    assert said("gateway", "context", "list") == "No contexts. `awf gateway context new` makes one.\n"


# -- the store -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [["grant", "list"], ["gateway", "approvals"], ["gateway", "context", "new"]]
)
def test_a_store_that_cannot_be_used_is_told(told, tmp_path, command):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "gate").write_text("mine")
    assert told(*command, status=4)["error"]["code"] == "SYSTEM.GATE_STORE.UNAVAILABLE"


def test_the_storage_can_be_chosen(told, tmp_path):
    elsewhere = str(tmp_path / "elsewhere")
    told("grant", "add", "x", "--storage", elsewhere)
    assert len(told("grant", "list", "--storage", elsewhere)) == 1
    assert told("grant", "list") == []
    assert os.path.exists(os.path.join(elsewhere, "gate", "gate.db"))


# -- who hears of it -------------------------------------------------------------------------------------------------


def test_every_change_is_recorded_with_the_name_of_whoever_made_it(told):
    grant = told("grant", "add", "x")
    told("grant", "revoke", grant["grantId"])
    told("gateway", "deny", ask().approval_id)
    minted = told("gateway", "context", "new")["contextId"]
    told("gateway", "context", "reset", minted)
    entries = [record.entry for record in recorded()]
    assert [entry.kind for entry in entries] == [
        "grant_added",
        "grant_revoked",
        "approval_required",
        "approval_resolved",
        "context_minted",
        "context_reset",
    ]
    details = [entry.details for entry in entries]
    assert details[0]["grant"]["issuedBy"] == details[1]["by"] == "tess"
    assert details[3]["decidedBy"] == details[4]["by"] == details[5]["by"] == "tess"
