"""A comparison as a Markdown summary for a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from assay.compare import Comparison, Outcome
from assay.report.verdicts import difference_text, headline, matching, p_value, title_with_unit, value_text

_MARKS = {"better": "✅ better", "worse": "❌ worse", "same": "same", "inconclusive": "❔ inconclusive"}


def markdown(comparisons: Sequence[Comparison], failures: Sequence[Outcome] = ()) -> str:
    """A summary that reads well in a pull request: what failed, then a table for each comparison."""
    parts = []
    if failures:
        parts.append("**The gate failed.**\n\n" + "\n".join(f"- {_escaped(failed.failure)}" for failed in failures))
    for comparison in comparisons:
        rows = ["| metric | baseline | candidate | difference | p | verdict |", "|---|--:|--:|--:|--:|---|"]
        for line in comparison.lines:
            verdict, measure = line.verdict, line.measure
            call = _MARKS.get(verdict.call, f"{verdict.call}: {verdict.reason}")
            if verdict.n_needed is not None:
                call += f" (~{verdict.n_needed:,} cases would decide)"
            values = [value_text(line.baseline.value, measure), value_text(line.candidate.value, measure)]
            cells = [title_with_unit(measure), *values, difference_text(line), p_value(line), call]
            rows.append(f"| {' | '.join(map(_escaped, cells))} |")
        notes = "".join(f"\n\n> {_escaped(note)}" for note in comparison.notes)
        parts.append(
            f"### {_escaped(headline(comparison))}\n\n{_escaped(matching(comparison))}{notes}\n\n" + "\n".join(rows)
        )
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    for mark in ("\\", "|", "<", "`", "*", "_", "["):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
