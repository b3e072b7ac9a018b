"""The structured log: stdlib logging, lines for people or one JSON object per line; redacted in both."""

from __future__ import annotations

import functools
import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.events import (
    AgentText,
    AgentThought,
    Stamped,
    StepFailed,
    StepOutput,
    ToolCallFinished,
    ToolCallStarted,
    Warned,
    WorkflowFailed,
    event_fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.redaction import Masker
    from awf.domain.redaction.redactor import Redactor

__all__ = ["LogListener", "set_up_logging"]

# The router writes one line for each tool call itself, whichever door the call came through.
_NOISY = (StepOutput, AgentText, AgentThought, ToolCallStarted, ToolCallFinished)


def _late_redactor(masker: Masker) -> Callable[[], Redactor]:
    """Most programs never write a line."""

    @functools.cache
    def made() -> Redactor:
        from awf.domain.redaction.redactor import Redactor

        return Redactor(masker)

    return made


class _JsonFormatter(logging.Formatter):
    def __init__(self, masker: Masker) -> None:
        super().__init__()
        self._redactor = _late_redactor(masker)

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": round(record.created, 6),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event" if hasattr(record, "fields") else "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(self._redactor().redacted(fields), ensure_ascii=False, default=str)


class _ConsoleFormatter(logging.Formatter):
    def __init__(self, masker: Masker) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s  %(message)s", "%H:%M:%S")
        self._redactor = _late_redactor(masker)

    def format(self, record: logging.LogRecord) -> str:
        shown = " ".join(
            f"{key}={value}"
            for key, value in getattr(record, "fields", {}).items()
            if value not in ("", None, {})
        )
        line = super().format(record)
        return self._redactor().mask(f"{line}  {shown}" if shown else line)


def set_up_logging(level: str, form: str, file: str | None, masker: Masker) -> None:
    logger = logging.getLogger("awf")
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    try:
        handler: logging.Handler = (
            logging.FileHandler(file, encoding="utf-8") if file else logging.StreamHandler(sys.stderr)
        )
    except OSError as error:
        raise AwfError(
            "SYSTEM.IO.WRITE_FAILED", f"The log file {file} cannot be written: {error.strerror}."
        ) from error
    handler.setFormatter(_JsonFormatter(masker) if form == "json" else _ConsoleFormatter(masker))
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


class LogListener:
    """Writes the course of a run to the log."""

    def __init__(self) -> None:
        self._logger = logging.getLogger("awf.run")

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, StepFailed | WorkflowFailed):
            level = logging.INFO if isinstance(event, StepFailed) and event.handled else logging.ERROR
        elif isinstance(event, Warned):
            level = logging.WARNING
        else:
            level = logging.DEBUG if isinstance(event, _NOISY) else logging.INFO
        if self._logger.isEnabledFor(level):
            fields = event_fields(stamped)
            self._logger.log(
                level, fields.pop("type"), extra={"fields": {k: v for k, v in fields.items() if k != "time"}}
            )
