"""Answers of a person, given over HTTP."""

from __future__ import annotations

import pytest

from awf.application.gate.refusal import ApprovalRefused
from awf.domain.errors import AwfError

JSON = {"Content_Type": "application/json", "X_AWF_Operator": "the-right-key"}
YES = b'{"granted": true}'


@pytest.fixture
def gate(desk):
    return desk.with_gate()


@pytest.fixture
def question(gate, desks):
    asked = desks.a_question()
    gate.ask(asked)
    return asked


def place(question):
    return f"/api/approvals/{question['id']}"


@pytest.mark.parametrize("granted", [True, False])
async def test_whoever_has_the_key_answers(client, gate, question, granted):
    answer = await client.ask(
        place(question), "POST", b'{"granted": %b}' % str(granted).lower().encode(), **JSON
    )
    assert (answer.status, answer.json["status"]) == (200, "granted" if granted else "denied")
    assert gate.answers == [(question["id"], granted)]
    assert (await client.ask("/api/approvals", **JSON)).json["waiting"] == 0


@pytest.mark.parametrize("key", [None, "", "wrong", "the-right-key-and-more", "the-right-ke", "\xe4"])
async def test_without_the_key_nothing_is_answered_and_nothing_told(client, gate, question, key):
    headers = {"Content_Type": "application/json", **({} if key is None else {"X_AWF_Operator": key})}
    for path in (place(question), "/api/approvals/approval_of_nobody"):
        answer = await client.ask(path, "POST", YES, **headers)
        assert answer.status == 403
        assert b"operator key" in answer.body
        assert "content-security-policy" in answer.headers
    assert gate.answers == []


@pytest.mark.parametrize(
    "kind",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"],
)
async def test_an_answer_that_any_form_could_send_is_none(client, gate, question, kind):
    headers = {"X_AWF_Operator": "the-right-key", **({} if kind is None else {"Content_Type": kind})}
    assert (await client.ask(place(question), "POST", YES, **headers)).status == 415
    assert gate.answers == []


async def test_the_type_may_name_its_encoding(client, gate, question):
    headers = {**JSON, "Content_Type": "Application/JSON; charset=utf-8"}
    assert (await client.ask(place(question), "POST", YES, **headers)).status == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"true", b'{"granted": "true"}', b'{"granted": 1}', b'{"granted": null}', b'{"granted": true, "x": 1}',
     b"\xff", b'{"granted": tru', b"[" * 100_000],
)  # fmt: skip
async def test_what_is_not_clearly_an_answer_is_none(client, gate, question, body):
    assert (await client.ask(place(question), "POST", body, **JSON)).status == 400
    assert gate.answers == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_a_question_can_only_be_answered(client, gate, question, method):
    answer = await client.ask(place(question), method, **JSON)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert gate.answers == []


async def test_a_question_that_is_not_open_says_so(client, gate, question):
    for failure, status in (
        (ApprovalRefused(question["id"], "unknown"), 404),
        (ApprovalRefused(question["id"], "denied"), 409),
        (AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "The disk is full."), 503),
    ):
        gate.failure = failure
        answer = await client.ask(place(question), "POST", YES, **JSON)
        assert (answer.status, answer.body.decode()) == (status, f"{failure.message}\n")
    assert (await client.ask("/api/approvals/", "POST", YES, **JSON)).status == 503


async def test_the_list_tells_the_rest_only_to_those_with_the_key(client, gate, question):
    told = (await client.ask("/api/approvals")).json
    assert (told["operator"], told["waiting"], told["approvals"][0]["arguments"]) == (False, 1, None)
    told = (await client.ask("/api/approvals", X_AWF_Operator="the-right-key")).json
    assert (told["operator"], told["approvals"]) == (True, [question])
    refused = await client.ask("/api/approvals", "POST", YES, **JSON)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")


async def test_a_list_that_cannot_be_read_is_an_error_and_the_page_goes_on(client, gate, monkeypatch):
    async def fails(*, operator):
        raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "The disk is full.")

    monkeypatch.setattr(gate, "approvals", fails)
    assert (await client.ask("/api/approvals")).status == 503
    assert (await client.ask("/api/status")).status == 200


async def test_the_status_tells_of_the_gate_where_there_is_one(client, desk):
    assert "gate" not in (await client.ask("/api/status")).json
    desk.with_gate().shadow = True
    assert (await client.ask("/api/status")).json["gate"]["shadow"] is True


@pytest.mark.parametrize("path", ["/api/approvals", "/api/approvals/approval_1"])
async def test_without_a_gate_there_is_nothing_to_answer(client, path):
    for method in ("GET", "POST"):
        assert (await client.ask(path, method, YES, **JSON)).status == 404


async def test_a_new_question_is_told_on_the_stream(client, gate, desks):
    async with client.events() as events:
        assert "approvals" not in await events.news()
        gate.ask(desks.a_question())
        assert (await events.news())["approvals"] is True
