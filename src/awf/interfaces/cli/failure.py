"""What a person sees when something went wrong."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError, InvalidWorkflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["report_failure"]


def _wants_json(arguments: Sequence[str]) -> bool:
    words = list(arguments)
    return any(
        word in {"-ojson", "--output=json", "-ondjson", "--output=ndjson"}
        or (word in {"-o", "--output"} and words[i + 1 : i + 2] and words[i + 1] in {"json", "ndjson"})
        for i, word in enumerate(words)
    )


def report_failure(error: Exception, arguments: Sequence[str]) -> int:
    """Tell it on standard error (and as JSON on standard output when JSON was asked for); the exit status."""
    from awf.interfaces.cli.rendering.problems import (
        error_document,
        error_lines,
        problem_lines,
        problems_document,
    )

    known = error if isinstance(error, AwfError) else _bug(error)
    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    if _wants_json(arguments):
        import json

        document = (
            problems_document(known.problems)
            if isinstance(known, InvalidWorkflowError)
            else error_document(known)
        )
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    lines = (
        problem_lines(known.problems, color=color)
        if isinstance(known, InvalidWorkflowError)
        else error_lines(known, color=color)
    )
    sys.stderr.write("\n".join(lines) + "\n")
    return known.exit_status


def _bug(error: Exception) -> AwfError:
    try:
        handle, path = tempfile.mkstemp(prefix="awf-crash-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            traceback.print_exception(error, file=stream)
    except OSError:
        path = "(it could not be written)"
    message = f"Something went wrong inside awf: {type(error).__name__}: {str(error)[:200]}"
    return AwfError("SYSTEM.INTERNAL.BUG", message, hint=f"The details are in {path}")
