"""`awf completion`."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script for SHELL. Commands, workflows and run ids are completed.

    \b
    bash:  awf completion bash >> ~/.bashrc
    zsh:   awf completion zsh >> ~/.zshrc
    fish:  awf completion fish > ~/.config/fish/completions/awf.fish
    """  # noqa: D301  click reads the mark
    from click.shell_completion import get_completion_class

    from awf.interfaces.cli.app import cli

    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(cli, {}, "awf", "_AWF_COMPLETE").source())
    return 0
