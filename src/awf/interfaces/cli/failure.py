"""What a person sees when something went wrong."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
import time
import traceback
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["report_failure"]

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def _format(arguments: Sequence[str]) -> str:
    """The form of answer that was asked for, also where the command line was never understood."""
    words = list(arguments)
    chosen = ""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in {"-o", "--output"}:
            chosen = following
        elif word.startswith(("-o", "--output=")):
            chosen = word.removeprefix("--output=").removeprefix("-o")
    return chosen


def report_failure(error: Exception, arguments: Sequence[str]) -> int:
    """Tell it on standard error (and as JSON on standard output when JSON was asked for); the exit status."""
    from awf.interfaces.cli.rendering.line_writer import LineWriter
    from awf.interfaces.cli.rendering.problems import error_document, error_lines

    known = _known(error)
    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    wanted = _format(arguments)
    if wanted in {"json", "ndjson"}:
        from awf.interfaces.cli.rendering.json_text import write_json

        document = error_document(known)
        with contextlib.suppress(OSError):  # the person still hears of it
            write_json(sys.stdout, document if wanted == "json" else {**_event_head(), **document})
    LineWriter(sys.stderr).write(error_lines(known, color=color))
    return known.exit_status


def _event_head() -> dict[str, Any]:
    """What every line of NDJSON has; here without a run to speak of."""
    return {"type": "error", "run_id": "", "seq": 0, "time": round(time.time(), 6), "path": ""}


def _known(error: Exception) -> AwfError:
    if isinstance(error, AwfError):
        return error
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        where = error.filename or "The output"
        hint = "Check the free space and the permissions where it goes."
        return AwfError(
            "SYSTEM.IO.WRITE_FAILED", f"{where} could not be written: {error.strerror}.", hint=hint
        )
    return _bug(error)


def _bug(error: Exception) -> AwfError:
    try:
        handle, path = tempfile.mkstemp(prefix="awf-crash-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            traceback.print_exception(error, file=stream)
    except OSError:
        path = "(it could not be written)"
    message = f"Something went wrong inside awf: {type(error).__name__}: {str(error)[:200]}"
    return AwfError("SYSTEM.INTERNAL.BUG", message, hint=f"The details are in {path}")
