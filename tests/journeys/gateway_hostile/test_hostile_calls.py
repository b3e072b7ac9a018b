"""Servers that misbehave while they are called: the caller is told at once, and only those who are concerned."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

MIB = 1024 * 1024
LIMIT = 64 * MIB
ANSWER = '{"jsonrpc":"2.0","id":"$ID","result":{"content":[{"type":"text","text":"early"}]}}'


@pytest.fixture
def house(opened, stage):
    """`bad` is the one that is called names; `good` must not be harmed by that."""
    bad = stage.villain(timeout="30s")
    return opened({"mcpServers": {"bad": bad, "good": stage.villain(tools=["echo", "hang"])}})


def is_error(answer, *words):
    assert answer.status == 200
    assert answer.result["isError"] is True
    for word in words:
        assert word in answer.text
    return answer


def write(house, *lines, **keys):
    return house.client.call("write", {"lines": list(lines), **keys})


# -- its end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["newer", "older"])
def test_a_server_that_is_killed_in_the_middle_of_a_call_fails_that_call_and_is_started_again(
    house, stage, era
):
    client = house.client if era == "newer" else house.client.session()
    is_error(client.call("die"), 'MCP server "bad"', "signal")
    stage.until(lambda: "result" in house.client.call("bad__echo", {"text": "again"}).last, "its next life")
    house.is_well("bad__echo")
    house.is_well("good__echo")
    assert house.client.servers()["bad"]["restarts"] >= 1
    stage.until(lambda: len(house.villains()) == 2, "one process for each server")


def test_all_calls_of_a_server_that_is_killed_from_outside_fail_and_those_of_others_do_not(house, stage):
    calls = [stage.in_background(lambda: house.client.call("bad__hang")) for _ in range(20)]
    other = stage.in_background(lambda: house.client.call("good__hang"))
    house.until_noted("called hang", 21)
    pids = {int(line.split()[1]) for line in house.noted if line.startswith("started")}
    bad = next(p for p in house.villains() if p.pid in pids and _serves(house, p) == "bad")
    os.kill(bad.pid, signal.SIGKILL)
    for call in calls:
        is_error(call.result(stage.PATIENCE), 'MCP server "bad" ended with signal')
    assert not other.done()
    house.is_well("good__echo")


def _serves(house, process):
    """Which of the two: the good one was started with a shorter tool list, but both look alike from outside."""
    pid = house.client.call("good__echo", {"text": "x"}).result["_meta"]["pid"]
    return "good" if pid == process.pid else "bad"


def test_the_death_of_a_server_is_told_to_whoever_runs_the_gateway(opened, stage, journey):
    """Without any setting. It cannot come back: its program is gone, as after an update that went wrong."""
    program = journey.project / "program"
    journey.write("program", f"#!/bin/sh\nexec {stage.sys.executable} -S -E {stage.VILLAIN}\n")
    program.chmod(0o755)
    house = opened({"mcpServers": {"bad": {"command": str(program)}}}, log="")
    program.unlink()
    is_error(house.client.call("die"), "signal")
    house.until_said("MCP server bad is not available")
    answer = house.client.call("echo", {"text": "x"})
    assert "bad" in str(answer.messages())


def test_a_server_that_leaves_in_peace_is_started_again(house, stage):
    is_error(house.client.call("die", {"signal": signal.SIGTERM}), 'MCP server "bad"')
    stage.until(lambda: "result" in house.client.call("bad__echo", {"text": "x"}).last, "its next life")
    house.is_well("bad__echo")


@pytest.mark.parametrize("era", ["newer", "older"])
def test_a_server_that_closes_its_output_and_lives_on_fails_its_calls_and_is_started_again(house, stage, era):
    client = house.client if era == "newer" else house.client.session()
    waiting = stage.in_background(lambda: house.client.call("bad__hang"))
    house.until_noted("called hang")
    before = {process.pid for process in house.villains()}
    is_error(client.call("hush"), 'MCP server "bad" has closed its standard output')
    is_error(waiting.result(), 'MCP server "bad" has closed its standard output')
    stage.until(lambda: "result" in house.client.call("bad__echo", {"text": "again"}).last, "its next life")
    house.is_well("bad__echo")
    house.is_well("good__echo")
    stage.until(lambda: len(house.villains()) == 2, "one process for each server")
    assert len(before & {process.pid for process in house.villains()}) == 1


# -- its silence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["newer", "older"])
def test_a_call_that_is_never_answered_ends_with_its_timeout_and_the_server_is_told(opened, stage, era):
    house = opened({"mcpServers": {"bad": stage.villain(timeout="1s")}})
    client = house.client if era == "newer" else house.client.session()
    is_error(client.call("hang"), "did not answer within 1 s")
    house.until_noted("cancelled")
    house.is_well()


def test_calls_beyond_the_limit_of_a_server_wait_their_turn_and_end_with_it(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain(timeout="1s", concurrency=2)}})
    calls = [stage.in_background(lambda: house.client.call("hang")) for _ in range(6)]
    for call in calls:
        is_error(call.result(stage.PATIENCE), "did not answer within 1 s")
    house.is_well()


# -- its noise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "not JSON at all",
        '{"jsonrpc":"2.0","id":"$ID","result":',
        "[]",
        "[[]]",
        "[1, 2, 3]",
        "null",
        "{}",
        '"text"',
        "\\u0000\\u0001",
        '{"jsonrpc":"2.0","method":["a","list"]}',
        '{"jsonrpc":"2.0","method":{"an":"object"}}',
        '{"jsonrpc":"2.0","method":null}',
        '{"jsonrpc":"2.0","method":5,"params":5}',
        '{"jsonrpc":"2.0","id":["x"],"method":"roots/list"}',
        '{"jsonrpc":"2.0","id":{"x":1},"method":["roots/list"]}',
        '{"jsonrpc":"2.0","id":7,"method":{"x":1}}',
        '{"jsonrpc":"2.0","id":null,"result":{}}',
        '{"jsonrpc":"2.0","id":true,"result":{}}',
        '{"jsonrpc":"2.0","id":1.5,"result":{}}',
        '{"jsonrpc":"2.0","id":["x"],"result":{}}',
        '{"jsonrpc":"2.0","id":"9999999","result":{}}',
        '{"jsonrpc":"2.0","id":"99999999999999999999999999","error":{}}',
        '{"jsonrpc":"2.0","id":99999999999999999999999999,"error":{}}',
        '{"jsonrpc":"2.0","method":"notifications/progress","params":[]}',
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{"x":1}}}',
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99999999999999999999999}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":["x"]}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}',
        '{"jsonrpc":"2.0","method":"notifications/message","params":"text"}',
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":["x"],"data":1e999}}',
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":123456789012345678901234567890}}',
        '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":5}}',
        '{"jsonrpc":"2.0","method":"notifications/resources/updated"}',
        '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":[]}',
        '{"jsonrpc":"2.0","method":"notifications/unheard/of","params":{"x":[]}}',
        '{"jsonrpc":"1.0","method":"notifications/message"}',
        '{"method":"notifications/tools/list_changed","params":[1]}',
        "[" * 5000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":' + "[" * 400 + "]" * 400 + "}}",
    ],
    ids=lambda line: line[:60],
)  # fmt: skip
def test_a_line_of_nonsense_harms_neither_its_call_nor_another(shared, stage, line):
    """A session listens meanwhile, so that what is passed on is really sent."""
    session = shared.client.session()
    assert session.request("logging/setLevel", {"level": "debug"}).result == {}
    pid = shared.client.call("bad__echo", {"text": "x"}).result["_meta"]["pid"]
    with session.listen() as stream:
        stream.until(b"\r\n\r\n")
        assert session.call("bad__write", {"lines": [line]}).text == "done"
        assert shared.client.call("bad__write", {"lines": [line]}).text == "done"
        after = shared.client.call("bad__echo", {"text": "x"}).result["_meta"]["pid"]
    assert after == pid  # the connection has survived
    assert session.delete().status == 204


def test_the_first_of_two_answers_counts(house):
    assert write(house, ANSWER).text == "early"  # then comes the second one
    assert write(house, ANSWER, ANSWER, ANSWER).text == "early"
    house.is_well("bad__echo")


def test_an_answer_with_the_id_of_another_call_does_not_reach_it(house, stage):
    """Ids that servers see are ours and count up; a guess in both directions must not hit a call of somebody else."""
    answers = [f'{{"jsonrpc":"2.0","id":"stolen-{number}","result":{{}}}}' for number in range(10)]
    hanging = stage.in_background(lambda: house.client.call("good__hang"))
    house.until_noted("called hang")
    lines = [f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}' for number in range(1, 200)]
    assert write(house, *answers, *lines, silent=True).result["content"] == []  # that was its own id
    assert not hanging.done()
    house.is_well("bad__echo")


def test_a_result_that_has_the_wrong_shape_is_passed_on_or_refused_but_answered(shared):
    for result in (
        '{"content":"text"}',
        '{"content":[1,null,"x",[]]}',
        '{"content":null,"isError":"yes"}',
        '{"isError":true,"content":[1,null,{"text":5}]}',
        '{"structuredContent":[1]}',
        '{"_meta":5}',
        '{"resultType":["x"]}',
        '{"resultType":"input_required"}',
        '{"resultType":"input_required","inputRequests":5,"requestState":7}',
        "{}",
        "[]",
        "null",
        "5",
        '"text"',
    ):
        line = f'{{"jsonrpc":"2.0","id":"$ID","result":{result}}}'
        for client in (shared.client, shared.client.session()):
            answer = client.call("bad__write", {"lines": [line], "silent": True})
            assert answer.status == 200, (result, answer.body)
            assert ("result" in answer.last) is not ("error" in answer.last), result


@pytest.mark.parametrize(
    "error",
    ["5", '"text"', "null", "[]", "{}", '{"code":"x","message":5}', '{"code":1e30,"message":null,"data":[]}',
     '{"code":123456789012345678901234567890,"message":"big"}', '{"code":true,"message":{"a":1}}'],
)  # fmt: skip
def test_an_error_that_has_the_wrong_shape_is_still_an_error(shared, error):
    line = f'{{"jsonrpc":"2.0","id":"$ID","error":{error}}}'
    for client in (shared.client, shared.client.session()):
        answer = client.call("bad__write", {"lines": [line], "silent": True})
        assert answer.status == 200
        assert isinstance(answer.error["code"], int)
        assert isinstance(answer.error["message"], str)


@pytest.mark.parametrize(
    "value", ["123456789012345678901234567890", "-99999999999999999999", "1e308", "18446744073709551616"]
)
def test_numbers_of_any_size_in_a_result_reach_the_client(shared, value):
    line = f'{{"jsonrpc":"2.0","id":"$ID","result":{{"content":[],"structuredContent":{{"n":{value}}}}}}}'
    answer = shared.client.call("bad__write", {"lines": [line], "silent": True})
    assert answer.result["structuredContent"] == {"n": json.loads(value)}


def test_numbers_of_any_size_in_arguments_reach_the_server(shared):
    given = {"text": "x", "n": 123456789012345678901234567890, "m": [1e308, -(2**64), 2**64]}
    assert shared.client.call("bad__echo", given).result["_meta"]["given"] == given


@pytest.fixture(params=["bare", "gated"])
def deep(request, opened, stage):
    gate = {"audit": {"enabled": True}} if request.param == "gated" else {}
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # so that the client can follow whatever it gets
    yield opened({"mcpServers": {"bad": stage.villain(timeout="30s")}, **gate})
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("depths", [(100, 300, 500, 700, 900), range(940, 1000, 2), (5_000, 100_000)])
def test_deep_nesting_passes_or_is_refused_at_once_in_both_directions(deep, depths):
    """Where it is too deep for some of what there is to do, too: nobody waits, and nothing fails in a way not thought of."""
    session = deep.client.session()
    for depth in depths:
        nested = "[" * depth + "]" * depth
        result = f'"result":{{"content":[],"structuredContent":{{"n":{nested}}}}}'
        for line in (f'{{"jsonrpc":"2.0","id":"$ID",{result}}}', f'{{{result},"id":"$ID","jsonrpc":"2.0"}}'):
            for client in (deep.client, session):
                answer = client.call("write", {"lines": [line], "silent": True})
                assert answer.status == 200
                assert "result" in answer.last or "nested too deeply" in answer.error["message"]
                assert "result" not in answer.last or answer.result["structuredContent"]
        body, headers = _modern_call("echo", f'{{"text":"x","n":{nested}}}')
        answer = deep.client.post(body, headers=headers)
        assert "result" in answer.last or "nested too deeply" in answer.error["message"]
    deep.is_well()


def _modern_call(tool, arguments):
    meta = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'
    body = (
        f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},'
        f'"_meta":{{{meta}}}}}}}'
    )
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return body.encode(), headers


# -- its questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["sampling/createMessage", "elicitation/create", "roots/list", "tools/list", "x/y"]
)
@pytest.mark.parametrize("era", ["newer", "older"])
def test_a_question_that_the_client_has_not_allowed_is_refused(shared, method, era):
    client = shared.client if era == "newer" else shared.client.session()
    answer = json.loads(client.call("bad__ask", {"method": method}).text)
    assert answer["error"]["code"] == -32601


def test_a_question_outside_of_any_call_is_refused_and_not_put_to_anybody(shared, stage):
    """It comes on the shared connection, when nobody has a call there."""
    session = shared.client.session(capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
    with session.listen() as stream:
        stream.until(b"\r\n\r\n")
        question = (
            '{"jsonrpc":"2.0","id":"odd","method":"elicitation/create","params":{"message":"password?"}}'
        )
        assert shared.client.call("bad__write", {"lines": [question]}).text == "done"
        assert shared.client.call("bad__echo", {"text": "x"}).text == "x"
        assert b"password" not in stream.data
    assert session.delete().status == 204


# -- its size ---------------------------------------------------------------------------------------------------------


def test_a_result_just_below_the_limit_arrives_whole(house):
    """Its line has one byte less than the limit; the end of the line does not count."""
    answer = house.client.call("big", {"bytes": LIMIT, "whole": True})
    assert LIMIT - 1000 < len(answer.text) < LIMIT


@pytest.mark.parametrize("more", [1, 2, 8 * MIB])
def test_a_result_at_or_above_the_limit_is_refused_and_the_server_stays_useful(house, more):
    pid = house.client.call("bad__echo", {"text": "x"}).result["_meta"]["pid"]
    is_error(house.client.call("big", {"bytes": LIMIT + more, "whole": True}), "64 MiB")
    assert house.client.call("bad__echo", {"text": "x"}).result["_meta"]["pid"] == pid
    house.is_well("good__echo")


def test_big_results_leave_no_memory_behind(house, stage):
    """The second and third of the same size must not cost more than the first."""
    session = house.client.session()
    assert len(session.call("big", {"bytes": 32 * MIB}).text) == 32 * MIB
    before = house.memory()
    for _ in range(4):
        assert len(session.call("big", {"bytes": 32 * MIB}).text) == 32 * MIB
        assert len(house.client.call("big", {"bytes": 32 * MIB}).text) == 32 * MIB
    assert house.memory() - before < 64 * MIB


def test_what_is_kept_for_clients_that_may_come_back_is_bounded(house, stage):
    """With progress the answers are streams of events, which are kept for a while."""
    session = house.client.session()
    given = {"name": "big", "arguments": {"bytes": 16 * MIB, "progress": True}, "_meta": {"progressToken": 1}}
    assert len(session.request("tools/call", given).text) == 16 * MIB
    before = house.memory()
    for number in range(2, 14):
        assert len(session.request("tools/call", given, number).text) == 16 * MIB
    assert house.memory() - before < 96 * MIB


# -- its floods -------------------------------------------------------------------------------------------------------


LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}' % ("x" * 200)
CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'


@pytest.mark.parametrize(
    "line",
    [LOG, CHANGED, "garbage", '{"jsonrpc":"2.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"x"}',
     '{"jsonrpc":"2.0","id":987654,"result":{}}'],
    ids=["log", "list_changed", "garbage", "ping", "questions", "answers"],
)  # fmt: skip
def test_a_flood_of_messages_is_survived_and_others_are_served_meanwhile(house, stage, line):
    session = house.client.session()
    session.request("logging/setLevel", {"level": "debug"})
    with session.listen() as stream:
        stream.until(b"\r\n\r\n")
        reading = stage.in_background(stream.rest)
        before = house.memory()
        flood = stage.in_background(lambda: write(house, *([line] * 1000), times=60))
        house.until_noted("called write")
        served = 0
        while not flood.done():
            assert house.client.call("good__echo", {"text": "calm"}).text == "calm"
            served += 1
        assert flood.result().text == "done"
        assert served
        house.is_well("bad__echo")
        assert house.memory() - before < 200 * MIB
        assert session.delete().status == 204
        reading.result(stage.PATIENCE)
    stage.until(house.client.idle, "quiet")


def test_a_flood_of_announcements_becomes_few_looks_and_few_notifications(house, stage):
    session = house.client.session()
    with session.listen() as stream:
        stream.until(b"\r\n\r\n")
        before = house.noted.count("listed")
        assert write(house, *([CHANGED] * 2000)).text == "done"
        house.is_well("bad__echo")
        assert session.delete().status == 204
        told = stream.rest().count(b"list_changed")
    assert house.noted.count("listed") - before < 50
    assert 1 <= told < 200


def test_a_flood_on_standard_error_is_survived(house, stage):
    call = stage.in_background(
        lambda: house.client.call("shout", {"text": "x" * 99 + "\n", "times": 200_000})
    )
    while not call.done():
        assert house.client.call("good__echo", {"text": "calm"}).text == "calm"
    assert call.result().text == "done"
    assert len(house.said) < 1 * MIB
    house.is_well("bad__echo")


def test_a_line_on_standard_error_that_never_ends_is_survived(house):
    before = house.memory()
    assert house.client.call("shout", {"text": "x" * 1000, "times": 50_000}).text == "done"
    assert house.memory() - before < 20 * MIB


# -- what is left -----------------------------------------------------------------------------------------------------


def test_after_some_deaths_no_descriptor_and_no_process_is_left(opened, stage):
    """More of them in a minute would leave the server alone for a while."""
    house = opened({"mcpServers": {"bad": stage.villain()}})
    house.is_well()
    before = house.descriptors()
    for _ in range(3):
        stage.until(lambda: "result" in house.client.call("echo", {"text": "x"}).last, "its next life")
        house.client.call("die")
    stage.until(lambda: house.client.servers()["bad"]["state"] == "ready", "it is back")
    stage.until(lambda: len(house.villains()) == 1, "its process")
    stage.until(lambda: house.descriptors() <= before + 1, "as many descriptors as at first")
