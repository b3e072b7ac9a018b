"""What a session has been told about its role.

Codex takes `developer_instructions` when a session begins, and keeps to those when it is continued. A step that
continues a session with a role of its own must tell it: in front of its prompt, in a marked block, unless that is what
the session was told last.
"""

from __future__ import annotations

import json

__all__ = ["in_front", "is_told"]

_OPENED, _CLOSED = "<system_instructions>", "</system_instructions>"


def in_front(role: str, prompt: str) -> str:
    return f"{_block(role)}\n\n{prompt}"


def is_told(role: str, record: bytes) -> bool:
    """Whether the role is the one that was told last, by what Codex keeps of the session."""
    last = record.rfind(_OPENED.encode())
    if last >= 0:
        return record.startswith(_within_json(_block(role)), last)
    return _within_json(role) in record


def _block(role: str) -> str:
    return f"{_OPENED}\n{role}\n{_CLOSED}"


def _within_json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
