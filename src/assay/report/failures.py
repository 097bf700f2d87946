"""The checks that answers failed, for every output format: each listed once, with how many repetitions failed it.

And the expectations that did not apply to an agent, because its tools are its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.chat.scoring.answers import Answer, FailedCheck
from assay.chat.scoring.scores import Scores, without_quirks
from assay.plural import counted

_MOST_LEFT_OUT = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that an agent failed in a turn of a scenario."""

    agent: str
    scenario: str
    turn: int
    """Counted from 0."""
    failed: FailedCheck
    times: int
    """In how many repetitions it failed in the same way."""


def failures_of(scores: Scores) -> list[Failure]:
    """Every failed check, in the order of the answers. A turn that ended with an error fails with its reason.

    A trial whose quirk did not occur fails none.
    """
    left_out = without_quirks(scores.answers)
    found = Counter(
        (answer.agent, answer.scenario, answer.turn, failed)
        for answer in scores.answers
        if answer.key not in left_out
        for failed in failures_in(answer)
    )
    return [Failure(*key, times) for key, times in found.items()]


def failures_in(answer: Answer) -> Sequence[FailedCheck]:
    """The checks that an answer failed; a turn that ended with an error has one, its error.

    A turn with a quirk has an outcome instead, which may be acceptable.
    """
    if answer.record is not None and answer.record.status == "failed" and answer.record.outcome is None:
        return (FailedCheck("the turn ends without an error", answer.record.reason),)
    return answer.failures


def failure_words(failure: Failure, *, agent: bool = True) -> str:
    """A failure as one line: where, which check, why, and the answer's words."""
    where = f"{failure.scenario}, turn {failure.turn + 1}" if failure.turn else failure.scenario
    times = f" ({failure.times} times)" if failure.times > 1 else ""
    return f"{f'{failure.agent} · ' if agent else ''}{where} · {failure.failed}{times}"


def is_unplayed(scores: Scores) -> bool:
    """Whether every turn of a run was skipped, so that there is nothing to show but why."""
    statuses = {answer.status for answer in scores.answers}
    return statuses == {"skipped"}


def unplayed_words(scores: Scores) -> list[str]:
    """That nothing was played, and why: each reason once, with the agents and the number of trials."""
    agents: dict[str, dict[str, None]] = {}
    trials: Counter[str] = Counter()
    for answer in scores.answers:
        if answer.record is not None and answer.turn == 0:
            agents.setdefault(answer.record.reason, {})[answer.agent] = None
            trials[answer.record.reason] += 1
    return [
        "Nothing was played: every trial was skipped.",
        *(
            f"{', '.join(agents[reason])}: {counted(number, 'trial')} skipped: {reason}"
            for reason, number in trials.most_common()
        ),
    ]


def not_applicable_words(scores: Scores) -> list[str]:
    """What is not checked of agents with tools of their own, and where the stand-in model could not speak about their
    subject: a sentence for each, with the number of turns.
    """
    found: dict[str, list[str]] = {}
    """The agents of each sentence: what is true of several is said once."""
    for agent in scores.agents:
        turns = [one.record.not_applicable for one in scores.answers if one.agent == agent and one.record is not None]
        what = Counter(text for left_out in turns for text in left_out)
        if what:
            listed = "; ".join(f"{text} ({times:,})" for text, times in what.most_common(_MOST_LEFT_OUT))
            more = len(what) - _MOST_LEFT_OUT
            number = counted(sum(map(bool, turns)), "turn")
            words = f"in {number} some expectations are not checked: {listed}"
            found.setdefault(f"{words}{f'; and {more:,} more' if more > 0 else ''}.", []).append(agent)
        beyond = sum(one.record.beyond_model for one in scores.answers if one.agent == agent and one.record is not None)
        if beyond:
            words = (
                f"in {counted(beyond, 'turn')} the stand-in model said that it cannot help: by itself it "
                "speaks about the weather only, and the agent has no tool for that. In a suite of your own it makes "
                "the calls that a turn expects (`calls`); --model uses a real model."
            )
            found.setdefault(words, []).append(agent)
    return [f"{', '.join(agents)}: {words}" for words, agents in found.items()]
