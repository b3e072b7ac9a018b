"""`awf`, and `python -m awf`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    if sys.argv[1:2] == ["mcp-serve"]:  # an agent waits for it: before anything else is imported
        from awf.interfaces.mcp.relay import main as serve_tools

        sys.exit(serve_tools(sys.argv[2:]))
    if sys.argv[1:2] == ["acp-serve"]:  # an editor waits for it
        from awf.interfaces.acp.serve import main as serve_editor

        sys.exit(serve_editor(sys.argv[2:]))
    gc.disable()  # most commands end before a collection could pay; runs switch it on again
    try:
        from awf.interfaces.cli.app import run_cli

        status = run_cli(sys.argv[1:])
    except KeyboardInterrupt:  # before anything had begun
        status = 130
    _be_left_in_peace()
    gc.freeze()  # nothing is left that a last collection would have to find
    sys.exit(status)


def _be_left_in_peace() -> None:
    """Everything is done. An impatient Ctrl+C would only make the interpreter complain on its way out."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
