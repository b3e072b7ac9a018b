"""A prompt for Gemini CLI in which nothing is a file to be read or a command."""

from __future__ import annotations

import pytest

from awf.infrastructure.agents.gemini.mentions import exists_below, plain


@pytest.fixture
def is_file(tmp_path):
    (tmp_path / "note.txt").write_text("x", encoding="utf-8")
    (tmp_path / "src").mkdir()
    return exists_below([str(tmp_path)])


@pytest.mark.parametrize(
    ("prompt", "becomes"),
    [
        ("look at @note.txt, please", r"look at \@note.txt, please"),
        ("look at @note.txt.", r"look at \@note.txt."),
        ("(@src/)", r"(\@src/)"),
        ("@src", r"\@src"),
        ("x@note.txt", r"x\@note.txt"),
        ('read @"note.txt"', r'read \@"note.txt"'),
        (r"read @no\ te.txt", r"read \@no\ te.txt"),
        ("@note.txt and @note.txt", r"\@note.txt and \@note.txt"),
    ],
)
def test_a_file_that_is_there_is_not_mentioned(is_file, prompt, becomes):
    assert plain(prompt, is_file) == becomes


@pytest.mark.parametrize(
    "prompt",
    [
        "write to someone@example.org",
        "@dataclass\nclass A: ...",
        r"it is \@note.txt already",
        "at @ noon",
        "@",
        "nothing",
        "",
        "see @a\0b",
        "@" + "long" * 5000,
        "// a comment",
    ],
)
def test_every_other_sign_stays_as_it_is(is_file, prompt):
    assert plain(prompt, is_file) == prompt.replace("// a comment", "\n// a comment")


def test_a_prompt_that_begins_with_a_slash_is_no_command(is_file):
    assert plain("/quit now", is_file) == "\n/quit now"
