"""Prompts, scripts, roles and skills on disk; implements the `ProjectFiles` port."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError
from awf.domain.ports.project_files import Skill

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DiskProjectFiles"]

_MOST_BYTES = 1024 * 1024
_MOST_SKILL_FILES = 100
_FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n---\s*\n", re.DOTALL)


class DiskProjectFiles:
    def __init__(self, cwd: str, role_dirs: Sequence[str], skill_dirs: Sequence[str]) -> None:
        self._cwd = cwd
        self._role_dirs = role_dirs
        self._skill_dirs = skill_dirs

    def find(self, written: str, workflow_file: str) -> str | None:
        expanded = os.path.expanduser(written)
        for base in (os.path.dirname(workflow_file), self._cwd):
            path = os.path.normpath(os.path.join(base, expanded))
            if os.path.isfile(path):
                return path
        return None

    def read(self, path: str) -> str:
        try:
            with open(path, "rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
        except OSError as error:
            raise AwfError(
                "SYSTEM.IO.READ_FAILED",
                f"{path} cannot be read: {error.strerror}.",
                hint="Check its permissions.",
            ) from error
        if len(data) > _MOST_BYTES:
            raise AwfError(
                "SYSTEM.IO.READ_FAILED",
                f"{path} has more than {_MOST_BYTES:,} bytes.",
                hint="Use a smaller file.",
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise AwfError(
                "SYSTEM.IO.READ_FAILED", f"{path} is not UTF-8 text.", hint="Save it as UTF-8."
            ) from error

    def role(self, written: str, workflow_file: str) -> str:
        folder = self._folder(written, "AGENTS.md", self._role_dirs, workflow_file)
        if folder is None:
            raise AwfError(
                "USER.INPUT.MISSING_ROLE",
                f"There is no role '{written}'.",
                hint=f"Create .awf/roles/{os.path.basename(written)}/AGENTS.md, or set AWF_ROLES_PATH.",
            )
        return _FRONT_MATTER.sub("", self.read(os.path.join(folder, "AGENTS.md"))).strip()

    def skill(self, written: str, workflow_file: str, *, is_path: bool) -> Skill:
        folder = self._folder(
            f"./{written}" if is_path and not written.startswith((".", "/", "~")) else written,
            "SKILL.md",
            self._skill_dirs,
            workflow_file,
        )
        if folder is None:
            raise AwfError(
                "USER.INPUT.MISSING_SKILL",
                f"There is no skill '{written}'.",
                hint=f"Create .awf/skills/{os.path.basename(written)}/SKILL.md, or set AWF_SKILLS_PATH.",
            )
        body = _FRONT_MATTER.sub("", self.read(os.path.join(folder, "SKILL.md"))).strip()
        return Skill(os.path.basename(folder.rstrip("/")), folder, body, tuple(_skill_files(folder)))

    def _folder(self, written: str, inside: str, places: Sequence[str], workflow_file: str) -> str | None:
        """A name is looked for in the places; a path is taken from the workflow file or the working directory."""
        if written.startswith((".", "/", "~")) or "/" in written:
            bases = [
                os.path.join(base, os.path.expanduser(written))
                for base in (os.path.dirname(workflow_file), self._cwd)
            ]
        else:
            bases = []
        bases += [
            os.path.join(place, written)
            for place in places
            if ".." not in written.split("/") and not written.startswith("/")
        ]
        for folder in bases:
            if os.path.isfile(os.path.join(folder, inside)):
                return os.path.normpath(folder)
        return None

    def is_file(self, path: str) -> bool:
        return os.path.isfile(os.path.join(self._cwd, os.path.expanduser(path)))

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def scratch_script(self, content: str) -> str:
        import tempfile

        handle, path = tempfile.mkstemp(prefix="awf-script-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(content)
        os.chmod(path, 0o700)
        return path

    def remove(self, path: str) -> None:
        with contextlib.suppress(OSError):
            os.remove(path)


def _skill_files(folder: str) -> list[str]:
    found: list[str] = []
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            os.path.relpath(os.path.join(base, name), folder) for name in sorted(files) if name != "SKILL.md"
        ]
        if len(found) >= _MOST_SKILL_FILES:
            break
    return found[:_MOST_SKILL_FILES]
