"""What a tool call is about: its kind, a title that says what is done, the files it touches, what it changes."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.frames import diff, fenced, sound
from awf.application.editor.projection.words import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["bare_name", "changes", "kind_of", "locations", "title"]

# How agents name the tools of our server: mcp__awf-proxy__X, mcp_awf-proxy_X, awf-proxy.X, awf-proxy_X, awf-proxy-X.
_OURS = re.compile(r"^(?:mcp_{1,2})?awf[-_]proxy(?:__|[._/:-])(?=.)")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LARGEST_DIFF = 256 * 1024
_MOST_PLACES = 20
_PATH_KEYS = ("file_path", "path", "notebook_path", "filePath", "absolute_path", "filename", "file")

_KINDS: dict[str, frozenset[str]] = {
    "read": frozenset({"read", "view", "cat", "readfile", "readmanyfiles", "notebookread", "ls", "list",
                       "listdirectory", "listdir", "openfile", "readtextfile"}),
    "edit": frozenset({"write", "edit", "multiedit", "applypatch", "patch", "writefile", "editfile", "replace",
                       "strreplace", "strreplaceeditor", "create", "createfile", "insert", "notebookedit",
                       "filechange", "writetextfile", "strreplacebasededittool"}),
    "execute": frozenset({"bash", "shell", "exec", "execcommand", "commandexecution", "runcommand", "terminal",
                          "runshellcommand", "localshell", "runterminalcommand", "powershell", "killshell",
                          "bashoutput", "writestdin"}),
    "search": frozenset({"glob", "grep", "search", "searchfiles", "searchfilecontent", "ripgrep", "rg", "find",
                         "websearch", "googlewebsearch", "codebasesearch", "findfiles", "grepsearch"}),
    "fetch": frozenset({"webfetch", "fetch", "fetchurl", "httpget", "browse", "httprequest"}),
    "delete": frozenset({"delete", "deletefile", "rm", "remove", "removefile"}),
    "move": frozenset({"move", "movefile", "rename", "renamefile", "mv"}),
    "think": frozenset({"think", "todowrite", "todoread", "updateplan", "todolist", "writetodos", "task"}),
}  # fmt: skip
_KIND_BY_NAME = {name: kind for kind, names in _KINDS.items() for name in names}


def bare_name(name: str) -> str:
    """The name under which we offer the tool, whatever the agent puts before it."""
    return _OURS.sub("", name)


def kind_of(name: str) -> str:
    words = "".join(word.lower() for word in _WORDS.findall(bare_name(name)))
    return _KIND_BY_NAME.get(words, "other")


def title(name: str, arguments: Mapping[str, Any], cwd: str = "") -> str:
    shown, kind = one_line(bare_name(name), 60) or "tool", kind_of(name)
    if kind == "execute" and (command := _command(arguments)):
        return f"{shown}: {one_line(command)}"
    if kind in {"read", "edit", "delete", "move"} and (paths := list(_paths(arguments))):
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return f"{shown} {_near(paths[0], cwd)}{more}"
    subject = next(
        (arguments[key] for key in ("pattern", "query", "url") if _is_text(arguments.get(key))), ""
    )
    if kind in {"search", "fetch"} and subject:
        return f"{shown} {one_line(subject)}"
    return one_line(f"{shown} {_short(arguments)}".rstrip(), 160)


def _command(arguments: Mapping[str, Any]) -> str:
    given = arguments.get("command", arguments.get("cmd", ""))
    return " ".join(map(str, given)) if isinstance(given, list) else str(given or "")


def _near(path: str, cwd: str) -> str:
    """Below the working directory, the path from there."""
    base = cwd.rstrip("/") + "/"
    return one_line(path[len(base) :] if cwd and path.startswith(base) else path, 120)


def _short(arguments: Mapping[str, Any]) -> str:
    if not arguments:
        return ""
    texts = [value for value in arguments.values() if _is_text(value)]
    if len(arguments) == 1 and texts:
        return one_line(texts[0], 100)
    return one_line(
        json.dumps({key: _cut(value) for key, value in arguments.items()}, ensure_ascii=False, default=str)
    )


def _cut(value: Any) -> Any:
    return one_line(value, 40) if isinstance(value, str) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _path(arguments: Mapping[str, Any]) -> str:
    return next((arguments[key] for key in _PATH_KEYS if _is_text(arguments.get(key))), "")


def _absolute(path: str, cwd: str) -> str:
    """Editors want absolute paths; without a working directory a relative one cannot be given."""
    if path.startswith("/"):
        return posixpath.normpath(sound(path))
    return posixpath.normpath(posixpath.join(cwd, sound(path))) if cwd.startswith("/") else ""


def locations(name: str, arguments: Mapping[str, Any], cwd: str) -> list[dict[str, Any]]:
    """Files only: where a search looks is no place to follow to."""
    if kind_of(name) in {"search", "execute", "fetch"}:
        return []
    places = dict.fromkeys(_absolute(path, cwd) for path in _paths(arguments))
    return [{"path": place, **_line(arguments)} for place in places if place][:_MOST_PLACES]


def _paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    if path := _path(arguments):
        yield path
    for change in _listed(arguments, "changes"):  # how Codex tells of the files it changed
        if path := _path(change):
            yield path


def _line(arguments: Mapping[str, Any]) -> dict[str, int]:
    offset = arguments.get("offset", arguments.get("line"))
    is_number = isinstance(offset, int) and not isinstance(offset, bool)
    return {"line": offset} if is_number and 0 < offset < 2**32 else {}


def _listed(arguments: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    given = arguments.get(key)
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def changes(name: str, arguments: Mapping[str, Any], cwd: str) -> list[dict[str, Any]]:
    """What the call does to files, as diffs, where its arguments tell."""
    place = _absolute(_path(arguments), cwd) if _path(arguments) else ""
    if kind_of(name) != "edit":
        return []
    if not place:
        patch = arguments.get("patch", arguments.get("input"))
        return [fenced(patch[:_LARGEST_DIFF], "diff")] if isinstance(patch, str) and patch.strip() else []
    return [diff(place, old, new) for old, new in _replacements(arguments) if _fits(old, new)]


def _fits(old: str | None, new: str) -> bool:
    return len(old or "") + len(new) <= _LARGEST_DIFF


def _replacements(arguments: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    listed = _listed(arguments, "edits")
    for one in listed or [dict(arguments)]:
        old = _text(one, "old_string", "oldString", "old_str", "old_text", "oldText")
        new = _text(one, "new_string", "newString", "new_str", "new_text", "newText")
        whole = None if listed else _text(one, "content", "file_text", "contents")
        if new is not None:
            yield old or "", new
        elif whole is not None:
            yield None, whole


def _text(arguments: Mapping[str, Any], *names: str) -> str | None:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)
