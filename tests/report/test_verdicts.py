"""How the sides of comparisons are called: by no more than tells them apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report.agent_scores import scores

from assay.compare import compare, side_of
from assay.report.verdicts import run_labels, told_apart
from assay.runs.from_results import recorded_run

_RUN = recorded_run(scores(("one", "two"), seed=1, scenarios=3, repetitions=1), name="nightly")


@pytest.mark.parametrize(
    ("name", "agents", "labels"),
    [
        ("weekly", ("one", "one"), ("nightly", "weekly")),
        ("nightly", ("one", "one"), ("nightly of 2026-11-01 08:30", "nightly of 2026-11-02 08:30")),
        ("weekly", ("one", "two"), ("nightly: one", "weekly: two")),
    ],
)
def test_sides_of_two_runs(name: str, agents: tuple[str, str], labels: tuple[str, str]) -> None:
    first = replace(_RUN, id="a", created="2026-11-01T08:30:12+00:00")
    second = replace(_RUN, id="b", name=name, created="2026-11-02T08:30:12+00:00")
    [found] = told_apart([compare(side_of(first, agents[0]), side_of(second, agents[1]))])
    assert (found.baseline.label, found.candidate.label) == labels


@pytest.mark.parametrize(
    ("times", "labels"),
    [
        (("08:30:12", "08:30:44"), ["nightly of 2026-11-01 08:30:12", "nightly of 2026-11-01 08:30:44"]),
        (("08:30:12", "08:30:12"), ["nightly (a)", "nightly (b)"]),
    ],
)
def test_runs_of_one_name_in_one_minute(times: tuple[str, str], labels: list[str]) -> None:
    runs = [replace(_RUN, id=one, created=f"2026-11-01T{time}+00:00") for one, time in zip("ab", times, strict=True)]
    assert list(run_labels(runs).values()) == labels


def test_agents_of_one_run_are_called_by_their_names() -> None:
    [found] = told_apart([compare(side_of(_RUN, "one"), side_of(_RUN, "two"))])
    assert (found.baseline.label, found.candidate.label) == ("one", "two")


def test_sides_that_were_labelled_for_another_purpose_keep_their_labels() -> None:
    given = compare(replace(side_of(_RUN, "one"), label="mean of both"), side_of(_RUN, "two"))
    assert told_apart([given])[0].baseline.label == "mean of both"
