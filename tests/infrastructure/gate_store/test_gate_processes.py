"""Several processes and one `gate.db`; and what a killed one had been told."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap

import pytest

from awf.domain.approval import Approval
from awf.domain.label import Label
from awf.infrastructure.gate_store import SqliteGateStore

pytestmark = pytest.mark.race
PATIENCE = 120.0
HEAD = """
import asyncio, json, sys
from awf.domain.approval import Approval
from awf.domain.grant import CapabilityGrant
from awf.domain.label import Label
from awf.domain.security_context import SecurityContext
from awf.infrastructure.gate_store import SqliteGateStore

def question(name, about):
    return Approval(approval_id=name, tool_id="t", arguments_hash=about, context="c", asked_at=1.0, expires_at=9.0)

async def main(folder, me):
    print("ready", flush=True)
    sys.stdin.readline()
    store = SqliteGateStore(folder)
    print(json.dumps(await work(store, me)), flush=True)
    sys.stdin.readline()
    store.close()

"""


class Peer:
    """A process that waits for a word, works on the store, tells the result, and waits for another word."""

    def __init__(self, folder, me: str, work: str) -> None:
        code = f"{HEAD}\nasync def work(store, me):\n{textwrap.indent(textwrap.dedent(work), '    ')}\nasyncio.run(main(*sys.argv[1:]))"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder), me],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        line = self.process.stdout.readline()
        assert line, "it has ended"
        return line.strip()

    def say(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> int:
        try:
            self.say()
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()


@pytest.fixture
def peers(tmp_path):
    started: list[Peer] = []

    def start(count: int, work: str) -> list[Peer]:
        started.extend(Peer(tmp_path, str(number), work) for number in range(count))
        assert [peer.hear() for peer in started] == ["ready"] * count
        return started

    yield start
    for peer in started:
        peer.process.kill()
        peer.process.wait()
        peer.process.stdin.close()
        peer.process.stdout.close()


def raced(peers: list[Peer]) -> list:
    """All begin at once; what each came to."""
    for peer in peers:
        peer.say()
    results = [json.loads(peer.hear()) for peer in peers]
    assert [peer.end() for peer in peers] == [0] * len(peers)
    return results


def question(name: str) -> Approval:
    return Approval(
        approval_id=name, tool_id="t", arguments_hash=name, context="c", asked_at=1.0, expires_at=9.0
    )


async def test_of_two_processes_that_race_for_an_approval_one_gets_it(tmp_path, peers):
    names = [f"a{number}" for number in range(100)]
    store = SqliteGateStore(str(tmp_path))
    for name in names:
        await store.approvals.ask(question(name))
        await store.approvals.decide(name, granted=True, by="me", now=2.0)
    taken = raced(peers(2, 'return [n for n in range(100) if await store.approvals.use(f"a{n}", 3.0)]'))
    store.close()
    assert sorted(taken[0] + taken[1]) == list(range(100))


async def test_of_two_processes_that_answer_a_question_one_decides(tmp_path, peers):
    store = SqliteGateStore(str(tmp_path))
    for number in range(50):
        await store.approvals.ask(question(f"a{number}"))
    work = """
        answers = [await store.approvals.decide(f"a{n}", granted=me == "0", by=me, now=3.0) for n in range(50)]
        return [n for n, answer in enumerate(answers) if answer is not None and answer.decided_by == me]
    """
    decided = raced(peers(2, work))
    assert sorted(decided[0] + decided[1]) == list(range(50))
    for number in range(50):
        found = await store.approvals.find(f"a{number}")
        assert (found.status, found.decided_by) == (
            ("granted", "0") if number in decided[0] else ("denied", "1")
        )
    store.close()


def test_processes_that_ask_the_same_ask_one_question(peers):
    work = """
        asked = [await store.approvals.ask(question(f"{me}-{n}", f"h{n}")) for n in range(30)]
        return [one.approval_id for one in asked]
    """
    one, other = raced(peers(2, work))
    assert one == other


async def test_labels_that_processes_mix_in_at_once_are_all_kept(tmp_path, peers):
    work = """
        label = [Label("confidential", "trusted"), Label("public", "untrusted"), Label("public", "trusted")][int(me)]
        for n in range(40):
            await store.contexts.raise_label(f"c{n}", label, me, 1.0)
        return None
    """
    raced(peers(3, work))
    store = SqliteGateStore(str(tmp_path))
    labels = {context.label for context in await store.contexts.contexts()}
    assert labels == {Label("confidential", "untrusted")}
    store.close()


def test_processes_that_open_a_new_store_at_once_all_can(peers):
    work = """
        await store.grants.add(CapabilityGrant(grant_id=me, capability="x", issued_at=1.0))
        return True
    """
    assert raced(peers(4, work)) == [True] * 4


async def test_what_a_killed_process_had_been_answered_is_kept(tmp_path, peers):
    work = """
        await store.grants.add(CapabilityGrant(grant_id="g", capability="x", issued_at=1.0))
        await store.grants.revoke("g", 2.0)
        for name in ("granted", "used"):
            await store.approvals.ask(question(name, name))
            await store.approvals.decide(name, granted=True, by="me", now=2.0)
        await store.approvals.use("used", 3.0)
        await store.contexts.raise_label("c", Label("secret"), "kb:read", 3.0)
        await store.contexts.add(SecurityContext(context_id="child", parent="c", minted=True))
        return "answered"
    """
    (peer,) = peers(1, work)
    peer.say()
    assert peer.hear() == '"answered"'
    peer.process.send_signal(signal.SIGKILL)
    peer.process.wait(PATIENCE)
    store = SqliteGateStore(str(tmp_path))
    assert [grant.revoked_at for grant in await store.grants.grants()] == [2.0]
    assert [(await store.approvals.find(name)).status for name in ("granted", "used")] == ["granted", "used"]
    assert not await store.approvals.use("used", 4.0)
    assert await store.approvals.use("granted", 4.0)
    assert {(one.context_id, one.label) for one in await store.contexts.contexts()} == {
        ("c", Label("secret")),
        ("child", Label("secret")),
    }
    store.close()
