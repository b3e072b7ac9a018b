"""Placeholders as other clients write them, put into our words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Client", "Words", "home_of"]

Client = Literal["claude", "cursor", "vscode", "gemini", "other"]

_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}|\$\{")
_BARE = re.compile(r"(?<![$\w])\$([A-Za-z_][A-Za-z0-9_]*)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(:-.*)?", re.DOTALL)
_OURS = re.compile(r"env:[A-Za-z_].*|file:.+|header:.+|uuid\((session)?\)|now\(\)", re.DOTALL)
_INPUT = re.compile(r"(?:input|promptString):(.+)")


def home_of(path: str) -> str:
    """The folder that a client calls its workspace, by the place of its file."""
    folder = os.path.dirname(os.path.abspath(path))
    return (
        os.path.dirname(folder) if os.path.basename(folder) in {".vscode", ".cursor", ".gemini"} else folder
    )


class Words:
    """The placeholders of one file; `asked` are variables that stand for what its client would ask for."""

    def __init__(self, client: Client, workspace: str) -> None:
        self._client = client
        self._known: Mapping[str, str] = {
            "userHome": "${env:HOME}",
            "workspaceFolder": workspace,
            "workspaceRoot": workspace,
            "workspaceFolderBasename": os.path.basename(workspace),
            "pathSeparator": "/",
            "/": "/",
        }
        self.asked: list[str] = []
        self.unknown: list[str] = []

    def text(self, text: str) -> str:
        if "$" not in text:
            return text
        if self._client == "gemini":
            text = _BARE.sub(r"${\1}", text)
        return _PLACEHOLDER.sub(self._placeholder, text)

    def _placeholder(self, found: re.Match[str]) -> str:
        body = found[1]
        if body is None:
            return "$${"
        if body in self._known and self._client in {"vscode", "cursor"}:
            return self._known[body]
        asked = _INPUT.fullmatch(body)
        if asked:
            name = re.sub(r"[^A-Za-z0-9]+", "_", asked[1]).strip("_").upper() or "INPUT"
            name = name if name[0].isalpha() else f"INPUT_{name}"
            self.asked.append(name)
            return f"${{env:{name}}}"
        if _OURS.fullmatch(body):
            return found[0]
        if _VARIABLE.fullmatch(body):
            return f"${{env:{body}}}"
        self.unknown.append(found[0])
        return f"$${{{body}}}"
