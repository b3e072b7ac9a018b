"""What `run`, `resume`, `rerun` and `demo` share: a view, signals, one run to its end."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices
    from awf.bootstrap import App
    from awf.domain.events import Stamped
    from awf.domain.ports.durability import RunOutcome
    from awf.domain.ports.person import Person
    from awf.interfaces.cli.interruptions import Interruptions
    from awf.interfaces.cli.rendering.view import View

__all__ = ["RunOptions", "open_view", "run_options", "run_to_the_end"]


class RunOptions(NamedTuple):
    """How to show a run and whom to ask; the same flags on every command that runs something."""

    output: str
    verbose: int
    yes: bool
    no_input: bool
    flags: dict[str, Any]


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    formats = click.Choice(["text", "json", "ndjson", "quiet"])
    for option in reversed(
        [
            click.option(
                "-o", "--output", type=formats, default="text", show_default=True, help="How to show the run."
            ),
            click.option("-v", "--verbose", count=True, help="Show live output of steps; -vv shows more."),
            click.option("-y", "--yes", is_flag=True, help="Approve everything that asks for approval."),
            click.option("--no-input", is_flag=True, help="Never ask: fail where an answer is needed."),
            click.option("--storage", metavar="DIR", help="Directory of the run store [env: AWF_STORAGE]."),
            click.option(
                "--log-level",
                type=click.Choice(["debug", "info", "warning", "error"]),
                help="Log the run's course to stderr.",
            ),
            click.option("--log-format", type=click.Choice(["console", "json"]), help="Form of the log."),
            click.option("--log-file", metavar="FILE", help="Log to a file instead of stderr."),
            click.option("--otel-endpoint", metavar="URL", help="Send traces to this OTLP/HTTP endpoint."),
        ]
    ):
        function = option(function)
    return function


def options_from(values: dict[str, Any]) -> RunOptions:
    """Take the shared options out of a command's arguments."""
    shared = {name: values.pop(name) for name in ("output", "verbose", "yes", "no_input")}
    flags = {
        name: values.pop(name) for name in ("storage", "log_level", "log_format", "log_file", "otel_endpoint")
    }
    return RunOptions(**shared, flags=flags)


def run_to_the_end(
    app: App, options: RunOptions, prepare: Callable[[RunServices], Awaitable[Prepared]]
) -> RunOutcome:
    """Prepare and execute one run with view and signals. Everything is ended before this returns."""
    import asyncio

    from awf.interfaces.cli.interruptions import Interruptions

    gc.enable()
    gc.set_threshold(100_000, 20, 100)  # a run makes many small values that live long
    app.set_up_logging()
    try:
        with Interruptions() as interruptions:
            return asyncio.run(_session(app, options, prepare, interruptions))
    except asyncio.CancelledError:  # asked to stop so often that not even the end could be waited for
        raise KeyboardInterrupt from None


async def _session(
    app: App,
    options: RunOptions,
    prepare: Callable[[RunServices], Awaitable[Prepared]],
    interruptions: Interruptions,
) -> RunOutcome:
    from awf.application.running.fan_out import FanOut

    view, blocks = open_view(options)
    shown = _Shown(view)
    fan_out = FanOut()
    fan_out.add(shown.on_event, may_block=blocks)
    if (listener := app.log_listener()) is not None:
        fan_out.add(listener)
    try:
        services = app.run_services(
            _person(app, options, view), approve_all=options.yes, unattended=options.no_input
        )
        prepared = await prepare(services)
        with interruptions.cancelling():
            outcome = await prepared.execute(fan_out)
    except Exception:
        getattr(view, "discard", _nothing)()
        raise
    finally:
        fan_out.close()
        shown.close()
        await app.close()
    if shown.failure is not None:
        raise shown.failure
    return outcome


class _Shown:
    """The view of a run. When it cannot write any more the run goes on, and is told about it in the end."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.failure: OSError | None = None

    def on_event(self, stamped: Stamped) -> None:
        if self.failure is None:
            try:
                self._view.on_event(stamped)
            except OSError as error:
                self.failure = error

    def close(self) -> None:
        if self.failure is None:
            try:
                self._view.close()
            except OSError as error:
                self.failure = error


def open_view(options: RunOptions) -> tuple[View, bool]:
    """The view, and whether it may block."""
    if options.output == "ndjson":
        from awf.interfaces.cli.rendering.ndjson_view import NdjsonView

        return NdjsonView(sys.stdout), True
    if options.output == "json":
        from awf.interfaces.cli.rendering.json_summary import JsonSummary

        return JsonSummary(sys.stdout), True
    if options.output == "quiet":
        from awf.interfaces.cli.rendering.quiet_view import QuietView

        return QuietView(sys.stdout, sys.stderr), True
    if sys.stderr.isatty() and not options.verbose:
        from rich.console import Console

        from awf.interfaces.cli.rendering.tree_view import TreeView

        return TreeView(Console(stderr=True), answer=sys.stdout), False
    from awf.interfaces.cli.rendering.plain_view import PlainView

    return PlainView(sys.stderr, verbose=options.verbose, color=sys.stderr.isatty(), answer=sys.stdout), True


def _person(app: App, options: RunOptions, view: View) -> Person:
    if options.no_input or not sys.stdin.isatty() or not sys.stderr.isatty():
        return app.nobody()

    return app.terminal_person(getattr(view, "pause", _nothing), getattr(view, "resume", _nothing))


def _nothing() -> None:
    return None
