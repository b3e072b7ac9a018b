from __future__ import annotations

import pytest

from awf.domain.name_patterns import fits, is_pattern


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("kb:search", "kb:search", True),
        ("kb:search", "kb:*", True),
        ("kb:search", "kb:s?arch", True),
        ("kb:search", "KB:*", False),
        ("kb:x[1]", "kb:x[1]", True),
        ("kb:x1", "kb:x[1]", False),
        ("kb:x[1]", "kb:*[1]", True),
        ("kb:[!a]", "kb:[!a]", True),
        ("kb:b", "kb:[!a]", False),
    ],
)
def test_only_stars_and_question_marks_stand_for_something_else(name, pattern, expected):
    assert fits(name, pattern) is expected


def test_a_name_with_brackets_is_no_pattern():
    assert [is_pattern(one) for one in ("a", "a[1]", "a*", "?")] == [False, False, True, True]
