"""Sessions of the older era behind a load balancer that knows nothing of them: any gateway takes any request.

A session lives in the gateway where it began. The other one hands its requests on, whatever they are, and the client
cannot tell. When the owner is dead, the session is over, and the client is told so.
"""

from __future__ import annotations

import json
import re
import signal
import sys

import pytest

pytestmark = pytest.mark.journey
stage = sys.modules["gateway_hostile_stage"]
VILLAIN = {"mcpServers": {"villain": stage.villain()}}
ASKED = {"elicitation": {}, "sampling": {}}
FORM = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
QUESTIONS = {
    "elicitation/create": (FORM, {"action": "accept", "content": {}}),
    "sampling/createMessage": (
        {"messages": [], "maxTokens": 1},
        {"role": "assistant", "content": {"type": "text", "text": "a haiku"}, "model": "m"},
    ),
}
EITHER = pytest.mark.parametrize("owner", [0, 1], ids=["at the first", "at the second"])


def question_in(stream):
    """The request that a server makes in the middle of a call."""
    stream.until(b'"method":')
    stream.until(b"\n\n")
    found = re.search(r'^data: (\{.*"method".*\})$', stream.data.decode(), re.MULTILINE)
    return json.loads(found[1])


def test_any_gateway_takes_any_request_of_a_session(pair):
    both = pair(VILLAIN)
    session = both.session_at(0)
    said = [session.call("echo", {"text": f"word {number}"}, number).text for number in range(6)]
    assert said == [f"word {number}" for number in range(6)]
    assert both.served() == {0, 1}
    assert both.houses[0].client.metric("sessions") == 1
    assert both.houses[1].client.metric("sessions") == 0
    assert [tool["name"] for tool in session.request("tools/list").result["tools"]][:2] == ["ask", "big"]


@pytest.mark.parametrize("method", QUESTIONS)
@pytest.mark.parametrize("through", [(1, 0), (0, 1), (1, 1)], ids=str)
def test_what_a_server_asks_in_a_call_is_asked_and_answered_through_either(pair, method, through):
    both = pair(VILLAIN)
    asked, answer = QUESTIONS[method]
    session = both.session_at(0, capabilities=ASKED)
    both.proxy.aim(through[0])
    with session.begun(
        "tools/call", {"name": "ask", "arguments": {"method": method, "params": asked}}
    ) as call:
        question = question_in(call)
        assert question["method"] == method
        both.proxy.aim(through[1])
        assert session.post({"jsonrpc": "2.0", "id": question["id"], "result": answer}).status == 202
        call.rest()
    assert [one.server for one in both.proxy.passed[-2:]] == list(through)
    told = json.loads(re.findall(r"^data: (\{.*\})$", call.data.decode(), re.MULTILINE)[-1])
    assert json.loads(told["result"]["content"][0]["text"])["result"] == answer


def test_news_come_over_a_stream_that_the_other_gateway_carries(pair, tmp_path):
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("write", "later")]
    listed = tmp_path / "tools.json"
    listed.write_text(json.dumps(tools[:1]))
    both = pair({"mcpServers": {"villain": stage.villain(str(listed))}, "pinning": {"mode": "off"}})
    session = both.session_at(0)
    both.proxy.aim(1)
    with session.listen() as news:
        news.until(b": \n\n")
        listed.write_text(json.dumps(tools))
        line = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        session.call("write", {"lines": [json.dumps(line)]}, 7)
        news.until(b"notifications/tools/list_changed")
        assert both.houses[0].client.metric("streams") == 1
    stage.until(lambda: both.houses[0].client.metric("streams") == 0, "the end of the stream at its owner")


def test_an_answer_that_got_lost_is_fetched_from_the_other_gateway(pair):
    both = pair(VILLAIN)
    session = both.session_at(0, capabilities=ASKED)
    both.proxy.aim(0)
    arguments = {"method": "elicitation/create", "params": FORM}
    with session.begun("tools/call", {"name": "ask", "arguments": arguments}) as call:
        question = question_in(call)
        last = call.event_ids()[-1]
    both.proxy.aim(1)
    with session.listen(last) as rest:
        answer = {"action": "accept", "content": {}}
        session.post({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        rest.until(b'\\"accept\\"')


@EITHER
def test_a_session_is_ended_through_either(pair, owner):
    both = pair(VILLAIN)
    session = both.session_at(owner)
    both.proxy.aim(1 - owner)
    assert session.delete().status == 204
    assert both.houses[owner].client.metric("sessions") == 0
    for number in (0, 1):
        both.proxy.aim(number)
        assert session.call("echo").status == 404


def test_the_oldest_clients_post_to_either_what_one_stream_answers(pair):
    both = pair(VILLAIN)
    both.proxy.aim(0)
    with both.client.begun("GET", "/sse") as stream:
        stream.until(b"\n\n")
        address = re.search(r"data: (/messages\S+)", stream.data.decode())[1]
        params = {
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        }
        for number, (method, given) in enumerate(
            [("initialize", params), ("tools/call", {"name": "echo", "arguments": {"text": "heard"}})]
        ):
            both.proxy.aim(1)
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
            assert both.client.post(message, address).status == 202
            stream.until(f'"id":{number},'.encode())
    assert b'"heard"' in stream.data


def test_a_call_of_the_newer_era_that_waits_for_its_client_is_taken_up_through_either(pair):
    both = pair(VILLAIN)
    call = {"name": "ask", "arguments": {"method": "elicitation/create", "params": FORM}}
    both.proxy.aim(0)
    first = both.client.modern("tools/call", call, capabilities={"elicitation": {}}).result
    assert first["resultType"] == "input_required"
    (key,) = first["inputRequests"]
    both.proxy.aim(1)
    answered = {"inputResponses": {key: {"action": "decline"}}, "requestState": first["requestState"]}
    second = both.client.modern("tools/call", {**call, **answered}, capabilities={"elicitation": {}}).result
    assert "decline" in second["content"][0]["text"]


def test_long_answers_arrive_whole(pair):
    both = pair(VILLAIN)
    session = both.session_at(0)
    for number, size in enumerate((10, 1 << 20, 3 << 20)):
        both.proxy.aim(1)
        assert session.call("big", {"bytes": size}, number).text == "x" * size


@EITHER
def test_a_session_whose_gateway_was_killed_is_over_and_the_client_begins_again(pair, owner):
    both = pair(VILLAIN)
    session = both.session_at(owner)
    assert session.call("echo", {"text": "here"}).text == "here"
    call = {"name": "ask", "arguments": {"method": "elicitation/create", "params": FORM}}
    both.proxy.aim(owner)
    waiting = both.client.modern("tools/call", call, capabilities={"elicitation": {}}).result
    killed = both.houses.pop(owner)
    killed.running.send(signal.SIGKILL)
    killed.running.process.wait(60)

    for answer in (session.call("echo"), session.delete(), session.request("tools/list")):
        assert answer.status == 404
        assert "Begin again with initialize" in answer.error["message"]
    answered = {"inputResponses": {}, "requestState": waiting["requestState"]}
    late = both.client.modern("tools/call", {**call, **answered}, capabilities={"elicitation": {}})
    assert "Begin again without requestState" in late.error["message"]

    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    anew = both.client.post(message, headers=session.headers)  # some clients still name what is over
    assert anew.status == 200
    again = stage.Session(both.client, anew.headers["mcp-session-id"], "2025-11-25")
    assert again.call("echo", {"text": "there"}).text == "there"


def test_a_call_whose_gateway_is_killed_meanwhile_breaks_off(pair):
    both = pair(VILLAIN)
    session = both.session_at(0)
    both.proxy.aim(1)
    with session.begun("tools/call", {"name": "hang", "arguments": {}}) as call:
        call.until(b"text/event-stream")
        killed = both.houses.pop(0)
        killed.running.send(signal.SIGKILL)
        killed.running.process.wait(60)
        call.rest()
    assert not call.data.endswith(b"0\r\n\r\n")  # half an answer does not look like a whole one


def test_a_gateway_that_leaves_is_missed_by_nobody(pair, postgres, database_url):
    both = pair(VILLAIN)
    session = both.session_at(0)
    both.houses.pop(0).stop()
    answer = session.call("echo")
    assert (answer.status, "the gateway that had it is gone" in answer.error["message"]) == (404, True)
    import psycopg

    with psycopg.connect(database_url) as connection:
        left = connection.execute("SELECT url FROM awf.replicas").fetchall()
    assert left == [(f"http://127.0.0.1:{both.houses[0].client.port}",)]


@pytest.mark.parametrize(
    "made_up",
    ["g0123456789ab.abc", "http://127.0.0.1:1/x", "g0123456789ab", "..", "g0123456789ab.a/../b", "x" * 5000],
)
def test_names_that_clients_make_up_lead_nowhere(pair, made_up):
    both = pair(VILLAIN)
    session = stage.Session(both.client, made_up, "2025-11-25")
    for answer in (session.call("echo"), session.request("ping"), session.delete()):
        assert answer.status == 404, answer.body
    assert both.client.post({}, f"/messages?session_id={made_up[:200]}").status == 404


def test_nothing_is_handed_on_twice(pair):
    both = pair(VILLAIN)
    session = both.session_at(0)
    both.proxy.aim(1)
    answer = session.post(
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}, headers={"X-AWF-Forwarded": "somebody"}
    )
    assert answer.status == 404


def test_a_session_belongs_to_its_token_at_either(pair, shared):
    shared.environment |= {"ANNS": "a-token-of-ann", "BOBS": "a-token-of-bob"}
    tokens = ["${env:ANNS}", "${env:BOBS}"]
    both = pair({**VILLAIN, "listen": {"tokens": tokens}})
    ann, bob = (
        stage.Client(both.proxy.port, headers={"Authorization": f"Bearer a-token-of-{who}"})
        for who in ("ann", "bob")
    )
    both.proxy.aim(0)
    session = ann.session()
    for number in (0, 1):
        both.proxy.aim(number)
        assert session.call("echo", {"text": "mine"}).text == "mine"
        both.proxy.aim(number)
        assert stage.Session(bob, session.id, session.version).call("echo").status == 404
        both.proxy.aim(number)
        assert stage.Session(both.client, session.id, session.version).call("echo").status == 401


def test_pages_are_told_once_what_they_may(pair):
    page = "https://page.example"
    both = pair({**VILLAIN, "listen": {"allowed_origins": [page]}})
    session = both.session_at(0)
    both.proxy.aim(1)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    with both.client.begun("POST", "/mcp", body, {**session.headers, "Origin": page}) as answer:
        head = answer.rest().decode().partition("\r\n\r\n")[0].lower()
    assert head.startswith("http/1.1 200")
    assert head.count("access-control-allow-origin:") == 1
    assert head.count("content-type:") == 1


def test_an_address_that_leads_nowhere_is_told(pair, journey):
    both = pair(VILLAIN, "--advertise", "http://127.0.0.1:1")
    for house in both.houses:
        house.until_said("this gateway is not reached at http://127.0.0.1:1")
        house.until_said("cannot be reached at http://127.0.0.1:1")
    session = both.session_at(0)
    both.proxy.aim(1)
    assert session.call("echo").status == 404
    both.proxy.aim(0)
    assert session.call("echo", {"text": "still here"}).text == "still here"


@pytest.mark.parametrize(
    "url", ["gateway-1", "ftp://x", "http://x/path", "http://u:p@x", "http://x:99999999"]
)
def test_an_address_that_is_none_is_refused(shared, url):
    config = shared.project / "gateway.yaml"
    config.write_text(json.dumps(VILLAIN))
    told = shared.awf("gateway", "serve", "--config", str(config), "--port", "0", "--advertise", url)
    told.one_error("USER.INPUT.INVALID_FORMAT")


def test_without_its_database_a_gateway_does_not_begin(shared, postgres):
    shared.environment["AWF_DATABASE_URL"] = "postgresql://127.0.0.1:1/nothing"
    config = shared.project / "gateway.yaml"
    config.write_text(json.dumps(VILLAIN))
    shared.awf("gateway", "serve", "--config", str(config), "--port", "0").one_error(
        "SYSTEM.STORE.UNAVAILABLE"
    )


def test_the_doctor_tries_every_gateway_of_the_database(pair, shared, postgres, database_url):
    both = pair(VILLAIN)
    addresses = sorted(f"http://127.0.0.1:{house.client.port}" for house in both.houses)
    told = shared.awf("doctor", "-o", "json").json()
    (found,) = [one for one in told["findings"] if one["name"] == "gateways"]
    assert found["severity"] == "ok"
    assert all(address in found["text"] for address in addresses)
    killed = both.houses.pop()
    killed.running.send(signal.SIGKILL)
    killed.running.process.wait(60)
    told = shared.awf("doctor", "-o", "json").json()
    (lost,) = [one for one in told["findings"] if one["name"] == "gateways"]
    assert lost["severity"] == "warning"
    assert f":{killed.client.port} cannot be reached" in lost["text"]


def test_the_address_of_the_database_may_stand_in_a_file(pair, shared, tmp_path):
    file = tmp_path / "database-url"
    file.write_text(shared.environment.pop("AWF_DATABASE_URL") + "\n")
    shared.environment["AWF_DATABASE_URL_FILE"] = str(file)
    both = pair(VILLAIN)
    session = both.session_at(0)
    both.proxy.aim(1)
    assert session.call("echo", {"text": "found"}).text == "found"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"], ids=["missing", "empty", "not text"])
def test_a_file_for_it_that_is_of_no_use_is_told(shared, tmp_path, content):
    file = tmp_path / "database-url"
    if content is not None:
        file.write_bytes(content)
    del shared.environment["AWF_DATABASE_URL"]
    shared.environment["AWF_DATABASE_URL_FILE"] = str(file)
    shared.awf("history").one_error("USER.INPUT.MISSING_FILE")


def test_a_frozen_gateway_is_given_up_and_taken_back_when_it_wakes(pair):
    both = pair(VILLAIN)
    session = both.session_at(0)
    frozen = both.houses[0].running
    frozen.send(signal.SIGSTOP)
    try:
        both.proxy.aim(1)
        waited = session.call("echo", {"text": "anybody?"})  # it was sent, so nobody can say what came of it
        assert (waited.status, "went away in the middle" in waited.error["message"]) == (502, True)
        both.proxy.aim(1)
        assert session.call("echo").status == 404
    finally:
        frozen.send(signal.SIGCONT)

    def is_back():
        both.proxy.aim(1)
        return session.call("echo", {"text": "again"}).status == 200

    stage.until(is_back, "the session of one that woke up")


def test_a_database_that_fails_over_ends_no_session(pair, postgres, database_url):
    both = pair(VILLAIN)
    session = both.session_at(0)
    for number in range(5):
        cut = postgres.cut(database_url)
        assert cut or number  # later on they may not be back yet
        both.proxy.aim(1)
        assert session.call("echo", {"text": f"call {number}"}, number).text == f"call {number}"


def test_without_a_database_there_is_nobody_to_tell_an_address(journey):
    config = journey.project / "gateway.yaml"
    config.write_text(json.dumps(VILLAIN))
    told = journey.awf(
        "gateway", "serve", "--config", str(config), "--port", "0", "--advertise", "http://127.0.0.1:8931"
    )
    told.one_error("USER.INPUT.USAGE")


def test_gateways_leave_in_good_order_when_their_database_is_gone(pair, postgres, database_url):
    both = pair(VILLAIN)
    session = both.session_at(0)
    postgres.drop(database_url)
    both.proxy.aim(1)
    assert (
        session.call("echo", {"text": "still here"}).text == "still here"
    )  # the fixture stops both, and waits
