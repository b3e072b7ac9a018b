"""What was put aside, read with the tool that reads files: agents of steps know no resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.artifacts import is_artifact, read
from awf.application.gate.labels import labelled
from awf.application.gate.output_limits import bounds_of
from awf.domain.mcp import RpcError
from awf.domain.tool import ToolFailure, text_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.tools.pipeline import StepGate
    from awf.domain.tool import ToolResult

__all__ = ["is_put_aside", "read_as_file"]


def is_put_aside(arguments: Mapping[str, Any]) -> bool:
    return is_artifact(str(arguments.get("file_path")))


async def read_as_file(step: StepGate, arguments: Mapping[str, Any]) -> ToolResult:
    """`offset` and `limit` are lines here, as the tool has it. Raises `ToolFailure`."""
    gate, origin, address = step.gate, step.origin, str(arguments["file_path"])
    first, count = arguments.get("offset"), arguments.get("limit")
    if isinstance(first, int) or isinstance(count, int):
        start = max(1, first if isinstance(first, int) else 1)
        last = start + count - 1 if isinstance(count, int) and count > 0 else ""
        address = f"{address.partition('?')[0]}?lines={start}-{last}"
    try:
        page = await read(gate.artifacts, address, bounds=bounds_of(gate.keys.limits), context=origin.context)
    except RpcError as error:
        raise ToolFailure("RESOURCE_NOT_FOUND", error.message) from error
    await gate.has_read(origin, page.artifact)
    texts = [str(one.get("text", "")) for one in page.result["contents"] if "text" in one]
    return labelled(text_result("\n".join(texts)), page.artifact.label)
