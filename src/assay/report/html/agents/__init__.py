"""The HTML page about agents side by side: who comes first and how surely, where they differ, and every answer.

render(scores, …)          the page as text
write(scores, path, …)     the page as a file

A file of this package for each section; what they show is counted in `facts`. All text of scenarios, agents, tools and
users is untrusted and is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from assay import __version__
from assay.chat.scoring.scores import Scores
from assay.compare import Comparison
from assay.compare.overall import OPENING, Weights, overall
from assay.errors import UsageError
from assay.report.facts import counts, matrix
from assay.report.html.agents.answers import answers
from assay.report.html.agents.building import Experience, building
from assay.report.html.agents.cells import cells
from assay.report.html.agents.robustness import repetitions, survived
from assay.report.html.agents.standing import data_of, standing
from assay.report.html.agents.timing import timing
from assay.report.html.chat import STYLE, metric_table, name
from assay.report.html.figures import Figures
from assay.report.html.page import document, escape, table
from assay.report.numbers import counted, interval
from assay.report.verdicts import signed
from assay.runs.results import ExperimentResult

__all__ = ["Experience", "render", "write"]

_NONE: Final[Mapping[str, Experience]] = MappingProxyType({})
_CLASSES = {"better": "good", "worse": "bad", "inconclusive": "warn", "same": ""}


def write(
    scores: Scores,
    path: str | Path,
    *,
    experience: Mapping[str, Experience] = _NONE,
    notes: Sequence[str] = (),
    suite: str = "",
    comparisons: Sequence[Comparison] = (),
    weights: Weights = OPENING,
) -> Path:
    """Write the page."""
    target = Path(path)
    page = render(scores, experience=experience, notes=notes, suite=suite, comparisons=comparisons, weights=weights)
    try:
        target.write_bytes(page.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"the report cannot be written: {error.strerror}", where=str(target)) from error
    return target


def render(
    scores: Scores,
    *,
    experience: Mapping[str, Experience] = _NONE,
    notes: Sequence[str] = (),
    suite: str = "",
    comparisons: Sequence[Comparison] = (),
    weights: Weights = OPENING,
) -> str:
    """The page as text; it opens with these weights, and its reader may move them."""
    figures = Figures()
    found = overall(scores, weights)
    rows = matrix(scores)
    shown, linked = answers(scores, rows)
    sections = {
        "Overall": standing(found, scores),
        "Scenario by scenario": cells(rows, scores.agents, linked),
        "Metrics": _metrics(scores),
        "Where the time goes": timing(scores, figures),
        "Faults survived": survived(scores),
        "Repetitions": repetitions(scores, figures),
        "Developer experience": building(experience, scores.agents),
        "Verdicts": _verdicts(comparisons),
        "Answers": shown,
    }
    kept = {title: body for title, body in sections.items() if body}
    body = "".join(
        f'<section id="{_anchor(title)}"><h2>{title}</h2>{content}</section>\n' for title, content in kept.items()
    )
    contents = " ".join(f'<li><a href="#{_anchor(title)}">{title}</a></li>' for title in kept)
    return document(
        title=f"{len(scores.agents)} agents side by side" if len(scores.agents) != 1 else "One agent",
        lead=_lead(scores, notes, suite),
        body=f'{STYLE}<nav class="contents" aria-label="Contents"><ul>{contents}</ul></nav>\n{body}',
        charts=figures.charts,
        scripts=("overall.js", "reveal.js"),
        data={"assay-overall": data_of(found)},
    )


def _anchor(title: str) -> str:
    return title.casefold().replace(" ", "-")


def _lead(scores: Scores, notes: Sequence[str], suite: str) -> str:
    ended = counts(scores.answers)
    scenarios = len({answer.scenario for answer in scores.answers})
    repetitions = len({answer.repetition for answer in scores.answers})
    of_suite = f" of the suite {name(suite)}" if suite else ""
    times = "once" if repetitions == 1 else f"up to {repetitions} times"
    warnings = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    tiles = "".join(
        f'<li><b class="{css if number else ""}">{number:,}</b> {word}</li>'
        for number, word, css in (
            (ended.scored, "scored", ""),
            (ended.skipped, "skipped", "warn"),
            (ended.failed, "failed", "bad"),
        )
    )
    return (
        f"<p>{_names(scores.agents)} in {counted(scenarios, 'scenario')}{of_suite}, each played {times}.</p>{warnings}"
        f'<ul class="tiles" aria-label="How the {ended.total:,} trials ended">{tiles}'
        f"<li><b>{len(scores.answers):,}</b> turns</li></ul>"
        f"<p>Intervals are 95 % by bootstrap over scenarios, seed {scores.seed}. What could not be measured enters no "
        f"mean, and a turn that failed has no scores: it counts as one that does not pass. assay {escape(__version__)}."
        "</p>"
    )


def _names(agents: Sequence[str]) -> str:
    shown = [f"<b>{name(agent)}</b>" for agent in agents]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "No agents"


def _metrics(scores: Scores) -> str:
    return (
        "<p>The mean over what was measured, its interval, and how many answers it rests on. Agents may have been "
        "measured on different answers where turns failed or were skipped.</p>" + metric_table(scores)
    )


def _verdicts(comparisons: Sequence[Comparison]) -> str:
    """Every agent against the first, metric by metric."""
    if not comparisons:
        return ""
    keys = dict.fromkeys((line.measure.key, line.measure.title) for one in comparisons for line in one.lines)
    rows = []
    for key, title in keys:
        found = [next((ln for ln in one.lines if ln.measure.key == key), None) for one in comparisons]
        rows.append([escape(title), *(_verdict(line) for line in found)])
    baseline = comparisons[0].baseline
    header = ["metric", *(name(one.candidate.agent or one.candidate.label) for one in comparisons)]
    return (
        f"<p>Each against <b>{name(baseline.agent or baseline.label)}</b>, paired on the scenarios both had: the "
        "difference with its interval. <b>Same</b> lies within the margin as a whole, <b>better</b> and <b>worse</b> "
        "hold after Holm's correction for the number of metrics, and <b>inconclusive</b> says how many scenarios "
        f"would decide.</p>{table(header, rows, label='Verdicts')}"
    )


def _verdict(line: object) -> str:
    from assay.compare import Line

    if not isinstance(line, Line):
        return "–"
    verdict = line.verdict
    call = f'<span class="{_CLASSES.get(verdict.call, "muted")}">{verdict.call}</span>'
    if verdict.difference is not None:
        call += f"<small>{signed(verdict.difference, line.measure.unit)}</small>"
        if verdict.low is not None and verdict.high is not None:
            call += f"<small>{interval(verdict.low, verdict.high, line.measure.unit)}</small>"
    if verdict.n_needed is not None:
        call += f"<small>~{verdict.n_needed:,} would decide</small>"
    return call


def page(result: ExperimentResult) -> str:
    """The page about an experiment."""
    return render(
        result.scores,
        experience=result.experience,
        notes=result.notes,
        suite=result.suite,
        comparisons=result.comparisons(),
    )
