"""Files that a prompt mentions.

Gemini CLI reads a file that is mentioned as `@path` by itself and puts it into the prompt, past every policy. Where
AWF's tools are to be the only way to files, such a mention is made plain text. All other `@` stay as they are.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["exists_below", "plain"]

_MENTION = re.compile(r'(?<!\\)@((?:"[^"]*"|\\.|[^ \t\n\r,;!?()\[\]{}.]|\.(?!$|[ \t\n\r]))+)')


def plain(prompt: str, is_file: Callable[[str], bool]) -> str:
    """The prompt in which nothing is a mention of a file and nothing a command of the agent's."""

    def guarded(found: re.Match[str]) -> str:
        path = found.group(1)
        quoted = '"' in path or "\\" in path  # what exactly the agent makes of these is not worth knowing
        return rf"\@{path}" if quoted or is_file(path) else found.group(0)

    text = _MENTION.sub(guarded, prompt)
    return f"\n{text}" if text.startswith("/") else text


def exists_below(folders: Sequence[str]) -> Callable[[str], bool]:
    return lambda path: any(os.path.lexists(os.path.join(folder, path)) for folder in folders)
