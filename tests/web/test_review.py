"""Answers are labelled by reviewers, and agreement with the metrics and between reviewers follows from the labels."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.report.agent_scores import answer, scored, scores
from tests.web.conftest import AGENTS, experiment

from assay.errors import UsageError
from assay.store import open_store
from assay.store.reviews import Review
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.pages.review import label_of, queued
from assay.web.safety import Access
from assay.web.site import Site


def test_the_queue_begins_with_the_lowest_scores_or_with_disagreements() -> None:
    found = scored(
        answer("a", "fine", True, score=1.0),
        answer("a", "lucky", True, score=0.2),
        answer("a", "bad", False, score=0.1),
        answer("a", "broken", False, status="failed"),
    )
    assert [one.scenario for one in queued(found, "lowest", 0)] == ["bad", "lucky", "fine"]
    assert queued(found, "disagreements", 0)[0].scenario == "lucky"
    shuffled = [one.scenario for one in queued(found, "random", 3)]
    assert shuffled == [one.scenario for one in queued(found, "random", 3)]
    assert sorted(shuffled) == ["bad", "fine", "lucky"]


@pytest.mark.parametrize(
    ("passed", "score", "label"), [(True, 1, 1.0), (None, 1, 0.0), (None, 3, 0.5), (None, 5, 1.0), (None, None, None)]
)
def test_a_verdict_counts_before_a_score(passed: bool | None, score: int | None, label: float | None) -> None:
    assert label_of({"passed": passed, "score": score}) == label


def test_a_review_is_of_an_answer_and_by_somebody(store: Store, ids: dict[str, str]) -> None:
    place: dict[str, Any] = {"agent": AGENTS[0], "scenario": "nowhere", "repetition": 0, "turn": 0}
    with pytest.raises(UsageError, match="no such answer"):
        store.review(ids["nightly"], Review(**place, reviewer="me", passed=True))
    with pytest.raises(UsageError, match="needs the name"):
        Review(**place, reviewer=" ")
    with pytest.raises(UsageError, match="between 1 and 5"):
        Review(**place, reviewer="me", score=6)


@pytest.mark.slow
def test_labels_are_stored_undone_and_give_kappa(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_store(tmp_path_factory.mktemp("review") / "runs.db") as store:
        run = experiment(store, scores(AGENTS, seed=6, scenarios=6, repetitions=1), "reviewed")
        client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1")
        client.headers["origin"] = "http://127.0.0.1"
        for reviewer, flipped in (("ann", False), ("bob", True)):
            page = client.get("/review", params={"run": run, "reviewer": reviewer})
            for at in range(10):
                fields = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', page.text))
                verdict = "yes" if (at < 5) != (flipped and at == 0) else "no"
                page = client.post("/review/label", data=fields | {"passed": verdict, "comment": "seen"})
                assert page.status_code == 200
        reviews = store.reviews(run)
        assert len(reviews) == 20
        assert "10 labelled" in page.text
        assert "Between reviewers" in page.text
        # Of 10 answers both say 4 times yes and 5 times no: κ = (0.9 − 0.5) / (1 − 0.5).
        assert re.search(r"bob</bdi></th><td[^>]*>10</td><td[^>]*>0\.80", page.text)
        fields = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', page.text))
        client.post("/review/label", data=fields | {"undo": "yes"})
        assert len(store.reviews(run)) == 19
