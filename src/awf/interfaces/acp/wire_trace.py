"""Every message in both directions, in a file, without secrets."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from awf.domain.redaction import MASK, Masker

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["WireTrace"]


class WireTrace:
    """One JSON object per line: when, which way, and the message."""

    def __init__(self, path: str) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._file: TextIO = os.fdopen(handle, "w", encoding="utf-8", errors="replace", buffering=1)
        self.masker = Masker()  # until that of the sessions is known

    def __call__(self, direction: str, line: bytes) -> None:
        stamp = time.time()
        try:
            message: Any = _without_server_secrets(json.loads(line))
        except ValueError:
            message = line.decode("utf-8", "replace").rstrip("\n")[:2000]
        written = {"time": round(stamp, 6), "direction": direction, "message": self.masker.mask_data(message)}
        self._file.write(json.dumps(written, ensure_ascii=False) + "\n")


def _without_server_secrets(message: Any) -> Any:
    """What an editor hands to its MCP servers is nobody else's business."""
    params = message.get("params") if isinstance(message, dict) else None
    servers = params.get("mcpServers") if isinstance(params, dict) else None
    if not isinstance(servers, list):
        return message
    for server in servers:
        for key in ("env", "headers"):
            pairs = server.get(key) if isinstance(server, dict) else None
            for pair in pairs if isinstance(pairs, list) else []:
                if isinstance(pair, dict) and "value" in pair:
                    pair["value"] = MASK
    return message
