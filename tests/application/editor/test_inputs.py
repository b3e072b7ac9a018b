"""What a prompt carries into a workflow, what is asked for when something is missing, and what is never shown."""

from __future__ import annotations

import re

import pytest

from awf.domain.editor import FormAnswer
from awf.testing.editor_desk import EditorDesk, a_command, a_conversation, a_workflow, an_agent, text_block

SECRET = "sk-live-0123456789abcdef"

ENV = {"name": "env", "type": "string", "required": True, "enum": ["dev", "prod"]}
TAG = {"name": "tag", "type": "string", "required": True}
COUNT = {"name": "count", "type": "integer", "default": 2}


def deploying(*inputs: dict) -> dict:
    words = " ".join(f"{one['name']}=[{{{{ inputs.{one['name']} }}}}]" for one in inputs)
    return a_workflow({"one": a_command(f"echo '{words}'")}, inputs=list(inputs))


async def test_values_come_by_name_in_every_way_of_writing(desk):
    desk.write("deploy", deploying(ENV, TAG, COUNT))
    session = await desk.new()
    for prompt in (
        "/deploy env=dev tag='v 1' count=3",
        '/deploy --input env=dev --input "tag=v 1" --input=count=3',
        '/deploy --env=dev --tag="v 1" count=3',
    ):
        desk.editor.forget()
        assert (await desk.say(session, prompt)).meta["status"] == "completed", desk.editor.text
        assert "env=[dev] tag=[v 1] count=[3]" in str(desk.editor.calls)


async def test_what_is_missing_is_asked_for_with_a_form(desk):
    desk.write("deploy", deploying(ENV, TAG, COUNT))
    desk.open(forms=True)
    desk.editor.fill = lambda schema: FormAnswer("accept", {"env": "prod", "count": 5})
    session = await desk.new()
    reply = await desk.say(session, "/deploy tag=v1")
    assert reply.meta["status"] == "completed"
    (form,) = desk.editor.forms
    assert form["schema"]["required"] == ["env"]
    assert form["schema"]["properties"]["env"]["enum"] == ["dev", "prod"]
    assert "tag" not in form["schema"]["properties"]
    assert "env=[prod] tag=[v1] count=[5]" in str(desk.editor.calls)


@pytest.mark.parametrize(
    "answer", [FormAnswer("decline"), FormAnswer("cancel"), FormAnswer("accept", {}), None]
)
async def test_without_an_answer_a_line_is_given_that_works_once_it_is_filled_in(desk, answer):
    desk.write("deploy", deploying(ENV, TAG, COUNT))
    desk.open(forms=answer is not None)
    desk.editor.fill = lambda schema: answer
    session = await desk.new()
    reply = await desk.say(session, "/deploy tag='v 1'")
    assert (reply.stop, desk.runs()) == ("refusal", [])
    (call,) = desk.editor.calls.values()
    assert (call["status"], call["title"]) == ("completed", "Checked inputs: 1 missing")
    (line,) = re.findall(r"^/deploy .*$", desk.editor.text, re.MULTILINE)
    assert 'tag="v 1"' in line
    filled = re.sub(r"env=<[^>]*>", "env=dev", line)
    assert filled != line
    assert (await desk.say(session, filled)).meta["status"] == "completed"
    assert "env=[dev] tag=[v 1] count=[2]" in str(desk.editor.calls)


async def test_what_a_form_was_filled_in_with_is_in_the_line_when_it_is_not_usable(desk):
    checked = {**TAG, "validation": {"pattern": "^v[0-9]+$"}}
    desk.write("deploy", deploying(ENV, checked))
    desk.open(forms=True)
    desk.editor.fill = lambda schema: FormAnswer("accept", {"env": "dev", "tag": "latest"})
    session = await desk.new()
    assert (await desk.say(session, "/deploy")).stop == "refusal"
    (line,) = re.findall(r"^/deploy .*$", desk.editor.text, re.MULTILINE)
    assert "env=dev" in line


async def test_a_value_that_breaks_a_rule_is_refused_with_the_rule(desk):
    desk.write("deploy", deploying(ENV, TAG))
    session = await desk.new()
    assert (await desk.say(session, "/deploy env=test tag=v1")).stop == "refusal"
    assert "dev" in desk.editor.text
    assert (await desk.say(session, "/deploy enw=dev --input foo=1 tag=v1")).stop == "refusal"
    assert "foo" in desk.editor.text
    assert desk.runs() == []


async def test_what_the_configuration_knows_is_not_missing(desk):
    desk.write(".awf/config.yaml", "inputs: {env: prod}\n")
    desk.write("deploy", deploying(ENV, TAG))
    session = await desk.new()
    assert (await desk.say(session, "/deploy")).stop == "refusal"
    (line,) = re.findall(r"^/deploy .*$", desk.editor.text, re.MULTILINE)
    assert "env=" not in line
    assert (await desk.say(session, "/deploy tag=v1")).meta["status"] == "completed"
    assert "env=[prod] tag=[v1]" in str(desk.editor.calls)


async def test_a_secret_is_never_asked_for_with_a_form(desk):
    desk.write("deploy", deploying(ENV, {"name": "api_key", "type": "string", "required": True}))
    desk.open(forms=True)
    session = await desk.new()
    assert (await desk.say(session, "/deploy env=dev")).stop == "refusal"
    assert desk.editor.forms == []
    assert "api_key=<api_key>" in desk.editor.text
    assert (await desk.say(session, f"/deploy api_key={SECRET}")).stop == "refusal"
    assert len(desk.editor.forms) == 1
    assert "api_key" not in desk.editor.forms[0]["schema"]["properties"]
    assert SECRET not in str(desk.editor.shown)


async def test_pictures_sounds_and_blobs_are_refused(desk):
    desk.write("deploy", deploying(TAG))
    session = await desk.new()
    blocks = [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAAA"}},
    ]
    for block in blocks:
        desk.editor.forget()
        reply = await desk.say(session, [text_block("/deploy tag=v1 "), block])
        assert reply.stop == "refusal"
        assert "workflows take text" in desk.editor.text
    assert desk.runs() == []


async def test_files_and_links_arrive_in_the_input(desk):
    written = a_workflow(
        {
            "one": an_agent(
                {"say": "ok"},
                prompt="{{ inputs.task }}",
                options={"turns": [{"expect": "(?s)fix .*a.py.*print.1.*b.py", "do": "ok"}]},
            )
        },
        inputs=[{"name": "task", "type": "string", "required": True}],
    )
    desk.write("fix", written)
    session = await desk.new()
    blocks = [
        text_block("/fix fix "),
        {"type": "resource", "resource": {"uri": "file:///src/a.py", "text": "print(1)\n"}},
        text_block(" and "),
        {"type": "resource_link", "uri": "file:///src/b.py", "name": "b.py"},
    ]
    # The embedded text comes after everything else.
    written["states"]["one"]["options"]["turns"][0]["expect"] = "(?s)fix .*/src/a.py.*/src/b.py.*print.1."
    desk.write("fix", written)
    reply = await desk.say(session, blocks)
    assert reply.meta["status"] == "completed", desk.editor.text


# -- secrets -----------------------------------------------------------------------------------------------------------


def everything(desk: EditorDesk) -> str:
    """All that the editor got, and all that is kept of sessions and runs."""
    seen = [str(desk.editor.shown), str(desk.editor.asked), str(desk.editor.forms)]
    kept = [*(desk.folder / "home").rglob("*"), *desk.storage.glob("*.db*")]
    seen += [file.read_text(encoding="utf-8", errors="replace") for file in kept if file.is_file()]
    return "\n".join(seen)


def assert_nothing_is_given_away(desk: EditorDesk, *replies) -> None:
    shown = everything(desk) + str([reply.meta for reply in replies])
    assert SECRET not in shown
    assert "***" in shown


async def test_a_secret_typed_as_an_input_is_shown_nowhere(desk):
    inputs = [{"name": "api_key", "type": "string", "required": True}]
    states = {
        "one": a_command("echo key {{ inputs.api_key }}"),
        "two": a_command("echo {{ inputs.api_key }} >&2; false", on_failure="three"),
        "three": an_agent(
            {"say": "I got {{ inputs.api_key }}."},
            {
                "tool": {
                    "name": "Read",
                    "input": {"key": "{{ inputs.api_key }}"},
                    "output": "{{ inputs.api_key }}",
                }
            },
        ),
        "four": a_command("echo", approval={"message": "With {{ inputs.api_key }}?"}),
    }
    desk.write("x", a_workflow(states, inputs=inputs, outputs={"key": "{{ inputs.api_key }}"}))
    desk.open(permits=["allow"], log=True)
    session = await desk.new()
    reply = await desk.say(session, f"/x api_key={SECRET}")
    assert reply.meta["status"] == "completed", desk.editor.text
    more = await desk.say(session, "/status")
    assert desk.editor.asked
    assert_nothing_is_given_away(desk, reply, more)
    assert desk.record(session).title == "/x api_key=***"
    await desk.restart(log=True)
    await desk.load(session)
    assert_nothing_is_given_away(desk)


@pytest.mark.parametrize(
    "prompt",
    [
        "/y api_key={}",
        "/broken api_key={}",
        "hello api_key={}",
        '/x --input "api_key={}" nope=1 --input foo=2',
        "/x pin={} other",
    ],
)
async def test_a_secret_typed_in_vain_is_shown_nowhere(desk, prompt):
    inputs = [
        {"name": "api_key", "type": "string", "required": True},
        {"name": "pin", "type": "string", "secret": True},
        {"name": "must", "type": "string", "required": True, "enum": ["a"]},
    ]
    desk.write("x", a_workflow({"one": a_command("true")}, inputs=inputs))
    desk.write("broken", "name: [\n")
    desk.open(log=True)
    session = await desk.new()
    reply = await desk.say(session, prompt.format(SECRET))
    assert_nothing_is_given_away(desk, reply)


async def test_a_secret_typed_while_a_conversation_waits_is_shown_nowhere(desk):
    inputs = [{"name": "pin", "type": "string", "secret": True}]
    desk.write("x", a_workflow({"one": a_command("true")}, inputs=inputs))
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    assert_nothing_is_given_away(desk, await desk.say(session, f"/x pin={SECRET}"))


async def test_a_secret_of_the_environment_is_shown_nowhere(tmp_path, desk):
    half = len(SECRET) // 2
    desk.write("./split.sh", f"printf %s {SECRET[:half]}; sleep 0.05; echo {SECRET[half:]}")
    states = {
        "one": a_command("echo $DEPLOY_TOKEN; env"),
        "two": a_command("sh split.sh"),
        "three": an_agent(
            {"say": SECRET[:half]}, {"say": SECRET[half:]}, {"think": SECRET[:half]}, {"think": SECRET[half:]}
        ),
        "four": an_agent(
            {"say": SECRET[:half]}, {"say": SECRET[half:] + " it was"}, options={"process": True}
        ),
        "five": a_command("echo $DEPLOY_TOKEN >&2; exit 1"),
    }
    desk.environment["DEPLOY_TOKEN"] = SECRET
    desk.write("x", a_workflow(states))
    desk.open(log=True, terminals=True)
    session = await desk.new()
    told = await desk.say(session, f"why is it {SECRET}?")
    reply = await desk.say(session, "/x")
    assert reply.meta["status"] == "failed"
    assert SECRET[half:] not in str(desk.editor.shown)
    assert_nothing_is_given_away(desk, told, reply)
    await desk.restart(log=True)
    await desk.load(session)
    assert_nothing_is_given_away(desk)


async def test_what_an_editor_gives_to_its_servers_is_shown_nowhere(desk):
    servers = [
        {
            "name": "files",
            "command": "/no/such/program",
            "args": [],
            "env": [{"name": "FILES_TOKEN", "value": SECRET}],
        },
        {
            "type": "http",
            "name": "web",
            "url": f"http://127.0.0.1:9/mcp?api_key={SECRET}",
            "headers": [{"name": "Authorization", "value": f"Bearer {SECRET}"}],
        },
    ]
    look = {"tool": {"name": "Bash", "input": {"command": "cat said"}}}
    desk.write("./said", SECRET)
    desk.write(
        "x", a_workflow({"one": an_agent(look, mcp_proxy={"enable": True}), "two": a_command("cat said")})
    )
    desk.open(log=True)
    session = await desk.new(servers)
    reply = await desk.say(session, "/x")
    assert reply.meta["status"] == "completed", desk.editor.text
    assert_nothing_is_given_away(desk, reply)


async def test_a_secret_that_is_a_word_of_the_protocol_does_not_garble_what_is_shown(desk):
    desk.environment |= {
        "A_TOKEN": "text",
        "B_TOKEN": "tool_call",
        "C_TOKEN": "in_progress",
        "D_TOKEN": "pending",
    }
    desk.write("it", a_workflow({"one": a_command("echo some text", approval={"message": "Sure?"})}))
    desk.open(permits=["allow"])
    session = await desk.new()
    assert (await desk.say(session, "/it")).stop == "end_turn"
    (call,) = desk.editor.calls.values()
    assert call["status"] == "completed"
    assert desk.editor.asked[0]["toolCall"]["status"] == "pending"
    for update in desk.editor.updates("agent_message_chunk"):
        assert update["content"]["type"] == "text"
    assert "some text" not in str(call["content"])
