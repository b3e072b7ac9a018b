"""The servers of other MCP clients, on their way into `.awf/gateway.yaml`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.bootstrap.app import App
    from awf.infrastructure.gateway_files import ClientFile, ImportPlan

__all__ = ["GATEWAY_FILE", "Import", "plan_import"]

GATEWAY_FILE = ".awf/gateway.yaml"


class Import(NamedTuple):
    plan: ImportPlan
    files: list[str]  # that were read
    notes: list[str]


def plan_import(app: App, named: Sequence[str]) -> Import:
    """What `awf mcp import` would write: from the named files, or from those that the usual clients have."""
    from awf.infrastructure.gateway_files import import_plan, read_client_file, read_own_form, usual_files
    from awf.infrastructure.yaml_files.config_file import read_record

    current = _current(app.cwd)
    if current is not None:
        read_own_form(os.path.join(app.cwd, GATEWAY_FILE), read_record)
    home = app.environment.get("HOME", "")
    paths = [os.path.join(app.cwd, path) for path in named] or usual_files(app.cwd, home)
    found: list[ClientFile] = []
    notes: list[str] = []
    for path in paths:
        try:
            found.append(read_client_file(path, app.cwd))
        except AwfError as error:
            if named:
                raise
            notes.append(f"{path} is left out: {error.message}")
    plan = import_plan(current, found, GATEWAY_FILE)
    return Import(plan, [file.path for file in found if file.entries], [*notes, *plan.notes])


def _current(folder: str) -> str | None:
    """The text of our file, to the letter."""
    path = os.path.join(folder, GATEWAY_FILE)
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise AwfError(
            "SYSTEM.IO.READ_FAILED", f"{GATEWAY_FILE} cannot be read: {reason}.", hint="Correct it first."
        ) from error
