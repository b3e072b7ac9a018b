"""`awf config`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app, storage_option


@click.group(invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show the settings."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@command.command()
@storage_option
@listing_options()
def show(storage: str | None = None, output: str = "text") -> int:
    """Print every setting, its value, and where the value comes from."""
    app = make_app(storage=storage)
    settings = app.settings.listed()
    if output == "json":
        shown = {n: {"value": app.masker.mask_data(s.value), "origin": s.origin} for n, s in settings.items()}
        echo_json(shown)
        return 0
    width = max(len(name) for name in settings)
    for name, setting in settings.items():
        value = app.masker.mask_data(setting.value) if setting.value not in (None, {}) else "-"
        echo_lines([f"{name.ljust(width)}  {value}  ({setting.origin})"])
    return 0
