"""The two token encodings, hierarchical and factorized, as settings over one pair of compiled loops.

Hierarchical writes a signed number modularly and interleaves dx with dy; factorized writes a sign token first, dx
whole, then dy whole, and prefixes key codes and button digits. The loops themselves are in `kernels`.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import AssayWarning, UsageError, unknown_name
from assay.events.codecs import kernels
from assay.events.codecs.vocabulary import AnyTokenizer, code_table
from assay.events.stream import IGNORED_BYTES, NO_TOKEN, EventStream, Kind, blank_columns, concatenate

MILLISECOND = 1_000_000
IMAGE_PLACEHOLDER = "<fake_image_placeholder>"
IGNORED_TOKENS = "tokens between events, ignored"
CLAMPED = "deltas or scrolls out of the encoding's range, clamped"

# The columns in the order of the kernels' arguments.
_COLUMNS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")
# Eight digits of nine letters each, which may occur in a damaged text, then still add up to less than 2**63.
_MAX_SPAN = 10**9
# Shortest possible event in a text: an <EVENT_START> directly followed by the next one.
_SHORTEST = len("<EVENT_START>")
# Text is decoded in pieces of about this many letters, so that a piece encoded to bytes is still in cache when read.
_PIECE = 1_000_000
# Tokens that have another meaning and cannot be used as the image token.
_RESERVED = re.compile(
    r"<(EVENT_START|EVENT_END|KEYBOARD|MOUSE|SCREEN|press|release|SIGN_PLUS|SIGN_MINUS|(VK_|MB_)?\d+)>"
)


def _settings() -> list[str]:
    """Settings that may differ from the defaults; everything else is determined by the name."""
    return [one.name for one in fields(TokenCodec) if one.name not in ("name", "signed", "time_first")]


@dataclass(frozen=True)
class TokenCodec:
    """A token encoding. The name determines the defaults; bases, unit and image token may be changed."""

    name: str
    """'hierarchical', 'hierarchical-time-first' or 'factorized'."""
    signed: bool
    """A sign token before each number, and prefixed key and button tokens (factorized); otherwise modular numbers."""
    time_first: bool
    """The time comes before the type (the older hierarchical layout)."""
    time_bases: tuple[int, ...]
    """Bases of the time digits, most significant first."""
    delta_bases: tuple[int, ...]
    """Bases of the digits of dx and dy."""
    scroll_bases: tuple[int, ...]
    """Bases of the digits of a scroll, in notches."""
    unit_ns: int = 10 * MILLISECOND
    """Length of one unit of time in nanoseconds."""
    image: str = IMAGE_PLACEHOLDER
    """The token that represents a frame's image."""
    strict: bool = False
    """Treat an event with a digit beyond its base as invalid instead of adding the digit with its value."""

    @classmethod
    def named(cls, name: str, **settings: Any) -> TokenCodec:
        """The encoding with that name, with `settings` in place of its defaults."""
        known = _settings()
        for key, value in settings.items():
            if key not in known:
                raise unknown_name("setting of a token encoding", key, known)
            if key.endswith("_bases"):
                settings[key] = tuple(value)
        return replace(_DEFAULTS[name], **settings)

    def to_json(self) -> dict[str, Any]:
        """Its name and all its settings, ready for JSON."""
        settings = {name: getattr(self, name) for name in _settings()}
        return {"name": self.name} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()
        }

    def __post_init__(self) -> None:
        for bases in (self.time_bases, self.delta_bases, self.scroll_bases):
            if (
                not bases
                or not all(1 <= base <= kernels.MAX_BASE for base in bases)
                or math.prod(bases) > _MAX_SPAN
                or len(bases) > kernels.MAX_DIGITS_A_NUMBER
            ):
                raise UsageError(f"invalid bases {bases!s:.60}", hint="Give 1 to 8 numbers from 1 to a million")
        if not 0 < self.unit_ns <= 3600 * 10**9:
            raise UsageError(
                f"the time unit must be positive, got {self.unit_ns} ns", hint="Give nanoseconds, e.g. 10000000"
            )
        inner = self.image[1:-1]
        if not (self.image.startswith("<") and self.image.endswith(">") and inner and not set("<>") & set(inner)):
            raise UsageError(f"'{self.image}' is not one token", hint="An image token looks like <image>")
        if _RESERVED.fullmatch(self.image):
            raise UsageError(f"'{self.image}' has another meaning in this encoding", hint="Choose another image token")

    @property
    def wrap_ns(self) -> int:
        """Period after which the encoding's clock wraps around."""
        return math.prod(self.time_bases) * self.unit_ns

    @property
    def delta_limits(self) -> tuple[int, int]:
        """Least and greatest dx or dy that can be written."""
        return _limits(self.delta_bases, self.signed)

    @property
    def scroll_limits(self) -> tuple[int, int]:
        """Least and greatest scroll that can be written, in notches."""
        return _limits(self.scroll_bases, self.signed)

    @cached_property
    def _grammar(self) -> NDArray[np.int64]:
        return kernels.grammar_array(
            signed=self.signed,
            time_first=self.time_first,
            strict=self.strict,
            unit_ns=self.unit_ns,
            time=self.time_bases,
            delta=self.delta_bases,
            scroll=self.scroll_bases,
        )

    @cached_property
    def _image(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.image.encode(), np.uint8)

    # --- decoding ---------------------------------------------------------------------------------------------------

    def decode(self, text: str | bytes, *, threads: int | None = None) -> EventStream:
        """All events of one text; text between events is ignored and counted. By default on all cores."""
        edges = _edges(text)
        workers = min(threads or os.cpu_count() or 1, len(edges) - 1)
        if workers == 1:
            return self._decode_between(text, edges)
        cuts = [(len(edges) - 1) * worker // workers for worker in range(workers + 1)]
        runs = [edges[begin : end + 1] for begin, end in pairwise(cuts)]
        with ThreadPoolExecutor(workers) as pool:
            return concatenate(list(pool.map(lambda run: self._decode_between(text, run), runs)))

    def _decode_between(self, text: str | bytes, edges: Sequence[int]) -> EventStream:
        """Decodes the text from edge to edge directly into the resulting columns."""
        n = ignored = 0
        columns = _blank_columns(0)
        spelled: list[NDArray[np.int64]] = []
        for begin, end in pairwise(edges):
            raw = _raw(text, begin, end)
            worst = len(raw) // _SHORTEST + 1
            if n + worst > len(columns[0]):
                # Assume that the rest of the text is as dense in events as the text so far.
                done = begin - edges[0]
                expected = int(1.05 * n * (edges[-1] - begin) / done) if done else 0
                columns = _grown(columns, n, n + max(expected, worst) + worst)
            first = n
            n, skipped, unusual = kernels.decode_text(raw, self._image, self._grammar, n, self._room(0), *columns)
            ignored += skipped
            if unusual:
                spelled.append(self._room(unusual))
                kernels.decode_text(raw, self._image, self._grammar, first, spelled[-1], *columns)
        notes = Counter({IGNORED_BYTES: int(ignored)}) if ignored else Counter()
        return self._stream([column[:n] for column in columns], notes, spelled)

    def _room(self, n: int) -> NDArray[np.int64]:
        """Space for the spelling of n events: the row, and the tokens of time and data; shape (n, …)."""
        marks = 3 if self.signed else 0
        tokens = len(self.time_bases) + 2 * len(self.delta_bases) + len(self.scroll_bases) + marks + 3
        return np.full((n, tokens + 1), NO_TOKEN, np.int64)

    def decode_each(self, texts: list[str] | list[bytes]) -> EventStream:
        """One event from each text; a text that is not exactly one event is one invalid event."""
        joined, offsets = _joined(texts)
        return self.decode_slices(np.frombuffer(joined, np.uint8), offsets)

    def decode_slices(self, raw: NDArray[np.uint8], offsets: NDArray[np.int64]) -> EventStream:
        """One event from each raw[offsets[i]:offsets[i+1]], the layout of strings in Arrow."""
        if len(offsets) < 1 or offsets[0] < 0 or offsets[-1] > len(raw) or (np.diff(offsets) < 0).any():
            raise UsageError(
                "the offsets do not lie inside the text", hint="Give ascending offsets, one more than texts"
            )
        columns = _blank_columns(len(offsets) - 1)
        wide = offsets.astype(np.int64, copy=False)
        unusual = kernels.decode_elements(raw, wide, self._image, self._grammar, self._room(0), *columns)
        spelled = self._room(unusual)
        if unusual:
            kernels.decode_elements(raw, wide, self._image, self._grammar, spelled, *columns)
        return self._stream(columns, Counter(), [spelled])

    def decode_ids(self, ids: ArrayLike, tokenizer: AnyTokenizer, *, labels: ArrayLike | None = None) -> EventStream:
        """All events of token ids, shape (tokens,) or (sequences, tokens).

        Positions whose label is −100 are left out; if no labels are given, ids of −100 are left out.
        """
        table = self.codes_of(tokenizer)
        array = np.atleast_2d(np.asarray(ids))
        if not array.size:
            array = array.astype(np.int64)  # NumPy makes an array of floats from an empty list
        if not np.issubdtype(array.dtype, np.integer) or array.ndim != 2:
            raise UsageError("token ids must be whole numbers of shape (tokens,) or (sequences, tokens)")
        mask = array if labels is None else np.atleast_2d(np.asarray(labels))
        if mask.shape != array.shape:
            raise UsageError(f"ids have shape {array.shape} and labels {mask.shape}", hint="Give one label per id")
        kept = mask != -100
        codes = np.full(array.shape, kernels.OTHER, np.int64)
        known = (array >= 0) & (array < len(table))
        codes[known] = table[array[known]]
        images = self._masked_images(codes, kept)
        codes[images], kept[images] = kernels.IMAGE, True
        rows = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return self.decode_codes(codes[kept], rows)

    def _masked_images(self, codes: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where an image stands that is masked as a whole, shape (sequences, tokens): one position for each.

        Masked positions between a frame's time and its <EVENT_END> can be nothing else.
        """
        before = len(self.time_bases) + 1  # the type and the time's digits
        width = codes.shape[1]
        found = np.zeros(codes.shape, bool)
        if width <= before + 1:
            return found
        begins = ~kept[:, before:] & kept[:, before - 1 : -1]
        type_at = before - 1 if self.time_first else 0
        begins &= codes[:, type_at : width - before + type_at] == kernels.SCREEN
        for at in range(before):
            begins &= kept[:, at : width - before + at]
        # The next position that is kept, counted from the right; a run of masked ones shares it.
        places = np.where(kept, np.arange(width), width)
        following = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
        row, place = np.nonzero(begins)
        place = place + before
        after = following[row, place]
        ends = (after < width) & (codes[row, np.minimum(after, width - 1)] == kernels.END)
        found[row[ends], place[ends]] = True
        return found

    def decode_codes(self, codes: NDArray[np.int64], rows: NDArray[np.int64]) -> EventStream:
        """All events of the codes of tokens (see `codes_of`); codes[rows[i]:rows[i+1]] is one sequence."""
        if len(rows) < 1 or rows[0] < 0 or rows[-1] > len(codes) or (np.diff(rows) < 0).any():
            raise UsageError("the rows do not lie inside the codes", hint="Give ascending offsets, one more than rows")
        columns = _blank_columns(len(codes) + 1)
        n, ignored, unusual = kernels.decode_codes(codes, rows, self._grammar, self._room(0), *columns)
        spelled = self._room(unusual)
        if unusual:
            kernels.decode_codes(codes, rows, self._grammar, spelled, *columns)
        notes = Counter({IGNORED_TOKENS: int(ignored)}) if ignored else Counter()
        return self._stream([column[:n] for column in columns], notes, [spelled])

    def codes_of(self, tokenizer: AnyTokenizer) -> NDArray[np.int64]:
        """For each token id, the code that the kernels use for it."""
        return code_table(self.vocabulary(), tokenizer)

    def vocabulary(self) -> dict[str, int]:
        """Every token of this encoding, with its code."""
        numbers = max(256, *self.time_bases, *self.delta_bases, *self.scroll_bases)
        tokens = {f"<{number}>": number for number in range(numbers)}
        tokens |= {
            "<EVENT_START>": kernels.START,
            "<EVENT_END>": kernels.END,
            "<KEYBOARD>": kernels.KEYBOARD,
            "<MOUSE>": kernels.MOUSE,
            "<SCREEN>": kernels.SCREEN,
            "<press>": kernels.PRESS,
            "<release>": kernels.RELEASE,
            "<fake_token_around_image>": kernels.IMAGE_EDGE,
            "<img>": kernels.IMAGE_OPEN,
            "</img>": kernels.IMAGE_CLOSE,
            self.image: kernels.IMAGE,
        }
        if self.signed:
            tokens |= {"<SIGN_PLUS>": kernels.PLUS, "<SIGN_MINUS>": kernels.MINUS}
            tokens |= {f"<VK_{vk}>": kernels.VK + vk for vk in range(256)}
            tokens |= {f"<MB_{digit}>": kernels.BUTTON + digit for digit in range(16)}
        return tokens

    def _stream(
        self, columns: Sequence[NDArray[Any]], notes: Counter[str], spelled: Sequence[NDArray[np.int64]]
    ) -> EventStream:
        """A stream of these columns. `spelled` has the rows and tokens of events that are spelled in an unusual way."""
        named: dict[str, Any] = dict(zip(_COLUMNS, columns, strict=True))
        n = len(columns[0])
        if sum(map(len, spelled)):
            together = np.concatenate(spelled)
            named["spelling"] = np.full(n, -1, np.int32)
            named["spelling"][together[:, 0]] = np.arange(len(together))
            named["spellings"] = together[:, 1:]
        return EventStream(
            **named,
            episode=np.broadcast_to(np.int32(0), n),  # takes no memory
            notes=notes,
            quantised=self,
        )

    # --- encoding ---------------------------------------------------------------------------------------------------

    def encode_each(self, stream: EventStream) -> list[str]:
        """One text per event. Deltas and scrolls out of range are clamped, with a warning that counts them."""
        text, offsets = self.encode_slices(stream)
        return [text[a:b].decode() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]

    def encode_slices(self, stream: EventStream) -> tuple[bytes, NDArray[np.int64]]:
        """All events as one text, and where each begins; one offset more than events."""
        if not stream.valid.all():
            at = int(np.flatnonzero(stream.problem)[0])
            raise UsageError("an invalid event cannot be encoded", where=f"event {at}", hint="Leave it out first")
        if ((stream.flags < 0) | (stream.flags > 0xFFF)).any():
            raise UsageError("button flags above 0xFFF cannot be encoded")
        whole = self.quantise(stream)
        if clamped := whole.notes[CLAMPED] - stream.notes[CLAMPED]:
            warnings.warn(f"{clamped:,} {CLAMPED}", AssayWarning, stacklevel=3)
        offsets = np.empty(len(stream) + 1, np.int64)
        digits = len(self.time_bases) + 2 * len(self.delta_bases) + len(self.scroll_bases)
        room = len("<EVENT_START><KEYBOARD><EVENT_END>") + 3 * len("<SIGN_MINUS>") + 3 * len("<MB_15>")
        room += 12 * digits + len(self._image) + len("<VK_255><release>")
        buffer = np.empty(len(stream) * room + 8, np.uint8)
        columns: tuple[Any, ...] = tuple(np.ascontiguousarray(getattr(whole, name)) for name in _COLUMNS[:-1])
        end = kernels.encode_text(*(self._image, self._grammar, *columns, buffer, offsets))
        return buffer[:end].tobytes(), offsets

    def quantise(self, stream: EventStream) -> EventStream:
        """The events as they would be after encoding and decoding: time floored and wrapped, numbers clamped."""
        notches = np.rint(stream.data / 120).astype(np.int64)
        clipped = {
            "dx": np.clip(stream.dx, *self.delta_limits),
            "dy": np.clip(stream.dy, *self.delta_limits),
            "data": np.clip(notches, *self.scroll_limits) * 120,
        }
        mouse = stream.kind == Kind.MOUSE
        changed = (clipped["dx"] != stream.dx) | (clipped["dy"] != stream.dy) | (clipped["data"] != stream.data)
        notes = stream.notes.copy()
        if clamped := int((changed & mouse).sum()):
            notes[CLAMPED] += clamped
        return replace(
            stream,
            time_ns=stream.time_ns // self.unit_ns * self.unit_ns % self.wrap_ns,
            dx=clipped["dx"].astype(np.int32),
            dy=clipped["dy"].astype(np.int32),
            data=clipped["data"].astype(np.int32),
            notes=notes,
            quantised=self,
            spelling=None,
            spellings=None,
        )


_HIERARCHICAL = TokenCodec(
    name="hierarchical",
    signed=False,
    time_first=False,
    time_bases=(16, 10, 10),
    delta_bases=(2, 20, 10, 10),
    scroll_bases=(2, 10),
)
_DEFAULTS = {
    "hierarchical": _HIERARCHICAL,
    "hierarchical-time-first": replace(_HIERARCHICAL, name="hierarchical-time-first", time_first=True),
    "factorized": TokenCodec(
        name="factorized",
        signed=True,
        time_first=False,
        time_bases=(10, 10, 10),
        delta_bases=(2, 10, 10, 10),
        scroll_bases=(10,),
    ),
}


def _limits(bases: tuple[int, ...], signed: bool) -> tuple[int, int]:
    span = math.prod(bases)
    if signed:
        return -(span - 1), span - 1
    return -(span // 2), (span + 1) // 2 - 1


def _edges(text: str | bytes) -> list[int]:
    """Positions where the text may be split: its ends, and some <EVENT_START>s, which end any open event anyway."""
    mark: Any = "<EVENT_START>" if isinstance(text, str) else b"<EVENT_START>"
    edges = [0]
    while len(text) - edges[-1] > _PIECE:
        begin = edges[-1]
        cut = text.rfind(mark, begin + 1, begin + _PIECE)
        if cut < 0:
            # No event begins in this piece: continue to the next <EVENT_START>, however far it is.
            cut = text.find(mark, begin + 1)
        if cut < 0:
            break
        edges.append(cut)
    return [*edges, len(text)]


def _raw(text: str | bytes, begin: int, end: int) -> NDArray[np.uint8]:
    """The bytes of a part of the text; bytes are not copied."""
    if isinstance(text, str):
        return np.frombuffer(_encoded(text[begin:end]), np.uint8)
    return np.frombuffer(text, np.uint8)[begin:end]


def _encoded(text: str | bytes) -> bytes:
    # Invalid UTF-8 cannot be part of a token, so it may be replaced by anything that is not a token.
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def _joined(texts: list[str] | list[bytes]) -> tuple[bytes, NDArray[np.int64]]:
    """The texts as one, and where each begins."""
    joined = "".join(texts) if all(isinstance(text, str) for text in texts) else None  # type: ignore[arg-type]
    if joined is not None and joined.isascii():
        raw, lengths = joined.encode(), map(len, texts)
    else:
        encoded = [_encoded(text) for text in texts]
        raw, lengths = b"".join(encoded), map(len, encoded)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(texts)), out=offsets[1:])
    return raw, offsets


def _grown(columns: Sequence[NDArray[Any]], n: int, room: int) -> tuple[NDArray[Any], ...]:
    """Columns with more room, containing the first n entries of the old ones."""
    larger = _blank_columns(room)
    for old, new in zip(columns, larger, strict=True):
        new[:n] = old[:n]
    return larger


def _blank_columns(n: int) -> tuple[NDArray[Any], ...]:
    """Uninitialised columns for n events, in the kernels' order."""
    columns = blank_columns(n)
    return tuple(columns[name] for name in _COLUMNS)
