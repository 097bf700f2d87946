"""Conditions that suites and transcripts set for an answer: `accuracy >= 0.9`, or the same as a table."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from assay.chat.scoring.metric import METRICS, Entry
from assay.chat.yamlfile import refusal
from assay.errors import UsageError, unknown_name

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
NUMBER = r"(?:0|1|0?\.\d+|[01]\.\d+)"
_CHECK = re.compile(rf"(?P<metric>\w+)\s*(?:(?P<is>[<>=]=|[<>])\s*(?P<value>{NUMBER})|\s(?P<not>not\s+)?measured)")
_CHECK_FORMS = "Write 'accuracy >= 0.9', 'ambiguity_handling measured' or 'accuracy not measured'"

# Less than two scores differ, which have a few decimals.
_TINY = 1e-9


class Check(BaseModel):
    """A condition that a scenario sets for an answer: `{"metric": "accuracy", "is": ">=", "value": 0.9}`."""

    model_config = ConfigDict(defer_build=True, extra="forbid", allow_inf_nan=True)

    metric: str
    is_: Literal["==", ">=", "<=", ">", "<", "measured"] = Field(alias="is")
    value: float
    _if_measured: bool = PrivateAttr(default=False)
    _is_implied: bool = PrivateAttr(default=False)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            found = _CHECK.fullmatch(value.strip())
            if found is None or (found["is"] is not None and found["is"] not in OPERATORS):
                raise refusal(f"'{value:.60}' is not a check", hint=f"{_CHECK_FORMS}; scores are between 0 and 1")
            if found["is"]:
                return {"metric": found["metric"], "is": found["is"], "value": float(found["value"])}
            return {"metric": found["metric"], "is": "measured", "value": 0.0 if found["not"] else 1.0}
        if isinstance(value, dict) and value.get("is") == "measured":
            return {"value": 1.0, **value}
        return value

    def __str__(self) -> str:
        """As a suite writes it: `accuracy >= 0.9`, `accuracy not measured`."""
        if self.is_ == "measured":
            return f"{self.metric} {'' if self.value else 'not '}measured"
        return f"{self.metric} {self.is_} {self.value:g}"

    @property
    def is_only_if_measured(self) -> bool:
        """Whether it does not apply to an answer that its metric could not measure."""
        return self._if_measured

    @property
    def is_implied(self) -> bool:
        """Whether it stands for another check, which cannot be made: the scenario does not demand it by itself."""
        return self._is_implied

    def only_if_measured(self) -> Check:
        """The same check, which does not apply if its metric could not be measured."""
        made = self.model_copy()
        made._if_measured = True
        return made

    def problem(self) -> UsageError | None:
        """Why no answer, or every one, would pass it: a metric that does not exist, a value that is not a score."""
        if self.metric not in METRICS.names():
            return unknown_name("metric", self.metric, METRICS.names())
        return self.problem_of_value()

    def problem_of_value(self) -> UsageError | None:
        """The same of its value alone."""
        if not 0 <= self.value <= 1:
            return UsageError(f"a score is between 0 and 1, got {self.value:g}")
        if (self.is_, self.value) in ((">", 1), ("<", 0)):
            return UsageError(
                f"a score is between 0 and 1, so that no answer passes '{self}'",
                hint=f"Write {self.metric} {self.is_}= {self.value:g}",
            )
        return None

    def implied(self) -> Check:
        """The same check in place of one that cannot be made; it does not apply if its metric could not be measured."""
        made = self.only_if_measured()
        made._is_implied = True
        return made

    def excludes(self, other: Check) -> bool:
        """Whether no score satisfies both."""
        if self.metric != other.metric:
            return False
        if self.is_ == "measured" or other.is_ == "measured":
            # A comparison needs a score.
            return self._needs_score() is not other._needs_score()
        # Where one of the two changes, just below it and just above it: no other score can differ from all of these.
        limits = (self.value, other.value)
        tried = [score for limit in limits for score in (limit, limit - _TINY, limit + _TINY) if 0 <= score <= 1]
        return not any(
            OPERATORS[self.is_](score, self.value) and OPERATORS[other.is_](score, other.value) for score in tried
        )

    def _needs_score(self) -> bool:
        return self.is_ != "measured" or bool(self.value)

    def holds(self, entries: Mapping[str, Entry]) -> bool:
        """Whether the entries of an answer satisfy it; a metric that was not measured satisfies no comparison."""
        entry = entries.get(self.metric)
        if entry is None:
            return self._is_implied
        if self.is_ == "measured":
            return entry.measured is bool(self.value)
        if self._if_measured and not entry.measured:
            return True
        return entry.measured and OPERATORS[self.is_](entry.score, self.value)
