"""The page about agents says what happened, names what is missing, and reads without scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.compare.conftest import chat_run
from tests.report.agent_pages import render, write
from tests.report.agent_scores import answer, experience, scored, scores, without_times
from tests.report.terminal.printing import printed

from assay.chat.experience import Experience
from assay.chat.scoring.answers import Answer, FailedCheck
from assay.chat.scoring.scores import Scores
from assay.compare import compare, side_of
from assay.compare.skill import skill_over
from assay.compare.standing import Standing, WeightRange
from assay.compare.weights import Weights
from assay.errors import UsageError
from assay.report.html.agents.standing import range_words, sentence
from assay.report.html.conversation import MOST_ANSWERS
from assay.report.overall import fixed

NOTES = ("The model is a scripted stand-in.",)


@pytest.fixture(scope="module")
def plausible() -> Scores:
    return scores()


@pytest.fixture(scope="module")
def page(plausible: Scores) -> str:
    return render(plausible, experience=experience(), notes=NOTES, suite="weather@1")


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (None, "–"),
        (WeightRange(), "any weight"),
        (WeightRange(0, 7.5, None, "b"), "any weight up to 5"),
        (WeightRange(0, 2.5, None, "b"), "0 to 2.50; above b"),
        (WeightRange(0.5, 9.0, "a", "b"), "0.50 to 5; below a"),
        (WeightRange(0.5, float("inf"), "a"), "0.50 and more; below a"),
        (WeightRange(0.5, 0.625, "a", "b"), "0.50 to 0.63; below a; above b"),
        (WeightRange(1.0, 1.0, "a", "b"), "only at 1.00"),
    ],
)
def test_ranges_in_words(kept: WeightRange | None, words: str) -> None:
    assert re.sub("</?bdi>", "", range_words(kept)) == words


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing({}, (), ()), "Nothing counts: give something a weight above 0."),
        (Standing({"a": 0.5}, ("a",), ("a",)), "a has 0.500 overall."),
        (Standing({"a": 0.75, "b": 0.5}, ("a", "b"), ("a",)), "a comes first with 0.750, 0.250 ahead of b."),
        (Standing({"a": 0.5, "b": 0.5}, ("a", "b"), ("a", "b")), "a and b tie for first with 0.500."),
        (Standing(dict.fromkeys("abc", 0.5), tuple("abc"), tuple("abc")), "a, b and c tie for first with 0.500."),
    ],
)
def test_the_standing_in_a_sentence(standing: Standing, words: str) -> None:
    assert re.sub("</?bdi>", "", sentence(standing)) == words


@pytest.mark.parametrize(("value", "text"), [(0.0625, "0.063"), (0.1235, "0.123"), (2.0, "2.000"), (0.0, "0.000")])
def test_numbers_are_rounded_as_the_script_does(value: float, text: str) -> None:
    # 0.0625 is exact, a half, and goes up; 0.1235 is a little less than it looks.
    assert fixed(value, 3) == text


# --- the page -------------------------------------------------------------------------------------------------------


def markup(page: str) -> str:
    """The page without its scripts."""
    return re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)


def titles(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", markup(page))


@pytest.mark.slow
def test_the_page_has_every_section_and_the_notes(page: str) -> None:
    assert titles(page) == [
        "Overall",
        "Cost",
        "Scenario by scenario",
        "Checks that failed",
        "Metrics",
        "Where the time goes",
        "Faults survived",
        "Repetitions",
        "Developer experience",
        "Answers",
    ]
    assert "The model is a scripted stand-in." in page.split("<h2>")[0]
    assert "weather@1" in page.split("<h2>")[0]


def test_the_page_reads_without_scripts(plausible: Scores, page: str) -> None:
    plain = markup(page)
    assert "comes first with" in plain
    assert plain.count('<tr data-agent="') == 5
    assert "Changing the weights needs JavaScript" in plain
    # The sliders do nothing without the script, and say so by being disabled.
    assert plain.count('<input type="range"') == plain.count('autocomplete="off" disabled')


def test_the_page_is_of_a_reasonable_size(page: str) -> None:
    assert len(page.encode()) < 6_000_000


def test_every_link_has_a_target_and_every_anchor_is_unique(page: str) -> None:
    anchors = re.findall(r' id="([^"]*)"', markup(page))
    assert len(set(anchors)) == len(anchors)
    links = re.findall(r'href="#([^"]*)"', markup(page))
    assert set(links) <= set(anchors)
    # Every cell of the matrix that was played leads to its answers.
    assert len([link for link in links if re.fullmatch(r"s\d+-a\d+", link)]) == 5 * 70


def test_what_does_not_fit_is_in_the_page_compressed(plausible: Scores, page: str) -> None:
    number = page.count('<p class="place">')
    assert MOST_ANSWERS - 2 <= number <= MOST_ANSWERS
    parts = parts_in(page)
    folded = [one for part in parts for one in part]
    assert number + sum(one.count('<p class="place">') for one in folded) == len(plausible.answers)
    places = re.findall(r'data-part="(\d+)" data-item="(\d+)">(\d+) further', page)
    assert len(places) == len(folded)
    for part, item, count in places:
        assert parts[int(part)][int(item)].count('<p class="place">') == int(count)


def parts_in(page: str) -> list[list[str]]:
    """The compressed parts of a page, inflated."""
    found = re.search(r'<script type="application/json" id="assay-answers">(.*?)</script>', page)
    assert found is not None
    return [json.loads(gzip.decompress(base64.b64decode(part))) for part in json.loads(found[1])["parts"]]


def test_every_cell_that_was_played_leads_to_its_answers(page: str) -> None:
    cells = re.findall(r'<a class="cell [a-z]+" href="#(s\d+-a\d+)"', page)
    assert cells
    assert {f'id="{anchor}"' for anchor in cells} <= set(re.findall(r'id="s\d+-a\d+"', page))
    assert not re.findall(r'<td><span class="cell (?:all|some|none|failed|skipped)"', page)


def test_scenarios_that_differ_come_first_and_the_others_are_folded_away() -> None:
    text = render(
        scored(
            *(answer(agent, "alike") for agent in ("adk", "lang")),
            answer("adk", "apart"),
            answer("lang", "apart", passed=False, status="failed", reason="boom <b>"),
        )
    )
    section = text.split("<h2>Scenario by scenario</h2>")[1].split("<h2>")[0]
    assert (
        section.index("1 scenario where agents differ") < section.index("apart") < section.index("<summary>1 where all")
    )
    assert section.index("<summary>1 where all agree") < section.index(">alike<")
    assert 'title="lang: failed, 0 of 1; failed: boom &lt;b&gt;"' in section
    assert "<li><bdi>lang</bdi>: <bdi>failed: boom &lt;b&gt;</bdi></li>" in section
    # Colour never says it alone: a mark and the counts do too.
    assert "0/1 !</a>" in section
    assert "1/1 ✓</a>" in section


def test_scored_transcripts_have_no_times_and_no_faults(plausible: Scores) -> None:
    few = Scores(plausible.answers[:40], plausible.metrics)
    found = titles(render(without_times(few)))
    assert "Overall" in found
    assert not {"Where the time goes", "Faults survived", "Developer experience", "Verdicts"} & set(found)


@pytest.mark.parametrize(
    ("answers", "title"),
    [
        ((), "Overall"),
        ((answer("adk", "one"),), "Overall"),
        ((answer("adk", "one", status="skipped"),), "Nothing was played"),
    ],
)
def test_a_page_needs_only_one_answer_or_none(answers: tuple[Answer, ...], title: str) -> None:
    assert f"<h2>{title}</h2>" in render(scored(*answers))
    assert printed(scored(*answers))


def test_criteria_left_out_of_the_overall_are_named() -> None:
    text = render(scored(answer("adk", "one"), answer("lang", "one", score=None)))
    assert "<code>accuracy</code> (not measured for lang)" in text


def test_a_lead_that_may_be_chance_is_called_that() -> None:
    some = [answer(a, f"s{at}", score=1.0 if a == "adk" and at == 0 else 0.5) for at in range(9) for a in ("adk", "b")]
    assert "it contains 0, so the lead may be chance" in render(scored(*some))
    sure = [answer(a, f"s{at}", score=1.0 if a == "adk" else 0.5) for at in range(9) for a in ("adk", "b")]
    assert "that is more than the choice of scenarios explains" in render(scored(*sure))


def test_the_page_may_open_with_other_weights() -> None:
    some = scored(answer("adk", "one", score=0.5), answer("lang", "one", passed=False, score=1.0))
    # All passed and half a score, against no pass and a whole score: (5 · 1 + 0.5) / 6 and (5 · 0 + 1) / 6.
    assert "<bdi>adk</bdi> comes first with 0.917, 0.750 ahead of <bdi>lang</bdi>" in render(some)
    alike = render(some, weights=Weights())
    assert "<bdi>adk</bdi> comes first with 0.750, 0.250 ahead of <bdi>lang</bdi>" in alike
    # Half a pass is worth as much as half a score.
    tied = render(some, weights=Weights({"trials_passed": 0.5}))
    assert "<bdi>adk</bdi> and <bdi>lang</bdi> tie for first with 0.667." in tied
    nothing = render(some, weights=Weights({"trials_passed": 0, "accuracy": 0}))
    assert "Nothing counts" in nothing


def test_claims_are_shown_with_measurements(page: str) -> None:
    section = page.split("<h2>Developer experience</h2>")[1].split("<h2>")[0]
    assert '<bdi>4</bdi><small><span class="warn">≠</span> claimed <bdi>5</bdi></small>' in section
    assert "<bdi>low</bdi><small>claimed <bdi>low</bdi></small>" in section
    # What consists of parts is shown part by part, and of several places those that apply.
    assert "fault: answered" in section
    assert "<td><bdi>log, stderr</bdi></td><td><bdi>log</bdi></td><td><bdi>none</bdi></td>" in section
    assert "Lines of its own source that are neither blank nor comment." in section


def test_a_missing_measurement_shows_its_reason() -> None:
    some = scored(answer("adk", "one"), answer("lang", "one"))
    known = experience(("adk", "lang"))
    memory = known["lang"].characteristics.pop("memory")
    assert memory
    known["adk"].measured["packages"] = 41
    gone = {"installation": "not installed: <lang>", "fault": "the turn took more than 9 seconds"}
    known["lang"] = replace(known["lang"], absent=gone)
    section = render(some, experience=known).split("<h2>Developer experience</h2>")[1].split("<h2>")[0]
    why = "<td><bdi>–</bdi><small><bdi>not installed: &lt;lang&gt;</bdi></small>"
    # The memory, and the number of packages, which the other has.
    assert section.count(why) == 2
    # A claim stands below the reason.
    assert f"{why}<small>" in section
    # It has words for its errors after all, and nothing else is missing.
    assert "9 seconds" not in section
    assert "lang, installation: not installed: <lang>" in "\n".join(printed(some, experience=known))
    # Nor is it left unsaid where no agent has the figure.
    alone = Experience("adk", absent={"fault": "boom"})
    section = render(some, experience={"adk": alone}).split("<h2>Developer experience</h2>")[1].split("<h2>")[0]
    assert section.count("<bdi>–</bdi><small><bdi>boom</bdi></small>") == 2


def test_an_agent_without_scores_is_named_and_the_others_keep_their_overall() -> None:
    late = [answer("late", "one", False, turn=at, status="skipped", reason="not installed: <late>") for at in range(2)]
    some = scored(answer("adk", "one"), answer("lang", "one", score=0.5), *late)
    text = render(some).split("<h2>Overall</h2>")[1].split("<h2>")[0]
    assert "<bdi>adk</bdi> comes first with" in text
    left_out = "<bdi>late</bdi> (<bdi>not installed: &lt;late&gt;</bdi>)."
    assert f"Not in the overall score, because no turn was scored: {left_out}" in text
    assert text.count("<tr data-agent=") == 2
    lines = "\n".join(printed(some))
    assert "Not in the overall score, no turn was scored: late, not installed: <late>" in lines
    assert "adk is" in lines
    nobody = scored(*late)
    assert "<bdi>not installed: &lt;late&gt;</bdi>" in render(nobody).split("<h2>Nothing was played</h2>")[1]
    assert "Nothing was played: every trial was skipped.\nlate: 1 trial skipped: not installed" in "\n".join(
        printed(nobody)
    )


def test_failures_are_shown_with_the_agent_in_the_overall() -> None:
    broken = [answer("lang", f"s{at}", False, status="failed", reason="boom") for at in range(2)]
    some = scored(*(answer(agent, f"s{at}") for agent in ("adk", "lang") for at in range(2, 4)), *broken)
    rows = re.findall(r"<tr data-agent=.*</tr>", render(some))
    assert ["2 failed" in row for row in rows] == [False, True]
    assert '<bdi>lang</bdi> <span class="bad">2 failed</span>' in rows[1]
    lines = printed(some)
    # Half of the trials and of the turns, each with weight 5, and accuracy: (2.5 + 2.5 + 1) / 11.
    assert any(re.match(r"2 +lang +2 failed +0\.545 ", line) for line in lines), lines[:12]
    assert any(re.match(r"1 +adk +1\.000 ", line) for line in lines)


def test_verdicts_against_the_first_agent() -> None:
    run = chat_run({agent: {"accuracy": [[level]] * 20} for agent, level in (("adk", 0.9), ("lang", 0.5))}, "run")
    found = compare(side_of(run, "adk"), side_of(run, "lang"))
    section = render(scored(answer("adk", "one")), comparisons=[found]).split("<h2>Verdicts</h2>")[1].split("<h2>")[0]
    assert "Each against <b><bdi>adk</bdi></b>" in section
    assert '<span class="bad">worse</span><small>−0.400</small>' in section


def test_long_tool_calls_are_shortened() -> None:
    calls = [{"name": "get", "arguments": {"city": "x" * 900}, "error": "<late>", "duration": 0.0123}] * 25
    text = render(scored(answer("adk", "one", tool_calls=calls)))
    assert text.count("<li><code>get {&#34;city&#34;") == 20
    assert "<li>and 5 more</li>" in text
    assert "x" * 300 not in text
    assert '<span class="muted">12\u00a0ms</span> <span class="bad">error: <bdi>&lt;late&gt;</bdi></span>' in text


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the report"):
        write(scored(answer("adk", "one")), tmp_path / "none" / "page.html")
    assert write(scored(answer("adk", "one")), tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")


def test_the_page_shows_the_skill_over_baselines_and_marks_metrics() -> None:
    agents = scored(answer("adk", "one", score=0.5), answer("adk", "two", passed=False, score=0.5))
    baselines = scored(answer("stock", "one", passed=False), answer("stock", "two", passed=False))
    shown = markup(render(agents, skill=skill_over(agents, baselines)))
    part = shown.split('id="baselines"')[1].split("<h2>")[1]
    assert "50 %" in part
    assert "0.50" in part
    assert "<small>baseline</small>" in part
    assert "These metrics do not tell agents from baselines here" in part
    assert ">≈</abbr>" in shown
    assert "Baselines" not in titles(render(agents))


def test_the_page_names_failed_checks_and_escapes_their_words() -> None:
    failure = FailedCheck('says "<i>"', "<b>why</b>", "<script>alert(1)</script>")
    page = render(scored(replace(answer("adk", "one", passed=False), failures=(failure,)), answer("adk", "two")))
    part = page.split("<h2>Checks that failed</h2>")[1].split("<h2>")[0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in part
    assert "&lt;b&gt;why&lt;/b&gt;" in part
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2  # in the table, and with the answer
    assert "<b>why</b>" not in page


def test_a_run_in_which_everything_was_skipped_says_why_and_has_no_empty_tables() -> None:
    reason = "the fault <slow> cannot reach it"
    skipped = [answer("a", f"s{at}", False, status="skipped", reason=reason) for at in range(3)]
    text = render(scored(*skipped))
    titles = re.findall(r"<h2[^>]*>([^<]+)", text)
    assert titles[0] == "Nothing was played"
    assert not {"Overall", "Metrics", "Where the time goes", "Repetitions", "Baselines"} & set(titles)
    assert "the fault &lt;slow&gt; cannot reach it" in text
    # As soon as one turn was played, the tables are there.
    played = render(scored(*skipped, answer("a", "s3", False, status="failed", reason="no")))
    assert "Nothing was played" not in played
