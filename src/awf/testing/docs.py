"""`python -m awf.testing.docs` writes docs/reference and types for clients; with --check it only compares."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main", "pages", "stale_pages", "write_pages"]


def pages() -> dict[str, Callable[[], str]]:
    """The pages by their path in the project."""
    from awf.application.authoring.json_schema import workflow_schema
    from awf.testing.reference.agents_page import agents_page
    from awf.testing.reference.cli_page import cli_page
    from awf.testing.reference.config_page import config_page
    from awf.testing.reference.errors_page import errors_page
    from awf.testing.reference.events_page import events_page
    from awf.testing.reference.gateway_page import gateway_page
    from awf.testing.reference.tool_gateway_types import tool_gateway_schema, typescript_types
    from awf.testing.reference.workflow_page import workflow_page

    return {
        "docs/reference/agents.md": agents_page,
        "docs/reference/cli.md": cli_page,
        "docs/reference/config.md": config_page,
        "docs/reference/errors.md": errors_page,
        "docs/reference/events.md": events_page,
        "docs/reference/gateway.md": gateway_page,
        "docs/reference/tool-gateway.schema.json": tool_gateway_schema,
        "docs/reference/workflow.md": workflow_page,
        "docs/reference/workflow.schema.json": lambda: (
            json.dumps(workflow_schema(), ensure_ascii=False, indent=2) + "\n"
        ),
        "clients/node/src/types.ts": typescript_types,
    }


def stale_pages(root: str) -> list[str]:
    """Pages that are missing or say something else than the sources do."""
    return [path for path, make in pages().items() if _read(os.path.join(root, path)) != make()]


def write_pages(root: str) -> list[str]:
    """Write what has changed; its paths."""
    changed = stale_pages(root)
    for path in changed:
        place = os.path.join(root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as stream:
            stream.write(pages()[path]())
    return changed


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def main(arguments: Sequence[str]) -> int:
    if "--check" in arguments:
        stale = stale_pages(os.getcwd())
        print(
            "\n".join(f"{path} is not current; run `make docs`." for path in stale)
            or "The pages are current."
        )
        return 1 if stale else 0
    for path in write_pages(os.getcwd()):
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
