"""Names in transcripts that are paths, far too long, or numbers that no database holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.chat.formats import read_transcripts
from assay.chat.reading.lexicon import compile_lexicon
from assay.chat.scoring.scores import score
from assay.errors import AssayError
from tests.attacks import Attack, Outcomes
from tests.command import assay_command

TURNS = [{"user": "Weather in Rome?", "assistant": "It is 20 °C in Rome."}]


def transcript(**fields: Any) -> str:
    """A line of JSONL with these fields in place of the usual ones."""
    return json.dumps({"agent": "a", "scenario": "s", "turns": TURNS} | fields)


def _hostile_fields(folder: Path) -> Iterator[dict[str, Any]]:
    # A language file that must not be found: if it is read, it is accepted.
    shipped = Path(compile_lexicon.__code__.co_filename).parent / "languages" / "en.toml"
    (folder / "planted.toml").write_bytes(shipped.read_bytes())
    planted = str(folder / "planted")
    climbing = "../" * 30 + planted.lstrip("/")
    for name in (
        planted,
        climbing,
        "en/../en",
        "./en",
        "en\0",
        "x" * 5000,
        "",
        "..",
        "/dev/zero",
        "file:///etc/passwd",
    ):
        yield {"language": name}
        yield {"domain": name}
    for number in (2**31, 2**63, 2**64, 10**4000, -1):
        yield {"repetition": number}
    yield {"turns": [{"assistant": "x", "tool_call_count": 10**4200}]}


def transcripts_choose(times: int, folder: Path) -> Outcomes:
    """Names that are joined into paths, and numbers beyond 64 bits."""
    for fields in _hostile_fields(folder):
        file = folder / "t.jsonl"
        file.write_text(transcript(**fields), "utf-8")
        try:
            scores = score(read_transcripts(file), metrics=["accuracy"])
        except AssayError:
            yield None
        except Exception as error:
            yield f"{str(fields)[:80]} ended in {type(error).__name__}"
        else:
            yield None if "tool_call_count" in str(fields) else f"{str(fields)[:80]} was accepted: {scores.answers[:1]}"


def numbers_of_thousands_of_digits(times: int, folder: Path) -> Outcomes:
    """Whole numbers that Python refuses to convert, in files and on the command line."""
    digits = "9" * 5000
    file = folder / "t.jsonl"
    for text in (
        transcript().replace('"a"', digits, 1),
        '{"agent":"a","scenario":"s","repetition":' + digits + ',"turns":[]}',
        '{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y",'
        '"tool_calls":[{"function":{"name":"f","arguments":"' + digits + '"}}]}]}',
        "[" * 100_000,
    ):
        file.write_text(text, "utf-8")
        try:
            read_transcripts(file)
        except AssayError:
            pass
        except Exception as error:
            yield f"{text[:60]} ended in {type(error).__name__}"
            continue
        yield None
    tokens = folder / "t.txt"
    tokens.write_text("<EVENT_START><SCREEN><0><0><5><EVENT_END>")
    store = folder / "runs.db"
    for words in (
        ("runs", "show", "@last~" + "9" * 20, "--store", store),
        ("runs", "show", "@last~" + digits, "--store", store),
        ("events", "decode", tokens, "--time-bases", digits),
        ("events", "decode", tokens, "--time-bases", ",".join("2" * 3000)),
        ("events", "decode", tokens, "--time-bases", "999999,999999,999999"),
        ("events", "decode", tokens, "--unit-ms", "1e300"),
        ("events", "decode", tokens, "--unit-ms", "nan"),
    ):
        done = assay_command(*words)
        fell = done.returncode != 2 or "Traceback" in done.stderr or len(done.stderr) > 6000
        yield f"{str(words)[:80]}: {done.returncode}, {done.stderr[:200]}" if fell else None


def values_that_are_not_numbers(times: int, folder: Path) -> Outcomes:
    """NaN and infinities wherever a transcript has room for a value: scored, stored, exported."""
    file, store = folder / "t.jsonl", folder / "runs.db"
    for number in (float("nan"), float("inf"), -float("inf")):
        call = {"name": "f", "arguments": {"x": number}, "result": [number]}
        for more in ({"truth": {"city": "Rome", "temperature": number}}, {"truth": [number]}, {"tool_calls": [call]}):
            file.write_text(transcript(turns=[TURNS[0] | more], preferences={"likes": number}), "utf-8")
            done = assay_command("chat", "score", file, "--metrics", "accuracy", "--store", store)
            shown = assay_command("runs", "export", "@last", "-", "--store", store)
            fell = "Traceback" in done.stderr + shown.stderr or bool(re.search(r": -?(NaN|Infinity)", shown.stdout))
            yield f"{str(more)[:80]}: {done.stderr[-100:]}" if fell else None


ATTACKS = [
    Attack("a transcript chooses files or numbers", transcripts_choose, 1, 1),
    Attack("values that are not numbers", values_that_are_not_numbers, 1, 1),
    Attack("numbers of thousands of digits", numbers_of_thousands_of_digits, 1, 1, seconds=0.6),
]
