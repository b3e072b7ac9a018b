"""What is too long is put aside whole and redacted; the agent gets the head, is told so, and can read on."""

from __future__ import annotations

import base64
import json
import re

import msgspec
import pytest

from awf.application.gate.artifacts import read
from awf.application.gate.output_limits import Bounds, limited
from awf.application.gate.spooling import SPOOLED_KEY, Source, Spooler
from awf.domain.errors import AwfError
from awf.domain.gate_file import Spool
from awf.domain.label import Label
from awf.domain.redaction import MASK, Masker
from awf.domain.redaction.redactor import Redactor
from awf.testing.memory_artifacts import MemoryArtifacts

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3hJ6"
SOURCE = Source(tool_id="kb:search", request_id="r1", context="c1", label=Label("secret", "untrusted"))


def image(size):
    return {"type": "image", "data": base64.b64encode(bytes(size)).decode(), "mimeType": "image/png"}


class Desk:
    def __init__(self, *secrets, **settings):
        self.now = 1000.0
        self.store = MemoryArtifacts()
        masker = Masker()
        for number, secret in enumerate(secrets):
            masker.add(f"s{number}", secret)
        self.spooler = Spooler(self.store, Redactor(masker), Spool(**settings), lambda: self.now)

    async def spool(self, *blocks, bounds=Bounds(100, None), source=SOURCE, **more):
        raw = {"content": list(blocks), **more}
        before = json.dumps(raw)
        spooled = await self.spooler.spool(raw, limited(raw, bounds), source)
        assert json.dumps(raw) == before
        return spooled

    async def whole(self, spooled):
        return msgspec.json.decode(await self.store.read(spooled.artifact.artifact_id))


def text(said):
    return {"type": "text", "text": said}


async def test_the_head_stays_and_a_link_leads_to_the_whole():
    desk = Desk()
    lines = "".join(f"line {number}\n" for number in range(100))
    spooled = await desk.spool(text(lines), isError=True, extra=1)
    head, told, link = spooled.result["content"]
    assert lines.startswith(head["text"])
    assert 50 < len(head["text"]) <= 100
    artifact = spooled.artifact
    assert (artifact.tool_id, artifact.request_id, artifact.context) == ("kb:search", "r1", "c1")
    assert artifact.label == Label("secret", "untrusted")
    assert (artifact.created_at, artifact.line_count) == (1000.0, 100)
    assert len(artifact.artifact_id) == 40
    uri = f"awf://artifact/{artifact.artifact_id}"
    assert link["type"] == "resource_link"
    assert (link["uri"], link["mimeType"], link["size"]) == (uri, "text/plain", len(lines))
    assert f"of {len(lines)} bytes" in told["text"]
    assert "of 100 lines" in told["text"]
    assert (spooled.result["isError"], spooled.result["extra"]) == (True, 1)
    assert spooled.result["_meta"][SPOOLED_KEY] == {
        "kept": True,
        "byteSize": len(lines),
        "lineCount": 100,
        "shownBytes": len(head["text"]),
        "shownLines": head["text"].count("\n"),
        "uri": uri,
        "contentHash": artifact.content_hash,
    }
    assert (await desk.whole(spooled))["content"] == [text(lines)]


async def test_an_agent_that_follows_the_text_reads_everything_once():
    desk = Desk()
    said = "".join(f"{number}: ünïcödé 😀\n" for number in range(200))
    spooled = await desk.spool(text(said))
    got, told = spooled.result["content"][0]["text"], spooled.result["content"][1]["text"]
    while found := re.search(r"goes on at (\S+?)\]", told):
        page = (await read(desk.store, found[1], bounds=Bounds(100, None))).result["contents"]
        got += page[0]["text"]
        told = page[1]["text"] if len(page) > 1 else ""
    assert got == said


async def test_what_is_put_aside_is_redacted_and_the_head_only_of_known_values():
    desk = Desk("hunter22hunter22")
    said = f'{TOKEN} hunter22hunter22 {{"password": "x"}} ' + "y" * 200
    spooled = await desk.spool(text(said), structuredContent={"token": "abc"})
    assert spooled.result["content"][0]["text"].startswith(f'{TOKEN} {MASK} {{"password": "x"}}')
    assert spooled.result["structuredContent"] == {"token": "abc"}
    whole = await desk.whole(spooled)
    assert whole["content"][0]["text"].startswith(f'{MASK} {MASK} {{"password": "{MASK}"}}')
    assert whole["structuredContent"] == {"token": MASK}


async def test_where_redaction_moved_the_text_the_agent_reads_on_before_the_first_change():
    desk = Desk()
    said = f"abc {TOKEN} " + "y" * 300
    spooled = await desk.spool(text(said))
    (found,) = re.findall(r"offset=(\d+)", spooled.result["content"][1]["text"])
    assert int(found) == 4


@pytest.mark.parametrize("before", range(60, 100, 3))
async def test_no_secret_is_cut_in_two(before):
    desk = Desk("hunter22hunter22")
    spooled = await desk.spool(text("x" * before + "hunter22hunter22" + "y" * 100))
    assert "hunter" not in json.dumps(spooled.result)


async def test_a_result_that_fits_once_its_secrets_are_masked_is_not_put_aside():
    desk = Desk("s" * 200)
    spooled = await desk.spool(text("x" + "s" * 200))
    assert spooled.result == {"content": [text("x***")]}
    assert spooled.artifact is None
    assert spooled.error == ""
    assert await desk.store.artifacts() == []


async def test_keys_of_the_call_are_redacted_too():
    desk = Desk()
    source = msgspec.structs.replace(SOURCE, redact_keys=("ssn",))
    spooled = await desk.spool(text("x" * 200), structuredContent={"ssn": "1"}, source=source)
    assert (await desk.whole(spooled))["structuredContent"] == {"ssn": MASK}


async def test_a_picture_that_is_too_large_becomes_a_link_to_itself():
    desk = Desk()
    spooled = await desk.spool(text("see"), image(500))
    _, link, _, whole = spooled.result["content"]
    uri = f"awf://artifact/{spooled.artifact.artifact_id}"
    assert (link["type"], link["uri"], link["mimeType"], link["size"]) == (
        "resource_link",
        f"{uri}/1",
        "image/png",
        500,
    )
    assert whole["uri"] == uri
    contents = (await read(desk.store, f"{uri}/1")).result["contents"]
    assert contents == [{"uri": f"{uri}/1", "mimeType": "image/png", "blob": image(500)["data"]}]
    (page,) = (await read(desk.store, uri)).result["contents"]
    assert page["text"] == f"see\n[image/png, 500 bytes: {uri}/1]"


async def test_structured_content_that_is_too_large_goes_and_can_be_read():
    desk = Desk()
    spooled = await desk.spool(text("short"), structuredContent={"rows": ["x" * 20] * 10})
    assert "structuredContent" not in spooled.result
    assert spooled.result["content"][0] == text("short")
    assert "structured content" in spooled.result["content"][1]["text"]
    uri = f"awf://artifact/{spooled.artifact.artifact_id}/structured"
    assert uri in spooled.result["content"][1]["text"]
    (page,) = (await read(desk.store, uri)).result["contents"]
    assert json.loads(page["text"]) == {"rows": ["x" * 20] * 10}
    assert page["mimeType"] == "application/json"


async def test_clients_that_know_no_links_are_told_in_words():
    desk = Desk()
    source = msgspec.structs.replace(SOURCE, links=False)
    spooled = await desk.spool(text("see"), image(500), source=source)
    assert {block["type"] for block in spooled.result["content"]} == {"text"}
    assert "awf://artifact/" in spooled.result["content"][1]["text"]


async def test_when_nothing_can_be_kept_the_agent_gets_the_head_and_is_told():
    desk = Desk()
    desk.store.refusal = AwfError("SYSTEM.SPOOL.WRITE_FAILED", "The disk is full.")
    spooled = await desk.spool(text("x" * 200), image(500))
    assert spooled.artifact is None
    assert spooled.error == "The disk is full."
    shown, left_out, told = spooled.result["content"]
    assert shown == text("x" * 100)
    assert left_out == text("[Left out: image/png, 500 bytes]")
    assert "not kept: The disk is full." in told["text"]
    assert "awf://" not in json.dumps(spooled.result)
    assert spooled.result["_meta"][SPOOLED_KEY]["kept"] is False


async def test_what_is_larger_than_all_that_may_be_kept_is_not_kept():
    desk = Desk(max_size=1000)
    spooled = await desk.spool(text("x" * 2000))
    assert spooled.artifact is None
    assert "1000 bytes" in spooled.error
    assert await desk.store.artifacts() == []


async def test_old_results_go_after_their_time():
    desk = Desk(retention=100.0)
    old = await desk.spool(text("x" * 200))
    desk.now += 101
    new = await desk.spool(text("x" * 200))
    assert await desk.store.artifacts() == [new.artifact]
    assert old.artifact != new.artifact


async def test_the_oldest_go_when_there_are_too_many():
    desk = Desk(max_size=2000)
    for _ in range(20):
        desk.now += 0.001
        last = await desk.spool(text("x" * 500))
    kept = await desk.store.artifacts()
    assert sum(one.byte_size for one in kept) <= 2000
    assert kept[-1] == last.artifact


async def test_half_a_character_from_a_server_does_no_harm():
    desk = Desk()
    said = "\ud83d" + "x" * 200
    spooled = await desk.spool(text(said))
    (page,) = (await read(desk.store, f"awf://artifact/{spooled.artifact.artifact_id}")).result["contents"]
    assert page["text"] == "?" + "x" * 200


async def test_a_result_of_64_megabytes_is_cut_and_read_on():
    desk = Desk("hunter22hunter22")
    line = "The quick brown fox jumps over the lazy dog, again and again and again.\n"
    said = line * ((64 << 20) // len(line))
    spooled = await desk.spool(text(said), bounds=Bounds(65536, 200))
    assert len(json.dumps(spooled.result)) < 70_000
    uri = f"awf://artifact/{spooled.artifact.artifact_id}?offset={len(said) - 10}"
    (page,) = (await read(desk.store, uri)).result["contents"]
    assert page["text"] == said[-10:]
