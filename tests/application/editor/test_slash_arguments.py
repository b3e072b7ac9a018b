"""Which words are inputs, and how prose survives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.editor.slash import Arguments, designated_input, gather, quoted, read_arguments
from awf.domain.workflow import Input

ENV, TAG, FORCE = Input(name="env"), Input(name="tag"), Input(name="force", type="boolean")
INPUTS = (ENV, TAG, FORCE)


def values(rest, inputs=INPUTS):
    read = read_arguments(rest, inputs)
    assert read.problems == ()
    return read.given, read.free_text


@pytest.mark.parametrize(
    "rest",
    [
        "env=prod tag=v1",
        "--input=env=prod --input=tag=v1",
        "--input env=prod --input tag=v1",
        "-i env=prod -i tag=v1",
        "-i=env=prod -i=tag=v1",
        "--env=prod --tag=v1",
        "env=prod\n  tag=v1",
        "--input 'env=prod' --input=\"tag=v1\"",
        "\"env=prod\" 'tag=v1'",
        "env='prod' tag=\"v1\"",
        'env=prod tag=v"1"',
    ],
)
def test_all_ways_to_write_an_input_mean_the_same(rest):
    assert values(rest) == ({"env": "prod", "tag": "v1"}, "")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("tag=", ""),
        ('tag=""', ""),
        ("tag='two words'", "two words"),
        ('tag="two words"', "two words"),
        ('tag="say \\"hi\\""', 'say "hi"'),
        ('tag="back\\\\slash \\n"', "back\\slash \\n"),
        ("tag='no \\escape'", "no \\escape"),
        ("tag=C:\\temp\\x", "C:\\temp\\x"),
        ('tag=\\"x\\"', '"x"'),
        ("tag='it'\\''s'", "it's"),
        ("tag='a'\"b c\"d", "ab cd"),
        ("tag=a=b=c", "a=b=c"),
        ("tag='first\nsecond'", "first\nsecond"),
        ("tag=--flag='a b'", "--flag=a b"),
        ("--input tag==x", "=x"),
        ("--input 'tag=two words'", "two words"),
        ('"tag=two words"', "two words"),
        ("tag=don't", "don't"),
        ("tag='unclosed", "'unclosed"),
        ('tag="unclosed', '"unclosed'),
        ("tag=ünï", "ünï"),
        ("tag='```\nenv=x\n```'", "```\nenv=x\n```"),
    ],
)
def test_quotes_are_read_as_a_shell_reads_them(written, value):
    assert values(written) == ({"tag": value}, "")


@pytest.mark.parametrize(
    "prose",
    [
        "set x=1 in the file",
        "don't do it, it's John's",
        'say "hello  there" twice',
        "first line\n\n  indented second\n\tthird",
        "if env==prod then stop",
        "use grep -i foo and -i",
        "what does --verbose do? --x=1",
        "an unclosed \" quote and a 'nother",
        '"x=1 y"',
        "C:\\dir\\ and \\'",
    ],
)
def test_prose_survives_as_it_was_typed(prose):
    assert values(prose) == ({}, prose)


@pytest.mark.parametrize(
    ("rest", "free_text"),
    [
        ("env=prod fix the bug", "fix the bug"),
        ("fix env=prod the bug", "fix the bug"),
        ("fix the bug env=prod", "fix the bug"),
        ("fix  the\n bug --input env=prod  now", "fix  the\n bug  now"),
        ("one\nenv=prod\ntwo", "one\ntwo"),
        ("one\nenv=prod  tag=x \ntwo", "one\ntwo"),
        ("one env=prod\ntwo", "one\ntwo"),
        ("\n\n one env=prod\n\n", "one"),
        ("tag=don't do it env=prod", "do it"),
    ],
)
def test_the_free_text_is_the_rest_without_gaps(rest, free_text):
    read = read_arguments(rest, INPUTS)
    assert read.given["env"] == "prod"
    assert read.free_text == free_text


def test_after_a_lone_double_dash_everything_is_free_text():
    assert values("env=prod -- tag=x --input y  -- 'z") == ({"env": "prod"}, "tag=x --input y  -- 'z")
    assert values("--") == ({}, "")
    assert values("-- env=prod") == ({}, "env=prod")


@pytest.mark.parametrize(
    "block",
    [
        "```\nenv=dev\n--input nope\n```",
        "```sh\nenv=dev 'x\n```",
        "````\n```\nenv=dev\n```\nenv=dev\n````",
        "~~~\nenv=dev\n~~~",
        "  ```\n  env=dev\n  ```",
    ],
)
def test_nothing_in_a_code_block_is_an_input(block):
    rest = f"look at this:\n{block}\nenv=prod and that"
    assert values(rest) == ({"env": "prod"}, f"look at this:\n{block}\nand that")


def test_a_code_block_that_opens_the_text_or_never_closes_is_prose_too():
    assert values("```\nenv=dev\n``` ") == ({}, "```\nenv=dev\n```")
    assert values("tag=x\n```\nenv=dev") == ({"tag": "x"}, "```\nenv=dev")


def test_inline_code_is_no_code_block():
    assert values("```x``` env=prod") == ({"env": "prod"}, "```x```")


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("--input evn=prod", "'evn' is not an input of this workflow (did you mean env?)"),
        ("-i evn=prod", "'evn' is not an input of this workflow (did you mean env?)"),
        ("--input zzzz=1", "'zzzz' is not an input of this workflow (inputs: env, tag, force)"),
        ("--input x", "'--input x' gives no value; write --input name=value."),
        ("--input", "'--input' gives no value; write --input name=value."),
        ("--input=", "'--input' gives no value; write --input name=value."),
        ("--input =x", "'--input' gives no value; write --input name=value."),
        ("env=a env=b", "'env' is given twice."),
        ("env=a --input env=b -i env=c", "'env' is given twice."),
    ],
)
def test_what_is_wrong_with_an_input_is_said_once(rest, problem):
    assert read_arguments(rest, INPUTS).problems == (problem,)


def test_an_input_for_a_workflow_without_inputs_is_a_problem():
    read = read_arguments("--input x=1", ())
    assert read == Arguments({}, "", ("'x' is not an input of this workflow; it takes none.",))


def test_an_input_that_is_called_input_can_be_written_like_any_other():
    inputs = (Input(name="input"), ENV)
    assert values("--input=hello --input env=prod", inputs) == ({"input": "hello", "env": "prod"}, "")
    assert values("--input=input='a b'", inputs) == ({"input": "a b"}, "")


@given(st.text(max_size=80))
def test_no_text_is_an_error_and_prose_without_declared_inputs_is_kept(text):
    read = read_arguments(text, INPUTS)
    assert read.free_text == read.free_text.strip()
    if "=" not in text and "--" not in text:
        assert read == Arguments({}, text.strip(), ())


@given(st.text(), st.text())
def test_whatever_is_quoted_is_read_back(first, second):
    rest = f"env={quoted(first)} tag={quoted(second)}"
    assert values(rest) == ({"env": first, "tag": second}, "")


def test_a_very_long_prompt_is_read_in_one_pass():
    # Quadratic work would take hours here and end in the time limit of the suite.
    many = 50_000
    assert read_arguments("a=1 " * many, (Input(name="a"),)).problems == ("'a' is given twice.",)
    assert len(read_arguments("word 'x " * many, INPUTS).free_text) == 8 * many - 1
    assert read_arguments("```\n" + "\n" * many, INPUTS).free_text == "```"


def test_free_text_goes_to_the_input_that_is_meant_for_it():
    task = Input(name="task", required=True)
    assert gather("env=prod fix it,\nplease", (ENV, task)).given == {"env": "prod", "task": "fix it,\nplease"}


def test_without_such_an_input_the_first_words_are_told_with_what_to_write():
    found = gather("fast env=prod", (ENV, TAG))
    assert found.given == {"env": "prod"}
    assert found.problems == ("'fast' is not understood; write name=value. Inputs: env, tag",)


def test_free_text_beside_the_named_value_is_a_problem():
    found = gather("task=a more words", (Input(name="task"),))
    assert found.given == {"task": "a"}
    assert found.problems == (
        "'more words' is not understood, for 'task' is given already; write name=value. Inputs: task",
    )


def test_a_name_that_is_nearly_right_is_put_right():
    (problem,) = gather("Env=prod", (ENV, TAG)).problems
    assert problem == "'Env=prod' is not understood; write name=value (did you mean env=…?). Inputs: env, tag"


def test_words_for_a_workflow_that_takes_none_are_told_shortly():
    (problem,) = gather("word\n" * 40, ()).problems
    assert (
        problem
        == "'word word word word word word word word…' is not understood: this workflow takes no inputs."
    )


def test_nothing_given_is_no_problem():
    assert gather("  \n", (ENV, TAG)).problems == ()


REQUIRED = {"required": True}


@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        ((), None),
        ((Input(name="task"), Input(name="prompt")), "prompt"),
        ((Input(name="input"), Input(name="question"), Input(name="other", **REQUIRED)), "question"),
        ((Input(name="prompt", type="array"), Input(name="text"), Input(name="x")), "text"),
        ((Input(name="prompt", secret=True), Input(name="message")), "message"),
        ((Input(name="file", **REQUIRED), Input(name="note"), Input(name="style")), "file"),
        ((Input(name="file", **REQUIRED), Input(name="out", required=True, default="x")), "file"),
        ((Input(name="file", **REQUIRED), Input(name="api_key", **REQUIRED)), "file"),
        ((Input(name="file", **REQUIRED), Input(name="to", **REQUIRED)), None),
        ((Input(name="note"), Input(name="count", type="integer", **REQUIRED)), "note"),
        ((Input(name="note"), Input(name="style")), None),
        ((Input(name="api_key", **REQUIRED),), None),
        ((Input(name="pin", secret=True, **REQUIRED),), None),
        ((Input(name="count", type="integer", **REQUIRED),), None),
    ],
)
def test_one_input_at_most_takes_free_text(inputs, name):
    found = designated_input(inputs)
    assert (found.name if found else None) == name
