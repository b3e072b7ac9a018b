"""What is a command, and what is said to whoever listens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.editor.slash import Command, Plain, parse_prompt


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/deploy", Command("deploy", "")),
        ("  /deploy  ", Command("deploy", "")),
        ("\n/deploy env=prod", Command("deploy", "env=prod")),
        ("/deploy\tenv=prod", Command("deploy", "env=prod")),
        ("/deploy\nfirst\n\nsecond", Command("deploy", "first\n\nsecond")),
        ("/deploy look at /usr/bin", Command("deploy", "look at /usr/bin")),
        ("/pack:build-2.x", Command("pack:build-2.x", "")),
        ("/_", Command("_", "")),
        ("/7zip", Command("7zip", "")),
        ("/déploy", Command("déploy", "")),
        ("/deploy, please", Command("deploy,", "please")),  # told as unknown, with the right name suggested
    ],
)
def test_a_slash_and_a_name_are_a_command(text, command):
    assert parse_prompt(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "/",
        "/ deploy",
        "//deploy",
        "/usr/bin/env is missing",
        "/deploy/",
        "/pack/name",
        "/...",
        "/* a comment */",
        "/?",
        "deploy",
        "please /deploy",
        "./deploy",
    ],
)
def test_everything_else_is_plain_and_stays_as_it_was(text):
    assert parse_prompt(text) == Plain(text)


@given(st.text(max_size=60))
def test_no_prompt_is_an_error(text):
    spoken = parse_prompt(text)
    if isinstance(spoken, Command):
        assert text.lstrip().startswith(f"/{spoken.name}")
        assert "/" not in spoken.name
        assert spoken.rest in text
    else:
        assert spoken.text == text
