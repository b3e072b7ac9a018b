"""docs/reference/agents.md"""

from __future__ import annotations

from awf.application.authoring.file_format import keys_of
from awf.infrastructure.agents.cli.known import DIALECTS, dialect
from awf.infrastructure.agents.cli.options import CommonOptions
from awf.infrastructure.agents.openai_compatible.options import OpenAICompatibleOptions, Prices
from awf.testing.reference.markdown import GENERATED, key_table, record_section

__all__ = ["agents_page"]

_INTRO = """\
# Agents

`provider` of an agent state names who does the work, and `options` is what it is asked beyond the prompt. `awf doctor` tells
which of them are ready on this machine. How they are kept to the tools of AWF: [tools](../tools.md) and
[agents](../agents.md).

Values may hold [templates](workflow.md#templates). `${env:NAME}` stands for an environment variable; what comes from it is
masked wherever it would be shown.

## Options of every agent that is a program

"""
_SCRIPTED = """\
## scripted

Plays a script instead of asking a model: for demos and tests. It is part of awf.

| option | meaning |
| --- | --- |
| `turns` | A list of turns; each is text, a list of actions, or a mapping with `do`, `match` (used for prompts in which it is found) and `expect` (must be found in the prompt). |
| `script` | A YAML file with the turns, instead. |
| `delay` | A pause between words. |
| `process` | true: as a program of its own that gets its tools over MCP. |
| `model` | A name to be shown. |

Actions are `say`, `think`, `tool` (`name`, `input`; with `output` or `error` it is only shown, otherwise it is called where there is a
proxy), `wait`, `usage`, `fail` and `crash`.
"""


def agents_page() -> str:
    common = {key.key for key in keys_of(CommonOptions)}
    parts = [GENERATED, _INTRO, _linked(key_table(keys_of(CommonOptions))), "\n"]
    for name in DIALECTS:
        about = dialect(name)
        own = [key for key in keys_of(about.options) if key.key not in common]
        table = _linked(key_table(own)) if own else "No options beyond those of every agent.\n"
        lowest, highest = (".".join(map(str, version)) for version in about.proven)
        parts.append(
            f"## {name}\n\nThe program `{about.program}`; `{about.install_hint}` installs it. "
            f"Isolation is proven for versions {lowest} to {highest}.\n\n{table}\n"
        )
    parts.append(f"## openai_compatible\n\n{_compatible()}\n")
    return "".join([*parts, _SCRIPTED])


def _compatible() -> str:
    table = _linked(key_table(keys_of(OpenAICompatibleOptions))).replace("workflow.md#prices", "#prices")
    prices = _linked(record_section(Prices))
    return f"Any API that speaks chat completions; nothing has to be installed.\n\n{table}\n{prices}"


def _linked(text: str) -> str:
    return text.replace("](#", "](workflow.md#")
