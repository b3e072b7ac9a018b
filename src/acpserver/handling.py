"""One request of the editor, from what the agent makes of it to the bytes of its answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from acpserver.errors import Complaint, NotJsonError, RequestError
from acpserver.framing import encode
from acpserver.journal import described
from acpserver.messages import REQUEST_CANCELLED, failure, success

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from acpserver.conversation import Conversation
    from acpserver.requests import Request

__all__ = ["answer", "internal", "refused"]

log = logging.getLogger("acpserver")


async def answer(request: Request, outcome: Awaitable[Any], conversation: Conversation) -> bytes:
    """The answer as written. Takes its own cancellation as an outcome, for it is the end of the task anyway."""
    try:
        return encode(success(request.id, await outcome))
    except RequestError as error:
        return refused(request, error)
    except asyncio.CancelledError as error:
        if _cancelled_from_outside():
            return refused(request, RequestError(REQUEST_CANCELLED, "Request cancelled"))
        return internal(
            request, error, conversation
        )  # something it waited for was cancelled, not the request
    except (Exception, SystemExit) as error:  # a handler cannot end the server, not even by sys.exit()
        log.exception("%s failed", request.method)
        return internal(request, error, conversation)


def _cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def refused(request: Request, error: RequestError) -> bytes:
    """The agent said why, in words for the editor."""
    return encode(failure(request.id, error.code, error.message, error.details))


def internal(request: Request, error: BaseException, conversation: Conversation) -> bytes:
    """Any other failure is ours."""
    if isinstance(error, NotJsonError):
        text = f"{request.method} ran, but its result cannot be written as JSON ({error})"
    else:
        text = described(request.method, error)
    return encode(conversation.refusal(request.id, Complaint("internal", text)).message)
