"""Two gateways with one audit in a database: one chain, whoever answers, is killed, or cannot reach it."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import random
import signal
import sys
import threading
import time

import psycopg
import pytest

from awf.domain.canonical import sha256_hex

pytestmark = [pytest.mark.journey, pytest.mark.timeout(300)]
KILLS = 3
CLIENTS = 4
office_file = sys.modules["journeys_gate_files"].office_file


class Load:
    """Clients that call one after the other, until nobody answers."""

    def __init__(self, client, name):
        self.answered: list[dict] = []
        self._threads = [
            threading.Thread(target=self._call, args=(client, f"{name} {n}")) for n in range(CLIENTS)
        ]

    def start(self):
        for thread in self._threads:
            thread.start()

    def _call(self, client, name):
        with contextlib.suppress(OSError, http.client.HTTPException):
            for count in itertools.count():
                given = {"text": f"{name} {count}"}
                answer = client.call("look" if count % 2 else "write", given)
                assert answer.text.endswith(given["text"]), answer.body
                self.answered.append(given)

    def end(self):
        for thread in self._threads:
            thread.join(60)


@pytest.fixture
def database(journey, database_url):
    journey.environment["AWF_DATABASE_URL"] = database_url
    key = journey.root / "audit.key"
    key.write_bytes(bytes(range(32)))
    journey.environment["AWF_AUDIT_KEY"] = str(key)
    return database_url


def test_what_two_gateways_do_is_one_chain_that_every_command_reads(opened, journey, database, person):
    houses = [opened(), opened()]
    for number in range(6):
        given = {"text": f"call {number}"}
        assert houses[number % 2].client.call("write", given).text == f"write: {given['text']}"
    journey.awf("grant", "add", "desk").succeeded()
    assert not (journey.storage / "audit" / "audit.db").exists()
    calls = person.audit()
    assert [one["inputHash"] for one in calls] == [sha256_hex({"text": f"call {n}"}) for n in range(6)]
    assert {one["outcome"] for one in calls} == {"success"}
    (granted,) = person.audit("--kind", "grant_added")
    shown = journey.awf("audit", "show", str(granted["sequence"]), "-o", "json").succeeded().json()
    assert shown["entry"]["kind"] == "grant_added"
    journey.environment["AWF_STORAGE"] = str(journey.root / "another machine")
    assert person.audit() == calls
    assert "Not checked" not in journey.awf("audit", "verify").succeeded().stdout
    target = journey.root / "audit.jsonl"
    journey.awf("audit", "export", "--file", str(target)).succeeded()
    journey.awf("audit", "verify", str(target)).succeeded()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE awf.audit_records SET previous = repeat('1', 64) WHERE sequence = 4")
    journey.awf("audit", "verify").one_error("EXECUTION.AUDIT.BROKEN")


def test_calls_are_refused_while_the_database_is_gone_and_go_on_afterwards(
    opened, journey, database, postgres, person, noted, until
):
    house = opened()
    assert house.client.call("write").text == "write: done"
    with psycopg.connect(database) as connection:
        connection.execute("SELECT 1 FROM awf.audit_head FOR UPDATE")
        refused = house.client.call("write")
        assert refused.result["isError"]
        assert "nothing can be recorded" in refused.text
        assert house.client.call("look").text == "look: done"
        connection.rollback()
    until(lambda: not house.client.call("write").result.get("isError"), "a call that can be recorded again")
    assert len(person.calls_of("office:look")) == len(noted("look"))
    done = [one for one in person.calls_of("office:write") if one["outcome"] == "success"]
    assert len(done) == len(noted("write"))
    person.is_sound()


def test_whatever_a_killed_gateway_has_answered_is_in_the_chain(
    journey, database, noted, person, stage, until
):
    config = office_file()
    chosen = random.Random(3)
    survivor = stage.House(journey, config)
    kept = Load(survivor.client, "survivor")
    kept.start()
    answered: list[dict] = []
    for kill in range(KILLS):
        house = stage.House(journey, config)
        calls = Load(house.client, f"kill {kill}")
        calls.start()
        until(lambda calls=calls: len(calls.answered) >= 5, "some answers")
        time.sleep(chosen.uniform(0, 0.4))  # at any moment
        house.running.send(signal.SIGKILL)
        house.running.process.wait(60)
        calls.end()
        answered += calls.answered
    survivor.running.send(signal.SIGKILL)
    survivor.running.process.wait(60)
    kept.end()
    answered += kept.answered
    recorded = {event["inputHash"]: event for event in person.audit()}
    for given in answered:
        assert recorded[sha256_hex(given)]["outcome"] == "success", given
    assert {event["outcome"] for event in recorded.values()} <= {"success", "unknown"}
    for given in (*noted("look"), *noted("write")):
        assert sha256_hex(given) in recorded
    person.is_sound()


def test_the_log_of_a_machine_moves_into_a_database_that_has_none(journey, database_url):
    migrate = ("store", "migrate", "--from", "sqlite", "--to", "postgres")
    for capability in ("desk", "file.read"):
        journey.awf("grant", "add", capability).succeeded()
    before = journey.awf("audit", "export").succeeded().out
    journey.environment["AWF_DATABASE_URL"] = database_url
    assert "The audit was copied: 2 records" in journey.awf(*migrate).succeeded().stdout
    assert journey.awf("audit", "export").succeeded().out == before
    assert "Not checked" not in journey.awf("audit", "verify").succeeded().stdout
    assert "copied before" in journey.awf(*migrate).succeeded().stdout
    journey.awf("grant", "add", "later").succeeded()
    assert journey.awf("audit", "export").succeeded().out.startswith(before)
    del journey.environment["AWF_DATABASE_URL"]
    journey.environment["AWF_STORAGE"] = str(journey.root / "another machine")
    journey.awf("grant", "add", "desk").succeeded()
    journey.environment["AWF_DATABASE_URL"] = database_url
    told = journey.awf(*migrate).succeeded().stdout
    assert "has an audit already" in told
    assert str(journey.root / "another machine" / "audit") in told
    assert journey.awf(*migrate, "-o", "json").succeeded().json()["audit"]["outcome"] == "other"
    journey.awf("audit", "verify").succeeded()


def test_a_key_that_is_named_and_not_there_or_none_is_told(journey, database):
    key = journey.root / "audit.key"
    key.unlink()
    journey.awf("audit", "list").one_error("SYSTEM.AUDIT.UNAVAILABLE")
    journey.awf("grant", "add", "desk").one_error("SYSTEM.AUDIT.UNAVAILABLE")
    key.write_bytes(b"short")
    journey.awf("grant", "add", "desk").one_error("SYSTEM.AUDIT.UNAVAILABLE")


def test_a_change_that_cannot_be_recorded_is_told_with_a_code(journey, database):
    journey.awf("grant", "add", "desk").succeeded()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DELETE FROM awf.audit_head")
    journey.awf("grant", "add", "file.read").one_error("SYSTEM.AUDIT.UNAVAILABLE")
    journey.awf("audit", "verify").one_error("EXECUTION.AUDIT.BROKEN")
