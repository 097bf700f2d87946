"""The side-by-side of agents says what happened, holds any text without running it, and fits where it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.compare.conftest import chat_run
from tests.report.agent_scores import AGENTS, HOSTILE, experience, scores, without_times
from tests.report.html.test_page import Reader

from assay.chat.experience import Experience as Measured
from assay.chat.scoring.answers import Answer, Record, Status
from assay.chat.scoring.metric import Entry, Metric
from assay.chat.scoring.scores import Scores
from assay.chat.transcript import ToolCall
from assay.compare import compare
from assay.compare.overall import Range, Standing, Weights
from assay.errors import UsageError
from assay.report.facts import accounts, counts, faults, matrix, times
from assay.report.html.agents import render, write
from assay.report.html.agents.standing import range_words, sentence, shown
from assay.report.html.chat import MOST_ANSWERS
from assay.report.terminal.agents import side_by_side

METRIC = Metric("accuracy", "functional", 1.0, (), "Does it agree?")
HOSTILE_AGENTS = tuple(f"{text} {agent}" for text, agent in zip(HOSTILE, AGENTS, strict=False))
NOTES = ("The model is a scripted stand-in.",)


@pytest.fixture(scope="module")
def plausible() -> Scores:
    return scores()


@pytest.fixture(scope="module")
def page(plausible: Scores) -> str:
    return render(plausible, experience=experience(), notes=NOTES, suite="weather@1")


@pytest.fixture(scope="module")
def hostile() -> Scores:
    return scores(HOSTILE_AGENTS, scenarios=12, hostile=True)


def answer(
    agent: str,
    scenario: str,
    passed: bool = True,
    *,
    repetition: int = 0,
    turn: int = 0,
    status: Status = "scored",
    reason: str = "",
    score: float | None = 1.0,
    **record: object,
) -> Answer:
    entries = {}
    if status == "scored" and score is not None:
        entries["accuracy"] = Entry.make(METRIC, score, measured=True, details="", evidence=[])
    made = Record.model_validate({"status": status, "reason": reason, **record})
    return Answer(
        agent=agent,
        scenario=scenario,
        repetition=repetition,
        turn=turn,
        query="question",
        response="answer",
        entries=entries,
        passed=passed,
        record=made,
    )


def scored(*answers: Answer) -> Scores:
    return Scores(answers, (METRIC,))


# --- what is counted -------------------------------------------------------------------------------------------------


def test_a_trial_ends_as_its_worst_turn() -> None:
    ended = counts(
        [
            answer("adk", "one"),
            answer("adk", "one", turn=1, status="failed", passed=False),
            answer("adk", "two", status="skipped", passed=False),
            answer("adk", "three"),
            answer("adk", "three", repetition=1),
        ]
    )
    assert (ended.scored, ended.skipped, ended.failed, ended.total) == (2, 1, 1, 4)


def test_cells_count_repetitions_and_keep_every_reason_once() -> None:
    rows = matrix(
        scored(
            answer("adk", "one"),
            answer("adk", "one", repetition=1, status="failed", passed=False, reason="boom"),
            answer("adk", "one", repetition=2, status="failed", passed=False, reason="boom"),
            *(
                answer("lang", "one", turn=at, status="skipped", passed=False, reason="not installed")
                for at in range(2)
            ),
        )
    )
    adk, lang = rows[0].cells
    assert (adk.passed, adk.trials, adk.failed, adk.skipped, adk.state) == (1, 3, 2, 0, "some")
    assert adk.reasons == ("failed: boom",)
    assert (lang.trials, lang.skipped, lang.state, lang.reasons) == (0, 1, "skipped", ("skipped: not installed",))
    assert rows[0].differs


@pytest.mark.parametrize(
    ("adk", "lang", "differs"),
    [((True, True), (True, True), False), ((True, False), (False, True), False), ((True, True), (True, False), True)],
)
def test_agents_differ_where_another_share_passes(adk: Sequence[bool], lang: Sequence[bool], differs: bool) -> None:
    some = [
        answer(agent, "one", passed, repetition=at)
        for agent, trials in (("adk", adk), ("lang", lang))
        for at, passed in enumerate(trials)
    ]
    assert matrix(scored(*some))[0].differs is differs


def test_a_scenario_that_one_agent_never_played_is_absent_and_differs() -> None:
    rows = matrix(scored(answer("adk", "one"), answer("adk", "two"), answer("lang", "one")))
    (two,) = [row for row in rows if row.scenario == "two"]
    assert two.cells[1].state == "absent"
    assert two.differs


def test_kinds_stay_together_and_the_furthest_apart_come_first() -> None:
    rows = matrix(
        scored(
            *(answer(agent, "a1", kind="a") for agent in ("adk", "lang")),
            *(answer(agent, "b1", kind="b") for agent in ("adk", "lang")),
            *(answer(agent, "a2", passed=agent == "adk", kind="a") for agent in ("adk", "lang")),
        )
    )
    assert [row.scenario for row in rows] == ["a2", "a1", "b1"]


def test_the_parts_of_a_typical_turn_add_up_and_what_is_left_is_the_frameworks() -> None:
    # Ten turns of 100 ms: 60 the model, 30 tools, so 10 are left; and one that took a minute.
    usual = [answer("adk", f"s{at}", wall=0.1, model=0.06, tools=0.03, model_calls=2) for at in range(10)]
    slow = answer("adk", "slow", wall=60.0, model=59.0, tools=0.5, model_calls=2)
    found = times(scored(*usual, slow), "adk")
    assert found.typical == pytest.approx({"model": 0.06, "tools": 0.03, "framework": 0.01})
    assert sum(found.typical.values()) == pytest.approx(0.1)
    assert found.wall is not None
    assert found.wall[0] == pytest.approx(0.1)
    assert found.overhead.value == pytest.approx(0.01)
    assert (found.turns, found.model_calls, found.tool_calls) == (11, 2, 0)
    assert found.first_text is None
    assert found.input_tokens is None


def test_failed_turns_have_no_times() -> None:
    failed = answer("adk", "one", passed=False, status="failed", wall=9.0, model=1.0, tools=1.0)
    assert times(scored(failed), "adk").turns == 0


def test_a_framework_that_counts_otherwise_is_found() -> None:
    call = ToolCall(name="get")
    found = accounts(
        scored(
            answer("adk", "one", own_tool_calls=1, tool_calls=[call], own_tokens=12, input_tokens=10, output_tokens=2),
            answer("adk", "two", own_tool_calls=2, tool_calls=[call], own_tokens=13, input_tokens=10, output_tokens=2),
            answer("adk", "three"),
        ),
        "adk",
    )
    assert found.tool_calls == found.tokens == (1, 2)
    assert [what for _, what in found.differing] == ["2 tool calls, by spans 1", "13 tokens, by spans 12"]


def test_a_fault_is_survived_where_the_turn_is_scored_and_passes() -> None:
    found = faults(
        scored(
            answer("adk", "one", fault="timeout"),
            answer("adk", "one", passed=False, repetition=1, fault="timeout"),
            answer("adk", "one", passed=False, repetition=2, fault="timeout", status="failed", reason="boom"),
            answer("adk", "two", passed=False, fault="timeout", status="skipped"),
            answer("lang", "one"),
        )
    )
    adk, lang = found["timeout"]
    assert (adk.survived, adk.turns, adk.failed, adk.errors) == (1, 3, 1, {"boom": 1})
    assert lang.turns == 0


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (None, "–"),
        (Range(), "any weight"),
        (Range(0, 7.5, None, "b"), "any weight to 5"),
        (Range(0, 2.5, None, "b"), "0 to 2.50; above b"),
        (Range(0.5, 9.0, "a", "b"), "0.50 to 5; below a"),
        (Range(0.5, float("inf"), "a"), "0.50 and more; below a"),
        (Range(0.5, 0.625, "a", "b"), "0.50 to 0.63; below a; above b"),
        (Range(1.0, 1.0, "a", "b"), "only at 1.00"),
    ],
)
def test_ranges_in_words(kept: Range | None, words: str) -> None:
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
    assert shown(value, 3) == text


# --- the page --------------------------------------------------------------------------------------------------------


def markup(page: str) -> str:
    """The page without its scripts."""
    return re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)


def titles(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", markup(page))


class Attributes(HTMLParser):
    """The names of all attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attrs}


def test_the_page_has_every_section_and_the_notes(page: str) -> None:
    assert titles(page) == [
        "Overall",
        "Scenario by scenario",
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
    assert "Moving them needs JavaScript" in plain
    # The sliders do nothing without the script, and say so by being disabled.
    assert plain.count('<input type="range"') == plain.count('autocomplete="off" disabled')


def test_the_page_is_of_a_reasonable_size(page: str) -> None:
    assert len(page.encode()) < 6_000_000


def test_every_link_leads_somewhere_and_every_anchor_is_one(page: str) -> None:
    anchors = re.findall(r' id="([^"]*)"', markup(page))
    assert len(set(anchors)) == len(anchors)
    links = re.findall(r'href="#([^"]*)"', markup(page))
    assert set(links) <= set(anchors)
    # Every cell of the matrix that was played leads to its answers.
    assert len([link for link in links if re.fullmatch(r"s\d+-a\d+", link)]) == 5 * 70


def test_answers_are_capped_and_that_is_said(plausible: Scores, page: str) -> None:
    number = page.count('<p class="place">')
    assert MOST_ANSWERS - 2 <= number <= MOST_ANSWERS
    assert f"{len(plausible.answers) - number:,} further answers are left out" in page


def test_what_differs_comes_first_and_what_agrees_is_folded_away() -> None:
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


def test_text_of_others_cannot_leave_its_place(hostile: Scores) -> None:
    text = render(hostile, experience=experience(HOSTILE_AGENTS), notes=HOSTILE, suite=HOSTILE[1])
    reader = Reader(text)
    # Two blocks of data, our two scripts, three libraries, and the one that draws.
    assert len(reader.scripts) == 8
    assert json.loads(reader.scripts[0])["agents"] == list(HOSTILE_AGENTS)
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(reader.tags)
    assert all(address.startswith("#") or address == "data:," for address in reader.addresses)
    names = Attributes(text).names
    assert {"href", "style", "title"} <= names
    assert not {name for name in names if name.startswith("on")}


def test_what_was_not_run_but_scored_has_no_times_and_no_faults(plausible: Scores) -> None:
    few = Scores(plausible.answers[:40], plausible.metrics)
    found = titles(render(without_times(few)))
    assert "Overall" in found
    assert not {"Where the time goes", "Faults survived", "Developer experience", "Verdicts"} & set(found)


@pytest.mark.parametrize("answers", [(), (answer("adk", "one"),), (answer("adk", "one", status="skipped"),)])
def test_little_is_no_problem(answers: tuple[Answer, ...]) -> None:
    assert "<h2>Overall</h2>" in render(scored(*answers))
    assert printed(scored(*answers))


def test_what_is_left_out_of_the_overall_is_said() -> None:
    text = render(scored(answer("adk", "one"), answer("lang", "one", score=None)))
    assert "<code>accuracy</code> (not measured for lang)" in text


def test_a_lead_that_may_be_chance_is_called_that() -> None:
    some = [answer(a, f"s{at}", score=1.0 if a == "adk" and at == 0 else 0.5) for at in range(9) for a in ("adk", "b")]
    assert "it holds 0, so the lead may be chance" in render(scored(*some))
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


def test_claims_stand_beside_what_was_measured(page: str) -> None:
    section = page.split("<h2>Developer experience</h2>")[1].split("<h2>")[0]
    assert '<bdi>4</bdi><small><span class="warn">≠</span> claimed <bdi>5</bdi></small>' in section
    assert "<bdi>low</bdi><small>claimed <bdi>low</bdi></small>" in section
    # What consists of parts is shown part by part, and of several places those that apply.
    assert "fault: answered" in section
    assert "<td><bdi>log, stderr</bdi></td><td><bdi>log</bdi></td><td><bdi>none</bdi></td>" in section
    assert "Lines of its own source that are neither blank nor comment." in section


def test_what_could_not_be_measured_says_why() -> None:
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
    alone = Measured("adk", absent={"fault": "boom"})
    section = render(some, experience={"adk": alone}).split("<h2>Developer experience</h2>")[1].split("<h2>")[0]
    assert section.count("<bdi>–</bdi><small><bdi>boom</bdi></small>") == 2


def test_an_agent_that_was_not_scored_is_named_and_the_others_keep_their_overall() -> None:
    late = [answer("late", "one", False, turn=at, status="skipped", reason="not installed: <late>") for at in range(2)]
    some = scored(answer("adk", "one"), answer("lang", "one", score=0.5), *late)
    text = render(some).split("<h2>Overall</h2>")[1].split("<h2>")[0]
    assert "<bdi>adk</bdi> comes first with" in text
    assert "not in the overall: <bdi>late</bdi> (<bdi>not installed: &lt;late&gt;</bdi>)." in text
    assert text.count("<tr data-agent=") == 2
    lines = "\n".join(printed(some))
    assert "Not in the overall, no turn was scored: late, not installed: <late>" in lines
    assert "adk is" in lines
    nobody = scored(*late)
    assert "<bdi>late</bdi> (<bdi>not installed" in render(nobody)
    assert "no turn was scored: late" in "\n".join(printed(nobody))


def test_failures_stand_beside_the_agent_in_the_standing() -> None:
    broken = [answer("lang", f"s{at}", False, status="failed", reason="boom") for at in range(2)]
    some = scored(*(answer(agent, f"s{at}") for agent in ("adk", "lang") for at in range(2, 4)), *broken)
    rows = re.findall(r"<tr data-agent=.*</tr>", render(some))
    assert ["2 failed" in row for row in rows] == [False, True]
    assert '<bdi>lang</bdi> <span class="bad">2 failed</span>' in rows[1]
    lines = printed(some)
    assert any(re.match(r"2 +lang +2 failed +0\.583 ", line) for line in lines), lines[:12]
    assert any(re.match(r"1 +adk +1\.000 ", line) for line in lines)


def test_verdicts_against_the_first_agent() -> None:
    run = chat_run({agent: {"accuracy": [[level]] * 20} for agent, level in (("adk", 0.9), ("lang", 0.5))}, "run")
    from assay.compare import side_of

    found = compare(side_of(run, "adk"), side_of(run, "lang"))
    section = render(scored(answer("adk", "one")), comparisons=[found]).split("<h2>Verdicts</h2>")[1].split("<h2>")[0]
    assert "Each against <b><bdi>adk</bdi></b>" in section
    assert '<span class="bad">worse</span><small>−0.400</small>' in section


def test_tool_calls_are_shown_cut_where_they_are_long() -> None:
    calls = [{"name": "get", "arguments": {"city": "x" * 900}, "error": "<late>", "duration": 0.0123}] * 25
    text = render(scored(answer("adk", "one", tool_calls=calls)))
    assert text.count("<li><code>get {&quot;city&quot;") == 20
    assert "<li>and 5 more</li>" in text
    assert "x" * 300 not in text
    assert '<span class="muted">12\u00a0ms</span> <span class="bad">error: <bdi>&lt;late&gt;</bdi></span>' in text


def test_a_page_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the report cannot be written"):
        write(scored(answer("adk", "one")), tmp_path / "none" / "page.html")
    assert write(scored(answer("adk", "one")), tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")


# --- the terminal ----------------------------------------------------------------------------------------------------


def printed(given: Scores, *, width: int = 80, **parts: object) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(side_by_side(given, **parts))  # type: ignore[arg-type]
    return out.getvalue().splitlines()


@pytest.mark.parametrize("number", [1, 3, 5, 7])
@pytest.mark.parametrize("nasty", [False, True])
def test_any_number_of_agents_fits_80_columns(number: int, nasty: bool) -> None:
    agents = [f"{HOSTILE[at % 6] if nasty else ''}{AGENTS[at % 5]}-{at}" for at in range(number)]
    lines = printed(
        scores(agents, scenarios=8, repetitions=2, hostile=nasty),
        experience=experience(agents),
        notes=HOSTILE if nasty else NOTES,
        suite="weather@1",
    )
    assert max(map(cell_len, lines)) <= 80
    text = "\n".join(lines)
    # No number is cut: what is too long is a name.
    assert not re.search(r"[\d.\[]…", text.replace("-…", ""))
    assert all(line.isprintable() for line in lines)
    for title in ("Overall", "Metrics", "Where the time goes", "Faults survived", "Repetitions"):
        assert any(line.startswith(title) for line in lines)
    for at in range(1, number + 1):
        assert re.search(rf"(?m)\b{at} ", text)


def test_the_terminal_says_who_leads_and_what_would_change_it(plausible: Scores) -> None:
    text = " ".join(" ".join(printed(plausible, notes=NOTES)).split())
    assert "1,050 trials: 994 scored, 9 skipped, 47 failed" in text
    assert "agent-framework is 0.011 ahead of openai-agents, [+0.003, +0.019]: more than the choice of" in text
    assert "agent-framework 7 failed 0.853" in text
    assert "Overall · trials passed weigh 5" in text
    assert "The lead comes from groundedness +0.00" in text
    assert "developer experience is below 0.10 (google-adk)" in text
    assert "The model is a scripted stand-in." in text


def test_a_wider_terminal_shows_longer_names() -> None:
    name = "a-name-longer-than-what-the-times-leave"
    long = scores([name, "other"], scenarios=8)
    narrow, wide = (
        "\n".join(printed(long, width=width)).split("Where the time goes")[1].split("\n\n")[0] for width in (80, 160)
    )
    assert name not in narrow
    assert name in wide
