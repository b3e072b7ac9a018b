from __future__ import annotations

import pytest

from awf.infrastructure.plugins.patterns import is_event_type, is_pattern, matches_any
from awf.infrastructure.plugins.versions import is_constraint, satisfies


@pytest.mark.parametrize(
    ("version", "constraint", "fits"),
    [
        ("0.1.0", ">=0.1", True),
        ("0.1.0", ">= 0.1, < 2", True),
        ("2.0.0", ">=0.1, <2", False),
        ("2.0.0", ">=0.1 <2", False),
        ("1.9.9", "^1.2", True),
        ("1.1.9", "^1.2", False),
        ("2.0.0", "^1.2", False),
        ("0.3.0", "^0.2.1", False),
        ("0.2.9", "^0.2.1", True),
        ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False),
        ("1.9", "~1", True),
        ("2.0", "~1", False),
        ("1.9", "~>1.2", True),
        ("2.0", "~>1.2", False),
        ("1.3.0", "~>1.2.3", False),
        ("1.2.7", "1.x", True),
        ("1.2.7", "1.2", True),
        ("1.2.7", "=1.2.7", True),
        ("1.2.7", "1.2.8", False),
        ("1.2.7", "!=1.2.7", False),
        ("1.2", "1.2.0", True),
        ("3.0", "1.x || >=3", True),
        ("2.0", "1.x || >=3", False),
        ("0.1.0.dev3", ">=0.1.0", True),
        ("1.0.0-rc1", ">1.0", False),
        ("1.0.1", ">1.0", True),
        ("1.0.0", "<=1", True),
        ("7.7", "*", True),
        ("7.7", "", True),
    ],
)
def test_a_version_meets_a_constraint(version, constraint, fits):
    assert is_constraint(constraint)
    assert satisfies(version, constraint) is fits


@pytest.mark.parametrize("text", ["newest", ">=", ">=1 or so", "1.2.x.y!", "=>1", ">>1"])
def test_what_is_no_constraint_is_recognised(text):
    assert not is_constraint(text)


@pytest.mark.parametrize(
    ("pattern", "event", "fits"),
    [
        ("*", "step.failed", True),
        ("*", "log", True),
        ("step.*", "step.failed", True),
        ("step.*", "step.failed.again", False),
        ("step.*", "step", False),
        ("*.failed", "step.failed", True),
        ("*.*", "log", False),
        ("step.failed", "step.failed", True),
        ("step.fail", "step.failed", False),
    ],
)
def test_a_star_stands_for_one_part_and_alone_for_everything(pattern, event, fits):
    assert is_pattern(pattern)
    assert matches_any([pattern], event) is fits
    assert matches_any(["other.thing", pattern], event) is fits
    assert not matches_any([], event)


@pytest.mark.parametrize("text", ["", ".", "a..b", "a.", "step.f*", "**", "a b"])
def test_what_is_no_pattern_is_recognised(text):
    assert not is_pattern(text)


def test_an_event_type_has_no_star():
    assert is_event_type("deploy.done")
    assert not is_event_type("deploy.*")
    assert not is_event_type("")
