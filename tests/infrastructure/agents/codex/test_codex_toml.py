from __future__ import annotations

import tomllib

import pytest

from awf.infrastructure.agents.codex.toml import encode


@pytest.mark.parametrize(
    "value",
    [
        "",
        "plain",
        'with "quotes" and \\ backslashes \\u0041',
        "lines\nand\r\ntabs\t",
        "".join(map(chr, range(0x20))) + "\x7f",
        "é ü 日本 🦊 \u2028",
        "'''single''' and \"\"\"triple\"\"\"",
        "{looks = 1} # like TOML",
        True,
        False,
        0,
        -3,
        1.5,
        [],
        ["a", 'b "c"', ""],
        [["a"], [1, True]],
        {},
        {"name": "awf", "with space": "x", 'quo"te': ["y"], "é": {"deep": 1}},
    ],
)
def test_a_toml_reader_gets_back_what_was_written(value):
    written = encode(value)

    assert tomllib.loads(f"value = {written}")["value"] == value
    assert "\n" not in written


def test_bytes_that_were_no_text_do_not_break_the_text_around_them():
    broken = b"a\xff b".decode("utf-8", "surrogateescape")

    assert tomllib.loads(f"value = {encode(broken)}")["value"] == "a\ufffd b"


def test_what_toml_cannot_say_is_refused():
    with pytest.raises(TypeError, match="NoneType"):
        encode(None)
