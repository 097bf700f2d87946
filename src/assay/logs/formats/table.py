"""Plain tables (CSV, JSONL, Parquet) with a column for the case, one or more for scores, and others by usual names."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
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
_GAPS = (None, "", "None", "null", "nan", "NaN", "NA")
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
        table = _table(content)
        if not table.places:
            raise SourceError("has no rows", where=str(content.path))
        return _Columns(table, options, content).answers()


class _Table:
    """The columns of a file by name, and where each row stands, as a number of `place`."""

    def __init__(self, columns: Mapping[str, list[Any]], places: Sequence[int], place: Callable[[int], str]) -> None:
        self.columns = columns
        self.places = places
        self._place = place

    def where(self, row: int) -> str:
        """How a row is called in messages."""
        return self._place(self.places[row])


def _bytes_of(value: Any) -> int:
    """About what a value takes in memory."""
    if isinstance(value, str | bytes):
        return 64 + len(value)
    return 64 + (64 * len(value) if isinstance(value, list | dict) else 0)


class _Columns:
    """Which column means what."""

    def __init__(self, table: _Table, options: LogOptions, log: LogContent) -> None:
        self._table = table
        names = list(table.columns)
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
        self.repetition = self._chosen(options.repetition, _REPETITION)
        self.agent = self._chosen(options.agent, _AGENT)
        self.task, self.query, self.response, self.passed = (
            self._chosen("", usual) for usual in (_TASK, _QUERY, _RESPONSE, _PASSED)
        )
        taken = {self.case, self.repetition, self.agent, self.task, self.query, self.response, self.passed}
        named = [self._chosen(name, ()) or name for name in options.scores]
        self.scores: dict[str, list[float | None]] = {}
        for name in named or (name for name in names if name not in taken and name.lower() not in _OTHER):
            if named:
                self.scores[name] = self._stated_scores(name)
            elif (values := _numbers_of(name, table.columns[name])) is not None:
                self.scores[name] = values
        if not self.scores and self.passed is not None:
            self.scores = {self.passed: self._stated_scores(self.passed)}
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

    def _stated_scores(self, name: str) -> list[float | None]:
        """The scores of a column that must have nothing else; gaps are None."""
        values = self._table.columns[name]
        scores = list(map(score_value, values))
        for row, (score, value) in enumerate(zip(scores, values, strict=True)):
            # A number that is no score is NaN or infinite.
            if score is None and not isinstance(value, float) and value not in _GAPS:
                where = self._table.where(row)
                raise SourceError(f"'{words(value, 40)}' in the column '{name}' is not a score", where=where)
        return scores

    def _case_ids(self) -> list[str]:
        given = self._table.columns[self.case]
        if None in given or "" in given:
            row = next(row for row, value in enumerate(given) if value is None or value == "")
            raise SourceError(f"has no value in the column '{self.case}'", where=self._table.where(row))
        texts = list(map(_case_text, given))
        # pandas writes whole numbers as 1.0 if one is missing; the other log may have 1.
        distinct = set(texts)
        whole: dict[str, str] = {}
        for text in distinct:
            found = _WHOLE.fullmatch(text)
            if found is None:
                return texts
            whole[text] = found[1]
        return [whole[text] for text in texts] if len(set(whole.values())) == len(distinct) else texts

    def answers(self) -> Iterator[LoggedAnswer]:
        """Every row as an answer."""
        cases = self._case_ids()
        n = len(cases)
        names = tuple(self.scores)
        passed = self._numbers(self.passed)
        rows = zip(
            cases,
            zip(*self.scores.values(), strict=True),
            self._texts(self.task) or repeat("", n),
            self._texts(self.agent) or repeat("", n),
            self._numbers(self.repetition) or repeat(None, n),
            self._texts(self.query) or repeat("", n),
            self._texts(self.response) or repeat("", n),
            [None if value is None else value > 0 for value in passed] if passed else repeat(None, n),
            strict=True,
        )
        for case, scores, task, agent, repetition, query, response, has_passed in rows:
            yield LoggedAnswer(
                case=case,
                task=task,
                agent=agent,
                # Repetitions may be counted from 1, or be called otherwise: what matters is which are the same.
                repetition=int(repetition) if repetition is not None and 0 <= repetition < 2**31 else None,
                query=query,
                response=response,
                scores=dict(zip(names, scores, strict=True)),
                passed=has_passed,
            )

    def _numbers(self, column: str | None) -> list[float | None] | None:
        return None if column is None else list(map(score_value, self._table.columns[column]))

    def _texts(self, column: str | None) -> list[str] | None:
        return None if column is None else list(map(_text, self._table.columns[column]))


def _text(value: Any) -> str:
    return "" if value is None else words(value) if isinstance(value, str | list | dict) else str(value)


def _case_text(value: Any) -> str:
    return words(value) if isinstance(value, str) else str(value)


def _numbers_of(name: str, values: Sequence[Any]) -> list[float | None] | None:
    """A column as scores; None if it has anything else than numbers and gaps."""
    scores = list(map(score_value, values))
    if None in scores:
        if all(value in _GAPS for value in values):
            return None
        for score, value in zip(scores, values, strict=True):
            if score is None and value not in _GAPS and not isinstance(value, float):
                return None
    if name.lower() == "time" and any((score or 0.0) >= _LONGEST_TIME for score in scores):
        return None
    return scores


def _table(content: LogContent) -> _Table:
    if content.head.startswith(b"PAR1"):
        return _of_parquet(content)
    if content.path.suffix.lower() in (".csv", ".tsv"):
        return _of_csv(content)
    return _of_lines(content)


def _of_lines(content: LogContent) -> _Table:
    budget = AnswerBudget(bytes_each=200)
    numbers, rows = [], []
    for number, row in content.lines():
        budget.spend(sum(map(_bytes_of, row.values())), str(content.path))
        numbers.append(number)
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return _Table({name: [row.get(name) for row in rows] for name in names}, numbers, content.line)


def _of_csv(content: LogContent) -> _Table:
    separator = "\t" if content.path.suffix.lower() == ".tsv" else ","
    budget = AnswerBudget(bytes_each=200)
    names: list[str] = []
    numbers, rows = [], []
    with content.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        csv.field_size_limit(most_bytes())
        reader = csv.reader(_lines_of(file, content), delimiter=separator)
        try:
            names = next(reader, [])
            if len(set(names)) < len(names):
                raise ColumnError("two columns have the same name", where=str(content.path), hint="Rename one of them")
            for row in reader:
                if not row:
                    continue
                if len(row) != len(names):
                    where = content.line(reader.line_num)
                    raise SourceError("has a different number of fields than the first line", where=where)
                budget.spend(64 * len(row) + sum(map(len, row)), str(content.path))
                numbers.append(reader.line_num)
                rows.append(row)
        except csv.Error as error:
            raise SourceError(f"is not CSV: {error}", where=content.line(reader.line_num)) from error
    return _Table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=False)), numbers, content.line)


def _lines_of(file: TextIO, content: LogContent) -> Iterator[str]:
    """The lines, none of which may be longer than memory allows: a file of zeros has no line ends."""
    longest = most_bytes()
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise too_large("a line", longest, str(content.path))
        yield line


def _of_parquet(content: LogContent) -> _Table:
    try:
        import pyarrow as pa

        from assay.events.sources.parquet import every_batch
    except ImportError as error:
        raise missing_extra("pyarrow", "events", f"read {content.path}") from error
    budget = AnswerBudget(bytes_each=200)
    columns: dict[str, list[Any]] = {}
    rows = 0
    try:
        for batch in every_batch(str(content.path), 1000, memory_limit()):
            batch.validate(full=True)
            found = batch.to_pydict()
            rows += batch.num_rows
            for row in zip(*found.values(), strict=True):
                budget.spend(sum(map(_bytes_of, row)), str(content.path))
            for name, values in found.items():
                columns.setdefault(name, []).extend(values)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"is not a whole Parquet file: {error}", where=str(content.path)) from error
    return _Table(columns, range(1, rows + 1), lambda number: f"{content.path}: row {number}")


FORMAT = ScoreColumns()
