from __future__ import annotations

import pytest

from awf.interfaces.cli.rendering.paths import family, is_top_level, is_within, iteration


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("build", ("build", "", "")),
        ("build#2", ("build#2", "", "")),
        ("fan/lint", ("fan", "fan/lint", "")),
        ("loop[3]", ("loop", "loop[3]", "")),
        ("loop[3]/test", ("loop", "loop[3]/test", "")),
        ("loop#2[3]/test", ("loop#2", "loop#2[3]/test", "")),
        ("call/fan/lint", ("call", "call/fan", "lint")),
        ("outer[2]/inner[4]/test", ("outer", "outer[2]/inner", "[4]/test")),
    ],
)
def test_every_path_has_a_place_in_a_tree_of_two_levels(path, parts):
    assert family(path) == parts


def test_only_steps_of_the_workflow_itself_are_at_the_top():
    assert [is_top_level(path) for path in ("build", "build#2", "loop[1]", "fan/lint", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_the_turn_of_a_loop_is_read_from_the_path():
    assert [iteration(path) for path in ("loop[12]/test", "loop[3]", "fan/lint", "fan/x[2]")] == [13, 4, 0, 0]


def test_a_path_is_within_its_parents_but_not_within_a_namesake():
    assert is_within("fan/lint", "fan")
    assert is_within("loop[1]/x", "loop")
    assert not is_within("fan2/lint", "fan")
    assert not is_within("fan#2", "fan")
    assert not is_within("fan", "fan")
