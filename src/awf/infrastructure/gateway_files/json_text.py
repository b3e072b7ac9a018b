"""JSON as clients write it: comments and commas too many are no mistake there."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.problem import Place, Problem

__all__ = ["parse_json", "read_text", "shown_path"]

_LARGEST = 32 * 1024 * 1024  # some clients keep their whole history in the same file
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])")


def shown_path(path: str) -> str:
    """Relative where that is shorter to read."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def read_text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise AwfError(
            "USER.INPUT.MISSING_FILE", f"There is no file {shown_path(path)}.", hint="Check the path."
        ) from error
    except OSError as error:
        raise AwfError(
            "SYSTEM.IO.READ_FAILED",
            f"{shown_path(path)} cannot be read: {error.strerror}.",
            hint="Check what it is, and its permissions.",
        ) from error
    if len(data) > _LARGEST:
        raise _broken(path, f"The file has more than {_LARGEST:,} bytes.", "Name the right file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _broken(path, "The file is not UTF-8 text.", "Save it as UTF-8.") from error


def parse_json(path: str, text: str) -> Any:
    """Raises with the place when it is no JSON, comments and commas at the end of lists aside."""
    try:
        return json.loads(_COMMA.sub(_kept, _COMMENT.sub(_kept, text)))
    except json.JSONDecodeError as error:
        hint = "Look at quotes, commas and brackets just before this place."
        message = f"Not valid JSON: {error.msg}."
        raise _broken(path, message, hint, Place(shown_path(path), error.lineno, error.colno)) from error
    except ValueError as error:
        raise _broken(path, f"Not valid JSON: {error}.", "Name the right file.") from error
    except RecursionError as error:
        raise _broken(path, "The file is nested too deeply.", "Name the right file.") from error


def _kept(found: re.Match[str]) -> str:
    """A string stays; all else becomes blank, so that lines and columns stay right."""
    return found[1] or re.sub(r"[^\n]", " ", found[0])


def _broken(path: str, message: str, hint: str, place: Place | None = None) -> InvalidWorkflowError:
    place = place or Place(shown_path(path))
    return InvalidWorkflowError(
        [Problem(code="USER.GATEWAY.INVALID_FILE", message=message, place=place, hint=hint)]
    )
