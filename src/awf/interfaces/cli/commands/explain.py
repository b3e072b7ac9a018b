"""`awf explain`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import echo_json, echo_lines, listing_options


@click.command()
@click.argument("code", required=False)
@listing_options()
def command(code: str | None, output: str) -> int:
    """Explain an error CODE, or list them all. The beginning of a code lists its family."""
    from awf.domain.catalogue import CATALOGUE
    from awf.domain.errors import AwfError, exit_status
    from awf.domain.problem import suggest

    wanted = (code or "").upper()
    found = {name: entry for name, entry in CATALOGUE.items() if name == wanted} or {
        name: entry
        for name, entry in CATALOGUE.items()
        if name.startswith(wanted) or name.endswith(f".{wanted}")
    }
    if not found:
        close = suggest(wanted, CATALOGUE)
        raise AwfError(
            "USER.CODE.UNKNOWN",
            f"No error code is named {code}.",
            hint=f"did you mean {close}?" if close else "awf explain",
        )
    if output == "json":
        echo_json([{"code": n, "exit_status": exit_status(n), **e._asdict()} for n, e in found.items()])
    elif len(found) == 1:
        name, entry = next(iter(found.items()))
        head = f"{name}  (exit status {exit_status(name)})"
        echo_lines([head, f"{entry.title}.", "", entry.meaning, entry.remedy])
    else:
        width = max(len(name) for name in found)
        echo_lines(f"{name.ljust(width)}  {entry.title}" for name, entry in found.items())
    return 0
