"""Files that a server may open for others: those in the folders that were named when it started.

A client never sends a path. It sends a name that the server lists. A link that leads out of a folder is not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path


def files_within(folders: Sequence[Path], suffixes: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Every file with one of these suffixes, with its name; hidden files and folders are left out.

    Example:
        >>> from pathlib import Path
        >>> Path("results").mkdir()
        >>> _ = Path("results/before.csv").write_text("case,score")
        >>> [name for name, _ in files_within([Path("results")], [".csv"])]
        ['results/before.csv']

    """
    for named in folders:
        folder = named.resolve()
        for at, below, names in os.walk(folder):
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))
            for name in sorted(names):
                path = Path(at) / name
                is_wanted = not name.startswith((".", "_")) and name.lower().endswith(tuple(suffixes))
                if is_wanted and is_inside(path, folder):
                    yield name_in(folder, path), path


def name_in(folder: Path, path: Path) -> str:
    """The path within a folder, with the folder's own name in front."""
    return f"{folder.name}/{path.relative_to(folder).as_posix()}".removesuffix("/.")


def is_inside(path: Path, folder: Path) -> bool:
    """Whether what a path leads to is a file in the folder; links may lead anywhere."""
    try:
        return path.is_file() and path.resolve().is_relative_to(folder)
    except OSError:
        return False
