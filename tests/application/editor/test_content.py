"""Content blocks as one text: links in their place, files behind, and nothing a command by accident."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.editor.content import Flattened, flatten
from awf.application.editor.slash import Command, Plain, parse_prompt, read_arguments
from awf.domain.workflow import Input


def said(text):
    return {"type": "text", "text": text}


def link(uri, name=""):
    return {"type": "resource_link", "uri": uri, "name": name}


def file(uri, text):
    return {"type": "resource", "resource": {"uri": uri, "text": text}}


def text_of(*blocks):
    flat = flatten(blocks)
    assert flat.refused == ()
    return flat.text


def test_text_stays_as_it_was():
    assert text_of(said("  one\n\n two "), said("three\n")) == "  one\n\n two three\n"


@pytest.mark.parametrize("blocks", [[], [said("")], [said(" \n\t"), said("  ")]])
def test_nothing_said_is_an_empty_text(blocks):
    assert flatten(blocks) == Flattened("", ())


@pytest.mark.parametrize(
    ("uri", "name", "shown"),
    [
        ("file:///src/app.py", "app.py", "/src/app.py"),
        ("file:///src/app.py", "", "/src/app.py"),
        ("file:///src/app.py", "@src/app.py", "/src/app.py"),
        ("file://localhost/src/app.py", "app.py", "/src/app.py"),
        ("file://server/share/a", "a", "//server/share/a"),
        ("file:///C:/src/app.py", "app.py", "C:/src/app.py"),
        ("file:///src/caf%C3%A9.py", "café.py", "/src/café.py"),
        ("file:///my%20files/a.py", "a.py", '"/my files/a.py"'),
        ("file:///src/", "src", "/src/"),
        ("file:///src/app.py#L10-20", "app.py", "/src/app.py:10-20"),
        ("file:///src/app.py#L10:20", "app.py (10:20)", "/src/app.py:10-20"),
        ("file:///src/app.py#L10-L20", "app.py", "/src/app.py:10-20"),
        ("file:///src/app.py#L7", "app.py", "/src/app.py:7"),
        ("file:///src/app.py#L7:7", "app.py:7", "/src/app.py:7"),
        ("file:///src/doc.md#intro", "doc.md", "/src/doc.md#intro"),
        ("file:///src/app.py?symbol=run#L3:9", "run", "[run](/src/app.py:3-9)"),
        ("file:///my%20files/a.py", "the plan", "[the plan](</my files/a.py>)"),
        ("file:///a(1).py", "odd [name]", "[odd \\[name\\]](</a(1).py>)"),
        ("src/app.py", "app.py", "src/app.py"),
        ("C:\\src\\app.py", "", "C:\\src\\app.py"),
        ("https://example.com/page", "page", "https://example.com/page"),
        ("https://example.com/page#L3", "The page", "[The page](https://example.com/page#L3)"),
        ("zed:///agent/thread/1", "Old talk", "[Old talk](zed:///agent/thread/1)"),
        ("file:///a%0A/end", "", "/a%0A/end"),
        ("", "notes", "notes"),
    ],
)
def test_a_link_is_written_as_people_write_it(uri, name, shown):
    assert text_of(said("see "), link(uri, name), said(".")) == f"see {shown}."


def test_a_link_in_a_sentence_leaves_it_one_sentence():
    blocks = [
        said("look at "),
        link("file:///src/a.py", "a.py"),
        said(" please, ("),
        link("file:///b"),
        said(")."),
    ]
    assert text_of(*blocks) == "look at /src/a.py please, (/b)."


def test_a_link_never_sticks_to_a_word_or_another_link():
    a, b = link("file:///src/a.py"), link("file:///src/b.py")
    assert text_of(a, b) == "/src/a.py /src/b.py"
    assert text_of(said("compare"), a, said("and"), b, said("!")) == "compare /src/a.py and /src/b.py!"


def test_a_link_after_an_equals_sign_is_the_value_of_an_input():
    flat = text_of(said("/review path="), link("file:///my%20files/a.py", "the plan"), said(" quickly"))
    spoken = parse_prompt(flat)
    assert isinstance(spoken, Command)
    read = read_arguments(spoken.rest, (Input(name="path"),))
    assert (read.given, read.free_text) == ({"path": "/my files/a.py"}, "quickly")


def test_the_text_of_a_file_comes_behind_under_its_path():
    blocks = [said("explain "), file("file:///src/a.py", "x = 1\n"), said(" briefly")]
    assert text_of(*blocks) == "explain /src/a.py briefly\n\n/src/a.py:\n```\nx = 1\n```"


def test_a_fence_is_longer_than_any_in_the_file():
    content = "````md\n```\n````"
    assert text_of(file("file:///a/b.md", content)) == f"/a/b.md\n\n/a/b.md:\n`````\n{content}\n`````"


def test_a_file_is_attached_once_and_its_parts_each():
    whole, part = file("file:///src/a", "one\ntwo"), file("file:///src/a#L2", "two")
    text = text_of(said("x "), whole, said(" y "), whole, said(" z "), part)
    assert text.startswith("x /src/a y /src/a z /src/a:2\n\n")
    assert text.count("/src/a:\n```") == 1
    assert text.count("/src/a:2:\n```") == 1


def test_a_file_that_the_text_names_already_is_not_named_again():
    text = text_of(said("explain @src/a.py, please"), file("file:///home/x/src/a.py", "1"))
    assert text == "explain @src/a.py, please\n\n/home/x/src/a.py:\n```\n1\n```"


def test_an_empty_file_is_attached_as_such():
    assert text_of(said("why "), file("file:///a/b", "")) == "why /a/b\n\n/a/b:\n```\n```"


@pytest.mark.parametrize("uri", ["file:///deploy", "file:///deploy%20now/x", "/deploy", "file:///deploy%09x"])
@pytest.mark.parametrize("before", [[], [said("")], [said(" \n")]])
@pytest.mark.parametrize("after", [[], [said(" env=prod")], [said("/x")]])
def test_a_link_that_leads_is_no_command(uri, before, after):
    for block in (link(uri), file(uri, "content")):
        flat = text_of(*before, block, *after)
        assert isinstance(parse_prompt(flat), Plain), flat


@given(st.text(max_size=20), st.text(max_size=8), st.text(max_size=8))
def test_no_link_that_leads_is_ever_a_command(path, name, after):
    for uri in (f"file:///{path}", f"/{path}"):
        assert isinstance(parse_prompt(flatten([link(uri, name), said(after)]).text), Plain)
        assert isinstance(parse_prompt(flatten([file(uri, name), said(after)]).text), Plain)


def test_a_link_without_an_address_is_its_name_and_no_command_either():
    assert text_of(link("", "/deploy")) == '"/deploy"'
    assert text_of(link("", ""), said("x")) == "x"


def test_text_without_an_address_is_attached_all_the_same():
    assert text_of(said("see"), file("", "x")) == "see\n\nattached text:\n```\nx\n```"


def test_a_typed_command_may_be_followed_by_links_and_files():
    spoken = parse_prompt(text_of(said("/review "), file("file:///a/b.sh", "env=prod\n'")))
    assert spoken == Command("review", "/a/b.sh\n\n/a/b.sh:\n```\nenv=prod\n'\n```")
    read = read_arguments(spoken.rest, (Input(name="env"),))
    assert read.given == {}
    assert read.free_text == spoken.rest


def test_what_has_no_text_is_refused_in_a_sentence_of_its_own():
    data = base64.b64encode(b"x" * 12_345).decode()
    flat = flatten(
        [
            said("see"),
            {"type": "image", "mimeType": "image/png", "data": data},
            {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"y" * 2_500_000).decode()},
            {
                "type": "resource",
                "resource": {"uri": "file:///a/b.zip", "mimeType": "application/zip", "blob": "AAAA"},
            },
            {"type": "video"},
        ]
    )
    assert flat.text == "see"
    assert flat.refused == (
        "An image (image/png, 12 kB) cannot be used: workflows take text.",
        "A sound recording (audio/wav, 2.5 MB) cannot be used: workflows take text.",
        "A binary file /a/b.zip (application/zip, 3 bytes) cannot be used: workflows take text.",
        "A block of the type 'video' cannot be used: workflows take text.",
    )


def test_thousands_of_links_are_no_trouble():
    assert text_of(*[link("file:///src/a.py")] * 20_000).count("/src/a.py") == 20_000
