"""From labels and predictions of a teacher-forced model to events: each is read where the labels say that there is one.

The labels' <EVENT_START> … <EVENT_END> are the only frames there are. What the model predicted for those positions is
one event each, so a wrong token costs its own event and no other. Knows arrays of ids and the encoding's codes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.events.codecs import kernels
from assay.events.codecs.tokens import IGNORED_TOKENS, TokenCodec
from assay.events.stream import EventStream, Problem
from assay.events.training.alignment import TokenAlignment
from assay.types import Floats, Ints

MASKED = -100
"""The label of a position that the model is not asked about, as in PyTorch's losses."""

CUT_OFF = "true events cut off by the end of their row, left out"


@dataclass(frozen=True)
class RowEvents:
    """The events of a batch, row by row; prediction i belongs to truth i."""

    predicted: EventStream
    truth: EventStream
    lengths: Ints
    """Events in each row, shape (rows,)."""
    alignment: TokenAlignment
    """How well the predictions fit the labels at, before and after their place."""
    scores: tuple[Floats, Floats] | None = None
    """Log-probabilities of the true and of the predicted events, shape (events,) each; None if they are not known."""


@dataclass(frozen=True)
class SpanReader:
    """Reads batches of one model: its encoding, its tokenizer's ids, and where its predictions stand."""

    codec: TokenCodec
    table: NDArray[np.int64]
    """The code of each token id (`TokenCodec.codes_of`)."""
    shift: bool = True
    """The prediction for position p stands at p − 1, as a causal language model's does; else at p itself."""

    def read(
        self,
        predictions: Ints,
        labels: Ints,
        inputs: Ints | None = None,
        scores: tuple[Floats, Floats] | None = None,
    ) -> RowEvents:
        """The events of a batch; arrays of ids, shape (rows, positions) each.

        Predictions may lack the last position, which predicts nothing that has a label. `scores` are log-probabilities
        of the true and of the predicted tokens, and stand where the predictions stand.
        """
        predictions = self._checked(predictions, labels, inputs)
        width = labels.shape[1]
        flat = labels.ravel()
        codes = self._codes(flat)
        spans = _Spans.of(codes, flat == MASKED, width, self.codec)
        at = spans.positions
        asked = ~spans.given & (at % max(width, 1) >= self.shift)
        truth = np.where(spans.given, spans.filling, codes[at])
        guess = truth.copy()  # what the model is not asked for is taken from the labels
        guess[asked] = self._codes(predictions.ravel()[at[asked] - self.shift])
        alignment = TokenAlignment.of(predictions, labels, inputs, at[asked], shift=self.shift)
        ignored = int((flat != MASKED).sum()) - spans.labelled
        notes = Counter({IGNORED_TOKENS: ignored, CUT_OFF: spans.cut_off})
        kept = spans.kept
        sides = [self._decoded(side[kept], spans.offsets) for side in (guess, truth)]
        return RowEvents(
            sides[0],
            replace(sides[1], notes=+notes),
            np.bincount(spans.rows, minlength=len(labels)).astype(np.int64),
            alignment,
            None if scores is None else self._summed(scores, labels, spans, asked),
        )

    def _summed(
        self, scores: tuple[Floats, Floats], labels: Ints, spans: _Spans, asked: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Log-probabilities by event, from those of tokens; what the model is not asked for is certain."""
        sums = []
        for by_token in scores:
            if by_token.shape != labels.shape:
                raise UsageError(
                    f"log-probabilities have shape {by_token.shape} and labels {labels.shape}",
                    hint="Give one for each label",
                )
            values = np.zeros(len(spans.positions))
            values[asked] = by_token.ravel()[spans.positions[asked] - self.shift]
            kept = values[spans.kept]
            sums.append(np.add.reduceat(kept, spans.offsets[:-1]) if len(spans.rows) else kept)
        return sums[0], sums[1]

    def _checked(self, predictions: Ints, labels: Ints, inputs: Ints | None) -> Ints:
        """The predictions, as wide as the labels."""
        for name, ids in (("predictions", predictions), ("labels", labels), ("inputs", inputs)):
            if ids is not None and (ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer)):
                raise UsageError(
                    f"the {name} have shape {ids.shape} and hold {ids.dtype}",
                    hint="Give token ids, shape (rows, positions)",
                )
        if self.shift and predictions.shape == (len(labels), labels.shape[1] - 1):
            predictions = np.pad(predictions, ((0, 0), (0, 1)), constant_values=MASKED)
        for name, ids in (("predictions", predictions), ("inputs", inputs)):
            if ids is not None and ids.shape != labels.shape:
                raise UsageError(
                    f"{name} have shape {ids.shape} and labels {labels.shape}",
                    hint="Give one prediction for each label; a model that widens its input must give labels as wide",
                )
        return predictions

    def _codes(self, ids: Ints) -> Ints:
        known = (ids >= 0) & (ids < len(self.table))
        codes = np.full(ids.shape, kernels.OTHER, np.int64)
        codes[known] = self.table[ids[known]]
        return codes

    def _decoded(self, codes: Ints, offsets: Ints) -> EventStream:
        """One event from the codes of each span, codes[offsets[i]:offsets[i+1]]; what is not exactly one is invalid.

        The rules are those for a list of texts with one event each (`TokenCodec.decode_each`).
        """
        if len(offsets) == 1:
            return self.codec.decode_codes(codes, np.zeros(1, np.int64))
        lengths = np.diff(offsets)
        within = np.arange(len(codes)) - np.repeat(offsets[:-1], lengths)
        marks = (codes == kernels.START) | (codes == kernels.END)
        # Where each span's event ends: at the first mark after its first token, or nowhere.
        ends = np.minimum.reduceat(np.where(marks & (within > 0), within, np.iinfo(np.int64).max), offsets[:-1])
        starts = codes[offsets[:-1]] == kernels.START
        last = codes[offsets[1:] - 1] == kernels.END
        whole = starts & (ends == lengths - 1) & last
        # What is not whole is cut where its frame ends: one event each, cut short, whose kind can still be read.
        sizes = np.where(whole, lengths, np.where(starts, np.minimum(ends, lengths), 1))
        framed = codes.copy()
        framed[offsets[:-1]] = kernels.START
        taken = within < np.repeat(sizes, lengths)
        stream = self.codec.decode_codes(framed[taken], np.concatenate([[0], np.cumsum(sizes)]))
        problem = stream.problem.copy()
        problem[~whole] = np.where(starts & (ends > lengths), Problem.CUT_SHORT, Problem.UNFRAMED)[~whole]
        return replace(stream, problem=problem)


@dataclass(frozen=True)
class _Spans:
    """Where the events of a batch stand: positions in the flattened labels, span after span."""

    positions: Ints
    """Every position of every span, shape (n,)."""
    given: NDArray[np.bool_]
    """Shape (n,): positions that the model is not asked about."""
    filling: Ints
    """Shape (n,): what stands at a given position."""
    kept: NDArray[np.bool_]
    """Shape (n,): of several masked positions in a row, one is kept: together they are one image."""
    offsets: Ints
    """Where each span begins among the kept positions; one more than spans."""
    rows: Ints
    """The row of each span."""
    labelled: int
    """Labels that belong to a span, or to an event that was left out."""
    cut_off: int
    """Events that the end of their row cuts off."""

    @classmethod
    def of(cls, codes: Ints, masked: NDArray[np.bool_], width: int, codec: TokenCodec) -> _Spans:
        """The spans of labels with these codes, shape (rows · width,)."""
        marks = np.flatnonzero(((codes == kernels.START) | (codes == kernels.END)) & ~masked)
        follow = np.append(marks[1:], len(codes))
        begins = codes[marks] == kernels.START
        begin, follow = marks[begins], follow[begins]
        row_end = (begin // max(width, 1) + 1) * width
        in_row = follow < row_end
        closed = in_row & (codes[np.minimum(follow, len(codes) - 1)] == kernels.END) if len(codes) else in_row
        stop = np.where(closed, follow + 1, np.minimum(follow, row_end))
        # A frame whose image is masked together with its <EVENT_END> breaks off after its time.
        header = 2 + len(codec.time_bases)
        kind_at = begin + (1 + len(codec.time_bases) if codec.time_first else 1)
        after = begin + header
        inside = after < stop
        frame = ~closed & inside
        frame[frame] = (codes[kind_at[frame]] == kernels.SCREEN) & masked[after[frame]]
        stop = np.where(frame, after + 2, stop)  # the image, and its <EVENT_END>
        left_out = ~closed & ~in_row & ~frame
        labels_before = np.concatenate([[0], np.cumsum(~masked)])
        truncated = int((labels_before[stop[left_out]] - labels_before[begin[left_out]]).sum())
        kept = ~left_out
        begin, stop, frame = begin[kept], stop[kept], frame[kept]
        lengths = stop - begin
        edges = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.arange(edges[-1]) + np.repeat(begin - edges[:-1], lengths)
        made_up = np.zeros(len(positions), np.bool_)
        made_up[edges[1:][frame] - 1] = True  # an <EVENT_END> that no label has
        positions[made_up] = begin[frame]
        given = masked[positions] | made_up
        filling = np.where(made_up, kernels.END, kernels.IMAGE)
        again = np.zeros(len(positions), np.bool_)
        hidden = given & ~made_up
        again[1:] = hidden[1:] & hidden[:-1]
        count = np.concatenate([[0], np.cumsum(~again)])
        labelled = int((~given).sum()) + truncated
        return cls(
            positions, given, filling, ~again, count[edges], begin // max(width, 1), labelled, int(left_out.sum())
        )
