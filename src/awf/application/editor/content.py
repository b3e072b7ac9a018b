"""Content blocks of a prompt become one text.

A link stands in the text where the client put it, as a path that a person and an agent both can read. The text of an
embedded file comes after everything else, below its path, so that the sentence that mentions it stays whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.editor.slash import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Flattened", "flatten"]

_LINES = re.compile(r"L?(\d+)(?:C\d+)?(?:[-:]L?(\d+)(?:C\d+)?)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters or more: C: is a drive
_DRIVE = re.compile(r"/[A-Za-z]:(?=/|$)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_MENTION = re.compile(r"@[\"']?([^\s\"'`]+)")
_KINDS = {"image": "An image", "audio": "A sound recording"}


class Flattened(msgspec.Struct, frozen=True):
    text: str = ""
    refused: tuple[str, ...] = ()


class _Target(NamedTuple):
    place: str  # path or address, with its lines
    file_name: str


def flatten(blocks: Sequence[Mapping[str, Any]]) -> Flattened:
    """The prompt as text, and a sentence for each block that has none."""
    text = _Text(_mentions(blocks))
    refused = [sentence for block in blocks if (sentence := _add(text, block))]
    whole = text.whole()
    return Flattened(whole if whole.strip() else "", tuple(refused))


def _add(text: _Text, block: Mapping[str, Any]) -> str:
    """Adds the block to the text; a sentence instead where it cannot."""
    kind = block.get("type")
    if kind == "text":
        text.say(block.get("text") or "")
    elif kind == "resource_link":
        name = block.get("name") or block.get("title") or ""
        text.refer(_target(block.get("uri") or name), name)
    elif kind == "resource" and isinstance((block.get("resource") or {}).get("text"), str):
        resource = block["resource"]
        text.attach(_target(resource.get("uri") or ""), resource["text"])
    else:
        return _refusal(kind, block)
    return ""


def _mentions(blocks: Sequence[Mapping[str, Any]]) -> set[str]:
    """Files that the typed text names as @path: some clients write the name and send the file behind the text."""
    texts = [block.get("text") or "" for block in blocks if block.get("type") == "text"]
    return {found.rstrip(".,;:!?)") for text in texts for found in _MENTION.findall(text)}


class _Text:
    """The text so far."""

    def __init__(self, mentions: set[str]) -> None:
        self._mentions = mentions
        self._parts: list[str] = []
        self._leads = True  # nothing but white space so far
        self._after_reference = False
        self._attached: dict[tuple[str, str], None] = {}

    def say(self, words: str) -> None:
        if self._after_reference and words[:1] and (words[0].isalnum() or words[0] in "/@\"'"):
            self._parts.append(" ")
        if words:
            self._parts.append(words)
            self._leads = self._leads and words.isspace()
            self._after_reference = False

    def refer(self, target: _Target, name: str = "") -> None:
        if not target.place:
            return
        before = self._parts[-1][-1] if self._parts else ""
        if before and not before.isspace() and before not in "([{<\"'`=@":
            self._parts.append(" ")
        self._parts.append(self._reference(target, name, before))
        self._leads, self._after_reference = False, True

    def attach(self, target: _Target, content: str) -> None:
        if not self._is_mentioned(target):
            self.refer(target)
        self._attached[target.place, content] = None

    def whole(self) -> str:
        attachments = [_attachment(place, content) for place, content in self._attached]
        if not attachments:
            return "".join(self._parts)
        return "\n\n".join(["".join(self._parts).rstrip(), *attachments])

    def _reference(self, target: _Target, name: str, before: str) -> str:
        if before == "=":  # the value of an input
            return quoted(target.place)
        if _says_more(name, target):
            return _markdown_link(name, target.place)
        # A path must not become a command, whatever follows it: neither /etc nor the first word of "/my files/a".
        risky = self._leads and target.place.startswith("/") and "/" not in target.place[1:]
        return _in_quotes(target.place) if risky or re.search(r"\s", target.place) else target.place

    def _is_mentioned(self, target: _Target) -> bool:
        return any(target.place == name or target.place.endswith(f"/{name}") for name in self._mentions)


def _target(uri: str) -> _Target:
    """Where a URI leads, as people write it: `/src/app.py:10-20` for a part of a file."""
    uri = uri.strip()
    if _SCHEME.match(uri) and not uri.lower().startswith("file:"):
        return _Target(_visible(uri), uri.rstrip("/").rpartition("/")[2])
    is_uri = uri.lower().startswith("file:")
    path, mark, fragment = uri.partition("#")
    path = _file_path(path) if is_uri else path
    lines = _LINES.fullmatch(fragment)
    if lines:
        first, last = lines.groups()
        fragment = f":{first}-{last}" if last and last != first else f":{first}"
    else:
        fragment = f"{mark}{fragment}"
    return _Target(_visible(path + fragment), path.rstrip("/").rpartition("/")[2])


def _file_path(uri: str) -> str:
    from urllib.parse import unquote

    rest = uri[len("file:") :].partition("?")[0]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        rest = f"{slash}{path}" if host.lower() in {"", "localhost"} else f"//{host}{slash}{path}"
    path = unquote(rest)
    return path[1:] if _DRIVE.match(path) else path


def _visible(text: str) -> str:
    """Control characters stay encoded: a path is one line."""
    return _CONTROL.sub(lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), text)


def _says_more(name: str, target: _Target) -> bool:
    """Whether a link's name tells something that the path does not. "app.py (10:20)" does not."""
    name = " ".join(name.split()).lstrip("@")
    if not name or target.place.endswith(name.rstrip("/")):
        return False
    rest = name.removeprefix(target.file_name)
    return not (target.file_name and rest != name and re.fullmatch(r"[\s():#L\d,-]*", rest))


def _in_quotes(place: str) -> str:
    return '"{}"'.format(place.replace('"', '\\"'))


def _markdown_link(name: str, place: str) -> str:
    label = re.sub(r"([\[\]\\])", r"\\\1", " ".join(name.split()))
    if re.search(r"[\s()<>]", place):
        place = f"<{place.replace('<', '%3C').replace('>', '%3E')}>"
    return f"[{label}]({place})"


def _attachment(place: str, content: str) -> str:
    longest = max((len(found) for found in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    ending = "" if content.endswith("\n") or not content else "\n"
    return f"{place or 'attached text'}:\n{fence}\n{content}{ending}{fence}"


def _refusal(kind: Any, block: Mapping[str, Any]) -> str:
    resource = block.get("resource") if kind == "resource" else None
    source = resource if isinstance(resource, dict) else block
    data = source.get("blob") if kind == "resource" else source.get("data")
    what = "A binary file" if kind == "resource" else _KINDS.get(str(kind), f"A block of the type '{kind}'")
    named = f" {_target(source['uri']).place}" if source.get("uri") else ""
    facts = [source.get("mimeType") or "", _size(data) if isinstance(data, str) else ""]
    told = ", ".join(fact for fact in facts if fact)
    return f"{what}{named}{f' ({told})' if told else ''} cannot be used: workflows take text."


def _size(encoded: str) -> str:
    """How much data a base64 text stands for."""
    count = len(encoded.rstrip("=")) * 3 // 4
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} kB" if count < 999_500 else f"{count / 1_000_000:.1f} MB"
