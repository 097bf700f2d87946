"""The base of all results: they can be printed, exported and shown in a notebook.

How a result is drawn is up to `assay.report`, which is imported when something is shown. That import points up, against
the direction of all others, as a convenience in interactive use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas


class Result(ABC):
    """Base of everything that an evaluation or a comparison gives."""

    __slots__ = ()

    subject: ClassVar[str]
    """Which module of `assay.report` draws it: 'events', 'chat', 'agents', 'load' or 'compare'."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The main table: one row for each figure, with its interval."""

    def print(self, *, full: bool = False) -> None:
        """Print the tables; `full` shows every figure."""
        self.drawn(full=full)()

    def drawn(self, *, full: bool = False) -> Callable[[], None]:
        """Draw the tables now, and give the function that prints them."""
        from rich.segment import Segments

        from assay import report
        from assay.shown import shown_console

        console = shown_console()
        segments = Segments(list(console.render(report.tables(self, full=full))))
        return lambda: console.print(segments)

    def html(self, path: str | Path) -> Path:
        """Write the report as one HTML file that opens offline. Gives its path."""
        from assay import report

        return report.write_page(self, path)

    def to_pandas(self) -> pandas.DataFrame:
        """The main table as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            from assay.errors import MissingExtraError

            raise MissingExtraError(
                "the package 'pandas' is needed for to_pandas and is not installed",
                hint="Install it with: pip install pandas",
            ) from error
        return pandas.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        from assay import report

        return report.summary(self)
