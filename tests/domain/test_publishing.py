"""What servers tell of themselves comes without known secrets, and what has to go back to them comes as it was."""

from __future__ import annotations

import base64
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.mcp import Era, RpcError, Verbatim
from awf.domain.redaction import MASK, Masker
from awf.domain.redaction.publishing import LISTS, Publishing

KEY = "sk-live-0123456789abcdef"
LISTED = st.sampled_from(sorted(LISTS))


def publishing(*values: str) -> Publishing:
    masker = Masker()
    for number, value in enumerate(values or (KEY,)):
        masker.add(f"s{number}", value)
    return Publishing(masker)


def tool(**more):
    return {"name": "open", "inputSchema": {"type": "object"}, **more}


def schema(**more):
    """As it comes back from a list."""
    listed = publishing().page("tools/list", {"tools": [tool(inputSchema={"type": "object", **more})]})
    return {name: value for name, value in listed["tools"][0]["inputSchema"].items() if name != "type"}


# -- where nothing is secret -----------------------------------------------------------------------------------------


def test_a_list_without_secrets_is_the_very_same_object_with_its_bytes():
    page = {"tools": [tool(description="Opens.")], "nextCursor": "2"}
    read = Verbatim(page, json.dumps(page).encode())
    assert publishing().page("tools/list", read) is read


def test_items_beside_one_that_tells_a_secret_are_the_same_objects():
    plain, telling = tool(description="Opens."), tool(description=KEY)
    listed = publishing().page("tools/list", {"tools": [plain, telling]})["tools"]
    assert listed[0] is plain
    assert listed[1]["description"] == MASK


def test_an_era_and_an_error_without_secrets_are_the_same_objects():
    era, error = Era(modern=False, version="1", instructions="Hello."), RpcError(-1, "no", {"a": [1]})
    assert publishing().era(era) is era
    assert publishing().error(error) is error


@given(LISTED, st.recursive(st.text(alphabet="abc", max_size=3) | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="abc", max_size=3), inner, max_size=3)))  # fmt: skip
def test_whatever_is_in_a_list_it_is_left_alone_where_nothing_is_secret(method, item):
    page = {LISTS[method]: [item]}
    assert publishing().page(method, page) is page


# -- free text -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", [KEY, base64.b64encode(KEY.encode()).decode(), KEY.encode().hex()])
@pytest.mark.parametrize("field", ["title", "description", "futureField"])
def test_texts_of_a_tool_are_masked_in_every_spelling(field, spelled):
    listed = publishing().page("tools/list", {"tools": [tool(**{field: f"with {spelled}!"})]})
    assert listed["tools"][0] == tool(**{field: f"with {MASK}!"})


def test_annotations_icons_and_metadata_are_masked_with_their_keys():
    more = {"annotations": {"title": KEY, "readOnlyHint": True}, "icons": [{"src": f"https://x/?k={KEY}"}]}
    listed = publishing().page("tools/list", {"tools": [tool(**more, _meta={KEY: [KEY, 1]})], "_meta": {"by": KEY}})  # fmt: skip
    assert KEY not in json.dumps(listed)
    assert listed["tools"][0]["annotations"]["readOnlyHint"] is True
    assert listed["tools"][0]["_meta"] == {MASK: [MASK, 1]}


def test_names_addresses_and_cursors_go_back_as_they_were():
    pages = {
        "tools/list": {"tools": [tool(name=f"use_{KEY}")], "nextCursor": KEY},
        "prompts/list": {"prompts": [{"name": KEY, "arguments": [{"name": KEY, "required": True}]}]},
        "resources/list": {"resources": [{"uri": f"door://{KEY}", "mimeType": "text/plain", "size": 7}]},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": f"door://{KEY}/{{name}}"}]},
    }
    for method, page in pages.items():
        assert publishing().page(method, page) == page


def test_texts_of_prompts_resources_and_templates_are_masked():
    prompt = {"name": "ask", "title": KEY, "arguments": [{"name": "whom", "description": f"has {KEY}"}]}
    resource = {"uri": "door://front", "name": f"front {KEY}", "title": KEY, "description": KEY}
    assert publishing().page("prompts/list", {"prompts": [prompt]})["prompts"] == [
        {"name": "ask", "title": MASK, "arguments": [{"name": "whom", "description": f"has {MASK}"}]}
    ]
    for method, kind, key in (
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ):
        item = {(key if name == "uri" else name): value for name, value in resource.items()}
        assert publishing().page(method, {kind: [item]})[kind] == [
            {key: "door://front", "name": f"front {MASK}", "title": MASK, "description": MASK}
        ]


def test_words_of_the_protocol_are_no_secrets():
    item = {"uri": "x://1", "name": "user", "annotations": {"audience": ["user", "assistant"]}}
    listed = publishing("user").page("resources/list", {"resources": [{**item, "title": "a user!"}]})
    assert listed["resources"] == [{**item, "title": f"a {MASK}!"}]


def test_what_is_nested_too_deeply_to_be_looked_through_is_left_out_only_if_it_tells_a_secret():
    def deep(text):
        value = {"description": text}
        for _ in range(2000):
            value = {"properties": {"a": value}}
        return tool(inputSchema=value)

    plain = deep("plain")
    listed = publishing().page("tools/list", {"tools": [plain, deep(KEY), tool(title=KEY)]})["tools"]
    assert len(listed) == 2
    assert listed[0] is plain
    assert listed[1] == tool(title=MASK)


# -- schemas ---------------------------------------------------------------------------------------------------------


def test_what_arguments_are_held_against_stays_and_the_words_around_it_do_not():
    door = {"type": "string", "enum": [KEY, "x"], "pattern": KEY, "description": f"not {KEY}"}
    given = {
        "properties": {KEY: door, "default": {"const": KEY, "title": KEY}},
        "required": [KEY],
        "dependencies": {KEY: ["default"], "default": {"required": [KEY], "$comment": KEY}},
        "$defs": {KEY: {"items": [{"title": KEY}, True], "$ref": f"#/$defs/{KEY}"}},
        "anyOf": [{"description": KEY}],
        "maxLength": 64,
        "x-mcp-header": KEY,
    }
    found = schema(**copy.deepcopy(given))
    door["description"] = f"not {MASK}"
    given["properties"]["default"]["title"] = MASK
    given["dependencies"]["default"]["$comment"] = MASK
    given["$defs"][KEY]["items"][0]["title"] = MASK
    given["anyOf"][0]["description"] = MASK
    assert found == given


@pytest.mark.parametrize("default", [KEY, {"key": KEY}, [f"Bearer {KEY}"], {KEY: 1}])
def test_a_default_with_a_secret_in_it_is_left_out(default):
    found = schema(properties={"key": {"type": "string", "default": default}, "n": {"default": "x"}})
    assert found == {"properties": {"key": {"type": "string"}, "n": {"default": "x"}}}


def test_a_number_that_is_secret_goes_as_a_default_and_stays_as_a_limit():
    listed = publishing("4096").page(
        "tools/list", {"tools": [tool(inputSchema={"maxLength": 4096, "default": 4096, "examples": [4096]})]}
    )
    assert listed["tools"][0]["inputSchema"] == {"maxLength": 4096, "examples": [MASK]}


# -- greetings and errors --------------------------------------------------------------------------------------------


def test_an_era_is_told_without_secrets_and_with_its_capabilities():
    era = Era(
        modern=False,
        version="2025-11-25",
        capabilities={"tools": {"listChanged": True}, "experimental": {"x": {"key": KEY}}},
        instructions=f"Say {KEY}.",
        server_info={"name": "door", "title": KEY},
    )
    found = publishing(KEY, "tools").era(era)
    assert found.instructions == f"Say {MASK}."
    assert found.server_info == {"name": "door", "title": MASK}
    assert found.capabilities == {"tools": {"listChanged": True}, "experimental": {"x": {"key": MASK}}}


def test_an_error_is_told_without_secrets_also_in_the_keys_of_its_data():
    error = publishing().error(RpcError(-32000, f"not {KEY}", {KEY: [KEY], f"{KEY}!": {"n": 5}}))
    assert (error.code, error.message) == (-32000, f"not {MASK}")
    assert error.data == {MASK: [MASK], f"{MASK}!": {"n": 5}}


# -- what it promises ------------------------------------------------------------------------------------------------


FREE = st.recursive(
    st.sampled_from([KEY, f"a {KEY}", "plain", KEY.encode().hex(), 7, None, True]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["description", "title", "x", KEY]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(LISTED, FREE)
def test_no_known_secret_is_left_in_free_text_and_twice_is_once(method, value):
    page = {LISTS[method]: [{"description": value, "_meta": value, "more": value}], "_meta": value}
    found = publishing().page(method, page)
    assert KEY not in json.dumps(found)
    assert KEY.encode().hex() not in json.dumps(found)
    assert publishing().page(method, found) is found
