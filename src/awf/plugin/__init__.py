"""What the author of a plugin imports. It needs `pip install awf-suite[plugins]` and nothing else of AWF.

from awf.plugin import Plugin

plugin = Plugin("greeting", version="1.0.0", description="Says hello")

@plugin.operation
def greet(name: str, loud: bool = False) -> str:
    \"\"\"Greet somebody.\"\"\"
    return f"HELLO {name}" if loud else f"hello {name}"

if __name__ == "__main__":
    plugin.serve()
"""

from __future__ import annotations

from awf.plugin.author import Plugin
from awf.plugin.tracing import current_trace
from awf.plugin.values import (
    ArgumentError,
    Event,
    Issue,
    OperationError,
    Outcome,
    Param,
    PluginDefinitionError,
    StepOutcome,
)

__all__ = [
    "ArgumentError",
    "Event",
    "Issue",
    "OperationError",
    "Outcome",
    "Param",
    "Plugin",
    "PluginDefinitionError",
    "StepOutcome",
    "current_trace",
]
