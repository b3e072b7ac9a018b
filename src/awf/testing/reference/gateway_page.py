"""docs/reference/gateway.md"""

from __future__ import annotations

import re

from awf.application.authoring.file_format import keys_of
from awf.domain.gateway_file import GatewayFile
from awf.testing.reference.markdown import GENERATED, key_table, record_section, records_in, table

__all__ = ["gateway_page"]

_INTRO = """\
# The gateway's configuration

`.awf/gateway.yaml`, or the file that `--config` names, in YAML or JSON. Files of other MCP clients (`mcpServers`, or `servers` as
VS Code writes it) are understood as they are. What it means is told in [the guide](../gateway.md).

"""
_REFERENCES = [
    ["`${env:NAME}`", "the environment variable; `${env:NAME:-text}` says what to take when there is none"],
    ["`${file:PATH}`", "what stands in the file, relative to the configuration, without the last line end"],
    ["`${uuid()}`", "a new UUID for each call; only under `defaults`"],
    ["`${uuid(session)}`", "the same UUID for all calls of a client's session; only under `defaults`"],
    ["`${now()}`", "the time of the call, UTC; only under `defaults`"],
    ["`${header:NAME}`", "a header of the client's request; `${header:NAME:-text}`; only under `defaults`"],
    ["`$${`", "a plain `${`"],
]


def gateway_page() -> str:
    parts = [GENERATED, _INTRO, key_table(keys_of(GatewayFile)), "\n"]
    parts += [record_section(cls) for cls in records_in(key.annotation for key in keys_of(GatewayFile))]
    parts += ["## References\n\n", table(["written", "means"], _REFERENCES)]
    text = "".join(parts)
    text = re.sub(r"\[template\]\(#templates\)", "text, [references](#references) inside", text)
    return re.sub(r"\]\(#(durations-and-sizes)\)", r"](workflow.md#\1)", text)
