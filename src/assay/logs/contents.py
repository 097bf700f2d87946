"""A log file as its format reads it: parsed once, within limits, whatever the file claims to be."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from assay.errors import SourceError, missing_extra
from assay.json_safe import json_safe
from assay.logs.streamed import streamed_object

# A parsed JSON value takes up to this many bytes.
_BYTES_A_VALUE = 128
_ZSTANDARD = 93
# Nobody scores beyond this; the squares of such numbers still are numbers.
_LARGEST = 1e100
_LOCAL_HEADER = struct.Struct("<26xHH")


def memory_limit() -> int:
    """Bytes that what is read at once may take."""
    from assay.events.sources._limits import default_max_memory

    return default_max_memory()


def most_bytes() -> int:
    """How large a value of a JSON log, a line and a member of an archive may be: 128 MB, unless set."""
    return memory_limit() // 4


def largest_whole() -> int:
    """How large a JSON object is parsed as a whole; the lists of a larger one are read an element at a time."""
    return most_bytes() // 4


def too_large(what: str, limit: int, where: str) -> SourceError:
    """The error for something that exceeds a limit of `limit` bytes."""
    from assay.events.sources import _limits

    return _limits.too_large(what, limit, where)


def _parsed(raw: bytes, where: str) -> Any:
    """The JSON, if its values fit in memory."""
    if len(raw) > most_bytes():
        raise too_large("it", most_bytes(), where)
    _check_values(raw, (b",", b"[", b"{"), where)
    return _json(raw)


def _json(raw: bytes) -> Any:
    """As `json.loads`, which would make a decoder for each line."""
    return _DECODER.decode(raw.decode(json.detect_encoding(raw), "surrogatepass"))


def _check_values(text: Any, marks: tuple[Any, Any, Any], where: str) -> None:
    """Raise SourceError if JSON may take too much: an empty list of two bytes takes dozens when it is parsed."""
    most = memory_limit() // _BYTES_A_VALUE
    if len(text) > most and sum(text.count(mark) for mark in marks) > most:
        raise too_large("the parsed JSON", memory_limit(), where)


class AnswerBudget:
    """Counts what the answers of logs take, since all are in memory at once."""

    def __init__(self, bytes_each: int = 1000) -> None:
        self._bytes_each = bytes_each
        self._most = self._left = memory_limit()

    def spend(self, texts: int, where: str) -> None:
        """Count an answer with so many characters."""
        self._left -= self._bytes_each + texts
        if self._left < 0:
            raise too_large("what the answers of the log take", self._most, where)


class LogContent:
    """One file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_fifo():
            raise SourceError(
                "is a pipe, which can be read only once",
                where=str(path),
                hint="Save what it gives as a file, and name that",
            )
        try:
            with path.open("rb") as file:
                self.head = file.read(65_536)
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
            raise SourceError(f"cannot be read: {getattr(error, 'strerror', error)}", where=str(path)) from error

    @property
    def is_archive(self) -> bool:
        return self.head.startswith(b"PK\x03\x04")

    @cached_property
    def sha256(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @cached_property
    def data(self) -> Any:
        """The file as JSON; None if it is something else."""
        if self.is_archive or self.head.lstrip()[:1] not in (b"{", b"[", b'"'):
            return None
        if self.first_line is not None and b"\n" in self.head and self.path.stat().st_size > most_bytes():
            return None  # lines of JSON, which may be many
        try:
            if self.head.lstrip()[:1] == b"{" and self.path.stat().st_size > largest_whole():
                check = partial(_check_values, marks=(",", "[", "{"), where=str(self.path))
                return streamed_object(self.path, check, most_bytes(), str(self.path))
            data = _parsed(self._text(), str(self.path))
            # ADK wraps its JSON in a JSON string.
            return _parsed(data.encode("utf-8", "replace"), str(self.path)) if isinstance(data, str) else data
        except (ValueError, RecursionError):
            return None

    def field(self, *names: str) -> Any:
        """A value within the JSON by its keys; None if it is not there."""
        found = self.data
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    @cached_property
    def first_line(self) -> Any:
        """The first line as JSON; None if it is something else."""
        try:
            return _json(self.head.split(b"\n", 1)[0])
        except (ValueError, RecursionError):
            return None

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every line of a JSONL file as an object, with the number of the line."""
        longest = most_bytes()
        # A line of fewer bytes cannot have more values than fit.
        harmless = min(longest, memory_limit() // _BYTES_A_VALUE)
        with self.path.open("rb") as file:
            number = 0
            while line := file.readline(longest + 1):
                number += 1
                if line.isspace():
                    continue
                try:
                    found = _json(line) if len(line) <= harmless else _parsed(line, self.line(number))
                except (ValueError, RecursionError) as error:
                    where = self.line(number)
                    raise SourceError(f"is not JSON: {error}", where=where, hint="Write one object per line") from error
                if not isinstance(found, dict):
                    raise SourceError("is not a JSON object", where=self.line(number), hint="Write one object per line")
                yield number, found

    def line(self, number: int) -> str:
        """How a line is called in messages."""
        return f"{self.path}:{number}"

    def members(self, folder: str) -> Iterator[tuple[str, Any]]:
        """Every JSON file in a folder of the archive, with its name, in the order of the archive."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                for info in archive.infolist():
                    if info.filename.startswith(folder) and info.filename.endswith(".json"):
                        yield info.filename, self._member(archive, info)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
            raise SourceError(f"is a damaged archive: {error}", where=str(self.path)) from error

    def _member(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
        where = f"{self.path}!{info.filename}"
        if info.file_size > most_bytes():
            raise too_large("a member of the archive", most_bytes(), where)
        if info.compress_type == _ZSTANDARD:
            raw = self._zstandard(info, where)
        else:
            with archive.open(info) as member:
                raw = member.read(info.file_size + 1)
        try:
            return _parsed(raw, where)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"is not JSON: {error}", where=where) from error

    def _zstandard(self, info: zipfile.ZipInfo, where: str) -> bytes:
        """A member packed with Zstandard, which `zipfile` reads from Python 3.14 on."""
        try:
            import zstandard
        except ImportError as error:
            raise missing_extra("zstandard", "events", f"unpack {where}") from error
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            file.seek(name + extra, 1)
            packed = file.read(min(info.compress_size, most_bytes()))
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
                unpacked: bytes = reader.read(info.file_size + 1)
        except (zstandard.ZstdError, MemoryError) as error:
            raise SourceError(f"cannot be unpacked: {error}", where=where) from error
        if len(unpacked) != info.file_size:
            raise SourceError(f"has {len(unpacked):,} bytes and not {info.file_size:,} as it states", where=where)
        return unpacked

    def _text(self) -> bytes:
        with self.path.open("rb") as file:
            raw = file.read(most_bytes() + 1)
        if len(raw) > most_bytes():
            raise too_large("a log that is read as a whole", most_bytes(), str(self.path))
        return raw.decode("utf-8", "replace").encode()


def words(value: Any, limit: int = 20_000) -> str:
    """Whatever a log has for a question or an answer as text: a string, messages, or JSON."""
    if isinstance(value, str):
        found = value
    elif isinstance(value, list) and value and all(isinstance(one, dict) and "content" in one for one in value):
        found = "\n".join(f"{one.get('role', '')}: {words(one['content'], limit)}" for one in value)
    elif value is None:
        found = ""
    else:
        found = json.dumps(json_safe(value), ensure_ascii=False)
    return found if len(found) <= limit else f"{found[:limit]} …"


def score_value(value: Any) -> float | None:
    """A score as a number: numbers, booleans, and the words that tools write for right and wrong."""
    if not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    except ValueError:
        return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
    return found if -_LARGEST <= found <= _LARGEST else None


# Inspect writes C, P, I and N for correct, partially correct, incorrect and no answer.
_WORDS = {
    "c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0,
    "true": 1.0, "false": 0.0, "pass": 1.0, "fail": 0.0, "passed": 1.0, "failed": 0.0,
    "yes": 1.0, "no": 0.0, "correct": 1.0, "incorrect": 0.0,
}  # fmt: skip


def _no_number(name: str) -> None:
    """NaN and infinities, which are not JSON, are scores that could not be given."""


_DECODER = json.JSONDecoder(parse_constant=_no_number)
