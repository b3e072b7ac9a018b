"""Every message in both directions, in a file, without secrets."""

from __future__ import annotations

import errno
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

from awf.domain.redaction import MASK, JointMasker
from awf.interfaces.acp.masking import environment_masker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.redaction import Masker

__all__ = ["WireTrace"]

# name=value, as a shell would read it; and the same with quotes around all of it
_INPUT = re.compile(
    r"""((?:^|(?<=\s)|(?<=--input=))(?!--input=)[^\s="']+=)"""
    r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\]|["'].*)+""",
    re.DOTALL,
)
_QUOTED_INPUT = re.compile(r"""((["'])[^\s="']+=)(?:(?!\2).)*""", re.DOTALL)


class WireTrace:
    """One JSON object per line: when, which way, and the message."""

    def __init__(self, path: str, environment: Mapping[str, str]) -> None:
        """Raises OSError where it cannot be written."""
        self._path = path
        self._handle: int | None = _opened(path)
        self._maskers = [environment_masker(environment)]
        self._masker = JointMasker(lambda: self._maskers)

    def mask_also(self, masker: Masker) -> None:
        """What this one knows, now or later, is a secret here, too."""
        self._maskers.append(masker)

    def __call__(self, direction: str, line: bytes) -> None:
        if self._handle is None:
            return
        stamp = time.time()
        try:
            data = self._told(stamp, direction, json.loads(line))
        except (ValueError, RecursionError):  # no JSON, or JSON that nobody could want to read
            data = self._told(stamp, direction, line.decode("utf-8", "replace")[:2000])
        self._write(data.encode("utf-8", "replace") + b"\n")

    def _told(self, stamp: float, direction: str, message: Any) -> str:
        shown = self._masker.mask_data(_without_given_secrets(message) if direction == "in" else message)
        told = {"time": round(stamp, 6), "direction": direction, "message": shown}
        return json.dumps(told, ensure_ascii=False)

    def _write(self, data: bytes) -> None:
        """A disk that is full ends the trace, and nothing else."""
        assert self._handle is not None
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError as error:
            import logging

            os.close(self._handle)
            self._handle = None
            why = error.strerror or str(error)
            logging.getLogger("awf.editor").warning("%s: the trace is given up: %s", self._path, why)


def _opened(path: str) -> int:
    """A pipe that nobody reads is refused, not waited for; so is standard output, which is the wire itself."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    os.set_blocking(handle, True)
    try:
        is_wire = os.path.samestat(os.fstat(handle), os.fstat(1))
    except OSError:  # there is no standard output
        is_wire = False
    if is_wire:
        os.close(handle)
        raise OSError(errno.EINVAL, "it is the standard output, which belongs to the protocol", path)
    return handle


def _without_given_secrets(message: Any) -> Any:
    """What an editor hands to its MCP servers is nobody else's business; nor are the inputs of a workflow.

    Which of the inputs are secret is known only when the workflow has been read.
    """
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return message
    for server in _dicts(params.get("mcpServers")):
        for pair in [*_dicts(server.get("env")), *_dicts(server.get("headers"))]:
            if "value" in pair:
                pair["value"] = MASK
    for block in _dicts(params.get("prompt")):
        text = block.get("text")
        if isinstance(text, str) and text.lstrip().startswith("/"):
            block["text"] = _INPUT.sub(rf"\1{MASK}", _QUOTED_INPUT.sub(rf"\1{MASK}", text))
    return message


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
