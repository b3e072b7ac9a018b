"""One request that needs the tools, from the toolbox to the bytes of its reply."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from mcpserver.errors import NotJsonError, OwnError, PeerError, ProtocolError, ToolError, UnknownToolError
from mcpserver.framing import encode
from mcpserver.messages import CALL, INVALID_PARAMS
from mcpserver.tools import Call, Result, failed, result_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpserver.requests import Request
    from mcpserver.server import Server
    from mcpserver.session import Session
    from mcpserver.tools import Toolbox

    Report = Callable[[float, float | None, str], None]

__all__ = ["answer"]

log = logging.getLogger("mcpserver")


async def answer(
    request: Request, server: Server, session: Session, report: Report | None
) -> tuple[dict[str, Any], bytes]:
    """The reply, as a message and as written. Raises nothing but its own cancellation."""
    try:
        box = server.toolbox or await server.load()
    except ToolError as error:  # whoever makes the toolbox may say why it cannot
        return _refused(session, request, OwnError(error.message))
    except Exception:
        log.exception("the tools could not be loaded")
        return _refused(session, request, OwnError("Internal error: the tools could not be loaded"))
    if request.method == CALL:
        outcome = await _outcome(request, box, report)
        if isinstance(outcome, ProtocolError):
            return _refused(session, request, outcome)
        return _called(session, request, outcome)
    try:
        reply = session.listed(request, await box.list_tools())
        return reply, encode(reply)
    except Exception:
        log.exception("the tools could not be listed")
        return _refused(session, request, OwnError("Internal error: the tools could not be listed"))


async def _outcome(request: Request, box: Toolbox, report: Report | None) -> Result | ProtocolError:
    call = Call(
        request.id,
        meta=request.meta,
        client=request.client,
        protocol_version=request.dialect.version,
        report=report,
    )
    try:
        result: Any = await box.call_tool(request.name, request.arguments, call)
        return result if isinstance(result, Result) else result_of(result)
    except UnknownToolError as error:
        return PeerError(INVALID_PARAMS, str(error))
    except ToolError as error:
        return failed(error)
    except asyncio.CancelledError as error:
        if _cancelled_from_outside():
            raise
        return failed(error)  # something that the tool waited for was cancelled, not the call
    except (Exception, SystemExit) as error:  # a tool cannot end the server, not even by sys.exit()
        log.exception("tool %s failed", request.name)
        return failed(error)


def _cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _called(session: Session, request: Request, result: Result) -> tuple[dict[str, Any], bytes]:
    try:
        reply = session.called(request, result)
        return reply, encode(reply)
    except NotJsonError as error:
        log.warning("tool %s gave a result that cannot be written as JSON: %s", request.name, error)
    except Exception:
        log.exception("the result of tool %s could not be told", request.name)
    told = ToolError("The tool ran, but gave a result that cannot be written as JSON.")
    reply = session.called(request, failed(told))
    return reply, encode(reply)


def _refused(session: Session, request: Request, error: ProtocolError) -> tuple[dict[str, Any], bytes]:
    reply = session.refused(request, error)
    return reply, encode(reply)
