"""`awf plugin`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.commands.plugin_new import new_plugin
from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.bootstrap import App
    from awf.domain.ports.plugins import DeclaredPlugin, PluginFacts, Plugins

__all__ = ["command"]

Checked = tuple["DeclaredPlugin", "PluginFacts", int]  # and how many milliseconds it took


@click.group()
def command() -> None:
    """List, check and create plugins."""


command.add_command(new_plugin)


def complete_plugin(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    del ctx, param
    from awf.domain.errors import AwfError

    try:
        return [name for name in make_app().plugins.declared() if name.startswith(incomplete)]
    except AwfError:  # a message would only disturb the line that is being typed
        return []


@command.command("list")
@listing_options()
def list_plugins(output: str) -> int:
    """List the plugins that are declared here. Nothing is started."""
    declared = make_app().plugins.declared()
    if output == "json":
        echo_json(list(declared.values()))
    elif not declared:
        print("No plugins here. `awf plugin new NAME` writes a first one.")
    else:
        rows = [
            (one.name, one.version or "-", ", ".join(one.capabilities) or "-", one.origin)
            for one in declared.values()
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        echo_lines("  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows)
    return 0


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_plugin)
@listing_options()
def check(names: tuple[str, ...], output: str) -> int:
    """Start plugins, ask what they offer, and end them again: those named, or all that are declared."""
    import asyncio

    app = make_app()
    checked = asyncio.run(_checked(app, names))
    if output == "json":
        echo_json([_document(*one) for one in checked])
    elif not checked:
        print("No plugins here. `awf plugin new NAME` writes a first one.")
    else:
        echo_lines(line for one in checked for line in _lines(*one))
    return 3 if any(facts.trouble or _refusals(facts) for _, facts, _ in checked) else 0


async def _checked(app: App, names: Sequence[str]) -> list[Checked]:
    import asyncio

    try:
        plugins = app.plugins
        declared = plugins.declared()
        wanted = list(dict.fromkeys(names)) or list(declared)
        _require_known(wanted, declared)
        return list(await asyncio.gather(*(_check_one(plugins, declared[name]) for name in wanted)))
    finally:
        await app.close()


def _require_known(names: Sequence[str], declared: Mapping[str, DeclaredPlugin]) -> None:
    from awf.domain.errors import AwfError
    from awf.domain.problem import suggest

    for name in names:
        if name not in declared:
            close = suggest(name, declared)
            raise AwfError(
                "USER.PLUGIN.UNKNOWN",
                f"There is no plugin '{name}'.",
                hint=f"did you mean '{close}'?" if close else "`awf plugin list` shows those there are.",
            )


async def _check_one(plugins: Plugins, declared: DeclaredPlugin) -> Checked:
    began = time.perf_counter()
    facts = (await plugins.facts([declared.name]))[declared.name]
    return declared, facts, round((time.perf_counter() - began) * 1000)


def _refusals(facts: PluginFacts) -> dict[str, str]:
    return {name: one.refusal for name, one in facts.operations.items() if one.refusal}


def _document(declared: DeclaredPlugin, facts: PluginFacts, milliseconds: int) -> dict[str, Any]:
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(facts)
    document.pop("issues")
    return {
        **document,
        "origin": declared.origin,
        "milliseconds": milliseconds,
        "ok": not (facts.trouble or _refusals(facts)),
    }


def _lines(declared: DeclaredPlugin, facts: PluginFacts, milliseconds: int) -> list[str]:
    title = f"{declared.name} {facts.version}".rstrip()
    if facts.trouble:
        hint = [f"  → {facts.hint}"] if facts.hint else []
        return [f"✗ {title}  {declared.origin}", *(f"  {line}" for line in facts.trouble.splitlines()), *hint]
    mark = "✗" if _refusals(facts) else "✓"
    lines = [f"{mark} {title}  ready in {milliseconds} ms  {declared.origin}"]
    lines += [f"  {facts.description}"] if facts.description else []
    operations = {
        name: f"REFUSED: {one.refusal}" if one.refusal else one.description
        for name, one in facts.operations.items()
    }
    lines += _section("operations", operations) + _section("step types", facts.step_types)
    others = [one for one in facts.capabilities if one in {"validators", "events"}]
    return lines + ([f"  {', '.join(others)}"] if others else [])


def _section(title: str, rows: Mapping[str, str]) -> list[str]:
    width = max(map(len, rows), default=0)
    shown = [
        f"    {name.ljust(width)}  {(text.splitlines() or [''])[0]}".rstrip() for name, text in rows.items()
    ]
    return [f"  {title}", *shown] if shown else []
