"""Review: a queue of answers to label by keyboard, and how far metrics and reviewers agree with each other."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from assay.chat.scoring.answers import Answer, AnswerPlace
from assay.chat.scoring.calibration import Agreement, Label, calibrate
from assay.chat.scoring.scores import Scores
from assay.errors import UsageError
from assay.plural import counted
from assay.report.html.conversation import STYLE, evidence, outcome, question, tool_calls
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join, section
from assay.report.html.page import Content, table
from assay.runs.results import scores_of
from assay.stats.agreement import kappa
from assay.store.reviews import HIGHEST_SCORE, LOWEST_SCORE, Review
from assay.store.searching import Search
from assay.types import Estimate
from assay.web.addresses import address, conversation_address, run_address
from assay.web.pages.runs import choice, created, kind_badge
from assay.web.shell import View, crumbs, form, hidden
from assay.web.site import Site

MOST_QUEUED = 100
ORDERS = {
    "lowest": "lowest scores first",
    "disagreements": "where verdict and scores disagree",
    "random": "random, by seed",
}
"""How the queue is chosen."""
_DEFAULT_REVIEWER = "me"
_KEYS = (
    ("→ ←", "next, previous"),
    ("p, f", "pass, fail, and on to the next"),
    (f"{LOWEST_SCORE}–{HIGHEST_SCORE}", "score, and on to the next"),
    ("c", "write a comment; Esc leaves it"),
    ("u", "undo: withdraw what you said about the answer before"),
    ("?", "these keys"),
)
_NO_LABEL = "How far each metric agrees with you, as Cohen's κ with its interval, appears after the first label."


@dataclass(frozen=True, slots=True)
class Queue:
    """What a reviewer asked for."""

    run: str
    order: str = "lowest"
    seed: int = 0
    reviewer: str = _DEFAULT_REVIEWER
    at: int = 0

    def address(self, at: int) -> str:
        """The address of a place in the queue."""
        given = {"run": self.run, "order": self.order, "seed": self.seed or None, "reviewer": self.reviewer}
        return address("/review", **given, at=at or None)


def review_view(site: Site, asked: Queue) -> View:
    """An answer of the queue, with what can be said about it, and the agreement so far."""
    if not asked.run:
        return _choose(site)
    if asked.order not in ORDERS:
        raise UsageError(f"unknown order '{asked.order}'", hint=f"Use one of: {', '.join(ORDERS)}")
    entry = site.store.describe(asked.run)
    scores = scores_of(site.result(entry.run.id))
    queue = queued(scores, asked.order, asked.seed)
    if not queue:
        raise UsageError("the run has no answers to review")
    at = min(asked.at, len(queue) - 1)
    answer = queue[at]
    reviews = site.store.reviews(entry.run.id)
    mine = {_place(review): review for review in reviews if review["reviewer"] == asked.reviewer}
    said = mine.get(answer.place)
    labelled = sum(one.place in mine for one in queue)
    body = join(
        [
            STYLE,
            _controls(asked),
            _progress(asked, at, len(queue), labelled),
            _answer(entry.run.id, answer),
            _form(asked, at, answer, said),
            _help(),
            _agreements(scores, reviews),
        ]
    )
    name = entry.run.name or entry.run.id
    lead = element("p", "Is this answer good? Pass or fail it, or score it from 1 (bad) to 5 (excellent).")
    return View(
        content=Content(title=f"Review of {name}", lead=lead, body=body),
        place="review",
        above=crumbs(("Runs", "/runs"), (name, run_address(entry.run.id))),
        modules=("review.js",),
    )


def _choose(site: Site) -> View:
    found = site.store.search(Search(state="complete"), limit=MOST_QUEUED)
    rows: list[list[str]] = [
        [element("a", isolated(run.name or run.id), href=address("/review", run=run.id)), kind_badge(run.kind),
         f"{run.cases:,}", created(run.created)]
        for run in found.runs
        if run.kind in ("chat", "experiment")
    ]  # fmt: skip
    listed = table(["run", "kind", "scenarios", "created (UTC)"], rows, numeric=(2,), label="Runs with answers")
    nothing = element(
        "div",
        element("a", "Compare live", class_="button primary", href="/live"),
        element("p", "No run has answers yet. Talk to agents, and their answers can be reviewed here.", class_="muted"),
        class_="demo",
    )
    lead = element(
        "p", "Say which answers are good, by keyboard, and see how far the metrics agree with you.",
        " Choose a run." if rows else "",
    )  # fmt: skip
    content = Content(title="Review", lead=lead, body=listed if rows else nothing)
    return View(content=content, place="review", is_kept=bool(rows))


def queued(scores: Scores, order: str, seed: int) -> list[Answer]:
    """The answers to be labelled, at most 100."""
    answers = [answer for answer in scores.answers if answer.status == "scored"]
    if order == "random":
        random.Random(seed).shuffle(answers)
    elif order == "lowest":
        answers.sort(key=_mean_score)
    else:
        answers.sort(key=lambda answer: -abs(float(answer.passed) - _mean_score(answer)))
    return answers[:MOST_QUEUED]


def _mean_score(answer: Answer) -> float:
    measured = [entry.score for entry in answer.entries.values() if entry.measured]
    return sum(measured) / len(measured) if measured else 0.0


def _place(review: Mapping[str, Any]) -> AnswerPlace:
    return review["agent"], review["scenario"], review["repetition"], review["turn"]


# --- one answer -------------------------------------------------------------------------------------------------------


def _controls(asked: Queue) -> Markup:
    seed = element("input", type="number", name="seed", value=asked.seed, min=0, max=10**6, size=5)
    return form(
        "/review",
        hidden("run", asked.run),
        element("label", "Queue ", choice("order", "Queue", list(ORDERS.items()), asked.order)),
        element("label", "Seed ", seed) if asked.order == "random" else EMPTY,
        element("label", "Reviewer ", element("input", name="reviewer", value=asked.reviewer, maxlength=60, size=12)),
        element("button", "Show", type="submit"),
        method="get",
        class_="filters",
    )


def _progress(asked: Queue, at: int, total: int, labelled: int) -> Markup:
    before = (
        element("a", "←\N{NO-BREAK SPACE}previous", href=asked.address(at - 1), rel="prev") if at else element("span")
    )
    after = (
        element("a", "next\N{NO-BREAK SPACE}→", href=asked.address(at + 1), rel="next")
        if at + 1 < total
        else element("span")
    )
    words = element(
        "span", f"{at + 1} of {total}, {labelled} labelled ", element("progress", value=labelled, max=total)
    )
    return element("nav", before, words, after, class_="pager", aria_label="Queue")


def _answer(run_id: str, answer: Answer) -> Markup:
    place = f"{answer.agent} · {answer.scenario} · turn {answer.turn + 1}, repetition {answer.repetition + 1}"
    link = conversation_address(run_id, answer.scenario, answer.agent, answer.repetition, turn=answer.turn)
    # Scores and verdict are folded away: a reviewer who sees them first tends to agree.
    scored = details("What assay says", join([element("p", outcome(answer)), evidence(answer.entries)]), class_="why")
    said = element("p", answer.response, class_="said", dir="auto")
    head = element("p", isolated(place), " ", element("a", "whole conversation", href=link), class_="place muted")
    return element(
        "article", head, question(answer), said, tool_calls(answer.record) if answer.record else EMPTY, scored,
        class_="turn agent",
    )  # fmt: skip


def _form(asked: Queue, at: int, answer: Answer, said: Mapping[str, Any] | None) -> Markup:
    passed = None if said is None else said["passed"]
    score = None if said is None else said["score"]

    def button(name: str, value: str, words: str, key: str, pressed: bool) -> Markup:
        # A number is its own key.
        mark = EMPTY if words == key else join([" ", element("kbd", key, aria_hidden="true")])
        return element(
            "button", words, mark, type="submit", name=name, value=value, data_key=key,
            aria_pressed="true" if pressed else "false",
        )  # fmt: skip

    scores = (
        button("score", str(one), str(one), str(one), score == one) for one in range(LOWEST_SCORE, HIGHEST_SCORE + 1)
    )
    comment = element(
        "input", name="comment", value="" if said is None else said["comment"], maxlength=500,
        placeholder="comment (key c)", aria_label="Comment",
    )  # fmt: skip
    fields = (
        *(hidden(name, str(getattr(asked, name))) for name in ("run", "order", "seed", "reviewer")),
        hidden("at", str(at)),
        *(hidden(name, str(getattr(answer, name))) for name in ("agent", "scenario", "repetition", "turn")),
        hidden("was_passed", {True: "yes", False: "no", None: ""}[passed]),
        hidden("was_score", "" if score is None else str(score)),
        button("passed", "yes", "Pass", "p", passed is True),
        button("passed", "no", "Fail", "f", passed is False),
        element("span", *scores, class_="scores", role="group", aria_label="Score from 1, bad, to 5, excellent"),
        comment,
        button("undo", "yes", "Undo", "u", False),
    )
    return form("/review/label", *fields, class_="labelling", data_review="form")


def _help() -> Markup:
    rows = (element("li", element("kbd", keys), " ", words) for keys, words in _KEYS)
    keys = element("summary", "All keys ", element("kbd", "?"))
    return element("details", keys, element("ul", *rows, class_="keys"), class_="why", data_review="help")


def stored_label(site: Site, given: Mapping[str, str]) -> str:
    """Store what a form says about an answer, and give the address of the next one."""
    asked = Queue(given.get("run", ""), given.get("order", ""), _whole(given, "seed"), given.get("reviewer", ""))
    at = _whole(given, "at")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if given.get("undo"):
        queue = queued(scores_of(site.result(site.store.describe(asked.run).run.id)), asked.order, asked.seed)
        before = queue[min(max(at - 1, 0), len(queue) - 1)]
        nothing = Review(
            agent=before.agent,
            scenario=before.scenario,
            repetition=before.repetition,
            turn=before.turn,
            reviewer=asked.reviewer,
            created=now,
        )
        site.store.review(asked.run, nothing)
        return asked.address(max(at - 1, 0))
    passed = given.get("passed") or given.get("was_passed", "")
    score = given.get("score") or given.get("was_score", "")
    review = Review(
        agent=given.get("agent", ""),
        scenario=given.get("scenario", ""),
        repetition=_whole(given, "repetition"),
        turn=_whole(given, "turn"),
        reviewer=asked.reviewer,
        passed={"yes": True, "no": False}.get(passed),
        score=int(score) if score.isdecimal() else None,
        comment=given.get("comment", "")[:500],
        created=now,
    )
    site.store.review(asked.run, review)
    return asked.address(at + 1)


def _whole(given: Mapping[str, str], name: str) -> int:
    text = given.get(name, "0") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"'{name}' must be a whole number")
    return int(text)


# --- agreement --------------------------------------------------------------------------------------------------------


def _agreements(scores: Scores, reviews: Sequence[Mapping[str, Any]]) -> Markup:
    labels = [
        Label(
            agent=review["agent"],
            scenario=review["scenario"],
            repetition=review["repetition"],
            turn=review["turn"],
            label=label,
            by=review["reviewer"],
        )
        for review in reviews
        if (label := label_of(review)) is not None
    ]
    if not labels:
        return section("Agreement", element("p", _NO_LABEL, class_="muted"), anchor="agreement")
    found = calibrate(scores, labels)
    rows = [_row(one) for one in found.agreements]
    header = ["metric", "n", "κ", "both good", "too kind", "too strict", "neither"]
    explained = (
        f"{counted(found.labels, 'label')} of {counted(found.answers, 'answer')}. κ is 1 for full agreement and 0 for "
        "no better than chance; its interval is over scenarios. Too kind: it says good and people do not."
    )
    return section(
        "Agreement with reviewers",
        element("p", explained) + table(header, rows, label="Agreement") + _between(labels),
        anchor="agreement",
    )


def label_of(review: Mapping[str, Any]) -> float | None:
    """A review as a label between 0 and 1: the verdict if there is one, else the score; None if there is neither."""
    if review["passed"] is not None:
        return float(review["passed"])
    if review["score"] is not None:
        return float((review["score"] - LOWEST_SCORE) / (HIGHEST_SCORE - LOWEST_SCORE))
    return None


def _row(one: Agreement) -> list[str]:
    cells = (one.both, one.too_kind, one.too_strict, one.neither)
    return [element("code", one.metric), str(one.n), _kappa(one.kappa), *map(str, cells)]


def _kappa(estimate: Estimate) -> Markup:
    if estimate.value is None:
        return join(["–"])
    ends = EMPTY
    if estimate.low is not None and estimate.high is not None:
        ends = element("small", f"[{_signed(estimate.low)}, {_signed(estimate.high)}]")
    return join([_signed(estimate.value), ends])


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "\u2212")


def _between(labels: Sequence[Label]) -> Markup:
    """Cohen's κ of each pair of reviewers on the answers that both labelled."""
    by_reviewer: dict[str, dict[AnswerPlace, float]] = {}
    for label in labels:
        by_reviewer.setdefault(label.by, {})[label.key] = label.label
    rows = []
    for one, other in combinations(by_reviewer, 2):
        common = sorted(by_reviewer[one].keys() & by_reviewer[other].keys())
        if not common:
            continue
        said = [[by_reviewer[name][place] >= 0.5 for place in common] for name in (one, other)]
        agreed = kappa(said[0], said[1], groups=[place[1] for place in common])
        rows.append([join([isolated(one), " and ", isolated(other)]), str(len(common)), _kappa(agreed)])
    if not rows:
        return EMPTY
    return element("h3", "Between reviewers") + table(["reviewers", "answers", "κ"], rows, label="Between reviewers")
