"""The file of another MCP client: Claude, Cursor, VS Code, Gemini, or any with `mcpServers`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.infrastructure.gateway_files.client_servers import OWN_KEYS, UnusableError, as_server, own_entry
from awf.infrastructure.gateway_files.client_words import Words, home_of
from awf.infrastructure.gateway_files.json_text import parse_json, read_text, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.domain.gateway_file import GatewayServer
    from awf.infrastructure.gateway_files.client_words import Client

__all__ = ["ClientFile", "client_file", "is_own_form", "read_client_file"]

_CLAUDE = {".mcp.json", ".claude.json", "claude_desktop_config.json"}
_OF_GEMINI = {"httpUrl", "includeTools", "excludeTools", "trust"}
# Also the keys of the gate: a rule that was taken for a word of some client would protect nobody.
_OF_OURS = (
    *("overrides", "profiles", "listen", "pinning"),
    *("policy", "limits", "levels", "grants", "approvals", "redaction", "spool", "audit"),
)
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


class ClientFile(NamedTuple):
    path: str
    client: Client
    entries: dict[str, dict[str, Any]]  # in our keys, as they can be written to our file
    notes: list[str]

    @property
    def servers(self) -> dict[str, GatewayServer]:
        return {name: as_server(entry) for name, entry in self.entries.items()}


def read_client_file(path: str, project: str = "") -> ClientFile:
    """Raises when it is not there, or is neither JSON nor YAML. `project` is the folder whose servers are wanted."""
    text = read_text(path)
    if not path.endswith((".yaml", ".yml")):
        return client_file(path, parse_json(path, text), project)
    import yaml  # late: clients write JSON

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        document = parse_json(path, text)  # it says where
    found = client_file(path, document, project)
    left = [f"`{key}`" for key in _OF_OURS if isinstance(document, dict) and key in document]
    notes = [f"{shown_path(path)}: only servers are taken over, not {', '.join(left)}"] if left else []
    return found._replace(notes=[*found.notes, *notes])


def is_own_form(path: str, document: Any) -> bool:
    """Whether to hold it to every letter: it is ours, or it cannot be anything else."""
    if not isinstance(document, dict) or any(key in document for key in _OF_OURS):
        return True
    found = list(_entries(document, ""))
    if not found and "mcpServers" not in document and "servers" not in document:
        return True
    if _client(path, document) != "other":
        return False
    plain = all(isinstance(entry, dict) and entry.keys() <= OWN_KEYS for _, entry in found)
    return (document.keys() == {"mcpServers"} and plain) or any(map(_misspelt, document))


def _misspelt(key: Any) -> bool:
    """`override` would otherwise be one more key of some client, and every tool would stay as it is."""
    from awf.domain.problem import suggest

    return key not in {"mcpServers", "servers", "inputs"} and bool(suggest(str(key), _OF_OURS))


def client_file(path: str, document: Any, project: str = "") -> ClientFile:
    shown = shown_path(path)
    client = _client(path, document)
    words = Words(client, home_of(path))
    entries: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    for name, entry in _entries(document, project):
        about = f"{shown}: server “{name}”"
        try:
            made, left = own_entry(entry, client, words)
        except UnusableError as reason:
            notes.append(f"{about} is left out. {reason}")
            continue
        legal = _free(_ILLEGAL.sub("_", name)[:40] or "server", entries)
        if legal != name:
            notes.append(f"{about} is called “{legal}” here")
        entries[legal] = made
        notes += [f"{about}: {note}" for note in left]
    notes += _about_words(shown, document, words)
    return ClientFile(path, client, entries, [_readable(note) for note in notes])


def _client(path: str, document: Any) -> Client:
    name, folder = os.path.basename(path), os.path.basename(os.path.dirname(os.path.abspath(path)))
    if folder == ".gemini":
        return "gemini"
    if folder == ".cursor":
        return "cursor"
    if folder == ".vscode" or (isinstance(document, dict) and _of_vscode(document)):
        return "vscode"
    if name in _CLAUDE:
        return "claude"
    keys = {key for _, entry in _entries(document, "") if isinstance(entry, dict) for key in entry}
    return "gemini" if keys & _OF_GEMINI else "other"


def _of_vscode(document: Mapping[str, Any]) -> Any:
    if "mcpServers" in document:
        return None
    inner = document.get("mcp")
    return document.get("servers") or (inner.get("servers") if isinstance(inner, dict) else None)


def _entries(document: Any, project: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(document, dict):
        return
    groups = [_of_vscode(document), document.get("mcpServers")]
    projects = document.get("projects")  # where Claude Code keeps the servers of one folder
    if project and isinstance(projects, dict) and isinstance(projects.get(project), dict):
        groups.append(projects[project].get("mcpServers"))
    for group in groups:
        if isinstance(group, dict):
            yield from ((_readable(str(name)), entry) for name, entry in group.items())


def _readable(text: str) -> str:
    """JSON can spell halves of characters, which cannot be shown."""
    return text.encode(errors="replace").decode()


def _free(wanted: str, taken: Mapping[str, Any]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted[:37]}_{number}", number + 1
    return name


def _about_words(shown: str, document: Any, words: Words) -> list[str]:
    notes = []
    names = ", ".join(dict.fromkeys(words.asked))
    if isinstance(document, dict) and document.get("inputs"):
        instead = f": set {names} instead" if names else ""
        notes.append(f"{shown}: `inputs` are not asked for here{instead}")
    elif names:
        notes.append(f"{shown}: set {names}, which the client would ask for")
    notes += [
        f"{shown}: {written} means nothing here and is left as it is"
        for written in dict.fromkeys(words.unknown)
    ]
    return notes
