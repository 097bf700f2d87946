"""The outcomes of gates as JUnit XML, which CI systems show as tests: one suite for each comparison."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from assay.compare import Outcome
from assay.report.verdicts import headline

# XML 1.0 has no way to write these, not even escaped.
_NOT_XML = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


def junit(outcomes: Sequence[Outcome]) -> str:
    """The document as text. A metric without a verdict is a skipped test, unless that is what the gate refuses."""
    root = Xml.Element("testsuites", name="assay")
    suites: dict[int, Xml.Element] = {}
    for outcome in outcomes:
        key = id(outcome.comparison)
        if key not in suites:
            suites[key] = Xml.SubElement(root, "testsuite", name=_clean(headline(outcome.comparison)))
        part = outcome.line.measure.part if outcome.line else "requirement"
        case = Xml.SubElement(suites[key], "testcase", classname=_clean(f"assay.{part}"), name=_clean(outcome.name))
        if outcome.failure:
            failure = Xml.SubElement(case, "failure", message=_clean(outcome.failure))
            failure.text = _clean(outcome.failure)
        elif outcome.line and outcome.line.verdict.call in ("unmeasured", "descriptive"):
            Xml.SubElement(case, "skipped", message=_clean(outcome.line.verdict.reason))
    for suite in suites.values():
        for name, found in (("tests", "testcase"), ("failures", "*/failure"), ("skipped", "*/skipped")):
            suite.set(name, str(len(suite.findall(found))))
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return text.translate(_NOT_XML)
