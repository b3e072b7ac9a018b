"""One session with everything in it that a workflow can show: branches, retries, failures, an agent's tools, approvals, a
conversation, a cancelled step, a replay. What an agent must never send is looked for in its frames.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FLAKY = "test -e again || { touch again; echo not yet; exit 1; }; echo now"
NOISE = "yes noise | head -c 400000 >&2; printf 'caf\\303\\251 \\377 \\033[31mred\\033[0m\\n'"


@dataclass(frozen=True)
class Recording:
    lines: list[bytes]  # all that the agent wrote
    stderr: str
    turns: dict[str, Any]
    replay: Any
    late: list[str]  # kinds of updates that came after the answer to their prompt

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def updates(self) -> list[dict[str, Any]]:
        return [
            one["params"]["update"] for one in self.messages if one.get("method") == "session/update"
        ]  # fmt: skip

    def values(self, key: str) -> set[str]:
        """Every value of this key in any update, and in what was asked about tool calls."""
        asked = [one["params"]["toolCall"] for one in self.messages if "toolCall" in one.get("params", {})]
        return {update[key] for update in (*self.updates, *asked) if update.get(key) is not None}


def write_workflows(desk: Any, words: Any) -> None:
    command, agent, tool = words.command, words.agent, words.tool
    edits = agent(
        {"think": "Hm."},
        tool("Read", file_path="beds.txt"),
        tool("Edit", file_path="beds.txt", old_string="one", new_string="two"),
        tool("Write", file_path="new.txt", content="new\n"),
        tool("Read", file_path="nowhere.txt"),
        tool("Bash", command="echo from bash; sleep 0.1; echo more"),
        tool("Grep", pattern="two", path="."),
        tool("Bash", command="echo refused"),
        {"usage": {"input_tokens": 10, "output_tokens": 5, "cost": 0.01}},
        "Edited *everything*.",
        mcp_proxy={"enable": True, "approve": ["Bash"]},
    )
    desk.workflow(
        "rich",
        {
            "prepare": command("echo ready; echo one > beds.txt"),
            "checks": {"type": "parallel", "parallel": ["lint", "unit", "flaky"], "strategy": "best_effort"},
            "lint": command("echo lint; exit 3"),
            "unit": command("for n in 1 2 3; do echo unit $n; sleep 0.05; done"),
            "flaky": command(FLAKY, retry={"max_attempts": 3, "initial_delay": "10ms"}),
            "edit": edits,
            "gate": command("echo gated", approval={"message": "Go on?", "on_deny": "skip"}),
            "each": {"type": "for_each", "items": ["a", "b"], "body": ["visit"]},
            "visit": command("echo visit {{ loop.item }}"),
            "noise": command(NOISE),
        },
        "all done",
    )
    desk.workflow("fails", {"boom": command("echo before; exit 7"), "never": command("echo never")})
    desk.workflow("crash", {"ask": agent("Half a", {"crash": True})})
    desk.workflow("late", {"wait": command("sleep 300", timeout="200ms")})


class Player:
    """Says things, and writes down what still comes after an answer."""

    def __init__(self, editor: Any, session: str) -> None:
        self.editor, self.session = editor, session
        self.turns: dict[str, Any] = {}
        self.late: list[str] = []

    async def say(self, name: str, prompt: Any, *, cancel: bool = False) -> None:
        turn = await self.editor.begin(self.session, prompt)
        if cancel:
            await turn.wait_for(lambda update: update["sessionUpdate"] == "tool_call")
            await self.editor.cancel(self.session)
        self.turns[name] = await turn.end()
        count = len(self.turns[name].updates)
        await self.editor.list_sessions()  # there and back again: what was written meanwhile has come
        self.late += [update["sessionUpdate"] for update in turn.updates[count:]]


async def record(desk: Any, words: Any, capabilities: Mapping[str, Any] | None = None) -> Recording:
    write_workflows(desk, words)
    answers = iter(["allow", "deny", "allow_always", "deny"])  # Bash, Bash, the gate, and the gate of /gate
    editor = await desk.editor(capabilities=capabilities, permissions=lambda _: next(answers, "allow"))
    player = Player(editor, await editor.new_session(desk.project))
    for name in ("rich", "gate", "fails", "crash", "late"):
        await player.say(name, f"/{name}")
    await player.say("missing", "/hello")
    await player.say("slow", "/slow", cancel=True)
    for number, line in enumerate(("/talk", "line 2", "/workflows", "/status", "/end")):
        await player.say(f"talk {number}", line)
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    await player.say("image", [{"type": "text", "text": "/hello"}, image])
    replay = await editor.load_session(player.session, desk.project)
    ended = await editor.close()
    return Recording(editor.agent.lines("<"), ended.stderr, player.turns, replay, player.late)
