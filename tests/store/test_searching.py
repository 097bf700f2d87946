"""Pages of runs, summaries, new names and reviews, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import pytest
from tests.store.conftest import MakeRun
from tests.store.test_store import answer

from assay.errors import UsageError
from assay.store.reviews import Review
from assay.store.searching import Search
from assay.store.store import Store


def test_runs_are_found_by_words_kind_tag_state_and_page(store: Store, make_run: MakeRun) -> None:
    rain = store.save(make_run("Rain in Rome", cases=1))
    store.save(make_run("rain_100%", cases=1, kind="chat"))
    store.tag(rain, "wet")
    store.begin(make_run("snow"))

    def names(**wanted: str) -> list[str]:
        return [run.name for run in store.search(Search(**wanted), limit=9).runs]

    assert names() == ["snow", "rain_100%", "Rain in Rome"]
    assert names(words="RAIN") == ["rain_100%", "Rain in Rome"]
    assert names(words="rain wet") == ["Rain in Rome"]
    assert names(words="100%") == names(words="n_1") == ["rain_100%"]
    assert names(words=rain[:12]) == names(tag="wet") == ["Rain in Rome"]
    assert names(kind="chat") == ["rain_100%"]
    assert names(state="open") == ["snow"]
    second = store.search(Search(), limit=1, offset=1)
    assert ([run.name for run in second.runs], second.total, second.stored) == (["rain_100%"], 3, 3)
    assert second.kinds == {"chat": 1, "events": 2}
    assert second.tags == {"first": 3, "wet": 1}


def test_a_summary_is_used_as_long_as_its_version_is_the_same(store: Store, make_run: MakeRun) -> None:
    run = store.save(make_run(cases=1))
    for content in ({"a": 1}, {"a": 2}):
        store.keep_summary(run, "1", content)
    assert store.summaries([run, "unknown"], "1") == {run: {"a": 2}}
    assert store.summaries([run], "2") == {}
    store.keep_summary("deleted", "1", {})
    store.delete(run)
    assert store.summaries([run], "1") == {}


def test_a_run_gets_another_name(store: Store, make_run: MakeRun) -> None:
    run = store.save(make_run("old", cases=1))
    assert store.rename("old", "new\0") == run
    assert store.describe(run).run.name == "new\0"
    with pytest.raises(UsageError, match="must not start with @"):
        store.rename(run, "@last")


def test_a_reviewer_says_one_thing_about_an_answer_until_it_is_withdrawn(store: Store, make_run: MakeRun) -> None:
    run = store.save(make_run(cases=0, groups=(), kind="chat"), answers=[answer(), answer(turn=1)])

    def review(reviewer: str, **said: object) -> None:
        place = {"agent": "bot", "scenario": "rain", "repetition": 0, "turn": 1, "reviewer": reviewer}
        store.review(run, Review(**place, **said))  # type: ignore[arg-type]

    review("ann", passed=True)
    review("ann", passed=False, score=2, comment="no\0")
    review("bob", score=5)
    found = [(one["reviewer"], one["passed"], one["score"], one["comment"]) for one in store.reviews(run)]
    assert found == [("ann", False, 2, "no\0"), ("bob", None, 5, "")]
    review("ann")
    assert [one["reviewer"] for one in store.reviews(run)] == ["bob"]
    assert [row["turn"] for row in store.conversation(run, "rain", "bot")] == [0, 1]
    assert store.conversation(run, "rain", "nobody") == store.conversation(run, "sun") == []
    assert [(row["passed"], row["metrics"]) for row in store.outcomes(run)] == [(False, {})] * 2
    assert store.progress(run) == 1
