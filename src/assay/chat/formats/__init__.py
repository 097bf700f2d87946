"""Transcripts from files: assay's JSONL, OpenAI-style message lists, and OpenTelemetry spans.

Here the format of a file is recognised; each format has a module of its own that turns it into `Transcript`.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from assay.chat.domains import DOMAINS
from assay.chat.formats.exported import from_spans
from assay.chat.formats.openai import from_messages, is_message_list
from assay.chat.formats.repetitions import Repetitions
from assay.chat.formats.truths import check_truths
from assay.chat.reading.language_files import shipped_languages
from assay.chat.transcript import Transcript, Transcripts, json_lines, load_json, parse
from assay.errors import SourceError, unknown_name

FORMATS = ("assay", "openai", "otel")
_OPENING = re.compile(r"^\{\r?$", re.MULTILINE)
LONGEST_LINE = 64_000_000
"""The longest line of a file that is read line by line, in bytes."""


LARGEST_WHOLE = 32_000_000
"""The largest file that is read as a whole, in bytes; parsed JSON takes up to thirty times the memory of its text."""


def read_transcripts(
    path: Path,
    *,
    format: str = "auto",
    agent: str | None = None,
    domain: str | None = None,
    max_bytes: int = LARGEST_WHOLE,
    notify: Callable[[str], object] | None = None,
) -> Transcripts:
    """Read the transcripts of a file; `agent` and `domain` are their names if the file does not give them.

    A file of more than `max_bytes` is an error: it may be a device without an end. `notify` is told if turns of traces
    are left out because their answers were not recorded.

    Example:
        >>> from pathlib import Path
        >>> line = '{"agent": "bot", "scenario": "hello", "turns": [{"user": "Hi", "assistant": "Hello!"}]}'
        >>> _ = Path("transcripts.jsonl").write_text(line)
        >>> read_transcripts(Path("transcripts.jsonl"))[0].turns[0].assistant
        'Hello!'

    """
    if format not in ("auto", *FORMATS):
        raise unknown_name("format of transcripts", format, ("auto", *FORMATS))
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise SourceError(
                f"is larger than {max_bytes / 1e6:g} MB, the limit for files that are read as a whole",
                where=str(path),
                hint="Write one transcript per line in a file, or raise the limit with --max-mb",
            )
        text = content.decode("utf-8-sig")
    # ValueError: a zero byte in the path.
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise SourceError("is not UTF-8 text", where=str(path), hint="Save it as UTF-8") from error
        raise SourceError(f"cannot be read: {getattr(error, 'strerror', error)}", where=str(path)) from error
    records = _records(text, path)
    found: list[Transcript] = []
    places: list[str] = []
    spans: list[tuple[str, Any]] = []
    for where, record in records:
        this = format if format != "auto" else _format_of(record, where)
        if this == "otel":
            spans.append((where, record))
        else:
            found.append(_transcript(record, where, this, agent=agent, number=len(found) + 1, domain=domain))
            places.append(where)
    if spans:
        found += from_spans(spans, agent=agent, notify=notify)
    if not found:
        raise SourceError("has no transcripts", where=str(path), hint="Write one JSON object per line")
    found = [_in_domain(transcript, domain) for transcript in _numbered(found, places, path)]
    return Transcripts(found, source=str(path), sha256=hashlib.sha256(content).hexdigest())


@cache
def _languages() -> list[str]:
    return shipped_languages()


def _transcript(
    record: Any,
    where: str,
    form: str,
    *,
    agent: str | None,
    number: int,
    domain: str | None,
    read_truths: bool = True,
) -> Transcript:
    """The transcript of one record; `number` is its position among the file's, which names it if nothing else does."""
    is_messages = form != "assay"
    if is_messages:
        found = from_messages(record, where, agent=agent, scenario=f"conversation {number}")
    else:
        found = parse(record, where)
    found = _in_domain(found, domain)
    if found.language not in _languages():
        error = unknown_name("language", found.language, _languages())
        raise SourceError(error.what, where=where, hint=error.hint)
    if found.domain not in DOMAINS.names():
        error = unknown_name("domain", found.domain, DOMAINS.names())
        raise SourceError(error.what, where=where, hint=error.hint)
    check_truths(found, where, is_messages=is_messages, read=read_truths)
    return found


def _numbered(transcripts: list[Transcript], places: list[str], path: Path) -> Iterator[Transcript]:
    """The transcripts, each with its number among those of its agent and scenario."""
    ends = [place.rpartition(":")[2] for place in places]
    lines = [int(end) if end.isdecimal() else None for end in ends]
    repetitions = Repetitions(str(path), is_list=None in lines)
    for at, transcript in enumerate(transcripts):
        given = transcript.repetition if "repetition" in transcript.model_fields_set else None
        line = lines[at] if at < len(lines) else None
        number = repetitions.number(transcript.agent, transcript.scenario, given, at if line is None else line)
        yield transcript if number == transcript.repetition else transcript.model_copy(update={"repetition": number})


def _in_domain(transcript: Transcript, domain: str | None) -> Transcript:
    """The transcript, in this domain if it names none."""
    if domain is None or "domain" in transcript.model_fields_set:
        return transcript
    return transcript.model_copy(update={"domain": domain})


def can_stream(path: Path, *, format: str = "auto") -> bool:
    """Whether each line of a file is a transcript of its own, by its first two lines."""
    if format not in ("auto", "assay", "openai"):
        return False
    try:
        first = list(islice(numbered_lines(path), 2))
        records = [load_json(line.decode("utf-8")) for _, line in first]
        return len(first) == 2 and all(_format_of(record, str(path)) != "otel" for record in records)
    except (ValueError, RecursionError, SourceError):
        return False


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line of a file that is not blank, with its number; raises SourceError if one is too long."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if len(line) > LONGEST_LINE:
                    raise SourceError(
                        f"the line is longer than {LONGEST_LINE // 1_000_000} MB",
                        where=f"{path}:{number}",
                        hint="Divide the conversation, or leave out large results of tools",
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from error


def parse_line(
    line: bytes,
    where: str,
    *,
    form: str,
    agent: str | None,
    number: int,
    domain: str | None = None,
    repetition: int | None = None,
    read_truths: bool = True,
) -> Transcript:
    """The transcript of one line; `number` counts those of its file from 1, `repetition` those of its scenario.

    Without `read_truths`, only the fields of its truths are checked.
    """
    try:
        record = load_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SourceError("is not UTF-8 text", where=where, hint="Save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is not valid JSON: {error}", where=where, hint="Write one JSON object per line") from error
    this = form if form != "auto" else _format_of(record, where)
    if this == "otel":
        raise SourceError(
            "is a span of a trace among transcripts", where=where, hint="Score traces and transcripts as separate files"
        )
    found = _transcript(record, where, this, agent=agent, number=number, domain=domain, read_truths=read_truths)
    return found if repetition is None else found.model_copy(update={"repetition": repetition})


def _records(text: str, path: Path) -> list[tuple[str, Any]]:
    """The file's JSON objects: one per line, one for the whole file, or the elements of one list."""
    try:
        whole = load_json(text)
    except (ValueError, RecursionError):
        return list(_printed_objects(text, path) if _OPENING.search(text) else json_lines(text, path))
    if isinstance(whole, list) and not is_message_list(whole):
        return [(f"{path}[{at}]", record) for at, record in enumerate(whole)]
    one_line = "\n" not in text.strip()
    return [(f"{path}:1" if one_line else str(path), whole)]


def _printed_objects(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Objects over several lines, as OpenTelemetry's console exporter prints them; what else was printed is skipped."""
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line == "{":
            lines, start = [], number
        if start:
            lines.append(line)
        if line == "}" and start:
            try:
                yield f"{path}:{start}", load_json("\n".join(lines))
            except (ValueError, RecursionError) as error:
                raise SourceError(
                    f"is not valid JSON: {error}",
                    where=f"{path}:{start}",
                    hint="Keep the output of the console exporter whole",
                ) from error
            start = 0
    if start:
        raise SourceError(
            "is not valid JSON: the object has no end", where=f"{path}:{start}", hint="Write one JSON object per line"
        )


def _format_of(record: object, where: str) -> str:
    if is_message_list(record):
        return "openai"
    if isinstance(record, Mapping):
        if "turns" in record:
            return "assay"
        if "messages" in record:
            return "openai"
        if "resourceSpans" in record or ("attributes" in record and ("context" in record or "traceId" in record)):
            return "otel"
    raise SourceError(
        "is not in a format that assay knows",
        where=where,
        hint="A transcript has 'turns', a message list has 'messages', a trace has 'resourceSpans'",
    )
