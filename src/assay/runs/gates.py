"""Gates on runs of agents: requirements on a single run, and the answers behind regressions of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from assay.chat.scoring.answers import Answer
from assay.chat.scoring.metric import METRICS
from assay.chat.scoring.scores import Scores
from assay.chat.scoring.tallies import AFTERWARDS, tallies_of
from assay.compare.gates import Outcome, Requirement
from assay.compare.regressions import TRIALS_PASSED
from assay.errors import UsageError, unknown_name
from assay.plural import counted
from assay.runs.shares import check_measurable, shares_of
from assay.types import Estimate

if TYPE_CHECKING:
    from assay.chat.suites import Suite
    from assay.store.store import Store

_NOTHING = Estimate(None)
_UNDEFINED: Final[Mapping[str, str]] = {
    "quirks_recovered": "no quirk occurred",
    "quirks_handled": "no quirk occurred",
    "hang_ups_stopped": "no user hung up",
    "decisions_kept": "no user decided on a tool",
    "next_turns_passed": "no turn followed a quirk or an interruption",
}
"""Why a share has no value."""
_NO_ANSWER = "(no answer)"
FAIL_RUN_ON: Final = ("checks", "errors", "skipped")
FAIL_TRANSCRIPTS_ON: Final = ("checks",)
"""The same for transcripts from a file: all their turns are scored."""


@dataclass(frozen=True, slots=True)
class RunGate:
    """What a run of agents must reach by itself."""

    fail_on: Sequence[str] = ()
    """'checks': a trial does not pass. 'errors': a turn ended with an error. 'skipped': a turn was not played."""
    requirements: Sequence[Requirement] = ()
    """Of each agent: a metric, `trials_passed` (the share of its trials that pass), or what came of quirks and
    interruptions, such as `quirks_handled`.
    """

    @classmethod
    def parsed(
        cls,
        fail_on: Iterable[str],
        require: Iterable[str],
        *,
        conditions: Sequence[str] = FAIL_RUN_ON,
        metrics: Iterable[str] | None = None,
        shares: Iterable[str] = AFTERWARDS,
    ) -> RunGate:
        """From the texts of options; raises UsageError, before anything is played.

        `conditions` are those that `fail_on` may name, `metrics` those that are computed, by default all, and `shares`
        what can come of quirks and interruptions; transcripts from a file have none.
        """
        words = tuple(word.strip() for text in fail_on for word in text.split(","))
        for word in words:
            if word not in conditions:
                raise UsageError(f"cannot fail on '{word}'", hint=f"Use: {', '.join(conditions)}")
        gate = cls(words, tuple(Requirement.parse(text) for text in require))
        known = (TRIALS_PASSED, *shares, *(METRICS.names() if metrics is None else metrics))
        for must in gate.requirements:
            if must.metric not in known:
                raise unknown_name("metric", must.metric, known)
        return gate

    def check(self, suite: Suite) -> None:
        """Raise UsageError, before anything is played, if a requirement can never be met with a suite."""
        for must in self.requirements:
            check_measurable(must.metric, suite)

    def failures(self, scores: Scores) -> list[str]:
        """Why the run does not pass, a sentence for each reason; empty if it does."""
        found = []
        for agent in scores.agents:
            trials = [passed for of_scenario in scores.trials(agent).values() for passed in of_scenario.values()]
            lost = len(trials) - sum(trials)
            if "checks" in self.fail_on and lost:
                found.append(
                    f"{agent}: {lost:,} of {counted(len(trials), 'trial')} {'does' if lost == 1 else 'do'} not pass"
                )
            statuses: list[str] = [answer.status for answer in scores.answers if answer.agent == agent]
            for word, status in (("errors", "failed"), ("skipped", "skipped")):
                count = statuses.count(status)
                if word in self.fail_on and count:
                    found.append(f"{agent}: {count:,} of {counted(len(statuses), 'turn')} {status}")
            estimates = estimates_of(scores, agent)
            for must in self.requirements:
                undefined = _UNDEFINED.get(must.metric, "nothing was measured")
                failure = must.failure_of(estimates.get(must.metric, _NOTHING), undefined)
                if failure:
                    found.append(f"{agent}: {failure}")
        return found


def estimates_of(scores: Scores, agent: str) -> Mapping[str, Estimate]:
    """Each metric of an agent, the share of its trials that pass, and what came of quirks and interruptions."""
    lines = {line.metric: line.estimate for line in scores.lines() if line.agent == agent}
    answers = [answer for answer in scores.answers if answer.agent == agent and answer.record is not None]
    shares = shares_of(tallies_of(answers).get(agent, {})) if answers else {}
    return {TRIALS_PASSED: scores.passes(agent)["pass^k"][1], **shares, **lines}


def with_answers(outcomes: Iterable[Outcome], store: Store) -> list[Outcome]:
    """The same outcomes; those of scenarios that regressed say what was answered before and now."""
    from assay.runs.loading import load_answers

    loaded: dict[str, list[Answer]] = {}

    def answers(run: str, agent: str, scenario: str) -> list[Answer]:
        if run not in loaded:
            loaded[run] = load_answers(run, store=store)
        return [answer for answer in loaded[run] if (answer.agent, answer.scenario) == (agent, scenario)]

    found = []
    for outcome in outcomes:
        if outcome.scenario and outcome.failure:
            a, b = outcome.comparison.baseline, outcome.comparison.candidate
            before, now = (answers(side.run.id, side.agent, outcome.scenario) for side in (a, b))
            outcome = replace(outcome, details=_before_and_now(before, now))
        found.append(outcome)
    return found


def _before_and_now(before: Sequence[Answer], now: Sequence[Answer]) -> str:
    """The first turn that fails now, with the answer that passed in its place before."""
    failed = next((answer for answer in now if not answer.passed), None)
    if failed is None:
        return ""
    earlier = next((answer for answer in before if answer.turn == failed.turn and answer.passed), None)
    reason = failed.record.reason if failed.record is not None else ""
    why = "; ".join(str(check) for check in failed.failures) or reason
    lines = [f"asked: {failed.query}"]
    if earlier is not None:
        lines.append(f"before: {earlier.response or _NO_ANSWER}")
    lines += [f"now: {failed.response or _NO_ANSWER}", f"why: {why}"]
    return "\n".join(" ".join(line.split()) for line in lines)
