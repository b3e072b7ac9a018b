from __future__ import annotations

from typing import Protocol

import msgspec

__all__ = ["ProjectFiles", "Skill"]


class Skill(msgspec.Struct, frozen=True):
    name: str
    folder: str
    body: str
    files: tuple[str, ...]


class ProjectFiles(Protocol):
    """Prompts, scripts, roles and skills of a project."""

    def find(self, written: str, workflow_file: str) -> str | None:
        """A file named in a workflow: beside the workflow file, else from the working directory."""
        ...

    def read(self, path: str) -> str:
        """A text of at most 1 MiB. Raises `AwfError`."""
        ...

    def role(self, written: str, workflow_file: str) -> str:
        """The text of a role's AGENTS.md, without its front matter. Raises USER.INPUT.MISSING_ROLE."""
        ...

    def skill(self, written: str, workflow_file: str, *, is_path: bool) -> Skill:
        """Raises USER.INPUT.MISSING_SKILL."""
        ...

    def is_file(self, path: str) -> bool: ...
    def is_folder(self, path: str) -> bool: ...

    def scratch_script(self, content: str) -> str:
        """Write an executable temporary file; the caller removes it."""
        ...

    def remove(self, path: str) -> None: ...
