"""`awf gateway context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.gate_desk import columns, moment, with_gate
from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    not_empty,
    person_name,
    require_text,
    storage_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.bootstrap import App
    from awf.domain.security_context import SecurityContext

__all__ = ["context"]


@click.group("context")
def context() -> None:
    """Make, show and reset security contexts: what an agent has read, and may therefore no longer do."""


@context.command("new")
@click.option(
    "--parent", metavar="ID", default="", callback=not_empty, help="Begin with what this context has read."
)
@storage_option
@listing_options()
def new_context(parent: str, storage: str | None, output: str) -> int:
    """Make a context and print its id, which nobody can guess. A client names it in X-AWF-Context."""
    require_text(parent, "`awf gateway context list` shows them.")

    async def work(app: App) -> SecurityContext:
        from awf.bootstrap.gate_stores import contexts

        service = contexts(app)
        if parent:
            await service.find(parent)
        return await service.mint(parent=parent, by=person_name())

    made = with_gate(storage, work)
    if output == "json":
        echo_json(_document(made))
    else:
        echo_lines([made.context_id])
    return 0


@context.command("list")
@storage_option
@listing_options()
def list_contexts(storage: str | None, output: str) -> int:
    """List the contexts that were made, and those that have read something."""

    async def work(app: App) -> list[SecurityContext]:
        from awf.bootstrap.gate_stores import contexts

        return await contexts(app).all()

    found = with_gate(storage, work)
    if output == "json":
        echo_json(list(map(_document, found)))
    elif not found:
        print("No contexts. `awf gateway context new` makes one.")
    else:
        echo_lines(columns([(one.context_id, *_level(one)) for one in found]))
    return 0


@context.command("show")
@click.argument("context_id", metavar="ID")
@storage_option
@listing_options()
def show_context(context_id: str, storage: str | None, output: str) -> int:
    """Show one context: its level, and what raised it."""
    require_text(context_id, "`awf gateway context list` shows them.")

    async def work(app: App) -> SecurityContext:
        from awf.bootstrap.gate_stores import contexts

        return await contexts(app).find(context_id)

    _show(with_gate(storage, work), output)
    return 0


@context.command("reset")
@click.argument("context_id", metavar="ID")
@storage_option
@listing_options()
def reset_context(context_id: str, storage: str | None, output: str) -> int:
    """Make a context public and trusted again. It is recorded who did so.

    Do it when the agent behind it has begun afresh: what it has read, it may send anywhere afterwards.
    """
    require_text(context_id, "`awf gateway context list` shows them.")

    async def work(app: App) -> SecurityContext:
        from awf.bootstrap.gate_stores import contexts

        return await contexts(app).reset(context_id, person_name())

    _show(with_gate(storage, work), output)
    return 0


def _show(found: SecurityContext, output: str) -> None:
    if output == "json":
        echo_json(_document(found))
    else:
        echo_lines(_lines(found))


def _document(found: SecurityContext) -> dict[str, Any]:
    """What is usual is told too: a script looks for the level."""
    import msgspec

    usual = {"label": msgspec.to_builtins(found.label), "minted": found.minted}
    return {**msgspec.to_builtins(found), **usual}


def _level(found: SecurityContext) -> tuple[str, str]:
    return f"{found.label.confidentiality}, {found.label.integrity}", "minted" if found.minted else ""


def _lines(found: SecurityContext) -> Iterator[str]:
    yield found.context_id
    yield f"  level    {_level(found)[0]}"
    yield f"  made     {moment(found.created_at)}, {'by a person' if found.minted else 'by its first use'}"
    if found.raised_at is not None:
        yield f"  raised   {moment(found.raised_at)} by {found.raised_by or 'its parent'}"
    if found.parent:
        yield f"  parent   {found.parent}"
    if found.resets:
        yield f"  resets   {found.resets}"
