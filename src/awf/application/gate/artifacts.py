"""Reading what was put aside, as MCP resources.

`awf://artifact/ID` is the text of the whole result, `…/ID/N` its block N, `…/ID/structured` its structured content. Text
comes in pages within the limits: `?offset=BYTES`, `&limit=BYTES`, `?lines=FIRST-LAST` (or `#LFIRST-LAST`) say which.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gate.artifact_views import SCHEME, address, view_of
from awf.application.gate.output_limits import BYTES, Bounds, as_json, binary_of, text_of
from awf.application.gate.text_cutting import cut_text, position, size_of_text
from awf.domain.mcp import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from awf.domain.ports.artifact_store import Artifact, ArtifactStore

__all__ = ["TEMPLATE", "Reading", "is_artifact", "listed", "read"]

_NOT_FOUND = -32002  # up to 2025-11-25; afterwards it is a wrong parameter
_PAGE_KEY = "awf/page"
_USUAL = Bounds(BYTES, None)
_ELSEWHERE = 1 << 20  # bytes; from there on the work is done beside the event loop
_URI = re.compile(
    re.escape(SCHEME) + r"(?P<id>[A-Za-z0-9_-]{1,128})(?:/(?P<part>\d{1,6}|structured))?"
    r"(?:\?(?P<query>[a-z0-9=&-]*))?(?:#L(?P<first>\d{1,12})(?:-L?(?P<last>\d{1,12}))?)?"
)
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{0,12}))?")
TEMPLATE: dict[str, Any] = {
    "uriTemplate": f"{SCHEME}{{id}}{{?offset,limit,lines}}",
    "name": "long results",
    "description": "A tool result that was too long. offset and limit are bytes, lines is FIRST-LAST.",
    "mimeType": "text/plain",
}


class Reading(NamedTuple):
    result: dict[str, Any]  # of `resources/read`
    artifact: Artifact  # its label is now the reader's


class _Wanted(NamedTuple):
    artifact_id: str
    part: str
    offset: int
    limit: int | None
    lines: tuple[int, int | None] | None


def is_artifact(uri: str) -> bool:
    return uri.startswith(SCHEME)


async def listed(store: ArtifactStore, *, context: str | None = None) -> list[dict[str, Any]]:
    """For `resources/list`, the newest first; only those of a context, if one is given."""
    found = await store.artifacts()
    return [_resource(one) for one in reversed(found) if context is None or one.context == context]


def _resource(artifact: Artifact) -> dict[str, Any]:
    return {
        "uri": address(artifact.artifact_id),
        "name": f"{artifact.tool_id} result",
        "description": f"A result of {artifact.line_count} lines that was too long to be given at once.",
        "mimeType": "text/plain",
    }


async def read(
    store: ArtifactStore,
    uri: str,
    *,
    bounds: Bounds | None = None,
    context: str | None = None,
    modern: bool = False,
) -> Reading:
    """One page. `context`: whose artifacts may be read; others are as good as gone. Raises `RpcError` and `AwfError`."""
    wanted = _wanted(uri)
    artifact = await store.find(wanted.artifact_id)
    if artifact is None or (context is not None and artifact.context != context):
        raise _gone(uri, modern=modern)
    body = await store.read(wanted.artifact_id)
    if body is None:  # swept in between
        raise _gone(uri, modern=modern)
    page = (body, uri, wanted, bounds or _USUAL)
    result = await asyncio.to_thread(_page, *page) if len(body) > _ELSEWHERE else _page(*page)
    if result is None:
        raise _gone(uri, modern=modern)
    return Reading(result, artifact)


def _gone(uri: str, *, modern: bool) -> RpcError:
    message = "Resource not found: it was never there, or is no longer kept"
    return RpcError(INVALID_PARAMS if modern else _NOT_FOUND, message, {"uri": uri})


# -- the address -----------------------------------------------------------------------------------------------------


def _wanted(uri: str) -> _Wanted:
    found = _URI.fullmatch(uri)
    if found is None:
        raise _unreadable(uri)
    query = _query(uri, found["query"] or "")
    lines = _lines(uri, query.get("lines", ""))
    if found["first"]:
        lines = _lines(uri, f"{found['first']}-{found['last'] or found['first']}")
    return _Wanted(
        found["id"],
        found["part"] or "",
        _number(uri, query.get("offset", "0")),
        _number(uri, query["limit"]) if "limit" in query else None,
        lines,
    )


def _query(uri: str, text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split("&") if pair]
    query = {name: value for name, _, value in pairs}
    if len(query) < len(pairs) or not query.keys() <= {"offset", "limit", "lines"}:
        raise _unreadable(uri)
    if "lines" in query and "offset" in query:
        raise _unreadable(uri)
    return query


def _number(uri: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text):
        raise _unreadable(uri)
    return int(text)


def _lines(uri: str, text: str) -> tuple[int, int | None] | None:
    if not text:
        return None
    found = _RANGE.fullmatch(text)
    if found is None:
        raise _unreadable(uri)
    first = int(found[1])
    last = first if found[2] is None else int(found[2]) if found[2] else None
    if first < 1 or (last is not None and last < first):
        raise _unreadable(uri)
    return first, last


def _unreadable(uri: str) -> RpcError:
    hint = f"{SCHEME}ID, with ?offset=BYTES&limit=BYTES or ?lines=FIRST-LAST"
    return RpcError(
        INVALID_PARAMS, f"Invalid params: this is no address of a long result; write {hint}", {"uri": uri}
    )


# -- the page --------------------------------------------------------------------------------------------------------


def _page(body: bytes, uri: str, wanted: _Wanted, bounds: Bounds) -> dict[str, Any] | None:
    result = _decoded(body)
    mime = "text/plain"
    if wanted.part == "structured":
        if "structuredContent" not in result:
            return None
        text, mime = as_json(result["structuredContent"]).decode(), "application/json"
    elif wanted.part:
        blocks = result.get("content", [])
        if int(wanted.part) >= len(blocks):
            return None
        block = blocks[int(wanted.part)]
        if (binary := binary_of(block)) is not None:
            return {"contents": [{"uri": uri, "mimeType": binary[1], "blob": binary[0]}]}
        said = text_of(block)
        text, mime = (said, mime) if said is not None else (as_json(block).decode(), "application/json")
    else:
        text = view_of(result, wanted.artifact_id)
    return _text_page(text, mime, uri, wanted, bounds)


def _decoded(body: bytes) -> dict[str, Any]:
    import json

    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:  # half a character, which only this reader takes
        found = json.loads(body)
    return found if isinstance(found, dict) else {}


def _text_page(text: str, mime: str, uri: str, wanted: _Wanted, bounds: Bounds) -> dict[str, Any]:
    text = text.encode("utf-8", "replace").decode()  # an answer must be text that can be sent
    start, end = _stretch(text, wanted)
    room = bounds.max_bytes if wanted.limit is None else min(wanted.limit, bounds.max_bytes or wanted.limit)
    page = cut_text(text[start:end], None if room is None else max(room, 1), bounds.max_lines)
    if not page and start < end:
        page = text[start : start + 1]  # whatever the limit is, there is a way on
    offset, total = size_of_text(text[:start]).bytes, size_of_text(text).bytes
    following = offset + size_of_text(page).bytes
    about = {"offset": offset, "bytes": following - offset, "total": total}
    contents = [{"uri": uri, "mimeType": mime, "text": page}]
    if following < total:
        about["next"] = following
        on = f"{address(wanted.artifact_id, wanted.part)}?offset={following}"
        note = f"[Bytes {offset} to {following} of {total}. It goes on at {on}]"
        contents.append({"uri": on, "mimeType": "text/plain", "text": note})
    return {"contents": contents, "_meta": {_PAGE_KEY: about}}


def _stretch(text: str, wanted: _Wanted) -> tuple[int, int]:
    if wanted.lines is None:
        return position(text, wanted.offset), len(text)
    first, last = wanted.lines
    start = len(cut_text(text, None, first - 1))
    return start, len(text) if last is None else start + len(cut_text(text[start:], None, last - first + 1))
