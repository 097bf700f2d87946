"""Start-up time: importing the package, and printing the help of the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.measuring import at_most, best, seconds_of_python, show


def main() -> None:
    numpy, ours = seconds_of_python("import numpy"), seconds_of_python("import assay")
    peers = seconds_of_python("import typer, rich")
    command = Path(sys.executable).parent / "assay"
    help_page = best(lambda: subprocess.run([command, "--help"], check=True, capture_output=True), repeats=7)
    show(
        "Start-up",
        [
            at_most("import assay, against import numpy", _ms(ours), _ms(numpy), ours / numpy, 1.5),
            at_most("assay --help, against import typer, rich", _ms(help_page), _ms(peers), help_page / peers, 2),
        ],
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
