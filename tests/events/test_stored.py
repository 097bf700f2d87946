"""A stored run is read back, reported and compared under the settings it was scored with, whatever form they are in."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.compare import compare
from assay.errors import UsageError
from assay.events import evaluate, synthetic
from assay.events.codecs import NAMES, codec, codec_from_json
from assay.events.evaluation import EventReport, rebuilt_report
from assay.events.protocols import every_protocol
from assay.events.stored import protocol_of, settings_of
from assay.runs.from_results import recorded_run
from assay.types import Run

UNUSUAL: dict[str, Any] = {"delta_bases": (2, 20, 4, 25), "time_bases": (7, 11, 13), "unit_ns": 5_000_000}


@pytest.fixture(scope="module")
def stored() -> tuple[EventReport, Run]:
    """A poor prediction under other than the default bases."""
    encoder = codec("hierarchical", **UNUSUAL)
    truth = encoder.quantise(synthetic.recording(episodes=4, seconds=5, seed=1))
    predicted = encoder.quantise(synthetic.prediction(truth, synthetic.GOOD, seed=2))
    report = evaluate(predicted, truth, protocols=("owa", "sequence", "d2e"), encoding=encoder, reps=20)
    return report, recorded_run(report)


def first_form(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as the first version stored them: flat, and of the encoding only what was unusual."""
    usual = codec(settings["encoding"]["name"]).to_json()
    flat = {key: value for key, value in settings.items() if key not in ("encoding", "protocols")}
    flat |= {"encoding": settings["encoding"]["name"], "strict": settings["encoding"].get("strict", False)}
    flat |= {
        f"encoding.{key}": value
        for key, value in settings["encoding"].items()
        if key not in ("name", "strict") and value != usual[key]
    }
    return flat | {
        f"{protocol}.{key}": value for protocol, own in settings["protocols"].items() for key, value in own.items()
    }


@pytest.mark.parametrize("name", NAMES)
@given(
    bases=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    unit=st.integers(1, 10**9),
    strict=st.booleans(),
)
def test_a_codec_is_restored_from_its_json(name: str, bases: list[int], unit: int, strict: bool) -> None:
    settings: dict[str, Any] = {"delta_bases": bases, "unit_ns": unit, "image": "<frame>", "strict": strict}
    encoder = codec(name, **({} if name == "json" else settings))
    assert codec_from_json(json.loads(json.dumps(encoder.to_json()))) == encoder


@pytest.mark.slow
def test_comparing_gives_the_same_numbers_as_evaluating(stored: tuple[EventReport, Run]) -> None:
    report, run = stored
    lines = {line.measure.key: line for line in compare(run, run, full=True).lines if line.measure.part == "sequence@1"}
    estimates = report.protocols["sequence"].estimates
    assert {key: line.baseline.value for key, line in lines.items()} == {key: estimates[key].value for key in lines}
    # Digits were counted in these bases when the events were scored; what is stored does not depend on others.
    usual = replace(run, settings={**run.settings, "encoding": codec("hierarchical").to_json()})
    key = "mouse_metrics.dx_precision_accuracy.p2"
    assert rebuilt_report(usual).flat("sequence")[key] == estimates[key].value


def test_digits_in_different_bases_are_not_compared(stored: tuple[EventReport, Run]) -> None:
    _, run = stored
    usual = replace(run, settings={**run.settings, "encoding": codec("hierarchical").to_json()})
    notes = " ".join(compare(run, usual).notes)
    assert "sequence was not compared: encoding.delta_bases was [2, 20, 4, 25] and [2, 20, 10, 10]" in notes
    assert "owa was not compared" not in notes


@pytest.mark.slow
def test_settings_in_the_older_format_are_read(stored: tuple[EventReport, Run]) -> None:
    report, run = stored
    old = replace(run, settings=first_form(dict(run.settings)))
    assert old.settings["encoding"] == "hierarchical"
    assert settings_of(old) == settings_of(run) == dict(run.settings)
    assert rebuilt_report(old).to_json() == rebuilt_report(run).to_json() == report.to_json()
    for name in every_protocol():
        if name in run.tallies:
            assert protocol_of(old, name) == protocol_of(run, name)
    assert compare(old, run).notes == compare(run, run).notes


def test_a_codec_of_another_package_is_stored_by_name_only(stored: tuple[EventReport, Run]) -> None:
    _, run = stored
    strange = replace(run, settings={**run.settings, "encoding": {"name": "theirs"}})
    with pytest.raises(UsageError, match="theirs"):
        rebuilt_report(strange)
