"""What a configuration may say of pinning."""

from __future__ import annotations

import msgspec
import pytest

from awf.domain.pinning import Pinning, problems_of_pinning


def test_without_a_word_changes_are_reported_and_kept_beside_the_configuration():
    assert (Pinning().mode, Pinning().file) == ("report", "gateway.pins.json")
    assert list(problems_of_pinning(Pinning())) == []


@pytest.mark.parametrize("mode", ["off", "report", "quarantine"])
def test_each_mode_can_be_written(mode):
    assert msgspec.convert({"mode": mode}, Pinning).mode == mode


def test_no_other_mode_can_be_written():
    with pytest.raises(msgspec.ValidationError, match="mode"):
        msgspec.convert({"mode": "strict"}, Pinning)


@pytest.mark.parametrize("name", ["", "  ", "folder/", "a\0b"])
def test_what_cannot_be_a_file_is_told_with_its_place(name):
    (problem,) = problems_of_pinning(Pinning(file=name))
    assert (problem.code, problem.path) == ("USER.GATEWAY.INVALID_FILE", ("pinning", "file"))
    assert problem.hint
