"""Real recordings, scored: perfect against themselves under every protocol, off by the shift against a shifted copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader
from mcap.writer import Writer

from assay.events import decode, evaluate
from assay.events.evaluation import EventReport
from assay.events.protocols import every_protocol
from assay.events.stream import Kind

RECORDINGS = Path(__file__).parents[3] / "shared" / "data" / "recordings"
NAMES = ("notepad-0.4.2", "notepad-0.5.1", "typing-game")
BUILT_IN = ("owa", "sequence", "d2e")
SHIFTS_MS = (30, -70)

pytestmark = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the real recordings are not here")


def _shifted(source: Path, target: Path, shift_ms: int, *, window_after_ms: int | None = None) -> Path:
    """A copy of a recording in which every message was logged so much later; the frames' video times stay.

    With `window_after_ms`, a message on the topic `window`, which is no event, follows the last one by so much.
    """
    with source.open("rb") as file, target.open("wb") as out:
        reader: Any = make_reader(file)
        writer: Any = Writer(out)
        writer.start(profile="owa")
        schemas: dict[int, int] = {}
        channels: dict[int, int] = {}
        last_ns = 0
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            if schema.id not in schemas:
                schemas[schema.id] = writer.register_schema(schema.name, schema.encoding, schema.data)
            if channel.id not in channels:
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, schemas[schema.id]
                )
            time_ns = message.log_time + shift_ms * 1_000_000
            writer.add_message(channels[channel.id], time_ns, message.data, time_ns)
            last_ns = max(last_ns, time_ns)
        if window_after_ms is not None:
            number = next(
                number for number, channel in reader.get_summary().channels.items() if channel.topic == "window"
            )
            writer.add_message(channels[number], last_ns + window_after_ms * 1_000_000, b"{}", last_ns)
        writer.finish()
    return target


def _imperfect(report: EventReport) -> dict[str, float]:
    """Metrics that are defined and not at their best."""
    found = {}
    for result in report.protocols.values():
        for metric in result.metrics:
            value = result.estimates[metric.key].value
            best = 1.0 if metric.better == "higher" or metric.unit == "×" else 0.0
            if metric.better != "none" and value is not None and value != pytest.approx(best, abs=1e-12):
                found[f"{result.label} {metric.key}"] = value
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_a_perfect_prediction_of_itself(name: str) -> None:
    path = RECORDINGS / f"{name}.mcap"
    assert set(BUILT_IN) <= set(every_protocol())
    report = evaluate(path, path, protocols=BUILT_IN)
    assert _imperfect(report) == {}
    assert report.flat("owa")["comparable"] == 1.0
    assert report.flat("sequence")["comparable_rate"] == 1.0
    assert report.flat("d2e")["key_accuracy"] == 1.0


@pytest.mark.parametrize("shift_ms", SHIFTS_MS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_a_shifted_copy_has_only_the_shift_as_error(name: str, shift_ms: int, tmp_path: Path) -> None:
    truth = RECORDINGS / f"{name}.mcap"
    report = evaluate(_shifted(truth, tmp_path / f"{name}.mcap", shift_ms), truth, protocols=BUILT_IN)
    owa = report.flat("owa")
    for category in ("", "keyboard_", "mouse_op_", "mouse_nop_", "screen_"):
        assert owa[f"{category}timestamp_signed_error_iqm_ms"] == shift_ms
        assert owa[f"{category}timestamp_signed_error_ci_lower_ms"] == shift_ms
        assert owa[f"{category}timestamp_abs_error_p0_ms"] == abs(shift_ms)
        assert owa[f"{category}timestamp_abs_error_p100_ms"] == abs(shift_ms)
    off = _imperfect(report)
    assert "owa@1 timestamp_abs_error_p95_ms" in off
    untimed = {key for key in off if "timestamp" not in key and not key.endswith(".loss")}
    # Time is all that is off; and the frames put both on one clock, so d2e sees no shift at all.
    assert untimed == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_ends_with_its_last_message_of_any_topic(name: str, tmp_path: Path) -> None:
    # 1 s after the last event the window changes on both sides: the range has 20 bins more, and the very last event,
    # which was left out at the end of the range, is compared. If it changes on one side only, the other one ends first.
    source = RECORDINGS / f"{name}.mcap"
    later = _shifted(source, tmp_path / f"{name}.mcap", 0, window_after_ms=1000)
    plain, both, one = (
        evaluate(predicted, truth, protocols=["d2e"]).flat("d2e")
        for predicted, truth in ((source, source), (later, later), (later, source))
    )
    assert both["bins"] == (plain["bins"] or 0) + 20
    assert one["bins"] == plain["bins"]
    keys = [figures["key_samples"] or 0 for figures in (plain, both, one)]
    last = decode(source)
    assert keys == [keys[0], keys[0] + int(last.kind[-1] == Kind.KEYBOARD), keys[0]]
