"""Plain tables (CSV, JSONL, Parquet) with a column for the case, one or more for scores, and others by usual names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from assay.errors import ColumnError, SourceError, missing_extra
from assay.logs.contents import AnswerBudget, LogContent, memory_limit, most_bytes, score_value, too_large, words
from assay.logs.logged import LoggedAnswer, LogOptions

_CASE = ("case", "case_id", "scenario", "sample_id", "example_id", "question_id", "task_id", "id", "name")
_REPETITION = ("repetition", "repeat", "epoch", "trial", "attempt")
_AGENT = ("agent", "model", "provider", "system")
_TASK = ("task", "dataset", "suite")
_QUERY = ("query", "question", "input", "prompt")
_RESPONSE = ("response", "answer", "output", "completion", "prediction")
_PASSED = ("passed", "success", "pass")
_OTHER = {"seed", "index", "row", "turn", "timestamp", "unnamed: 0", ""}
# As seconds this is three years: a column called "time" with such values has points in time.
_LONGEST_TIME = 1e8
_WHOLE = re.compile(r"(-?\d{1,18})(?:\.0+)?", re.ASCII)


class ScoreColumns:
    """Any table with a row for each scored answer."""

    title = "table"
    lower_is_better: frozenset[str] = frozenset()

    def recognises(self, content: LogContent) -> bool:
        if content.head.startswith(b"PAR1") or content.path.suffix.lower() in (".csv", ".tsv"):
            return True
        return content.path.suffix.lower() in (".jsonl", ".ndjson") and isinstance(content.first_line, dict)

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        rows, budget = [], AnswerBudget(bytes_each=200)
        for where, row in _rows(content):
            budget.spend(sum(map(_bytes_of, row.values())), where)
            rows.append((where, row))
        if not rows:
            raise SourceError("has no rows", where=str(content.path))
        columns = _Columns(list(dict.fromkeys(name for _, row in rows for name in row)), rows, options, content)
        for where, row in rows:
            yield columns.answer(where, row)


def _bytes_of(value: Any) -> int:
    """About what a value takes in memory."""
    if isinstance(value, str | bytes):
        return 64 + len(value)
    return 64 + (64 * len(value) if isinstance(value, list | dict) else 0)


class _Columns:
    """Which column means what."""

    def __init__(
        self, names: Sequence[str], rows: Sequence[tuple[str, Mapping[str, Any]]], options: LogOptions, log: LogContent
    ) -> None:
        self._by_name = {name.lower(): name for name in reversed(names)}
        self._where = str(log.path)
        case = self._chosen(options.case, _CASE)
        if case is None:
            raise ColumnError(
                f"has no column for the case; it has {', '.join(repr(name) for name in names[:20])}",
                where=self._where,
                hint="Name it: --case COLUMN",
            )
        self.case = case
        # pandas writes whole numbers as 1.0 if one is missing; the other log may have 1.
        given = {_case_text(row.get(case)) for _, row in rows}
        whole = {text: found[1] for text in given if (found := _WHOLE.fullmatch(text))}
        is_numbered = len(whole) == len(given) == len(set(whole.values()))
        self._cases = whole if is_numbered else {}
        self.repetition = self._chosen(options.repetition, _REPETITION)
        self.agent = self._chosen(options.agent, _AGENT)
        self.task, self.query, self.response, self.passed = (
            self._chosen("", usual) for usual in (_TASK, _QUERY, _RESPONSE, _PASSED)
        )
        taken = {self.case, self.repetition, self.agent, self.task, self.query, self.response, self.passed}
        self.scores = [self._chosen(name, ()) or name for name in options.scores] or [
            name for name in names if name not in taken and name.lower() not in _OTHER and _is_score(name, rows)
        ]
        if not self.scores and self.passed is not None:
            self.scores = [self.passed]
        if not self.scores:
            raise ColumnError(
                "has no column of numbers that could be scores", where=self._where, hint="Name them: --score COLUMN"
            )

    def _chosen(self, given: str, usual: Sequence[str]) -> str | None:
        if given:
            if given.lower() not in self._by_name:
                known = ", ".join(repr(name) for name in list(self._by_name.values())[:20])
                raise ColumnError(f"has no column '{given}'; it has {known}", where=self._where)
            return self._by_name[given.lower()]
        return next((self._by_name[name] for name in usual if name in self._by_name), None)

    def answer(self, where: str, row: Mapping[str, Any]) -> LoggedAnswer:
        case = row.get(self.case)
        if case is None or case == "":
            raise SourceError(f"has no value in the column '{self.case}'", where=where)
        scores = {}
        for name in self.scores:
            value = row.get(name)
            scores[name] = score_value(value)
            if scores[name] is None and value not in (None, "", "None", "null", "nan", "NaN", "NA"):
                if isinstance(value, float):
                    continue  # NaN and infinities
                raise SourceError(f"'{words(value, 40)}' in the column '{name}' is not a score", where=where)
        repetition = score_value(row.get(self.repetition)) if self.repetition else None
        passed = score_value(row.get(self.passed)) if self.passed else None
        return LoggedAnswer(
            case=self._cases.get(text := _case_text(case), text),
            task=self._text(row, self.task),
            agent=self._text(row, self.agent),
            # Repetitions may be counted from 1, or be called otherwise: what matters is which are the same.
            repetition=int(repetition) if repetition is not None and 0 <= repetition < 2**31 else None,
            query=self._text(row, self.query),
            response=self._text(row, self.response),
            scores=scores,
            passed=None if passed is None else passed > 0,
        )

    def _text(self, row: Mapping[str, Any], column: str | None) -> str:
        value = row.get(column) if column else None
        return "" if value is None else words(value) if isinstance(value, str | list | dict) else str(value)


def _case_text(value: Any) -> str:
    return words(value) if isinstance(value, str) else str(value)


def _is_score(name: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Whether a column has numbers and nothing else but gaps."""
    values = [row.get(name) for _, row in rows]
    known = [value for value in values if value not in (None, "")]
    if not known or not all(score_value(value) is not None or isinstance(value, float) for value in known):
        return False
    return name.lower() != "time" or all((score_value(value) or 0.0) < _LONGEST_TIME for value in known)


def _rows(content: LogContent) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if content.head.startswith(b"PAR1"):
        yield from _of_parquet(content)
    elif content.path.suffix.lower() in (".csv", ".tsv"):
        yield from _of_csv(content)
    else:
        yield from content.lines()


def _of_csv(content: LogContent) -> Iterator[tuple[str, Mapping[str, Any]]]:
    separator = "\t" if content.path.suffix.lower() == ".tsv" else ","
    with content.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.DictReader(_lines_of(file, content), delimiter=separator)
        try:
            for row in reader:
                where = f"{content.path}:{reader.line_num}"
                if None in row or None in row.values():
                    raise SourceError("has another number of fields than the first line", where=where)
                yield where, row
        except csv.Error as error:
            raise SourceError(f"is not CSV: {error}", where=f"{content.path}:{reader.line_num}") from error


def _lines_of(file: TextIO, content: LogContent) -> Iterator[str]:
    """The lines, none of which may be longer than memory allows: a file of zeros has no line ends."""
    while line := file.readline(most_bytes() + 1):
        if len(line) > most_bytes():
            raise too_large("a line", most_bytes(), str(content.path))
        yield line


def _of_parquet(content: LogContent) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        import pyarrow as pa

        from assay.events.sources.parquet import every_batch
    except ImportError as error:
        raise missing_extra("pyarrow", "events", f"read {content.path}") from error
    try:
        number_of_row = 0
        for batch in every_batch(str(content.path), 1000, memory_limit()):
            batch.validate(full=True)
            for row in batch.to_pylist():
                number_of_row += 1
                yield f"{content.path}: row {number_of_row}", row
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"is not a whole Parquet file: {error}", where=str(content.path)) from error


FORMAT = ScoreColumns()
