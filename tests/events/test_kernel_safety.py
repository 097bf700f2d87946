"""Compiled code never steps past its buffer, and decodes what a plain decoder decodes, whatever it is given."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events import fuzzing, reference

from assay.events import codec
from assay.events.codecs import kernels, tokens
from assay.events.codecs.tokens import TokenCodec
from assay.events.stream import IGNORED_BYTES, EventStream

ROOT = Path(__file__).parents[2]


def run_guarded(what: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.events.guarded", what]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is protected by mprotect")
@pytest.mark.slow(seconds=7)
def test_fuzzed_input_never_reads_or_writes_outside_a_buffer() -> None:
    run = run_guarded("fuzz")
    died = f"killed by {signal.Signals(-run.returncode).name}" if run.returncode < 0 else run.stderr
    assert run.returncode == 0, f"a compiled loop went past its buffer or disagreed with itself: {died}"
    assert int(run.stdout.split()[0]) > 8000


@pytest.mark.skipif(sys.platform != "linux", reason="memory is protected by mprotect")
@pytest.mark.parametrize("probe", ["probe-read", "probe-write"])
@pytest.mark.slow
def test_the_guard_page_stops_a_wrong_access(probe: str) -> None:
    run = run_guarded(probe)
    assert run.returncode == -signal.SIGSEGV
    assert "not stopped" not in run.stdout


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.slow
def test_fuzzed_text_decodes_as_in_the_plain_decoder(encoding: str, strict: bool) -> None:
    decoder = codec(encoding, strict=strict)
    valid = 0
    for text in [*fuzzing.texts(encoding, 2000, seed=17), *fuzzing.truncations(encoding)]:
        found = decoder.decode(text)
        events, between = reference.decode_text(text, encoding, strict=strict)
        assert found.to_events() == events, text
        assert found.notes[IGNORED_BYTES] == between, text
        valid += int(found.valid.sum())
    assert valid > 500


@pytest.mark.parametrize("piece", [1, 30, 77])
@pytest.mark.slow
def test_splitting_a_text_into_pieces_changes_nothing(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Large texts are split at the beginnings of events; here the pieces are small.
    monkeypatch.setattr(tokens, "_PIECE", piece)
    decoder = token_codec("hierarchical")
    for number, text in enumerate(fuzzing.texts("hierarchical", 500, seed=31)):
        events, between = reference.decode_text(text, "hierarchical", strict=False)
        for source in (text, text.decode("utf-8", "replace")):
            found = decoder.decode(source, threads=1 + number % 3)
            assert found.to_events() == events, text
        assert decoder.decode(text).notes[IGNORED_BYTES] == between


def token_codec(name: str) -> TokenCodec:
    found = codec(name)
    assert isinstance(found, TokenCodec)
    return found


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
def test_fuzzed_elements_decode_as_in_the_plain_decoder(encoding: str, strict: bool) -> None:
    texts = [*fuzzing.texts(encoding, 4000, seed=23), *fuzzing.truncations(encoding)]
    found = codec(encoding, strict=strict).decode_each(texts).to_events()
    for text, event in zip(texts, found, strict=True):
        assert event == reference.decode_element(text, encoding, strict=strict), text


@pytest.mark.parametrize("encoding", ["hierarchical", "hierarchical-time-first", "factorized", "json"])
@pytest.mark.slow
def test_any_bytes_can_be_decoded(encoding: str) -> None:
    decoder = codec(encoding)

    @given(st.binary(max_size=200))
    def law(text: bytes) -> None:
        assert len(decoder.decode(b"<EVENT_START>" + text)) >= 1
        assert len(decoder.decode_each([text, text])) == 2

    law()


bases = st.lists(st.integers(1, 60), min_size=1, max_size=5).map(tuple)


@pytest.mark.filterwarnings("ignore::assay.errors.AssayWarning")  # clamping is not the point here
@given(bases, bases, bases, st.booleans(), st.integers(1, 200), st.integers(0, 2**32))
@pytest.mark.slow
def test_the_longest_events_fit_into_the_buffer(
    time: tuple[int, ...], delta: tuple[int, ...], scroll: tuple[int, ...], signed: bool, image: int, seed: int
) -> None:
    name = "factorized" if signed else "hierarchical"
    encoder = codec(name, time_bases=time, delta_bases=delta, scroll_bases=scroll, image=f"<{'i' * image}>")
    assert isinstance(encoder, TokenCodec)
    numbers = np.random.default_rng(seed).integers(-(2**31), 2**31, (20, 4))
    rows: list[dict[str, Any]] = [
        {"kind": "mouse", "ts": abs(a) * 10**7, "dx": b, "dy": c, "flags": 0xFFF, "data": d}
        for a, b, c, d in numbers.tolist()
    ]
    rows += [{"kind": "screen", "ts": 2**62}, {"kind": "keyboard", "ts": 2**62, "vk": 255, "press": False}]
    rooms: list[tuple[int, int]] = []
    inner = kernels.encode_text

    def watched(*arguments: Any) -> Any:
        end = inner(*arguments)
        rooms.append((len(arguments[-2]), end))
        return end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "encode_text", watched)
        for row in rows:  # one at a time: no short neighbour lends its room
            encoder.encode_each(EventStream.from_events([row]))
    assert len(rooms) == len(rows)
    assert all(end + 8 <= room for room, end in rooms)
