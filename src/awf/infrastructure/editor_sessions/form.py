"""A session as text, and back.

A session is written whole after every turn, so it is written by the quick encoder. Only the standard library's JSON
carries the lone surrogates that an editor may send in a prompt; that one writes the sessions with such a prompt.
"""

from __future__ import annotations

import json
import re

import msgspec

from awf.domain.editor import SessionRecord

__all__ = ["FormError", "decoded", "encoded", "is_session_id"]

_FORM = 1
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class FormError(ValueError):
    """The text is no session that this version can read."""


def is_session_id(text: str) -> bool:
    """Only what is a plain file name everywhere: an editor must not be able to name another file."""
    return _SESSION_ID.fullmatch(text) is not None


def encoded(record: SessionRecord) -> bytes:
    try:
        return msgspec.json.encode({"form": _FORM, "session": record})
    except UnicodeEncodeError:
        return json.dumps({"form": _FORM, "session": msgspec.to_builtins(record)}).encode("ascii")


def decoded(data: bytes, session_id: str) -> SessionRecord:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormError("it holds no JSON") from error
    form = value.get("form") if isinstance(value, dict) else None
    if type(form) is not int:
        raise FormError("it is not a session")
    if form > _FORM:
        raise FormError(f"it has form {form}, which a newer version has written; this one knows {_FORM}")
    return _record(value.get("session"), session_id)


def _record(value: object, session_id: str) -> SessionRecord:
    try:
        record = msgspec.convert(value, SessionRecord)
    except msgspec.ValidationError as error:
        raise FormError(str(error)) from error
    if record.id != session_id:
        raise FormError(f"it holds the session {record.id!r}")
    return record
