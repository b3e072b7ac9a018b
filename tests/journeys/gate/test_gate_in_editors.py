"""The gate in an editor: a call that has to be approved is a permission request, and a session is one security context."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.journey
MADE = "echo x >> made"


def gate_file(desk, **keys):
    (desk.project / ".awf" / "gateway.yaml").write_text(json.dumps(keys), encoding="utf-8")


def audit(desk, *options):
    done = desk.awf("audit", "list", "-o", "json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("answer", "made"), [("allow", 1), ("deny", 0)])
async def test_a_call_that_has_to_be_approved_is_asked_about_in_the_editor(desk, words, answer, made):
    gate_file(desk, overrides={"builtin:Bash": {"requires_confirmation": True}})
    work = words.agent(words.tool("Bash", command=MADE), "Done.", mcp_proxy={"enable": True})
    desk.workflow("work", {"work": work})
    async with await desk.editor(permissions=answer) as editor:
        turn = await editor.prompt(await editor.new_session(desk.project), "/work")
    (question,) = turn.questions
    assert question.method == "session/request_permission"
    assert "builtin:Bash" in json.dumps(question.params)
    assert MADE in json.dumps(question.params)
    assert desk.made == made
    (event,) = audit(desk)
    assert (event["toolId"], event["outcome"], event["door"]) == (
        "builtin:Bash", "success" if made else "denied", "step",
    )  # fmt: skip


async def test_what_a_session_has_read_closes_the_world_to_its_later_prompts(desk, words):
    gate_file(desk, overrides={"builtin:Read": {"classification": "confidential"}})
    (desk.project / "note.txt").write_text("milk\n")
    proxy = {"mcp_proxy": {"enable": True}}
    desk.workflow("look", {"work": words.agent(words.tool("Read", file_path="note.txt"), "Read.", **proxy)})
    desk.workflow("make", {"work": words.agent(words.tool("Bash", command=MADE), "Made.", **proxy)})
    async with await desk.editor() as editor:
        first, second = [await editor.new_session(desk.project) for _ in range(2)]
        await editor.prompt(first, "/look")
        await editor.prompt(first, "/make")
        assert desk.made == 0
        await editor.prompt(second, "/make")  # another session is another context
        assert desk.made == 1
    denied = audit(desk, "--denied")
    assert [event["toolId"] for event in denied] == ["builtin:Bash"]
    assert first in denied[0]["context"]
