"""Reading OWAMcap recordings, against `OWAMcapReader` of `mcap-owa-support` and the plain `mcap` reader with json."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mcap.reader import make_reader
from mcap.writer import Writer

from assay.events.codecs import codec
from assay.events.sources import ReadOptions, read
from benchmarks.measuring import Result, at_least, best, show

MESSAGES = 1_000_000
TOPICS = ("keyboard", "mouse/raw", "screen")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.mcap"
        write(path, MESSAGES)
        print(f"{MESSAGES:,} messages, {path.stat().st_size / 1e6:,.0f} MB")
        wall = best(lambda: _ours(path), repeats=3)
        cpu = min(_cpu(lambda: _ours(path)) for _ in range(3))
        show("Recordings", [_against(name, reader, path, wall, cpu) for name, reader in _PEERS])


def write(path: Path, messages: int) -> None:
    """A recording of mostly movements, with keys and frames between them, as the recorder writes it."""
    chance = np.random.default_rng(9)
    moves = chance.integers(-30, 30, (messages, 2)).tolist()
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="owa", library="mcap-owa-support 0.6.6; mcap 1.3.0")
        names = {"keyboard": "KeyboardEvent", "mouse/raw": "RawMouseEvent", "screen": "ScreenCaptured"}
        channels = {}
        for topic, name in names.items():
            schema = writer.register_schema(f"desktop/{name}", "jsonschema", b"{}")
            channels[topic] = writer.register_channel(topic, "json", schema)
        for at in range(messages):
            time_ns = 1_750_000_000_000_000_000 + at * 2_000_000
            if at % 20 == 0:
                topic = "keyboard"
                content: dict[str, Any] = {
                    "event_type": "press" if at % 40 else "release",
                    "vk": at // 40 % 256,
                    "timestamp": time_ns,
                }
            elif at % 8 == 0:
                topic = "screen"
                reference = {"uri": "long.mkv", "pts_ns": at * 2_000_000}
                content = {"utc_ns": time_ns, "source_shape": [1920, 1080], "shape": [1920, 1080]}
                content |= {"media_ref": reference}
            else:
                topic = "mouse/raw"
                content = {"last_x": moves[at][0], "last_y": moves[at][1], "button_flags": 0, "button_data": 0}
                content |= {"device_handle": 65599, "timestamp": time_ns}
            writer.add_message(channels[topic], time_ns, json.dumps(content).encode(), time_ns)
        writer.finish()  # type: ignore[no-untyped-call]


def _against(name: str, reader: Callable[[Path], int], path: Path, wall: float, cpu: float) -> Result:
    start, started = time.perf_counter(), time.process_time()
    assert reader(path) == MESSAGES
    theirs, their_cpu = time.perf_counter() - start, time.process_time() - started
    print(f"{name}: {their_cpu:.1f} s of CPU, ours {cpu:.1f} s ({their_cpu / cpu:.1f}×)")
    what = f"a recording of {MESSAGES / 1e6:g} M messages to columns, against {name}"
    return at_least(what, f"{wall:.2f} s", f"{theirs:.1f} s", theirs / wall, 5)


def _cpu(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def _ours(path: Path) -> int:
    return sum(len(batch) for batch in read(path, ReadOptions(codec("hierarchical"))))


def _owa(path: Path) -> int:
    from mcap_owa.highlevel import OWAMcapReader

    found = 0
    # Dictionaries are its fastest form. Typed messages need another package and take longer.
    with OWAMcapReader(path, decode_args={"return_dict": True}) as reader:
        for message in reader.iter_messages(topics=list(TOPICS)):
            found += message.decoded is not None
    return found


def _plain(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        for _, _, message in make_reader(file).iter_messages(topics=list(TOPICS)):
            found += isinstance(json.loads(message.data), dict)
    return found


_PEERS: tuple[tuple[str, Callable[[Path], int]], ...] = (
    ("OWAMcapReader", _owa),
    ("the plain mcap reader with json", _plain),
)
