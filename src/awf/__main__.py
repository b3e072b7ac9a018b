"""`awf`, and `python -m awf`."""

from __future__ import annotations

import sys


def main() -> None:
    from awf.interfaces.cli.app import run_cli

    sys.exit(run_cli(sys.argv[1:]))


if __name__ == "__main__":
    main()
