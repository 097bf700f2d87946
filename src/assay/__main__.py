"""The `assay` command, also as `python -m assay`. It loads the command line, during which Ctrl-C is no error either."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `assay` command."""
    try:
        from assay.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
