"""Long results are resources: listed, and read in pages that keep to the limits."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from awf.application.gate.artifacts import TEMPLATE, is_artifact, listed, read
from awf.application.gate.output_limits import Bounds
from awf.domain.label import Label
from awf.domain.mcp import INVALID_PARAMS, RpcError
from awf.domain.ports.artifact_store import Artifact
from awf.testing.memory_artifacts import MemoryArtifacts

ID = "0123456789abcdef0123456789abcdef"
URI = f"awf://artifact/{ID}"
LINES = "".join(f"line {number} é\n" for number in range(1, 101))


async def keep(store, artifact_id=ID, context="c", created_at=1.0, **result):
    body = msgspec.json.encode(result)
    artifact = Artifact(
        artifact_id=artifact_id,
        tool_id="kb:search",
        request_id="r",
        context=context,
        label=Label("confidential"),
        created_at=created_at,
        byte_size=len(body),
        line_count=100,
        content_hash=hashlib.sha256(body).hexdigest(),
    )
    await store.keep(artifact, body)
    return artifact


@pytest.fixture
async def store():
    made = MemoryArtifacts()
    await keep(made, content=[{"type": "text", "text": LINES}])
    return made


async def texts(store, uri, bounds=None):
    return [one["text"] for one in (await read(store, uri, bounds=bounds)).result["contents"]]


async def test_what_is_short_enough_comes_whole_with_the_label_that_goes_with_it(store):
    reading = await read(store, URI)
    assert reading.result["contents"] == [{"uri": URI, "mimeType": "text/plain", "text": LINES}]
    assert reading.artifact.label == Label("confidential")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("?lines=1-1", "line 1 é\n"),
        ("?lines=2-3", "line 2 é\nline 3 é\n"),
        ("?lines=100-", "line 100 é\n"),
        ("?lines=7", "line 7 é\n"),
        ("#L2-3", "line 2 é\nline 3 é\n"),
        ("#L2-L3", "line 2 é\nline 3 é\n"),
        ("#L5", "line 5 é\n"),
        ("?lines=101-200", ""),
        ("?offset=0&limit=4", "line"),
        ("?offset=5&limit=4", "1 é"),
        ("?offset=8&limit=4", "é\nl"),
        ("?limit=1", "l"),
        ("?offset=999999", ""),
        ("?offset=7&limit=1", "é"),
    ],
)
async def test_a_stretch_can_be_asked_for(store, query, wanted):
    assert (await texts(store, URI + query))[0] == wanted


@pytest.mark.parametrize(
    "bounds", [Bounds(50, None), Bounds(None, 3), Bounds(1, None), Bounds(33, 2), Bounds(10_000, 7)]
)
@pytest.mark.parametrize("limit", ["", "&limit=20", "&limit=999999"])
async def test_page_after_page_gives_the_whole(store, bounds, limit):
    got, offset = "", 0
    while offset is not None:
        result = (await read(store, f"{URI}?offset={offset}{limit}", bounds=bounds)).result
        page = result["contents"][0]["text"]
        assert page
        assert bounds.max_bytes is None or len(page.encode()) <= max(bounds.max_bytes, 2)
        assert bounds.max_lines is None or page.count("\n") <= bounds.max_lines
        got += page
        about = result["_meta"]["awf/page"]
        assert about["total"] == len(LINES.encode())
        offset = about.get("next")
        if offset is not None:
            assert f"{URI}?offset={offset}" in result["contents"][1]["text"]
    assert got == LINES


@pytest.mark.parametrize(
    "uri",
    [
        "awf://artifact/",
        "awf://artifact/..%2f",
        f"{URI}?offset=-1",
        f"{URI}?offset=x",
        f"{URI}?offset=",
        f"{URI}?lines=0-3",
        f"{URI}?lines=3-2",
        f"{URI}?lines=a",
        f"{URI}?lines=1-2&offset=3",
        f"{URI}?offset=1&offset=2",
        f"{URI}?colour=red",
        f"{URI}/../x",
        f"{URI}/-1",
        f"{URI}#L0",
        f"{URI}?offset={'9' * 40}",
    ],
)
async def test_an_address_that_means_nothing_is_a_wrong_parameter(store, uri):
    with pytest.raises(RpcError) as told:
        await read(store, uri)
    assert told.value.code == INVALID_PARAMS
    assert "offset=BYTES" in told.value.message


@pytest.mark.parametrize("uri", [f"awf://artifact/{'f' * 32}", f"{URI}/1", f"{URI}/structured"])
async def test_what_is_not_there_is_not_found_as_each_era_says_it(store, uri):
    for modern, code in ((False, -32002), (True, INVALID_PARAMS)):
        with pytest.raises(RpcError) as told:
            await read(store, uri, modern=modern)
        assert told.value.code == code
        assert told.value.data == {"uri": uri}


async def test_what_belongs_to_another_context_is_as_good_as_gone(store):
    assert (await read(store, URI, context="c")).artifact.artifact_id == ID
    with pytest.raises(RpcError) as told:
        await read(store, URI, context="d")
    assert told.value.code == -32002


async def test_blocks_can_be_read_by_themselves():
    store = MemoryArtifacts()
    blob = {"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA", "mimeType": "application/pdf"}}
    odd = {"type": "of tomorrow", "x": 1}
    await keep(store, content=[{"type": "text", "text": "one"}, blob, odd])
    assert await texts(store, URI) == [
        f"one\n[application/pdf, 3 bytes: {URI}/1]\n[of tomorrow, 28 bytes: {URI}/2]"
    ]
    assert await texts(store, f"{URI}/0") == ["one"]
    assert (await read(store, f"{URI}/1")).result["contents"] == [
        {"uri": f"{URI}/1", "mimeType": "application/pdf", "blob": "AAAA"}
    ]
    assert msgspec.json.decode((await texts(store, f"{URI}/2"))[0]) == odd


async def test_a_result_with_nothing_but_structure_is_read_as_json():
    store = MemoryArtifacts()
    await keep(store, structuredContent={"a": [1]})
    assert await texts(store, URI) == ['{"a":[1]}']


async def test_they_are_listed_newest_first_and_for_one_context():
    store = MemoryArtifacts()
    await keep(store, "a" * 32, "one", 1.0)
    await keep(store, "b" * 32, "two", 2.0)
    await keep(store, "c" * 32, "one", 3.0)
    assert [one["uri"][-1] for one in await listed(store)] == ["c", "b", "a"]
    mine = await listed(store, context="one")
    assert [one["uri"][-1] for one in mine] == ["c", "a"]
    assert mine[0]["name"] == "kb:search result"


def test_the_template_is_about_the_same_addresses():
    assert TEMPLATE["uriTemplate"].startswith("awf://artifact/{id}")
    assert is_artifact(URI)
    assert not is_artifact("file:///x")
