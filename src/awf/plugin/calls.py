"""Running an author's functions: plain ones each in a thread of its own, async ones on the loop.

Threads are daemons and not pooled: a call that never ends can neither use up a pool nor keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
from typing import TYPE_CHECKING, Any

from awf.plugin.records import read_fields
from awf.plugin.results import outcome_of, plain_items
from awf.plugin.values import ArgumentError, OperationError, Outcome, StepOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.plugin.signatures import Operation
    from awf.plugin.takers import Taker

__all__ = ["collect", "execute", "execute_step", "run", "told"]

_log = logging.getLogger("awf.plugin")


async def run(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call it and wait for what it gives."""
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    given = await _in_thread(lambda: function(**arguments))
    return await given if inspect.isawaitable(given) else given


async def collect(function: Callable[..., Any], **arguments: Any) -> list[Any]:
    """Everything that a function gives which returns a list or None, or yields; each also as async."""
    if inspect.isasyncgenfunction(function):
        return [item async for item in function(**arguments)]
    if inspect.iscoroutinefunction(function):
        return plain_items(await function(**arguments))
    # A generator does its work while it is read, so it is read where it may block.
    items: list[Any] = await _in_thread(lambda: plain_items(function(**arguments)))
    return items


async def execute(operation: Operation, inputs: Mapping[str, Any]) -> Outcome:
    """What the operation came to. Only cancellation gets out of here as an exception."""
    try:
        arguments = read_fields(operation.fields, inputs)
        return outcome_of(await run(operation.function, **arguments))
    except OperationError as error:
        return Outcome(success=False, data=error.data, error=_text_of(operation.name, error))
    except Exception as error:  # noqa: BLE001  an author's mistake is told to the caller, whatever it is
        return Outcome(success=False, error=told(error, f"operation '{operation.name}'"))


async def execute_step(taker: Taker, arguments: Mapping[str, Any]) -> StepOutcome:
    try:
        given = await run(taker.function, **taker.arguments(arguments))
        if isinstance(given, StepOutcome):
            outcome_of(given.data)  # what cannot be sent is told here
            return given
        outcome = outcome_of(given)
        return StepOutcome(outcome.output, outcome.data)
    except OperationError as error:
        return StepOutcome(error.message, error.data, exit_code=1)
    except Exception as error:  # noqa: BLE001  as above
        return StepOutcome(told(error, taker.what), exit_code=1)


def told(error: Exception, what: str) -> str:
    """The error in one line for the caller; the whole of it goes to the log."""
    _log.error("%s failed", what, exc_info=error)
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text_of(name: str, error: OperationError) -> str:
    return f"{name}: {error.message}" if isinstance(error, ArgumentError) else error.message


async def _in_thread(work: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if answer.done():  # cancelled meanwhile; nobody wants it any more
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def body() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001  handed to the caller
            error = _harmless(raised)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), name="awf-plugin-call", daemon=True).start()
    return await answer


def _harmless(error: BaseException) -> Exception:
    """`sys.exit()` in an operation ends the operation, not the plugin; a future takes no StopIteration."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    translated = RuntimeError(f"{type(error).__name__}: {error}")
    translated.__cause__ = error
    return translated
