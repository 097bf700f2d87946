"""The `assay` command, also as `python -m assay`. Ctrl-C prints no traceback, even while modules are loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `assay` command."""
    try:
        from assay.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
