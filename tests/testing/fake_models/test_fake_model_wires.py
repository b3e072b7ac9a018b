"""Each wire format offers tools, calls one in pieces, takes its result, and answers with it."""

from __future__ import annotations

import json

NAMES = ["mcp__srv__Read", "mcp__srv__echo"]
ARGUMENTS = {"file_path": "a.txt"}


def test_anthropic_messages(fake, ask, stream):
    url = fake.url + "/v1/messages?beta=true"
    body = {
        "model": "m",
        "stream": True,
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in NAMES],
        "messages": [{"role": "user", "content": "go"}],
    }
    seen = stream(url, body)
    assert (seen[0]["type"], seen[-1]["type"]) == ("message_start", "message_stop")
    deltas = [frame["delta"] for frame in seen if frame["type"] == "content_block_delta"]
    given = [delta["partial_json"] for delta in deltas if delta["type"] == "input_json_delta"]
    assert len(given) > 1
    assert json.loads("".join(given)) == ARGUMENTS
    called = {"type": "tool_use", "id": "1", "input": {}, "name": NAMES[0]}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "xyzzy"}]}
    body["messages"] += [{"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}]
    assert ask(url, body | {"stream": False})["content"][-1]["text"] == "It says xyzzy"
    assert fake.tools_seen() == set(NAMES)
    assert fake.tool_results() == ["xyzzy"]


def test_gemini_generate_content(fake, ask, stream):
    body = {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "tools": [{"functionDeclarations": [{"name": name} for name in NAMES]}],
    }
    seen = stream(fake.url + "/v1beta/models/gem:streamGenerateContent?alt=sse", body)
    parts = [part for frame in seen for part in frame["candidates"][0]["content"]["parts"]]
    call = next(part["functionCall"] for part in parts if "functionCall" in part)
    assert (call["name"], call["args"]) == (NAMES[0], ARGUMENTS)
    answered = {"functionResponse": {"name": call["name"], "response": {"output": "xyzzy"}}}
    body["contents"] += [
        {"role": "model", "parts": [{"functionCall": call}]},
        {"role": "user", "parts": [answered]},
    ]
    answer = ask(fake.url + "/v1beta/models/gem:generateContent", body)
    assert answer["candidates"][0]["content"]["parts"][0]["text"] == "It says xyzzy"
    assert fake.model_requests()[-1]["model"] == "gem"


def test_openai_responses_with_a_namespace_of_tools(fake, ask, stream):
    url = fake.url + "/v1/responses"
    inner = {"type": "function", "name": "Read"}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    body = {
        "model": "m",
        "stream": True,
        "tools": [{"type": "namespace", "name": "mcp__srv", "tools": [inner]}, {"type": "web_search"}],
        "input": [said],
    }
    seen = stream(url, body)
    assert seen[-1]["type"] == "response.completed"
    assert [frame["sequence_number"] for frame in seen] == list(range(1, len(seen) + 1))
    done = [frame["item"] for frame in seen if frame["type"] == "response.output_item.done"]
    call = next(item for item in done if item["type"] == "function_call")
    assert (call["namespace"], call["name"]) == ("mcp__srv", "Read")
    body["input"] += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": "xyzzy"}]
    answer = ask(url, body | {"stream": False})
    assert answer["output"][0]["content"][0]["text"] == "It says xyzzy"
    assert fake.tools_seen() == {"mcp__srv.Read", "web_search"}


def test_openai_chat_completions(fake, ask, stream):
    url = fake.url + "/v1/chat/completions"
    body = {
        "model": "m",
        "stream": True,
        "tools": [{"type": "function", "function": {"name": name}} for name in NAMES],
        "messages": [{"role": "user", "content": "go"}],
    }
    seen = stream(url, body)
    assert seen.pop() == "[DONE]"
    choices = [choice for frame in seen for choice in frame["choices"]]
    calls = [call["function"] for choice in choices for call in choice["delta"].get("tool_calls", [])]
    name = "".join(call.get("name", "") for call in calls)
    given = "".join(call["arguments"] for call in calls)
    assert (name, json.loads(given), choices[-1]["finish_reason"]) == (NAMES[0], ARGUMENTS, "tool_calls")
    body["messages"] += [
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": name}}]},
        {"role": "tool", "tool_call_id": "1", "content": "xyzzy"},
    ]
    answer = ask(url, body | {"stream": False})
    assert answer["choices"][0]["message"]["content"] == "It says xyzzy"


def test_a_router_of_gemini_is_answered_on_the_side(fake, ask):
    schema = {"type": "OBJECT", "properties": {"score": {"type": "INTEGER"}}, "required": ["score"]}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema},
    }
    answer = ask(fake.url + "/v1beta/models/gem:generateContent", body)
    assert json.loads(answer["candidates"][0]["content"]["parts"][0]["text"]) == {"score": 1}
    assert fake.model_requests() == []
    assert len(fake.model_requests(side=True)) == 1


def test_credentials_are_not_kept(fake, ask):
    ask(
        fake.url + "/v1/chat/completions",
        {},
        headers={"Authorization": "Bearer abc123", "x-api-key": "abc123"},
    )
    assert fake.requests[-1]["headers"]["authorization"] == "<redacted>"
    assert "abc123" not in json.dumps(fake.requests)
