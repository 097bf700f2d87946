"""Expected against actual tool calls: exact, in order, in any order, or in part, argument by argument.

Knows calls and their arguments; knows no text and no metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.chat.transcript import ToolCall

# Numbers in arguments (coordinates, amounts) are equal within this relative tolerance.
DEFAULT_TOLERANCE = 1e-6


def failure_in(result: object) -> str | None:
    """The error that a result reports: `{"error": …}`, `{"status": "error", "error_message": …}`, 'Error: …'."""
    if isinstance(result, Mapping):
        message = result.get("error") or result.get("error_message")
        status = result.get("status")
        failed = isinstance(status, str) and status.lower() in ("error", "failed", "failure")
        return str(message or status) if message or failed else None
    return result if isinstance(result, str) and result.lower().startswith("error") else None


@dataclass(frozen=True, slots=True)
class ArgumentDifference:
    """An argument that differs from the expected one."""

    call: str
    argument: str
    expected: object
    actual: object
    """`MISSING` if the call did not have it."""

    def __str__(self) -> str:
        if self.actual is MISSING:
            return f"{self.call} lacks the argument {self.argument} (expected {self.expected!r:.80})"
        if self.expected is MISSING:
            return f"{self.call} has the unexpected argument {self.argument}={self.actual!r:.80}"
        return f"{self.call} got {self.argument}={self.actual!r:.80}, expected {self.expected!r:.80}"


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """How actual calls compare with expected ones."""

    exact: bool
    """The same calls in the same order and no others."""
    in_order: bool
    """Every expected call occurs, in the expected order; other calls may come between."""
    any_order: bool
    """Every expected call occurs; the order and other calls do not matter."""
    precision: float | None
    """Share of the actual calls that were expected, with partial credit for arguments; None if no call was made."""
    recall: float | None
    """Share of the expected calls that were made, with the same partial credit; None if no call was expected."""
    f1: float
    """Harmonic mean of the two; 1 if no call was expected and none was made."""
    differences: tuple[ArgumentDifference, ...]
    """Arguments that differ, in calls to the expected tools."""
    missing: tuple[str, ...]
    """Expected tools that were not called."""
    unexpected: tuple[str, ...]
    """Tools that were called but not expected."""
    out_of_order: tuple[int, ...]
    """Indices of actual calls that came too early: a call that was expected before them came later."""

    @property
    def why(self) -> str:
        """One sentence: that the match is exact, or why it is not."""
        if self.exact:
            return "The calls are exactly those expected."
        reasons = [f"{name} was not called" for name in self.missing]
        reasons += [str(difference) for difference in self.differences]
        reasons += [f"{name} was called but not expected" for name in self.unexpected]
        if self.out_of_order:
            early = ", ".join(str(at + 1) for at in self.out_of_order)
            reasons.append(f"call {early} came too early")
        return "; ".join(reasons[:5]) + (f"; and {len(reasons) - 5} more." if len(reasons) > 5 else ".")

    @classmethod
    def match(
        cls,
        expected: Sequence[ToolCall],
        actual: Sequence[ToolCall],
        *,
        tolerances: Mapping[str, float] | None = None,
        extra_arguments: bool = True,
    ) -> Trajectory:
        """Compare `actual` with `expected`.

        `tolerances` maps a numeric argument's name to its absolute tolerance. With `extra_arguments=False`, a call with
        an unexpected argument differs.
        """
        compare = _Comparison(tolerances or {}, extra_arguments)
        credit = [[compare.credit(want, got) for got in actual] for want in expected]
        pairs = assign(credit)
        total = math.fsum(credit[want][got] for want, got in pairs)
        precision = total / len(actual) if actual else None
        recall = total / len(expected) if expected else None
        whole = [(want, got) for want, got in pairs if credit[want][got] == 1.0]
        matched_expected, matched_actual = {want for want, _ in pairs}, {got for _, got in pairs}
        exact = len(expected) == len(actual) and all(
            compare.credit(want, got) == 1.0 for want, got in zip(expected, actual, strict=True)
        )
        in_order = _is_subsequence(credit)
        any_order = len(whole) == len(expected)
        both = (precision or 0.0) + (recall or 0.0)
        f1 = 2 * (precision or 0.0) * (recall or 0.0) / both if both else float(not expected and not actual)
        return cls(
            exact=exact,
            in_order=in_order,
            any_order=any_order,
            precision=precision,
            recall=recall,
            f1=f1,
            differences=tuple(
                d for want, got in sorted(pairs) for d in compare.differences(expected[want], actual[got])
            ),
            missing=tuple(call.name for at, call in enumerate(expected) if at not in matched_expected),
            unexpected=tuple(call.name for at, call in enumerate(actual) if at not in matched_actual),
            out_of_order=() if in_order else _out_of_order(pairs),
        )


@dataclass(frozen=True, slots=True)
class _Comparison:
    tolerances: Mapping[str, float]
    extra_arguments: bool

    def credit(self, want: ToolCall, got: ToolCall) -> float:
        """0 for another tool; else 0.5 for the name plus up to 0.5 for the share of right arguments."""
        if want.name != got.name:
            return 0.0
        wrong = len(self.differences(want, got))
        names = set(want.arguments) | (set() if self.extra_arguments else set(got.arguments))
        return 1.0 if not wrong else 0.5 * (1 + (len(names) - wrong) / len(names)) if wrong < len(names) else 0.5

    def differences(self, want: ToolCall, got: ToolCall) -> list[ArgumentDifference]:
        found = [
            ArgumentDifference(want.name, name, value, got.arguments.get(name, MISSING))
            for name, value in want.arguments.items()
            if not self.equal(name, value, got.arguments.get(name, MISSING))
        ]
        if not self.extra_arguments:
            found += [
                ArgumentDifference(want.name, name, MISSING, value)
                for name, value in got.arguments.items()
                if name not in want.arguments
            ]
        return found

    def equal(self, name: str, want: object, got: object) -> bool:
        if isinstance(want, bool) or isinstance(got, bool):
            return want is got
        if isinstance(want, (int, float)) and isinstance(got, (int, float)):
            near = self.tolerances.get(name)
            if near is not None:
                return abs(want - got) <= near
            return math.isclose(want, got, rel_tol=DEFAULT_TOLERANCE, abs_tol=1e-12)
        if isinstance(want, str) and isinstance(got, str):
            return " ".join(want.split()).casefold() == " ".join(got.split()).casefold()
        if isinstance(want, Mapping) and isinstance(got, Mapping):
            return want.keys() == got.keys() and all(self.equal(key, want[key], got[key]) for key in want)
        if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
            return len(want) == len(got) and all(self.equal(name, w, g) for w, g in zip(want, got, strict=True))
        return want == got


def repeated(calls: Sequence[ToolCall]) -> list[int]:
    """Indices of calls that repeat an earlier one with the same arguments; a retry after a failure does not count."""
    if len(calls) < 2:
        return []
    same = _Comparison({}, extra_arguments=False)
    found = []
    for at, call in enumerate(calls):
        earlier = [other for other in calls[:at] if other.name == call.name and not same.differences(other, call)]
        if earlier and earlier[-1].error is None:
            found.append(at)
    return found


def assign(credit: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs (row, column) with the greatest total credit, each row and column at most once, without pairs of credit 0.

    The Hungarian method with potentials on costs 1 − credit: O(rows² · columns).
    """
    if not credit or not credit[0]:
        return []
    if len(credit) > len(credit[0]):
        return [(row, column) for column, row in assign(list(zip(*credit, strict=True)))]
    rows, columns = len(credit), len(credit[0])
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner, way = [0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, used = [math.inf] * (columns + 1), [False] * (columns + 1)
        while owner[column]:
            used[column] = True
            current, delta, following = owner[column], math.inf, 0
            for other in range(1, columns + 1):
                if used[other]:
                    continue
                cost = 1 - credit[current - 1][other - 1] - row_potential[current] - column_potential[other]
                if cost < least[other]:
                    least[other], way[other] = cost, column
                if least[other] < delta:
                    delta, following = least[other], other
            for other in range(columns + 1):
                if used[other]:
                    row_potential[owner[other]] += delta
                    column_potential[other] -= delta
                else:
                    least[other] -= delta
            column = following
        while column:
            owner[column] = owner[way[column]]
            column = way[column]
    return [(owner[c] - 1, c - 1) for c in range(1, columns + 1) if owner[c] and credit[owner[c] - 1][c - 1] > 0]


def _is_subsequence(credit: Sequence[Sequence[float]]) -> bool:
    """Whether the expected calls occur in order; taking the earliest matching call each time is enough."""
    at = 0
    for row in credit:
        at = next((column + 1 for column in range(at, len(row)) if row[column] == 1.0), -1)
        if at < 0:
            return False
    return True


def _out_of_order(pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Actual calls whose expected position is after that of a later actual call."""
    by_actual = sorted(pairs, key=lambda pair: pair[1])
    return tuple(
        got for at, (want, got) in enumerate(by_actual) if any(later < want for later, _ in by_actual[at + 1 :])
    )
