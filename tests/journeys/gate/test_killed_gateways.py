"""A gateway is killed under load, again and again: what was answered is in the record, and nothing that was promised is lost."""

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
    """Clients that call one after the other, until nobody answers."""

    def __init__(self, client, name):
        self.client = client
        self.name = name
        self.answered: list[dict] = []
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(CLIENTS)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def _call(self, number):
        who = self.client.session() if number % 2 else self.client
        with contextlib.suppress(OSError, http.client.HTTPException):
            for count in itertools.count():
                given = {"text": f"{self.name} {number} {count}"}
                answer = who.call("look" if count % 2 else "write", given)
                assert answer.text.endswith(given["text"]), answer.body
                self.answered.append(given)

    def end(self):
        for thread in self._threads:
            thread.join(60)


def test_whatever_was_answered_is_recorded_and_what_was_granted_or_asked_stays(
    journey, noted, person, stage, until
):
    config = sys.modules["journeys_gate_files"].office_file(**KEYS)
    chosen = random.Random(5)
    for capability in ("desk", "file.*"):
        journey.awf("grant", "add", capability).succeeded()
    grants = journey.awf("grant", "list", "-o", "json").succeeded().json()
    answered: list[dict] = []
    question = ""
    for kill in range(KILLS):
        house = stage.House(journey, config)
        if not question:
            assert house.client.call("mail", {"to": "ann"}).result["isError"]
            assert house.client.call("read", headers={"X-AWF-Context": "reader"}).text == "read: done"
            question = person.asked()
        load = Load(house.client, f"kill {kill}")
        load.start()
        until(lambda load=load: len(load.answered) >= 5, "some answers")
        time.sleep(chosen.uniform(0, 0.4))  # at any moment
        house.running.send(signal.SIGKILL)
        house.running.process.wait(60)
        load.end()
        assert "Traceback" not in house.said
        answered += load.answered
    events = person.audit()
    recorded = {
        event["inputHash"]: event for event in events if event["toolId"] in {"office:look", "office:write"}
    }
    for given in answered:
        assert recorded[sha256_hex(given)]["outcome"] == "success", given
    assert {event["outcome"] for event in recorded.values()} <= {"success", "unknown"}
    for given in (
        *noted("look"),
        *noted("write"),
    ):  # what went out was decided, whether or not it was answered
        assert sha256_hex(given) in recorded
    person.is_sound()
    assert journey.awf("grant", "list", "-o", "json").succeeded().json() == grants
    assert person.asked() == question
    last = stage.House(journey, config)
    refused = last.client.call("fetch", headers={"X-AWF-Context": "reader"})
    assert refused.result["isError"]  # what was read is not forgotten
    person.say("approve", question).succeeded()
    assert last.client.call("mail", {"to": "ann"}).text == "mail: done"
    last.stop()
    assert noted("fetch") == []
    print(f"{KILLS} kills, {len(answered)} answered calls, {len(events)} events")
