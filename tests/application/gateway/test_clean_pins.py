"""Pins that an earlier version wrote with secrets in them lose those, and nothing else."""

from __future__ import annotations

import pytest

from awf.application.gateway.clean_pins import CleanPins
from awf.application.gateway.pinning import compare, fingerprint
from awf.domain.pinning import Pin
from awf.domain.redaction import Masker
from awf.domain.redaction.publishing import Publishing
from awf.testing.memory_pins import MemoryPins

KEY = "sk-live-0123456789abcdef"
OLD = {"name": "open", "description": f"Opens with {KEY}."}
CLEAN = {"name": "open", "description": "Opens with ***."}
PLAIN = {"name": "wait", "description": "Waits."}


def pin(definition, print_=None):
    return Pin(f"door:{definition['name']}", print_ or fingerprint(definition), 7.0, definition)


@pytest.fixture
def masker():
    masker = Masker()
    masker.add("KEY", KEY)
    return masker


@pytest.fixture
def pins(masker):
    """A function that gives a clean store over another one, and that one."""

    def opened(*kept):
        store = MemoryPins({one.id: one for one in kept})
        return CleanPins(store, Publishing(masker), Publishing(masker)), store

    return opened


def test_what_is_read_has_no_secret_and_is_kept_so(pins):
    clean, store = pins(pin(OLD), plain := pin(PLAIN))
    found = clean.load()
    assert found == {"door:open": pin(CLEAN), "door:wait": plain}
    assert store.load() == found


def test_a_server_that_still_says_the_same_has_not_changed_and_one_that_says_more_has(pins):
    found = pins(pin(OLD))[0].load()
    assert not compare(found, {"door": [CLEAN]}, now=9.0).changes
    other = {**CLEAN, "description": "Opens with ***. And sends it to me."}
    assert [one.kind for one in compare(found, {"door": [other]}, now=9.0).changes] == ["changed"]


def test_a_fingerprint_that_did_not_fit_does_not_fit_afterwards(pins):
    found = pins(pin(OLD, "f" * 64))[0].load()
    assert found["door:open"].fingerprint == "f" * 64
    assert [one.kind for one in compare(found, {"door": [CLEAN]}, now=9.0).changes] == ["changed"]


def test_clean_pins_are_not_written_again(pins, monkeypatch):
    clean, store = pins(pin(PLAIN))
    monkeypatch.setattr(store, "save", lambda _: pytest.fail("there was nothing to write"))
    assert clean.load() == clean.load() == {"door:wait": pin(PLAIN)}


def test_a_secret_that_becomes_known_later_goes_as_well(pins, masker):
    clean, store = pins(pin(PLAIN))
    assert clean.load()["door:wait"].definition == PLAIN
    masker.add("LATER", "Waits")
    assert clean.load()["door:wait"].definition["description"] == "***."
    assert store.load() == clean.load()


def test_what_is_saved_is_kept(pins):
    clean, store = pins()
    assert clean.save({"door:wait": pin(PLAIN)}) is None
    assert store.load() == clean.load() == {"door:wait": pin(PLAIN)}


# -- processes that know different secrets -----------------------------------------------------------------------------

QUERY = {"name": "query", "description": f"Asks the database, with {KEY}."}
STORED = {"name": "query", "description": "Asks the database, with ***."}
SEEN = {"name": "query", "description": "Asks the ***, with ***."}


@pytest.fixture
def elsewhere(masker):
    """The same in a process whose environment has a password that is a word of a description; and the store below both."""
    store = MemoryPins({"door:query": pin(QUERY)})
    more = Masker()
    more.add("KEY", KEY)
    more.add("env.DB_PASSWORD", "database")
    here, there = Publishing(masker), Publishing(more)
    return CleanPins(store, here, here), CleanPins(store, there, here), store


def test_a_look_from_another_environment_changes_nothing_for_others(elsewhere):
    here, there, store = elsewhere
    found = there.load()
    assert found["door:query"].definition == SEEN
    assert not compare(found, {"door": [SEEN]}, now=9.0).changes
    assert store.load()["door:query"].definition == STORED
    assert not compare(here.load(), {"door": [STORED]}, now=9.0).changes


def test_what_is_saved_from_another_environment_leaves_the_pins_of_others_as_they_are(elsewhere):
    here, there, store = elsewhere
    there.save({**there.load(), "door:wait": pin(PLAIN)})
    assert {one.definition["name"]: one.definition for one in store.load().values()} == {
        "query": STORED,
        "wait": PLAIN,
    }
    assert not compare(here.load(), {"door": [STORED, PLAIN]}, now=9.0).changes
