"""What is sent, from a step's options and the conversation."""

from __future__ import annotations

import msgspec
import pytest

from awf.domain.run import Usage
from awf.domain.tool import ToolDefinition, ToolResult, text_result
from awf.infrastructure.agents.openai_compatible.arguments import read_calls
from awf.infrastructure.agents.openai_compatible.failures import from_status, retry_after
from awf.infrastructure.agents.openai_compatible.messages import opened
from awf.infrastructure.agents.openai_compatible.options import Prices, check_options, read_options
from awf.infrastructure.agents.openai_compatible.pricing import priced
from awf.infrastructure.agents.openai_compatible.request import endpoint, request_body, request_headers
from awf.infrastructure.agents.openai_compatible.tool_content import pictures, tool_text
from awf.infrastructure.agents.openai_compatible.turn import Call

LEAST = {"model": "m", "base_url": "http://localhost:1/v1"}
USER = [{"role": "user", "content": "hi"}]
TOOL = ToolDefinition(name="Read", source="builtin", description="Read a file.")
PICTURE = {"type": "image", "mimeType": "image/png", "data": "QUJD"}


def body(tools=(), schema=None, **options):
    return request_body(read_options({**LEAST, **options}), USER, tools, schema)


def test_a_request_says_no_more_than_it_has_to():
    assert body() == {
        "model": "m",
        "messages": USER,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_are_described_and_left_to_the_model_to_choose():
    made = body([TOOL])
    assert made["tool_choice"] == "auto"
    assert made["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "Read",
                "description": "Read a file.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("temperature", 0.5),
        ("top_p", 0.9),
        ("max_tokens", 10),
        ("max_completion_tokens", 11),
        ("seed", 7),
        ("stop", "END"),
        ("stop", ["a", "b"]),
        ("reasoning_effort", "high"),
        ("temperature", 0.0),
    ],
)
def test_an_option_of_the_api_is_sent_as_it_is_written(key, value):
    assert body(**{key: value})[key] == value


def test_parallel_calls_are_only_spoken_of_where_there_are_tools():
    assert body([TOOL], parallel_tool_calls=False)["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in body(parallel_tool_calls=False)


def test_the_form_of_the_answer_is_asked_for_as_the_option_says():
    schema = {"type": "object"}
    named = {"name": "answer", "schema": schema}
    assert "response_format" not in body(schema=schema)
    assert body(schema=schema, json_mode="schema")["response_format"] == {
        "type": "json_schema",
        "json_schema": named,
    }
    assert body(schema=schema, json_mode="object")["response_format"] == {"type": "json_object"}
    assert body(json_mode="schema")["response_format"] == {"type": "json_object"}


def test_an_extra_body_wins_and_null_leaves_a_key_out():
    made = body(extra_body={"top_k": 4, "model": "other", "stream_options": None})
    assert (made["top_k"], made["model"]) == (4, "other")
    assert "stream_options" not in made


@pytest.mark.parametrize(
    ("root", "wanted"),
    [
        ("https://host/v1", "https://host/v1/chat/completions"),
        ("https://host/v1/", "https://host/v1/chat/completions"),
        ("https://host", "https://host/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        (
            "https://host/deployments/x?api-version=1",
            "https://host/deployments/x/chat/completions?api-version=1",
        ),
    ],
)
def test_the_address_is_found_from_the_root_of_the_api(root, wanted):
    assert endpoint(root) == wanted


def test_the_key_is_a_bearer_token_unless_a_header_says_otherwise():
    assert "Authorization" not in request_headers(read_options(LEAST))
    assert request_headers(read_options({**LEAST, "api_key": "k\n"}))["Authorization"] == "Bearer k"
    own = request_headers(read_options({**LEAST, "api_key": "k", "headers": {"authorization": "Basic x"}}))
    assert [value for name, value in own.items() if name.lower() == "authorization"] == ["Basic x"]


# -- options ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"base_url": "http://x"}, "model"),
        ({"model": "m"}, "base_url"),
        ({**LEAST, "base_url": "localhost:8080/v1"}, "base_url"),
        ({**LEAST, "base_url": "ftp://host"}, "base_url"),
        ({**LEAST, "modell": "m"}, "modell"),
        ({**LEAST, "temperature": "warm"}, "temperature"),
        ({**LEAST, "max_rounds": 0}, "max_rounds"),
        ({**LEAST, "max_retries": -1}, "max_retries"),
        ({**LEAST, "max_tokens": 0}, "max_tokens"),
        ({**LEAST, "timeout": "soon"}, "timeout"),
        ({**LEAST, "timeout": 0}, "timeout"),
        ({**LEAST, "json_mode": "yes"}, "json_mode"),
        ({**LEAST, "headers": {"X Y": "z"}}, "headers"),
        ({**LEAST, "headers": {"X": "a\r\nHost: b"}}, "headers"),
        ({**LEAST, "extra_body": {"messages": []}}, "extra_body"),
        ({**LEAST, "prices": {"input": 1}}, "prices"),
        ({**LEAST, "program": "x"}, "program"),
    ],
)
def test_an_option_that_cannot_work_is_found_before_anything_starts(options, key):
    assert [problem.key for problem in check_options(options)] == [key]


def test_options_that_are_templates_are_taken_on_trust():
    written = {
        "model": "{{ inputs.model }}",
        "base_url": "${env:URL}",
        "temperature": "{{ inputs.t }}",
        "max_rounds": "{{ inputs.n }}",
        "timeout": "{{ inputs.t }}",
    }
    assert check_options(written) == []


def test_options_that_were_templates_are_read_from_their_texts():
    options = read_options(
        {**LEAST, "temperature": "0.5", "max_rounds": "3", "timeout": "2m", "images": "true"}
    )
    assert (options.temperature, options.max_rounds, options.timeout, options.images) == (0.5, 3, 120.0, True)


# -- the conversation ---------------------------------------------------------------------------------------------------


def test_there_is_one_system_message_at_most():
    first = opened([], "Be brief.", "one")
    assert first == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"}]
    again = opened(first, "Be brief.", "two")
    assert [message["role"] for message in again] == ["system", "user", "user"]
    assert opened(first, "", "two")[0]["content"] == "Be brief."
    assert opened(first, "Be long.", "two")[0]["content"] == "Be long."
    assert opened(opened([], "", "one"), "Late.", "two")[0] == {"role": "system", "content": "Late."}


def test_calls_get_ids_that_nothing_else_has():
    calls = [Call(id="a", name="x"), Call(id="a", name="x"), Call(name="x"), Call(id="old", name="x")]
    read = read_calls(calls, {"old"})
    assert read[0].id == "a"
    assert len({call.id for call in read} | {"old"}) == 5


@pytest.mark.parametrize(
    ("written", "arguments", "told"),
    [
        ("", {}, ""),
        ("null", {}, ""),
        ('{"a": 1}', {"a": 1}, ""),
        ('"{\\"a\\": 1}"', {"a": 1}, ""),
        ('{"a": ', {}, "not valid JSON"),
        ("[1]", {}, "not a JSON object"),
        ('{"a":' * 100_000, {}, "not valid JSON"),
        ('"x"', {}, "not valid JSON"),
    ],
)
def test_arguments_are_read_or_the_model_is_told_why_not(written, arguments, told):
    call = read_calls([Call(id="a", name="Read", arguments=written)], ())[0]
    assert call.arguments == arguments
    assert told in call.problem
    assert bool(call.problem) == bool(told)
    assert isinstance(msgspec.json.decode(call.written), dict)


def test_what_a_tool_gives_is_told_as_far_as_it_is_text():
    result = ToolResult(
        content=[
            {"type": "text", "text": "one"},
            PICTURE,
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "x/y", "blob": "QQ=="}},
            {"type": "resource_link", "name": "c", "uri": "file:///c"},
            {"type": "something_new"},
        ]
    )
    lines = tool_text(result, images=False).splitlines()
    assert lines == [
        "one",
        "(image of type image/png, 3 bytes, which cannot be shown to you)",
        "two",
        "(resource file:///b of type x/y, not text)",
        "(c: file:///c)",
        "(something_new)",
    ]
    assert "follows in a message of its own" in tool_text(result, images=True)
    assert [part["image_url"]["url"] for part in pictures(result)] == ["data:image/png;base64,QUJD"]


def test_an_error_of_a_tool_is_marked_as_one():
    assert tool_text(text_result("no such file", is_error=True), images=False) == "Error: no such file"
    assert tool_text(text_result("Error 5", is_error=True), images=False) == "Error 5"
    assert tool_text(ToolResult(is_error=True), images=False).startswith("Error: ")
    assert tool_text(ToolResult(), images=False) == "(no output)"
    assert tool_text(ToolResult(structured={"a": 1}), images=False) == '{"a": 1}'


# -- costs and waits ----------------------------------------------------------------------------------------------------


def test_costs_are_computed_from_prices_and_never_made_up():
    prices = Prices(input=2.0, output=10.0)
    assert priced(Usage(1_000_000, 500_000), prices) == Usage(1_000_000, 500_000, 7.0, "computed")
    assert priced(Usage(1, 1), None) == Usage(1, 1)
    assert priced(Usage(1, 1, 0.3, "reported"), prices) == Usage(1, 1, 0.3, "reported")
    assert priced(Usage(), prices) == Usage()
    assert priced(None, prices) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:30 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "later"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_the_time_to_wait_is_a_number_or_a_date(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("body", "kind", "wanted"),
    [
        (b'{"error": {"message": "no such model"}}', "application/json", "HTTP 404: no such model"),
        (b'[{"error": {"message": "no such model"}}]', "application/json", "HTTP 404: no such model"),
        (b'{"error": "no such model"}', "application/json", "HTTP 404: no such model"),
        (b'{"detail": "no such model"}', "application/json", "HTTP 404: no such model"),
        (b'{"message": "no such model"}', "application/json", "HTTP 404: no such model"),
        (b"no such   model\n", "text/plain", "HTTP 404: no such model"),
        (b"<html>" + b"x" * 9000, "text/html", "HTTP 404 and a web page."),
        (b"", "", "HTTP 404."),
    ],
)
def test_a_refusal_says_what_the_api_said(body, kind, wanted):
    refusal = from_status(404, {"content-type": kind}, body, "http://x/v1/chat/completions")
    assert refusal.message.endswith(wanted)
    assert (refusal.retryable, refusal.hint) == (False, "Check `base_url` and `model`.")
