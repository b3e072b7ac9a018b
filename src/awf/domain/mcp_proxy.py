"""Which tools an agent gets from AWF: the `mcp_proxy` block of a step, and the file of `awf mcp-serve`."""

from typing import Annotated, ClassVar

from awf.domain.mcp_server import McpServer
from awf.domain.shape import Duration, Record

__all__ = ["ExposedPlugin", "McpProxy", "ToolServerFile"]

UNKNOWN_KEY = "USER.MCP_PROXY.UNKNOWN_KEY"


class ExposedPlugin(Record, frozen=True, kw_only=True):
    """Operations of one plugin that become tools, named PLUGIN_OPERATION."""

    plugin: Annotated[str, "The plugin, as .awf/plugins.yaml or its folder names it."]
    expose: Annotated[list[str], "The operations."]


class McpProxy(Record, frozen=True, kw_only=True):
    """Give the agent its tools through AWF, where every call is traced, logged and recorded."""

    unknown_key: ClassVar[str] = UNKNOWN_KEY
    enable: Annotated[bool, "Whether the block has any effect."] = False
    intercept_builtins: Annotated[
        bool,
        "Replace the agent's own tools by AWF's Read, Write, Edit, Bash, Glob and Grep; false adds to them.",
    ] = True
    plugin_tools: Annotated[list[ExposedPlugin], "Plugin operations to offer as tools."] = []
    mcp_servers: Annotated[dict[str, McpServer], "Other MCP servers whose tools to offer."] = {}
    gateway: Annotated[
        bool | str,
        "Also offer the tools of the project's gateway, reshaped as .awf/gateway.yaml says; a name means that profile.",
    ] = False
    approve: Annotated[
        list[str], "Ask a person before each call of these tools, by name or with * as in plugin_*."
    ] = []
    approve_timeout: Annotated[
        Duration | None, "How long to wait for that answer; then the call is refused."
    ] = None


class ToolServerFile(Record, frozen=True, kw_only=True):
    """What `awf mcp-serve --config=FILE` offers when it stands alone."""

    unknown_key: ClassVar[str] = UNKNOWN_KEY
    intercept_builtins: Annotated[bool, "Offer Read, Write, Edit, Bash, Glob and Grep."] = True
    plugin_tools: Annotated[list[ExposedPlugin], "Plugin operations to offer as tools."] = []
    mcp_servers: Annotated[dict[str, McpServer], "Other MCP servers whose tools to offer."] = {}
    gateway: Annotated[
        bool | str,
        "Also offer the tools of the project's gateway, reshaped as .awf/gateway.yaml says; a name means that profile.",
    ] = False
    root_dir: Annotated[
        str | None, "The folder that file tools are confined to; else the working directory."
    ] = None
