"""A projector with an editor at the other end that believes nothing: every update is judged when it arrives."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from awf.application.editor.projection import Projector
from awf.domain.events import Stamped
from awf.domain.workflow import STATE_TYPES, Workflow
from awf.testing.acp_schema import agent_schema
from awf.testing.acp_session_rules import SessionRules

PROTOCOL = Path(__file__).parents[3] / "protocols" / "acp"
OPEN = {"pending", "in_progress"}


class Screen:
    """What an editor has on its screen after the updates so far."""

    def __init__(self):
        self._schema = agent_schema(PROTOCOL)
        self._rules = SessionRules("s", is_open=True)
        self._rules.prompted("1")
        self.rows = {}
        self.messages = {}
        self.thoughts = {}
        self.plan = []
        self.plans = 0
        self.terminals = {}
        self.usage = None

    def show(self, updates):
        for update in updates:
            params = {"sessionId": "s", "update": update}
            msgspec.json.encode(params)
            self._schema.judge_notification("session/update", params)
            self._rules.updated(update)
            getattr(self, f"_{update['sessionUpdate']}")(update)

    def _tool_call(self, update):
        self.rows[update["toolCallId"]] = dict(update)
        self._terminal(update.get("_meta", {}))

    def _tool_call_update(self, update):
        row = self.rows[update["toolCallId"]]
        meta = {**row.get("_meta", {}), **update.get("_meta", {})}
        told = {**row.get("_meta", {}).get("awf", {}), **update.get("_meta", {}).get("awf", {})}
        row.update(update)
        row["_meta"] = {**meta, "awf": told}
        self._terminal(update.get("_meta", {}))

    def _terminal(self, meta):
        if info := meta.get("terminal_info"):
            assert info["terminal_id"] not in self.terminals
            self.terminals[info["terminal_id"]] = {"data": "", "exit": None, **info}
        if output := meta.get("terminal_output"):
            self.terminals[output["terminal_id"]]["data"] += output["data"]
        if ended := meta.get("terminal_exit"):
            self.terminals[ended["terminal_id"]]["exit"] = ended

    def _plan(self, update):
        assert update["entries"] != self.plan, "the same plan twice"
        self.plan = update["entries"]
        self.plans += 1

    def _agent_message_chunk(self, update):
        known = self.messages.setdefault(update["messageId"], "")
        self.messages[update["messageId"]] = known + update["content"]["text"]

    def _agent_thought_chunk(self, update):
        known = self.thoughts.setdefault(update["messageId"], "")
        self.thoughts[update["messageId"]] = known + update["content"]["text"]

    def _usage_update(self, update):
        self.usage = update

    def open(self):
        return [row_id for row_id, row in self.rows.items() if row["status"] in OPEN]

    def said(self):
        return [text.strip("\n") for text in self.messages.values()]

    def text_of(self, row_id):
        parts = [one["content"]["text"] for one in self.rows[row_id]["content"] if one["type"] == "content"]
        return "\n".join(parts)

    def entries(self):
        return [(entry["content"], entry["status"]) for entry in self.plan]


class Play:
    def __init__(self, *, workflow=None, **options):
        self.projector = Projector(run_id="run-1", workflow=workflow, cwd="/project", **options)
        self.screen = Screen()
        self.now = 1000.0
        self.seq = 0

    def tell(self, *events, after=0.0):
        """Hand events over; returns the updates that came of them."""
        came = []
        for event in events:
            self.now += after
            self.seq += 1
            updates = self.projector.event(Stamped("run-1", self.seq, self.now, event))
            self.screen.show(updates)
            came += updates
        return came

    def tick(self, after):
        self.now += after
        updates = self.projector.tick(self.now)
        self.screen.show(updates)
        return updates

    def park(self):
        updates = self.projector.park()
        self.screen.show(updates)
        self._nothing_is_open()
        return updates

    def close(self, *reason):
        updates = self.projector.close(*reason)
        self.screen.show(updates)
        self._nothing_is_open()
        return updates

    def _nothing_is_open(self):
        assert self.screen.open() == []
        assert self.projector.next_tick() is None
        assert all(terminal["exit"] for terminal in self.screen.terminals.values())


def read_workflow(initial, states, **rest):
    """A workflow from plain values, as a file has them."""
    built = {}
    for name, written in states.items():
        fields = dict(written)
        built[name] = msgspec.convert(fields, STATE_TYPES[fields.pop("type")])
    return Workflow(name="deploy", initial=initial, states=built, **rest)


@pytest.fixture
def play():
    return Play


@pytest.fixture
def workflow():
    return read_workflow


@pytest.fixture(scope="module")
def play_any():
    """For properties: one fixture serves all examples, since each makes a run of its own."""
    return Play
