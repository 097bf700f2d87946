"""Damaged files and files that claim too much, in every format that assay reads."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from assay.chat.formats import read_transcripts
from assay.chat.scoring.scores import score
from assay.chat.yamlfile import load_yaml
from assay.errors import AssayError
from assay.events.codecs import codec
from assay.events.sources import ReadOptions, read
from assay.logs import contents, read_logs, streamed
from tests.attacks import Attack, Outcomes
from tests.attacks.names import TURNS, transcript
from tests.events.fuzzing import GOLDEN

LOGS = Path(__file__).parents[1] / "logs" / "samples"
KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"
SMALL = 1 << 18
"""The limit of memory that bombs are tried with; a bomb claims at least a hundred times as much."""


# --- seeds ------------------------------------------------------------------------------------------------------------


def tables() -> dict[str, bytes]:
    """A small, valid file of each format of events."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    texts = [json.loads(line)["text"] for line in (GOLDEN / "codec_hierarchical.jsonl").read_text().splitlines()[:40]]
    rows = "".join(json.dumps({"text": text, "episode": "e"}) + "\n" for text in texts).encode()
    table = pa.table({"text": texts, "episode": ["e"] * len(texts)})
    coded = pa.table({"text": pa.array(texts).dictionary_encode()})
    found = {
        "a.jsonl": rows,
        "a.json": json.dumps([{"text": text} for text in texts]).encode(),
        "a.csv": b"text,episode\n" + b"".join(f'"{text}",e\n'.encode() for text in texts),
        "a.txt": "".join(texts).encode(),
        "a.jsonl.gz": gzip.compress(rows),
        "a.jsonl.zst": zstandard.ZstdCompressor().compress(rows),
    }
    for name, one in (("a.parquet", table), ("b.parquet", coded)):
        sink = io.BytesIO()
        pq.write_table(one, sink, row_group_size=15)
        found[name] = sink.getvalue()
    for name, opened in (("a.arrow", pa.ipc.new_file), ("b.arrow", pa.ipc.new_stream)):
        sink = io.BytesIO()
        with opened(sink, coded.schema) as writer:
            writer.write_table(coded)
        found[name] = sink.getvalue()
    found["a.mcap"] = recording([b'{"event_type":"press","vk":%d}' % (at % 200) for at in range(60)])
    return found


def recording(messages: list[bytes], chunk: int = 1024) -> bytes:
    """An OWAMcap recording of these messages."""
    from mcap.writer import CompressionType, Writer

    sink = io.BytesIO()
    writer = Writer(sink, chunk_size=chunk, compression=CompressionType.ZSTD)
    writer.start(profile="owa", library="attack")
    schema = writer.register_schema("desktop/KeyboardEvent", "jsonschema", b"{}")
    channel = writer.register_channel("keyboard", "json", schema)
    for at, message in enumerate(messages):
        writer.add_message(channel, at + 1, message, at + 1)
    writer.finish()  # type: ignore[no-untyped-call]
    return sink.getvalue()


def spoiled(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four changes."""
    raw = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw) + 1)
        match chance.randrange(6):
            case 0:
                raw[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del raw[at : at + chance.choice((1, 3, 8, 100, len(raw)))]
            case 2:
                raw[at:at] = raw[at : at + chance.choice((1, 8, 200))]
            case 3:
                raw[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\0\0\0\x80"))
            case 4:
                raw[at : at + 1] = chance.choice((b'"', b"{", b"[", b"}", b"\\", b"\n", b"null", b"1e999", b"-", b"\0"))
            case _:
                raw[at : at + 8] = chance.choice((b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"9" * 400))
    return bytes(raw)


# --- mutations --------------------------------------------------------------------------------------------------------


def _mutations(times: int, seeds: dict[str, bytes], folder: Path, use: Callable[[Path], object], seed: int) -> Outcomes:
    chance = random.Random(seed)
    names = sorted(seeds)
    for at in range(times):
        name = names[at % len(names)]
        path = folder / name
        path.write_bytes(spoiled(seeds[name], chance))
        try:
            use(path)
        except AssayError:
            yield None
        except Exception as error:
            (folder / f"fell-{at}-{name}").write_bytes(path.read_bytes())
            yield f"mutation {at} of {name} ended in {type(error).__name__}: {str(error)[:100]}"
        else:
            yield None


def _read_events(path: Path) -> None:
    for _ in read(str(path), ReadOptions(codec("hierarchical"), max_memory=32 << 20)):
        pass


def mutated_event_files(times: int, folder: Path) -> Outcomes:
    """JSON Lines, JSON, CSV, token text, gzip, Zstandard, Parquet, Arrow and MCAP."""
    yield from _mutations(times, tables(), folder, _read_events, seed=1)


def mutated_logs(times: int, folder: Path) -> Outcomes:
    """Logs of every other tool that is read, and tables of scores."""
    found = [path for path in sorted(LOGS.rglob("*")) if path.is_file()]
    seeds = {"-".join(path.relative_to(LOGS).parts): path.read_bytes() for path in found}
    seeds["a.csv"] = b"case,epoch,model,score\na,1,m,1\nb,1,m,0.5\n"
    seeds["a.jsonl"] = b'{"case": "a", "score": 1, "stars": 4}\n{"case": "b", "score": 0, "stars": 2}\n'
    yield from _mutations(times, seeds, folder, _read_log, seed=11)


def _read_log(path: Path) -> None:
    """Read as a whole and an element at a time: the second may refuse more, but never gives other numbers."""
    whole = read_logs(path).answers
    if path.suffix == ".json":
        with patch.object(contents, "largest_whole", lambda: 0), patch.object(streamed, "_PIECE", 1000):
            if read_logs(path).answers != whole:
                raise AssertionError("an element at a time, the log has other answers")


def _transcripts() -> dict[str, bytes]:
    call = {"name": "get_weather", "arguments": {"city": "Rome"}, "result": {"temp": 20}, "duration": 0.2}
    turn = {"user": "Weather in Rome?", "assistant": "It is 20 °C in Rome.", "tool_calls": [call], "response_time": 1.5}
    turn |= {"truth": {"city": "Rome", "temperature": 20}, "checks": [{"metric": "accuracy", "is": ">=", "value": 0.5}]}
    own, again = (transcript(turns=[*TURNS, turn], preferences={"likes": "outdoor"}, repetition=at) for at in (1, 2))
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    messages = [
        {"role": "user", "content": "Weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]},
        {"role": "tool", "tool_call_id": "1", "content": '{"temp": 20}'},
        {"role": "assistant", "content": [{"type": "text", "text": "It is 20 °C."}]},
    ]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Rome?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "20 °C"}]}]),
    }
    keyed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "chat", "startTimeUnixNano": "1", "endTimeUnixNano": "9"}
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"attributes": keyed}]}]}]}
    plain = {"name": "chat", "context": {"trace_id": "0x1", "span_id": "0x2"}, "attributes": attributes}
    plain |= {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}
    return {
        "own.jsonl": f"{own}\n{again}\n".encode(),
        "messages.jsonl": (json.dumps({"messages": messages, "model": "m"}) + "\n").encode(),
        "messages.json": json.dumps(messages).encode(),
        "trace.json": json.dumps(trace).encode(),
        "span.jsonl": (json.dumps(plain) + "\n").encode(),
    }


def _score(path: Path) -> None:
    score(read_transcripts(path), metrics=["accuracy", "error_recovery", "tool_call_count", "response_time"]).to_json()


def mutated_transcripts(times: int, folder: Path) -> Outcomes:
    """assay's own JSONL, OpenAI messages and OpenTelemetry spans, read and scored."""
    seeds = _transcripts()
    for name, content in seeds.items():
        (folder / name).write_bytes(content)
        read_transcripts(folder / name)  # a seed that is refused would be no test
    yield from _mutations(times, seeds, folder, _score, seed=2)


def mutated_suites(times: int, folder: Path) -> Outcomes:
    """YAML."""
    from assay.chat import suites

    shipped = Path(str(suites.__file__)).parent
    seeds = {"a.yaml": sorted(shipped.glob("*.yaml"))[0].read_bytes()[:3000]}
    yield from _mutations(times, seeds, folder, load_yaml, seed=3)


# --- bombs ------------------------------------------------------------------------------------------------------------


def _bombs() -> Iterator[tuple[str, bytes]]:
    """Files that claim or become at least a hundred times SMALL."""
    import pyarrow as pa
    import zstandard

    large = 110 * SMALL
    yield "array.json.gz", gzip.compress(b"[" + b"[]," * (large // 3) + b"[]]", 1)
    yield "spaces.json.gz", gzip.compress(b" " * large, 1)
    yield "values.jsonl.gz", gzip.compress(b'{"text":"","x":[' + b"[]," * (large // 3) + b"[]]}\n", 1)
    yield "header.csv.gz", gzip.compress(b"text," * (large // 5), 1)
    yield "cell.csv.gz", gzip.compress(b'text\n"' + b"a" * large, 1)
    yield "cells.csv.gz", gzip.compress(b"text\n" + b"a," * 500_000, 1)
    yield "zeros.jsonl.zst", zstandard.ZstdCompressor().compress(b"\0" * large)
    yield "chunk.mcap", recording([b'{"event_type":"press"}' + b" " * large], chunk=2 * large)
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array([KEY * 1000]))
    yield "dictionary.arrow", _arrow(coded, "text")
    yield "body.arrow", _arrow(pa.array([KEY * 1000] * 500), "text", compression="zstd")
    yield "ids.arrow", _arrow(pa.array([np.zeros(SMALL, np.int8)]), "ids", compression="zstd")
    names = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array([""] * SMALL))
    yield "names.arrow", _arrow(pa.array([KEY]), "text", names)
    yield "page.parquet", _parquet(pa.table({"text": ["x" * large]}), use_dictionary=False)
    yield "dictionary.parquet", _parquet(pa.table({"text": [KEY * 2000] * 3}))
    yield "names.parquet", _parquet(pa.table({"text": [KEY] * 9000, "episode": [str(at) for at in range(9000)]}))
    yield "ids.parquet", _parquet(pa.table({"ids": [np.zeros(large // 8, np.int64)]}))
    footer = b"\x15\x02\x19\x1c\x48\x01s\x15\x00\x00\x16\x00\x19\xfc" + _varint(large) + bytes(large)
    yield "footer.parquet", b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _varint(number: int) -> bytes:
    return bytes([*((number >> shift & 0x7F) | 0x80 for shift in (0, 7, 14, 21)), number >> 28])


def _arrow(column: Any, name: str, episodes: Any = None, compression: str | None = None) -> bytes:
    import pyarrow as pa

    columns = {name: column} | ({"episode": episodes} if episodes is not None else {})
    batch = pa.record_batch(list(columns.values()), list(columns))
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _parquet(table: Any, **options: Any) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", **options)
    return sink.getvalue()


# Bombs that are refused for another reason than their size.
_OTHERWISE = ("zeros.jsonl.zst", "spaces.json.gz", "header.csv.gz", "cells.csv.gz", "cell.csv.gz")


def bombs(times: int, folder: Path) -> Outcomes:
    """Compressed, nested and dictionary-encoded data that do not fit in memory are refused in one sentence."""
    for name, content in _bombs():
        path = folder / name
        path.write_bytes(content)
        reading: Any = ReadOptions(
            codec("hierarchical"), max_memory=SMALL, max_expansion=10, max_episode_bytes=SMALL, tokenizer={"a": 0}
        )
        try:
            events = sum(len(batch) for batch in read(str(path), reading))
        except AssayError as error:
            held = "larger than" in str(error) or "longer than" in str(error) or name in _OTHERWISE
            yield None if held and error.hint else f"{name} has another error: {error}"
        except Exception as error:
            yield f"{name} ended in {type(error).__name__}"
        else:
            yield f"{name} was read: {events} events"
    for path in (Path("/dev/zero"), Path("/dev/urandom")):
        try:
            read_transcripts(path)
        except AssayError:
            yield None
        else:
            yield f"{path} was read"


ATTACKS = [
    Attack("mutated files of events", mutated_event_files, 55, 22_000, seconds=3),
    Attack("mutated transcripts", mutated_transcripts, 60, 25_000, seconds=3),
    Attack("mutated logs of other tools", mutated_logs, 66, 10_000, seconds=2),
    Attack("mutated suites", mutated_suites, 60, 5_000),
    Attack("decompression bombs and lying lengths", bombs, 1, 1, seconds=3),
]
