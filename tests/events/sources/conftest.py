"""What the tests of sources share: a reading, the golden rows, and writers of files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcap.writer import CompressionType, Writer

from assay.events.codecs import codec
from assay.events.sources import AnySource, ReadOptions, read
from assay.events.stream import EventStream, concatenate

GOLDEN = Path(__file__).parents[2] / "golden" / "codec_hierarchical.jsonl"

Row = dict[str, Any]
ReadWhole = Callable[..., EventStream]
WriteRecording = Callable[..., Path]


@pytest.fixture(scope="session")
def golden() -> list[Row]:
    return [json.loads(line) for line in GOLDEN.read_text().splitlines()]


@pytest.fixture(scope="session")
def reading() -> ReadOptions:
    return ReadOptions(codec("hierarchical"))


@pytest.fixture(scope="session")
def whole(reading: ReadOptions) -> ReadWhole:
    """Reads a source to its end, as one stream; keyword arguments are fields of `ReadOptions`."""

    def read_whole(source: AnySource, **settings: Any) -> EventStream:
        fields = {"codec": reading.codec, **settings}
        return concatenate(list(read(source, ReadOptions(**fields))))

    return read_whole


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows, each an object or the bytes of a line, as JSON Lines."""

    def write(rows: Iterable[object], name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path

    return write


@pytest.fixture
def write_recording(tmp_path: Path) -> WriteRecording:
    """Writes messages (topic, log_time, content) as an OWAMcap recording."""

    def write(
        messages: Iterable[tuple[str, int, object]],
        name: str = "recording.mcap",
        *,
        profile: str = "owa",
        encoding: str = "json",
        metadata: dict[str, dict[str, str]] | None = None,
        **options: Any,
    ) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            writer = Writer(file, **{"compression": CompressionType.ZSTD, **options})
            writer.start(profile=profile, library="assay tests")
            channels: dict[str, int] = {}
            for topic, time_ns, content in messages:
                if topic not in channels:
                    schema = writer.register_schema(f"desktop/{topic}", "jsonschema", b"{}")
                    channels[topic] = writer.register_channel(topic, encoding, schema)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                writer.add_message(channels[topic], time_ns, data, time_ns)
            for key, values in (metadata or {}).items():
                writer.add_metadata(key, values)
            writer.finish()  # type: ignore[no-untyped-call]
        return path

    return write


@pytest.fixture
def memory_files() -> Iterator[Any]:
    """fsspec's file system in memory, empty before and after."""
    import fsspec

    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()
