"""Which directories awf looks at. Nothing else reads these variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Places", "find_places"]


class Places(msgspec.Struct, frozen=True, kw_only=True):
    project: str  # the .awf folder of the working directory
    config_home: str
    data_home: str
    cache_home: str
    workflow_roots: list[tuple[str, str]]
    template_dirs: list[str]
    role_dirs: list[str]
    skill_dirs: list[str]
    prompt_dirs: list[str]
    plugin_file: str
    plugin_dirs: list[str]


def find_places(cwd: str, environment: Mapping[str, str]) -> Places:
    home = environment.get("HOME") or os.path.expanduser("~")
    config_home = environment.get("AWF_CONFIG_HOME") or os.path.join(
        environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "awf"
    )
    data_home = os.path.join(environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "awf")
    cache_home = os.path.join(environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "awf")
    project = os.path.join(cwd, ".awf")
    roots = [(folder, "env") for folder in _listed(environment, "AWF_WORKFLOWS_PATH", cwd)]
    roots += [
        (os.path.join(project, "workflows"), "project"),
        (os.path.join(cwd, "configs", "workflows"), "configs"),
        (os.path.join(config_home, "workflows"), "user"),
    ]
    agents, claude = os.path.join(home, ".agents"), os.path.join(home, ".claude")
    own = {
        kind: [os.path.join(project, kind), os.path.join(config_home, kind)]
        for kind in ("roles", "skills", "prompts")
    }
    roles = [
        own["roles"][0],
        os.path.join(cwd, ".agents", "roles"),
        own["roles"][1],
        os.path.join(agents, "roles"),
    ]
    skills = [
        own["skills"][0],
        os.path.join(cwd, ".agents", "skills"),
        os.path.join(cwd, ".claude", "skills"),
        own["skills"][1],
        os.path.join(agents, "skills"),
        os.path.join(claude, "skills"),
    ]
    return Places(
        project=project,
        config_home=config_home,
        data_home=data_home,
        cache_home=cache_home,
        workflow_roots=roots,
        template_dirs=[os.path.join(project, "templates"), os.path.join(config_home, "templates")],
        role_dirs=_listed(environment, "AWF_ROLES_PATH", cwd) or roles,
        skill_dirs=_listed(environment, "AWF_SKILLS_PATH", cwd) or skills,
        prompt_dirs=_listed(environment, "AWF_PROMPTS_PATH", cwd) or own["prompts"],
        plugin_file=os.path.join(project, "plugins.yaml"),
        plugin_dirs=_listed(environment, "AWF_PLUGINS_PATH", cwd)
        or [os.path.join(project, "plugins"), os.path.join(data_home, "plugins")],
    )


def _listed(environment: Mapping[str, str], name: str, cwd: str) -> list[str]:
    return [os.path.join(cwd, part) for part in environment.get(name, "").split(os.pathsep) if part]
