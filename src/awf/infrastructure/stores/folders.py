"""A run's own folder: its lock, its secrets while it may be resumed, and output too big for the database."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.domain.redaction import Masker

__all__ = ["load_secrets", "make_folder", "output_path", "run_folder", "save_secrets"]


def run_folder(folder: str, run_id: str) -> str:
    return os.path.join(folder, "runs", run_id)


def output_path(folder: str, run_id: str, path: str, stream: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_.@#\[\]-]", "~", path)[-180:]
    return os.path.join(run_folder(folder, run_id), f"{safe}.{stream}")


def make_folder(storage: str, run_id: str) -> str:
    folder = run_folder(storage, run_id)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise AwfError(
            "SYSTEM.STORE.WRITE_FAILED",
            f"{folder} cannot be made: {error.strerror}.",
            hint="Check permissions and free space.",
        ) from error
    return folder


def save_secrets(folder: str, masker: Masker) -> None:
    """Secrets of a run that may be resumed lie in a file that only its owner can read, and go when it completes."""
    if masker.values:
        handle = os.open(
            os.path.join(folder, "secrets.json"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(masker.values, stream)


def load_secrets(folder: str, masker: Masker) -> None:
    try:
        with open(os.path.join(folder, "secrets.json"), encoding="utf-8") as stream:
            stored = json.load(stream)
    except (OSError, ValueError):
        return
    for name, value in stored.items():
        masker.add(name, value)
