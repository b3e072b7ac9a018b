"""What comes of a call, on its way to the agent: freed of secrets, cut, put aside, and hashed. Each test goes both ways."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import msgspec
import pytest

from awf.application.gate.releasing import received
from awf.domain.errors import AwfError
from awf.domain.gate_file import GateKeys, Limits, Redaction, Spool
from awf.domain.override import ToolOverride
from awf.domain.tool import text_result
from awf.testing.gate_lab import GateLab

pytestmark = pytest.mark.anyio
SECRET = 'hunter2/"geheim"~42'
OVERRIDES = {"kb:search": ToolOverride(policy_action="connector.read")}


@pytest.fixture(params=[False, True], ids=["through", "in two steps"])
def lab_of(request):
    def make(**keys) -> GateLab:
        lab = GateLab(GateKeys(**keys), OVERRIDES, in_two_steps=request.param)
        lab.masker.add("door", SECRET)
        return lab

    return make


def spelled(secret: str) -> list[str]:
    raw = secret.encode()
    return [
        secret,
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        raw.hex(),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    ]


@pytest.mark.parametrize("spelling", spelled(SECRET))
@pytest.mark.parametrize("place", ["text", "structured", "key", "meta", "resource"])
async def test_a_known_secret_is_in_no_part_of_a_result_however_it_is_spelled(lab_of, spelling, place):
    lab = lab_of()
    raw: dict = {"content": [{"type": "text", "text": "so"}]}
    if place == "text":
        raw["content"][0]["text"] = f"it is {spelling}!"
    elif place == "structured":
        raw["structuredContent"] = {"a": [{"b": spelling}]}
    elif place == "key":
        raw["structuredContent"] = {spelling: 1}
    elif place == "meta":
        raw["_meta"] = {"about": {"it": spelling}}
    else:
        raw["content"].append({"type": "resource", "resource": {"uri": f"x://{spelling}", "text": spelling}})
    result = await lab.call(lab.tool(), answer=received(raw))
    shown = json.dumps(msgspec.to_builtins(result), ensure_ascii=False)
    assert spelling not in json.loads(json.dumps(shown))
    assert all(one not in str(msgspec.to_builtins(result)) for one in spelled(SECRET))
    assert "***" in shown


async def test_a_picture_with_a_secret_in_it_is_left_out(lab_of):
    lab = lab_of()
    data = base64.b64encode(f"PNG {SECRET} more".encode()).decode()
    raw = {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    result = await lab.call(lab.tool(), answer=received(raw))
    assert result.content[0]["type"] == "text"


async def test_what_only_looks_secret_is_the_tools_own_word_but_not_in_the_record(lab_of):
    lab = lab_of()
    told = [received({"content": [], "structuredContent": {"password": word}}) for word in ("one", "two")]
    for one in told:
        result = await lab.call(lab.tool(), {"password": "x"}, answer=one)
        assert result.structured == one.structured
    hashes = {entry.output_hash for entry in lab.of_kind("effect")}
    assert len(hashes) == 1  # of what is left


async def test_the_hash_of_arguments_is_of_what_is_left_without_secrets(lab_of):
    lab = lab_of(redaction=Redaction(names=["ssn"], patterns=["EMP-[0-9]{6}"]))
    pairs = [
        ({"q": SECRET}, {"q": "***"}),
        ({"password": "a"}, {"password": "b"}),
        ({"ssn": "1"}, {"ssn": "2"}),
        ({"q": "EMP-123456"}, {"q": "EMP-654321"}),
    ]
    for one, other in pairs:
        lab.audit.kept.clear()
        for arguments in (one, other):
            await lab.call(lab.tool(), arguments)
        first, second = lab.of_kind("decision")
        assert first.input_hash == second.input_hash


async def test_the_hash_of_a_result_is_about_what_the_tool_said_not_what_was_noted_with_it(lab_of):
    lab = lab_of()
    content = [{"type": "text", "text": "so"}]
    for more in ({}, {"_meta": {}}, {"_meta": {"took": 5}}, {"_meta": "odd"}):
        await lab.call(lab.tool(), answer=received({"content": content, **more}))
    assert len({entry.output_hash for entry in lab.of_kind("effect")}) == 1


async def test_a_long_result_is_cut_and_the_whole_is_put_aside_without_secrets(lab_of):
    lab = lab_of(limits=Limits(max_output_bytes=100))
    long = "\n".join(f"line {number} {SECRET} AKIAABCDEFGHIJKLMNOP" for number in range(50))
    result = await lab.call(lab.tool(), answer=text_result(long))
    (artifact,) = await lab.artifacts.artifacts()
    body = (await lab.artifacts.read(artifact.artifact_id)).decode()
    assert "line 49" in body
    for text in (body, str(result.content)):
        assert all(one not in text for one in spelled(SECRET))
    assert "AKIAABCDEFGHIJKLMNOP" not in body
    assert f"awf://artifact/{artifact.artifact_id}" in str(result.content)
    assert (artifact.tool_id, artifact.context) == ("kb:search", "ctx")
    noted = lab.of_kind("spooled")[0]
    assert noted.details["artifactId"] == artifact.artifact_id
    assert lab.kinds[-1] == "effect"


async def test_a_long_result_that_cannot_be_kept_is_shown_in_part_all_the_same(lab_of):
    lab = lab_of(limits=Limits(max_output_lines=3))
    lab.artifacts.refusal = AwfError("SYSTEM.IO.WRITE_FAILED", "The disk is full.", hint="")
    result = await lab.call(lab.tool(), answer=text_result("\n".join("abcdefgh")))
    assert "The disk is full" in result.text
    assert result.content[0]["text"].startswith("a\nb\nc")
    (noted,) = lab.of_kind("spooled")
    assert (noted.tool_id, noted.reason) == ("kb:search", "The disk is full.")
    assert noted.request_id == lab.entries[-1].request_id
    assert noted.details["kept"] is False
    assert "artifactId" not in noted.details
    assert lab.entries[-1].success is True


async def test_that_a_result_is_larger_than_all_that_may_be_kept_is_recorded_without_secrets(lab_of):
    lab = lab_of(limits=Limits(max_output_bytes=100), spool=Spool(max_size=2048))
    lab.masker.add("size", "2048 bytes")
    await lab.call(lab.tool(), answer=text_result("x" * 6000))
    (noted,) = lab.of_kind("spooled")
    assert noted.reason == "it is larger than all that may be kept (***)"
    assert noted.details["kept"] is False
    assert noted.details["bytes"] > 6000


async def test_an_artifact_carries_the_label_of_its_result(lab_of):
    lab = lab_of(limits=Limits(max_output_bytes=10))
    said = msgspec.structs.replace(text_result("x" * 99), meta={"ifc": {"confidentiality": "secret"}})
    await lab.call(lab.tool(), answer=said)
    (artifact,) = await lab.artifacts.artifacts()
    assert artifact.label.confidentiality == "secret"
