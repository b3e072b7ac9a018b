"""A call on its way up: what is refused, what is sent, which headers repeat it."""

from __future__ import annotations

import copy
import itertools

import jsonschema_rs
import pytest

from awf.application.gateway.composition import compose
from awf.application.gateway.composition.paths import parse_path, path_text
from awf.domain.override import ToolOverride

TEXT = {"type": "string"}


def of(required=(), **properties):
    schema = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


def plan(schema, **override):
    composed = compose({"name": "t", "inputSchema": schema}, ToolOverride(**override))
    assert composed.problems == ()
    return composed.plan


def as_is(value):
    return value


NESTED = of(
    ["q"],
    q=TEXT,
    key=TEXT,
    loc=of(lat=TEXT, lon=TEXT),
    items={"type": "array", "items": of(["id"], id=TEXT, note=TEXT, tag=TEXT)},
)


def test_values_are_injected_and_names_put_back_at_every_depth():
    made = plan(
        NESTED,
        defaults={"key": "k", "loc.lat": "1", "items[].id": "i"},
        rename_fields={"q": "query", "items[].note": "remark"},
    )
    given = {"query": "x", "loc": {"lon": "2"}, "items": [{"remark": "a"}, {}], "other": [1]}
    before = copy.deepcopy(given)
    sent = made.upstream(given, as_is)
    assert sent == {
        "q": "x",
        "loc": {"lon": "2", "lat": "1"},
        "items": [{"note": "a", "id": "i"}, {"id": "i"}],
        "other": [1],
        "key": "k",
    }
    assert given == before
    assert sent["other"] is given["other"]
    assert list(sent) == ["q", "loc", "items", "other", "key"]


def test_a_configured_value_becomes_the_value_of_this_call_each_time():
    numbers = itertools.count()
    made = plan(NESTED, defaults={"key": "${uuid()}", "items[].id": "${uuid()}"})
    sent = made.upstream({"q": "x", "items": [{}, {}]}, lambda value: f"{value}-{next(numbers)}")
    assert sent["items"] == [{"id": "${uuid()}-0"}, {"id": "${uuid()}-1"}]
    assert sent["key"] == "${uuid()}-2"


def test_what_a_client_chose_among_the_defaults_is_put_where_agents_would_give_it_and_judged_as_it_is_there():
    made = plan(
        NESTED,
        defaults={"key": "?", "loc.lat": "1", "items[].id": "?"},
        rename_fields={"q": "query", "loc": "place"},
    )

    def value(default):
        return "!" if default == "?" else default

    given = {"query": "x", "place": {"lon": "2"}, "items": [{"note": "a"}, 5]}
    chosen = made.chosen(given, value)
    assert chosen == {**given, "key": "!", "items": [{"note": "a", "id": "!"}, 5]}
    assert made.judged(chosen, as_is) == made.upstream(given, value)
    assert made.chosen(given, as_is) is given
    assert sorted(made.defaults) == ["1", "?", "?"]


def test_what_a_client_chose_is_put_into_an_object_that_a_call_leaves_out():
    made = plan(of(loc=of(["lat"], lat=TEXT)) | {"required": ["loc"]}, defaults={"loc.lat": "?"})
    assert made.chosen({}, lambda _: "!") == {"loc": {"lat": "!"}}
    assert made.chosen({}, as_is) == {}


def test_an_injected_value_wins_and_a_hidden_one_never_goes_through():
    made = plan(NESTED, defaults={"key": "k"}, hide_fields=["loc.lat"])
    sent = made.upstream({"q": "x", "key": "mine", "loc": {"lat": "3", "lon": "4"}}, as_is)
    assert sent == {"q": "x", "key": "k", "loc": {"lon": "4"}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"q": "x"}, ""),
        ({"q": "x", "key": None}, "“key” is set for you and cannot be given; leave it out."),
        ({"place": {"lat": 1}}, "“place.lat” is not an argument of this tool; leave it out."),
        ({"loc": {"lon": 1}}, "“loc” is called “place” here."),
        (
            {"items": [{"tag": "x"}, {"id": 1}]},
            "“items[1].id” is set for you and cannot be given; leave it out.",
        ),
        ({"items": "nonsense", "place": [1]}, ""),
    ],
)
def test_arguments_that_are_not_the_agents_to_give_are_refused_as_it_wrote_them(arguments, said):
    made = plan(
        NESTED,
        defaults={"key": "k", "items[].id": "i"},
        hide_fields=["loc.lat"],
        rename_fields={"loc": "place"},
    )
    assert made.refused(arguments) == said


def test_what_needs_no_change_is_passed_on_as_the_same_object():
    made = plan(NESTED, hide_fields=["items[].tag", "loc.lat"], rename_fields={"key": "token"})
    for given in (
        {"q": "x"},
        {"q": "x", "items": [{"id": "1"}], "loc": {"lon": "1"}},
        {"items": 5, "loc": None},
    ):
        assert made.upstream(given, as_is) is given


def test_an_object_that_can_stand_on_injected_values_alone_is_made_when_it_is_left_out():
    search = of(["tenant"], tenant=TEXT, text=TEXT)
    optional = {"anyOf": [{"$ref": "#/$defs/Search"}, {"type": "null"}], "default": None}
    schema = {**of(["must"], must=of(inner=search), may=optional), "$defs": {"Search": search}}
    tool = {"name": "t", "inputSchema": schema}
    composed = compose(tool, ToolOverride(defaults={"must.inner.tenant": "acme", "may.tenant": "acme"}))

    assert "required" not in composed.definition["inputSchema"]
    sent = composed.plan.upstream({}, as_is)
    assert sent == {"must": {"inner": {"tenant": "acme"}}, "may": {"tenant": "acme"}}
    assert jsonschema_rs.validator_for(schema).is_valid(sent)
    assert composed.plan.upstream({"must": {}, "may": None}, as_is)["may"] is None


def test_an_object_that_needs_more_than_injected_values_stays_left_out():
    made = plan(of(loc=of(["lat", "lon"], lat=TEXT, lon=TEXT)), defaults={"loc.lat": "1"})
    assert made.upstream({}, as_is) == {}
    assert made.upstream({"loc": {"lon": "2"}}, as_is) == {"loc": {"lon": "2", "lat": "1"}}


def test_an_object_with_rules_of_its_own_is_not_made_by_guessing():
    counted = {**of(lat=TEXT, lon=TEXT), "minProperties": 2}
    made = plan(of(loc=counted), defaults={"loc.lat": "1"})
    assert made.upstream({}, as_is) == {}


def test_headers_repeat_what_is_sent_also_what_was_injected_or_renamed():
    schema = of(
        region={"type": "string", "x-mcp-header": "Region"},
        q={"type": "string", "x-mcp-header": "Query"},
        loc=of(zone={"type": "integer", "x-mcp-header": "Zone"}),
    )
    tool = {"name": "t", "inputSchema": schema}
    composed = compose(
        tool, ToolOverride(defaults={"region": "eu", "loc.zone": 3}, rename_fields={"q": "query"})
    )
    sent = composed.plan.upstream({"query": "ä"}, as_is)
    assert composed.plan.mirrored(sent) == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Query": "=?base64?w6Q=?=",
        "Mcp-Param-Zone": "3",
    }
    assert composed.definition["inputSchema"]["properties"]["query"]["x-mcp-header"] == "Query"
    assert compose({"name": "t", "inputSchema": of(a=TEXT)}, None).plan.mirrored({"a": "x"}) == {}
    ill_defined = of(a={"type": "object", "x-mcp-header": "A"})
    assert compose({"name": "t", "inputSchema": ill_defined}, None).plan.mirrored({"a": {}}) == {}


# -- error texts -----------------------------------------------------------------------------------------------------


def test_an_error_text_without_hidden_fields_is_passed_on_as_it_is():
    made = plan(NESTED, defaults={"key": "k-12345"})
    text = "q is empty.\n  Try again; keyboard and monkey are words."
    assert made.cleaned(text) == text
    assert plan(NESTED).cleaned("key k-12345") == "key k-12345"


def test_sentences_about_hidden_fields_are_left_out_and_their_values_covered():
    made = plan(NESTED, defaults={"key": "k-12345"}, hide_fields=["loc.lat"])
    text = "The key is wrong. q was fine, but not with key=k-12345. Sent to k-12345 as usual. Check loc.lat!"
    assert made.cleaned(text) == "q was fine, but not with a preset argument=…. Sent to … as usual."


def test_what_is_set_in_below_a_line_about_a_hidden_field_goes_with_it():
    made = plan(NESTED, defaults={"key": "k-12345"})
    text = (
        "2 validation errors for t\nkey\n  Input should be valid [type=x]\n    For more see the page\n"
        "q\n  Field required"
    )
    assert made.cleaned(text) == "2 validation errors for t\nq\n  Field required"


def test_a_text_of_which_nothing_is_left_says_that_the_setup_is_at_fault():
    made = plan(NESTED, defaults={"key": "k"})
    assert made.cleaned('{"error": "key expired"}') == (
        "The call failed for a reason that lies in how the tool is set up, not in the arguments."
    )
    assert made.cleaned("") == ""


def test_values_that_only_the_call_knew_are_covered_too():
    made = plan(NESTED, defaults={"key": "${env:KEY}", "items[].id": "${uuid()}"})
    sent = made.upstream(
        {"q": "x", "items": [{}]}, {"${env:KEY}": "s3cret", "${uuid()}": "1f-2e"}.__getitem__
    )
    assert made.cleaned("bad s3cret for 1f-2e", sent) == "bad … for …"


def test_a_value_is_covered_inside_of_other_words_and_as_json_writes_it():
    made = plan(NESTED, defaults={"key": 'to"ken-9. x', "loc.lat": "abc", "loc.lon": "4711"})
    text = 'at http://h/?k=to"ken-9. x1 or {"k": "to\\"ken-9. x"}, abc-4711 but not abcd or 47110'
    assert made.cleaned(text) == 'at http://h/?k=…1 or {"k": "…"}, …-… but not abcd or 47110'


def test_a_text_of_any_length_is_cleaned():
    made = plan(NESTED, defaults={"key": "k-12345"}, rename_fields={"q": "query"})
    cleaned = made.cleaned("q k-12345 key\n" * 100_000)
    assert cleaned.startswith("query … a preset argument\nquery …")
    assert len(cleaned) < 500_000 and "k-12345" not in cleaned


def test_renamed_fields_appear_under_the_names_that_agents_know():
    made = plan(of(q=TEXT, id=TEXT, n=of(id=TEXT, k=TEXT)), rename_fields={"q": "query", "n.id": "number"})
    text = "q is empty, id is fine, n.id is not; see quality"
    assert made.cleaned(text) == "query is empty, id is fine, n.number is not; see quality"


def test_a_hidden_name_that_another_field_has_too_is_known_by_its_path():
    made = plan(NESTED | {"properties": {**NESTED["properties"], "id": TEXT}}, defaults={"items[].id": "abc"})
    assert made.cleaned("id is wrong") == "id is wrong"
    assert made.cleaned("items[3].id is wrong.\nitems.0.id is wrong.\nid: no") == "id: no"


# -- paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("city", ("city",)),
        ("location.lat", ("location", "lat")),
        ("items[].id", ("items", None, "id")),
        ("tags[]", ("tags", None)),
        ("m[][].x", ("m", None, None, "x")),
        ("[].id", (None, "id")),
        (r"a\.b.c", ("a.b", "c")),
        (r"a\[\]", ("a[]",)),
        (r"a\\b", ("a\\b",)),
        ("with space-and_ü", ("with space-and_ü",)),
    ],
)
def test_a_path_is_read_and_written_the_same(text, path):
    assert parse_path(text) == path
    assert path_text(path) == text


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a[0]", "a[]b", "a[", "]", "\\", "a[]."])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match=r"expected|missing|empty"):
        parse_path(text)
