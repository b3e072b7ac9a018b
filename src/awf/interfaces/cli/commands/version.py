"""`awf version`."""

from __future__ import annotations

import click

from awf import __version__


@click.command()
def command() -> int:
    """Print the version."""
    print(f"awf {__version__}")
    return 0
