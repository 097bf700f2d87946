"""Whatever text is in any field of a page's input, it is shown as text and changes nothing around it."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest
from pydantic import BaseModel
from tests.compare.conftest import chat_run
from tests.report import agent_pages
from tests.report.agent_scores import AGENTS, experience, scores

from assay import events
from assay.chat.scoring.scores import Scores
from assay.compare import Comparison, compare, side_of
from assay.events import synthetic
from assay.events.protocols import every_protocol
from assay.report.html import chat as chat_page
from assay.report.html import compare as compare_page
from assay.report.html import events as events_page

# Ends a script, a style, a title, an attribute and a comment, opens a tag, and names the field that it stands in.
ATTACK = "</script></style></title>--><x-injected onclick=\"x\" onload='x'>\"' onfocus=x '\u2028&amp;[{field}]"
# Fields whose values are words of assay's own, checked by their types.
CLOSED = {"status", "call", "better", "direction", "version", "band", "method"}


def attacked(value: Any, field: str, *, keys: bool = False) -> Any:
    """A copy of a value with an attack at the end of each text in it, and, if asked, of each key."""
    if isinstance(value, str):
        return value + ATTACK.replace("{field}", field)
    if isinstance(value, BaseModel):
        given = {name: getattr(value, name) for name in type(value).model_fields}
        return value.model_copy(update=_fields(given, type(value).__name__))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        made = copy.copy(value)
        for name, other in _fields(given, type(value).__name__).items():
            object.__setattr__(made, name, other)
        return made
    if isinstance(value, dict):
        kind = type(value)
        pairs = {
            attacked(key, f"key of {field}") if keys else key: other
            if key in CLOSED
            else attacked(other, f"{field}.{key}" if kind is not dict else field)
            for key, other in value.items()
        }
        return kind(pairs)
    if isinstance(value, list | tuple):
        return type(value)(attacked(item, field) for item in value)
    return value


def _fields(given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    return {name: value if name in CLOSED else attacked(value, f"{owner}.{name}") for name, value in given.items()}


class Page(HTMLParser):
    """What a browser makes of a page: its tags, the names of attributes, and the fields that are shown as text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[tuple[str, str]] = set()
        self.comments = 0
        self._inside: list[str] = []
        self.scripts = ""
        self.shown = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {(tag, name) for name, _ in attrs}
        self._inside.append(tag)
        self.shown += "".join(value or "" for _, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "script" in self._inside:
            self.scripts += data
        else:
            self.shown += data

    def handle_comment(self, data: str) -> None:
        self.comments += 1

    @property
    def fields(self) -> set[str]:
        """The fields whose attack is shown whole, as text or in an attribute."""
        pattern = re.escape(ATTACK).replace(re.escape("{field}"), r"([^\]]+)")
        return set(re.findall(pattern, self.shown))


def check(clean: str, hostile: str, shown: Iterable[str]) -> None:
    """The hostile page has the tags and attributes of the clean one, and shows the attack on these fields as text."""
    before, after = Page(clean), Page(hostile)
    assert after.comments == before.comments
    assert set(after.tags) == set(before.tags)
    assert after.attributes <= before.attributes
    # Neither did a script end early, nor did one begin.
    assert after.tags["script"] == before.tags["script"]
    assert hostile.count("</script>") == clean.count("</script>")
    assert "<x-injected" not in hostile
    assert set(shown) <= after.fields, sorted(set(shown) - after.fields)


def chat_scores() -> Scores:
    return scores(AGENTS[:2], scenarios=16, repetitions=2)


def attacked_scores(given: Scores) -> Scores:
    """Every text of every answer, and every name of a metric in its entries."""
    answers = []
    for answer in given.answers:
        made = attacked(dataclasses.replace(answer, entries={}), "answer")
        entries = attacked(answer.entries, "entry", keys=True)
        answers.append(dataclasses.replace(made, entries=entries))
    # The names of metrics are keys of the means: only their questions are free text.
    metrics = []
    for metric in given.metrics:
        made = copy.copy(metric)
        object.__setattr__(made, "asks", attacked(metric.asks, "Metric.asks"))
        metrics.append(made)
    return Scores(tuple(answers), tuple(metrics), given.seed)


ANSWER_FIELDS = {
    *(f"Answer.{name}" for name in ("agent", "scenario", "query", "response")),
    *("Record.reason", "ToolCall.name", "Metric.asks"),
    *("key of entry", "entry.details", *(f"entry.evidence.{name}" for name in ("id", "says", "words"))),
}


def compared() -> list[Comparison]:
    levels = {"adk": [[0.9], [0.8]] * 15, "lang": [[0.5], [0.7]] * 15, "same": [[0.9], [0.8]] * 15}
    strata = ["easy", "hard"] * 15
    never: list[list[float]] = [[]] * 30
    scored = {agent: {"accuracy": level, "never": never} for agent, level in levels.items()}
    run = chat_run(scored, "run", strata=strata)
    return [compare(side_of(run, "adk"), side_of(run, other)) for other in ("lang", "same")]


def attacked_comparisons(given: list[Comparison]) -> list[Comparison]:
    """Every text of a comparison but those of the runs it was made from, which no page shows."""
    found = []
    for one in given:
        kept = dataclasses.replace(one, notes=["a note"])
        made = attacked(kept, "comparison")
        for side in ("baseline", "candidate"):
            object.__setattr__(getattr(made, side), "run", getattr(one, side).run)
        object.__setattr__(made, "kind", one.kind)
        found.append(made)
    return found


@pytest.mark.slow
def test_conversations() -> None:
    given = chat_scores()
    check(chat_page.render(given), chat_page.render(attacked_scores(given)), ANSWER_FIELDS)


@pytest.mark.slow
def test_agents() -> None:
    given = chat_scores()
    known = experience(given.agents)
    clean = agent_pages.render(given, experience=known, notes=["a note"], suite="suite", comparisons=compared())
    hostile_scores = attacked_scores(given)
    hostile_experience = {
        agent: dataclasses.replace(
            one,
            agent=agent,
            measured=attacked(one.measured, "measured", keys=True),
            characteristics=attacked(one.characteristics, "characteristics", keys=True),
            claimed=attacked(one.claimed, "claimed", keys=True),
            method=attacked(one.method, "method"),
            absent={"source": attacked("gone", "absent")},
        )
        for agent, one in zip(hostile_scores.agents, known.values(), strict=True)
    }
    hostile = agent_pages.render(
        hostile_scores,
        experience=hostile_experience,
        notes=[attacked("a note", "note")],
        suite=attacked("suite", "suite"),
        comparisons=attacked_comparisons(compared()),
    )
    fields = ANSWER_FIELDS | {
        *("Record.kind", "Record.fault", "note", "suite", "Side.agent", "Measure.title"),
        *("measured", "key of measured", "characteristics", "key of characteristics", "claimed"),
    }
    check(clean, hostile, fields)


def test_comparisons() -> None:
    given = [dataclasses.replace(one, notes=["a note"]) for one in compared()]
    fields = {
        *("Comparison.notes", "Comparison.unit", "Side.label"),
        *("Measure.title", "Measure.part", "Verdict.reason", "Case.name", "Case.stratum"),
    }
    check(compare_page.render(given), compare_page.render(attacked_comparisons(compared())), fields)


def attacked_details(known: Mapping[str, Any]) -> dict[str, Any]:
    """Every text of what assay@1 shows beside its figures, but the words of its own that choose a colour or a shape."""
    found = copy.deepcopy(dict(known))
    for finding in found["verdict"]:
        finding["text"] = attacked(finding["text"], "finding")
    for name, texts in {
        "keys": ("key", "confused_with"),
        "episodes": ("episode", "stratum"),
        "moments": ("episode", "stratum"),
        "paths": ("episode", "stratum", "role"),
    }.items():
        for row in found[name]:
            row |= {text: attacked(row[text], f"{name}.{text}") for text in texts}
    for row in found["confusion"]["keys"]:
        row |= {text: attacked(row[text], f"confusion.{text}") for text in ("true", "predicted")}
    for action in (action for moment in found["moments"] for side in ("true", "predicted") for action in moment[side]):
        action |= {text: attacked(action[text], f"moments.{text}") for text in ("label", "key")}
    return found


@pytest.mark.parametrize("names", [("",), ("good", "poor")])
@pytest.mark.slow
def test_events(names: tuple[str, ...]) -> None:
    truth = synthetic.recording(episodes=3, seconds=6, seed=4)
    protocols = every_protocol()
    models = dict(zip(names, (synthetic.POOR, synthetic.GOOD), strict=False))
    reports = {
        name: dataclasses.replace(
            events.evaluate(synthetic.prediction(truth, model), truth, protocols=protocols, reps=10),
            warnings=[f"warning {name}"],
        )
        for name, model in models.items()
    }
    hostile = {}
    for name, report in reports.items():
        results = {
            protocol: dataclasses.replace(
                result,
                name=attacked(result.name, "ProtocolResult.name"),
                metrics=[
                    dataclasses.replace(
                        metric,
                        **{
                            part: attacked(getattr(metric, part), f"Metric.{part}")
                            for part in ("title", "group", "unit", "undefined")
                        },
                    )
                    for metric in result.metrics
                ],
                describe=None if result.describe is None else partial(attacked_details, result.details),
            )
            for protocol, result in report.protocols.items()
        }
        sides = {}
        for side in ("predicted", "truth"):
            read = getattr(report, side)
            sides[side] = dataclasses.replace(
                read,
                source=attacked(read.source, f"{side}.source"),
                problems=Counter({attacked("broken", f"{side}.problem"): 3}),
                episodes={attacked(episode, "episode") for episode in read.episodes},
            )
        settings = dict(report.settings) | {attacked("mine", "key of settings"): attacked("x", "setting")}
        hostile[attacked(name or "prediction", "model")] = dataclasses.replace(
            report,
            protocols=results,
            settings=settings,
            warnings=attacked(report.warnings, "warning"),
            **sides,
        )
    clean = {
        name: dataclasses.replace(
            report,
            **{side: dataclasses.replace(getattr(report, side), problems=Counter({"broken": 3})) for side in sides},
        )
        for name, report in reports.items()
    }
    fields = {
        *("model", "warning", "setting", "key of settings", "ProtocolResult.name"),
        *("predicted.source", "truth.source", "predicted.problem", "truth.problem"),
        *("Metric.title", "Metric.group", "Metric.unit"),
        # Of assay@1: findings, keys, confusions, and what the timelines show.
        *("finding", "keys.key", "keys.confused_with", "confusion.true", "confusion.predicted"),
        *("moments.episode", "moments.label", "episodes.episode", "paths.episode", "paths.role"),
    }
    check(events_page.render(clean), events_page.render(hostile), fields)


def test_the_check_would_see_an_unescaped_field() -> None:
    page = "<html><script>1</script><p title='t'>name</p></html>"
    attack = ATTACK.replace("{field}", "name")
    with pytest.raises(AssertionError):
        check(page, page.replace("name", attack), {"name"})
    with pytest.raises(AssertionError):
        check(page, page.replace("'t'", f"'{attack}'"), set())
    with pytest.raises(AssertionError, match="name"):
        check(page, page, {"name"})
