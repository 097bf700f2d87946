"""The summary of a run: what lists and overviews show first."""

from __future__ import annotations

from tests.report.agent_scores import answer, scored

from assay.chat.scoring.tallies import tallies_of
from assay.runs.results import ExperimentResult
from assay.runs.summaries import RunSummary
from assay.web.pages.opening import passed_block


def test_what_came_of_quirks_is_shown_beside_the_trials_that_pass() -> None:
    ends = {"a": ("recovered", "recovered", "degraded"), "b": ("failed_clearly", "recovered", "failed_clearly")}
    scores = scored(
        *(
            answer(agent, f"q{at}", quirk="garbage", outcome=outcome)
            for agent, outcomes in ends.items()
            for at, outcome in enumerate(outcomes)
        )
    )
    result = ExperimentResult(scores=scores, tallies=tallies_of(scores.answers), suite="robustness@1")
    summary = RunSummary.of(result)
    shares = {(one.group, one.key): one.value for one in summary.figures}
    assert (shares["a", "pass_rate"], shares["b", "pass_rate"]) == (1.0, 1.0)
    assert (shares["a", "quirks_recovered"], shares["b", "quirks_recovered"]) == (2 / 3, 1 / 3)
    assert (shares["a", "quirks_handled"], shares["b", "quirks_handled"]) == (1.0, 1.0)
    assert [one.group for one in summary.headlines] == ["a", "b"], "lists keep one figure for each agent"


def test_a_run_without_quirks_has_no_figures_of_them() -> None:
    scores = scored(answer("a", "s"))
    summary = RunSummary.of(ExperimentResult(scores=scores, tallies=tallies_of(scores.answers), suite="weather@1"))
    assert not [one for one in summary.figures if one.key.startswith("quirks")]
    assert "misbehaved" not in passed_block([], ["a"], "run", summary)
