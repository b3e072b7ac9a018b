from __future__ import annotations

import pytest

from awf.application.history.step_path import attempt_of, is_hook, name_of, parent_of, without_attempt


@pytest.mark.parametrize(
    ("path", "name", "parent"),
    [
        ("build", "build", ""),
        ("build#2", "build", ""),
        ("fan/lint", "lint", "fan"),
        ("fan@2/lint", "lint", "fan"),
        ("each[3]/test#2", "test", "each[3]"),
        ("each[3]", "each", "each"),
        ("each#2[3]", "each", "each#2"),
        ("each@2[0]", "each", "each"),
        ("a/b[1]/c", "c", "a/b[1]"),
        ("a/b[1]", "b", "a/b"),
    ],
)
def test_a_path_tells_the_name_and_what_is_around_it(path, name, parent):
    assert (name_of(path), parent_of(path)) == (name, parent)


def test_an_attempt_is_part_of_the_last_name_only():
    assert (attempt_of("a@2/b@3"), without_attempt("a@2/b@3")) == (3, "a@2/b")
    assert (attempt_of("a@2/b"), without_attempt("a@2/b")) == (1, "a@2/b")


def test_hooks_are_known_by_their_path():
    assert is_hook("build/hooks/pre/0")
    assert is_hook("hooks/workflow_start/0")
    assert not is_hook("hooks")
    assert not is_hook("webhooks/a")
