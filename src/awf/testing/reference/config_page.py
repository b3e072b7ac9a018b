"""docs/reference/config.md"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.application.authoring.file_format import keys_of
from awf.domain.mcp_proxy import ToolServerFile
from awf.domain.plugin_file import PluginManifest, PluginsFile
from awf.domain.settings import ConfigFile
from awf.testing.reference.markdown import GENERATED, key_table, record_section, records_in, table

if TYPE_CHECKING:
    from awf.domain.shape import Record

__all__ = ["VARIABLES", "config_page"]

_INTRO = """\
# Configuration

Nothing has to be configured. What is set counts in this order: a flag, an environment variable, `.awf/config.yaml` of the
project, `config.yaml` in your configuration directory, the default. `awf config show` prints every setting with its
origin.

## config.yaml

```yaml
inputs:
  stage: test            # for every workflow that declares an input `stage`
storage: .awf/runs
log: {level: info, format: json, file: awf.log}
telemetry: {endpoint: "http://localhost:4318"}
```

The file is checked as strictly as a workflow. `awf schema config` prints its JSON Schema.

"""
VARIABLES = {
    "AWF_STORAGE": "The directory of the run store; `--storage`, `storage`.",
    "AWF_DATABASE_URL": "A PostgreSQL that several machines share; `database.url`.",
    "AWF_AUDIT_KEY": "The file with the key that signs the audit in that database; `audit.key`.",
    "AWF_LOG_LEVEL": "How much is logged of a run; `--log-level`, `log.level`.",
    "AWF_LOG_FORMAT": "`console` or `json`; `--log-format`, `log.format`.",
    "AWF_LOG_FILE": "A file to log to; `--log-file`, `log.file`.",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "Where traces go; `--otel-endpoint`, `telemetry.endpoint`.",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "The same, when the one above is not set.",
    "OTEL_SERVICE_NAME": "The name that traces carry; `telemetry.service_name`.",
    "AWF_CONFIG_PATH": "A file to read instead of `.awf/config.yaml`.",
    "AWF_CONFIG_HOME": "Your configuration directory, instead of `$XDG_CONFIG_HOME/awf` or `~/.config/awf`.",
    "AWF_WORKFLOWS_PATH": "Directories to look for workflows in first, with `:` between them.",
    "AWF_ROLES_PATH": "Directories to look for roles in, instead of the usual ones.",
    "AWF_SKILLS_PATH": "Directories to look for skills in, instead of the usual ones.",
    "AWF_PROMPTS_PATH": "Directories to look for prompts in, instead of the usual ones.",
    "AWF_PLUGINS_PATH": "Directories to look for plugin folders in, instead of the usual ones.",
    "NO_COLOR": "Set to anything: no colours.",
    "TRACEPARENT": "The trace that the run's trace belongs to.",
}
_PROCESSES = {
    "AWF_RUN_ID": "The id of the run.",
    "AWF_STEP": "The path of the step.",
    "AWF_CONTEXT": "The security context of the run, where the project has a gate; an `awf` that is started by it belongs to it.",
    "AWF_ATTEMPT": "Which attempt it is, from 1.",
    "AWF_CODEX_API_KEY": "Only Codex gets this: the key given as its option `api_key`.",
    "AWF_PROCESS_TOKEN": "By this the processes that a step leaves behind are found and ended.",
}
_PLUGINS = {
    "AWF_PLUGIN": "`awf-plugin-v1`: by this a plugin knows that awf has started it.",
    "AWF_PLUGIN_DIR": "A private folder for the plugin's socket.",
    "AWF_PROJECT_DIR": "The folder that awf was started in.",
}
_PLACES = [
    [
        "workflows",
        "`$AWF_WORKFLOWS_PATH`, `.awf/workflows`, `configs/workflows`, `workflows` in your configuration directory",
    ],
    ["step templates", "`.awf/templates`, `templates` in your configuration directory"],
    ["roles", "`.awf/roles`, `.agents/roles`, `roles` in your configuration directory, `~/.agents/roles`"],
    [
        "skills",
        "`.awf/skills`, `.agents/skills`, `.claude/skills`, `skills` in your configuration directory, `~/.agents/skills`, `~/.claude/skills`",
    ],
    ["prompts for `--input name=@prompts/FILE`", "`.awf/prompts`, `prompts` in your configuration directory"],
    [
        "plugins",
        "`.awf/plugins.yaml`, `.awf/plugins`, `plugins` in `$XDG_DATA_HOME/awf` or `~/.local/share/awf`",
    ],
    ["runs", "`$AWF_STORAGE`, else `$XDG_DATA_HOME/awf`, else `~/.local/share/awf`"],
]


def config_page() -> str:
    parts = [GENERATED, _INTRO, key_table(keys_of(ConfigFile)), "\n"]
    parts += [record_section(cls) for cls in records_in(key.annotation for key in keys_of(ConfigFile))]
    parts += _files()
    parts += ["## Environment variables\n\n", _variables(VARIABLES)]
    parts += ["\nProcesses that a run starts get these:\n\n", _variables(_PROCESSES)]
    parts += ["\nPlugins get these:\n\n", _variables(_PLUGINS)]
    parts += [
        "\n## Where things are looked up\n\nThe first hit counts.\n\n",
        table(["what", "where"], _PLACES),
    ]
    return "".join(parts)


def _files() -> list[str]:
    """Files beside the configuration itself, and the parts that they share, each once."""
    forms: dict[type[Record], str] = {
        PluginsFile: "`.awf/plugins.yaml`",
        PluginManifest: "`plugin.yaml` of a plugin folder",
        ToolServerFile: "The file of `awf mcp-serve --config`",
    }
    parts = []
    for form, title in forms.items():
        parts.append(f"## {title}\n\n{form.__doc__}\n\n{key_table(keys_of(form))}\n")
    inner = records_in(key.annotation for form in forms for key in keys_of(form))
    parts += [record_section(cls) for cls in inner]
    return [re.sub(r"\]\(#(templates|durations-and-sizes)\)", r"](workflow.md#\1)", part) for part in parts]


def _variables(described: dict[str, str]) -> str:
    return table(["variable", "meaning"], [[f"`{name}`", text] for name, text in described.items()])
