"""Either gateway is killed under load, again and again, and another one started: no effect without a record, one sound chain."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import random
import signal
import sys
import threading
import time

import pytest

from awf.domain.canonical import sha256_hex

# `AWF_GATEWAY_KILLS=50` is the long form.
KILLS = int(os.environ.get("AWF_GATEWAY_KILLS", "6"))
CLIENTS = 4
pytestmark = [pytest.mark.journey, pytest.mark.timeout(120 + 20 * KILLS)]
stage = sys.modules["gateway_hostile_stage"]
FILES = sys.modules["journeys_gate_files"]
KEYS = {
    "overrides": {
        "office:look": {"policy_action": "file.read", "required_scopes": ["desk"]},
        "office:write": {"policy_action": "file.write", "required_scopes": ["desk"]},
        "office:mail": {"requires_confirmation": True},
        "office:read": {"policy_action": "file.read", "classification": "confidential"},
        "office:fetch": {"policy_action": "network.request"},
    },
    "approvals": {"wait": "50ms"},
    "audit": {"checkpoint_records": 50},
}


class Load:
    """Clients that call through the balancer until they are told to stop; sessions begin again when theirs is over."""

    def __init__(self, pair):
        self._pair = pair
        self._over = threading.Event()
        self.answered: list[dict] = []
        self.broken: list[str] = []
        self.wrong: list[str] = []
        self.begun_again = 0
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(CLIENTS)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def end(self):
        self._over.set()
        for thread in self._threads:
            thread.join(60)
        assert not self.wrong, self.wrong[:3]

    def _work(self, number):
        who = None
        for count in itertools.count():
            if self._over.is_set():
                return
            try:
                if who is None:
                    who = self._pair.client.session() if number % 2 else self._pair.client
                given = {"text": f"client {number} call {count}"}
                answer = who.call("look" if count % 2 else "write", given)
            except (OSError, http.client.HTTPException, AssertionError) as reason:
                self.broken.append(repr(reason))  # whether it was carried out is not known to the client
                who = None
                continue
            if answer.status in {404, 502} and number % 2:
                self.begun_again += 1
                who = None
            elif answer.status == 200 and answer.messages() and "result" in answer.last:
                if answer.text.endswith(given["text"]):
                    self.answered.append(given)
                else:
                    self.wrong.append(answer.body.decode())
            else:
                self.wrong.append(f"{answer.status} {answer.body!r}")


def test_whatever_was_answered_is_recorded_whichever_gateway_was_killed(shared, noted, person):
    chosen = random.Random(8)
    for capability in ("desk", "file.*"):
        shared.awf("grant", "add", capability).succeeded()
    grants = shared.awf("grant", "list", "-o", "json").succeeded().json()
    both = sys.modules["journeys_replicas_pair"].Pair(shared, FILES.office_file(**KEYS))
    with both.proxy:
        assert both.client.call("mail", {"to": "ann"}).result["isError"]
        assert both.client.call("read", headers={"X-AWF-Context": "reader"}).text == "read: done"
        question = person.asked()
        load = Load(both)
        load.start()
        with contextlib.ExitStack() as ending:
            ending.callback(load.end)
            for _ in range(KILLS):
                enough = len(load.answered) + 10
                stage.until(lambda enough=enough: len(load.answered) >= enough, "some answers")
                time.sleep(chosen.uniform(0, 0.4))  # at any moment
                victim = chosen.randrange(2)
                killed = both.houses[victim]
                killed.running.send(signal.SIGKILL)
                killed.running.process.wait(60)
                assert "Traceback" not in killed.said
                both.houses[victim] = both.start(victim)
                both.proxy.ports[victim] = both.houses[victim].client.port
        events = person.audit()
        of_load = {"office:look", "office:write"}
        recorded = {event["inputHash"]: event for event in events if event["toolId"] in of_load}
        for given in load.answered:
            assert recorded[sha256_hex(given)]["outcome"] == "success", given
        assert {event["outcome"] for event in recorded.values()} <= {"success", "unknown"}
        for given in (
            *noted("look"),
            *noted("write"),
        ):  # what went out was decided, whether or not it was answered
            assert sha256_hex(given) in recorded
        person.is_sound()
        assert shared.awf("grant", "list", "-o", "json").succeeded().json() == grants
        assert person.asked() == question
        for house in both.houses:
            refused = house.client.call("fetch", headers={"X-AWF-Context": "reader"})
            assert refused.result["isError"]  # what was read is not forgotten
        person.say("approve", question).succeeded()
        assert both.client.call("mail", {"to": "ann"}).text == "mail: done"
        both.stop()
    assert noted("fetch") == []
    print(
        f"{KILLS} kills, {len(load.answered)} answered calls, {load.begun_again} sessions begun again, "
        f"{len(load.broken)} connections broken, {len(events)} events"
    )
