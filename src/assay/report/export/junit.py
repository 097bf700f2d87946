"""JUnit XML, which CI systems show as tests: the outcomes of gates, or the trials of agents."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from assay.chat.scoring.scores import Scores
from assay.compare import Outcome
from assay.plural import counted
from assay.report.failures import failure_words, failures_of
from assay.report.verdicts import headline

# XML 1.0 has no way to write these, not even escaped.
_NOT_XML = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


def junit(outcomes: Sequence[Outcome]) -> str:
    """The document as text. What was not checked is a skipped test: a metric without a verdict, unless the gate fails
    on that, and a scenario that the candidate was not to play.
    """
    root = Xml.Element("testsuites", name="assay")
    suites: dict[int, Xml.Element] = {}
    for outcome in outcomes:
        key = id(outcome.comparison)
        if key not in suites:
            suites[key] = Xml.SubElement(root, "testsuite", name=_clean(headline(outcome.comparison)))
        part = outcome.line.measure.part if outcome.line else "scenario" if outcome.scenario else "requirement"
        case = Xml.SubElement(suites[key], "testcase", classname=_clean(f"assay.{part}"), name=_clean(outcome.name))
        if outcome.failure:
            failure = Xml.SubElement(case, "failure", message=_clean(outcome.failure))
            failure.text = _clean(outcome.details or outcome.failure)
        elif outcome.line and outcome.line.verdict.call in ("unmeasured", "descriptive"):
            Xml.SubElement(case, "skipped", message=_clean(outcome.line.verdict.reason))
        elif outcome.not_checked:
            words = f"{outcome.name} passed in the baseline and is {outcome.not_checked}"
            Xml.SubElement(case, "skipped", message=_clean(words))
    return _document(root)


def trials_junit(scores: Scores, *, suite: str = "conversations") -> str:
    """The document about scored conversations: a suite for each agent, a test for each scenario.

    A scenario passes if all its trials do. A failed test names every check that failed, with the answer's words; a
    scenario that was skipped is a skipped test. If a file was too large to keep its answers, only the checks of the
    first failed answers are named.
    """
    root = Xml.Element("testsuites", name="assay")
    failures: dict[tuple[str, str], list[str]] = {}
    for one in failures_of(scores):
        failures.setdefault((one.agent, one.scenario), []).append(failure_words(one, agent=False))
    for agent in scores.agents:
        of_agent = Xml.SubElement(root, "testsuite", name=_clean(f"{agent}: {suite}"))
        reasons: dict[str, str] = {}
        trials = scores.trials(agent)
        for answer in scores.answers:
            if answer.agent == agent:
                reason = "" if answer.record is None else answer.record.reason
                reasons[answer.scenario] = reasons.get(answer.scenario) or reason
        # Skipped scenarios have answers and no trials; of a large file, most answers are not kept.
        for scenario in [name for name in scores.scenarios if name in reasons or name in trials]:
            classname = _clean(f"assay.{suite}.{agent}")
            case = Xml.SubElement(of_agent, "testcase", classname=classname, name=_clean(scenario))
            passed = trials.get(scenario, {})
            if not passed:
                Xml.SubElement(case, "skipped", message=_clean(reasons[scenario]))
            elif not all(passed.values()):
                lines = failures.get((agent, scenario), [])
                verb = "passes" if len(passed) == 1 else "pass"
                count = f"{sum(passed.values())} of {counted(len(passed), 'trial')} {verb}"
                message = f"{count}; {lines[0]}" if lines else count
                failure = Xml.SubElement(case, "failure", message=_clean(message))
                failure.text = _clean("\n".join(lines))
    return _document(root)


def _document(root: Xml.Element) -> str:
    for suite in root:
        for name, found in (("tests", "testcase"), ("failures", "*/failure"), ("skipped", "*/skipped")):
            suite.set(name, str(len(suite.findall(found))))
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return text.translate(_NOT_XML)
