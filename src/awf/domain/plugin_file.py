"""How plugins are declared: `.awf/plugins.yaml` of a project, and `plugin.yaml` in the folder of a plugin.

These types are the two file formats; the reader takes its checks from their annotations.
"""

from typing import Annotated, Any, Literal

from awf.domain.shape import Duration, Record

__all__ = ["ConfigKey", "PluginEntry", "PluginEvents", "PluginManifest", "PluginsFile"]

Capabilities = list[Literal["operations", "step_types", "validators", "events"]]


class PluginEvents(Record, frozen=True, kw_only=True):
    """Which events go in and out."""

    subscribe: Annotated[
        list[str], "Event types it wants, such as `step.failed`; `*` stands for one part, alone for all."
    ] = []
    emit: Annotated[list[str], "Event types it may send, in the same form; others are refused."] = []


class PluginEntry(Record, frozen=True, kw_only=True):
    """One plugin of a project. Without `command` and `module` it sets up the plugin folder of the same name."""

    command: Annotated[list[str] | str | None, "The program: a list, or one line as for a shell."] = None
    module: Annotated[str | None, "A Python module, run with the interpreter that runs awf."] = None
    args: Annotated[list[str], "Arguments after the command or module."] = []
    env: Annotated[
        dict[str, str], "Environment variables; ${env:NAME} takes a value from the environment of awf."
    ] = {}
    cwd: Annotated[str | None, "The folder it runs in; relative to the project, which is the default."] = None
    config: Annotated[dict[str, Any], "What the plugin is given when it starts; ${env:NAME} as in env."] = {}
    enabled: Annotated[bool, "false: as if it were not there."] = True
    timeout: Annotated[Duration | None, "How long one call may take; without it 30 seconds."] = None
    description: Annotated[str, "What it is for."] = ""
    capabilities: Annotated[Capabilities, "What it has; without it the plugin is asked."] = []
    events: Annotated[PluginEvents, "Which events go in and out."] = PluginEvents()


class PluginsFile(Record, frozen=True, kw_only=True):
    """`.awf/plugins.yaml`."""

    plugins: Annotated[dict[str, PluginEntry], "The plugins, by name."] = {}


class ConfigKey(Record, frozen=True, kw_only=True):
    """One key of a plugin's configuration."""

    type: Annotated[
        Literal["string", "integer", "number", "boolean", "array", "object"], "The type of the value."
    ] = "string"
    required: Annotated[bool, "Whether the plugin refuses to start without it."] = False
    default: Annotated[Any, "The value when none is given."] = None
    description: Annotated[str, "What it is for; told when the value is missing or wrong."] = ""
    enum: Annotated[list[Any] | None, "The values allowed."] = None


class PluginManifest(Record, frozen=True, kw_only=True):
    """`plugin.yaml` in the folder of a plugin."""

    name: Annotated[
        str,
        "The name that workflows use: lower-case letters, digits, - and _; without it that of the folder.",
    ] = ""
    version: Annotated[str, "The version of the plugin."] = ""
    awf_version: Annotated[str, "The versions of awf it works with, such as `>=0.1, <2`."] = ""
    description: Annotated[str, "What it is for."] = ""
    author: Annotated[str, "Who wrote it; for readers of the file."] = ""
    license: Annotated[str, "Its license; for readers of the file."] = ""
    homepage: Annotated[str, "Where to read more; for readers of the file."] = ""
    command: Annotated[
        list[str] | str | None,
        "The program, run in the plugin's folder; without it the file awf-plugin-FOLDER there.",
    ] = None
    module: Annotated[str | None, "A Python module, run in the plugin's folder."] = None
    timeout: Annotated[Duration | None, "How long one call may take; without it 30 seconds."] = None
    capabilities: Annotated[Capabilities, "What it has; without it the plugin is asked."] = []
    config: Annotated[dict[str, ConfigKey] | None, "The configuration it takes; without it anything."] = None
    events: Annotated[PluginEvents, "Which events go in and out."] = PluginEvents()
