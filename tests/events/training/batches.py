"""Batches of a made-up teacher-forced model, a vocabulary for them, and a slow, plain reading of both.

The plain reading goes label by label in Python and decodes text, so it shares no code with what it checks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay import events
from assay.events import EventStream
from assay.events.codecs.tokens import TokenCodec
from assay.types import Ints

MASKED = -100


def vocabulary(codec: TokenCodec) -> dict[int, str]:
    """Ids to tokens, with some that belong to no event; ids are neither dense nor in order.

    None is blank: a text is read without blanks around it, while a token stands where it stands.
    """
    tokens = ["<pad>", "<s>", "hello", "␣", "<unk>", *codec.vocabulary()]
    order = np.random.default_rng(3).permutation(len(tokens) + 50)[: len(tokens)]
    return {int(number): token for number, token in zip(order, tokens, strict=True)}


@dataclass(frozen=True)
class Batch:
    """Arrays of ids, shape (rows, positions) each; predictions stand one position early, as a causal model's do."""

    predictions: Ints
    labels: Ints
    inputs: Ints


def ids_of(codec: TokenCodec, stream: EventStream, ids: dict[str, int]) -> list[list[int]]:
    """The token ids of each event."""
    texts = codec.encode_each(codec.quantise(stream))
    return [[ids[token] for token in split(text)] for text in texts]


def split(text: str) -> list[str]:
    return [f"<{part}" for part in text.split("<")[1:]]


def batch(
    codec: TokenCodec,
    table: dict[int, str],
    rows: list[EventStream],
    *,
    wrong: float = 0.0,
    mask_images: bool = True,
    seed: int = 0,
    left: bool = False,
) -> Batch:
    """Rows of events as a causal model sees them: a prompt without labels, events, padding; predictions with errors."""
    rng = np.random.default_rng(seed)
    ids = {token: number for number, token in table.items()}
    image = ids[codec.image]
    inputs, labels = [], []
    for row in rows:
        tokens = [ids["<s>"], ids["hello"]]
        given = [MASKED, MASKED]
        for event in ids_of(codec, row, ids):
            for token in event:
                hidden = token == image and mask_images  # a vision model sees several tokens and predicts none
                tokens += [token] * 4 if hidden else [token]
                given += [MASKED] * 4 if hidden else [token]
        inputs.append(tokens)
        labels.append(given)
    width = max(map(len, inputs)) + 3
    shape = (len(rows), width)
    padded = [np.full(shape, ids["<pad>"], np.int64), np.full(shape, MASKED, np.int64)]
    for at, lists in enumerate(zip(inputs, labels, strict=True)):
        for target, values in zip(padded, lists, strict=True):
            begin = width - len(values) if left else 0
            target[at, begin : begin + len(values)] = values
    seen, asked = padded
    predictions = np.full(shape, ids["<unk>"], np.int64)
    predictions[:, :-1] = np.where(
        asked[:, 1:] == MASKED, rng.choice(list(table), (len(rows), width - 1)), asked[:, 1:]
    )
    spoiled = rng.random(shape) < wrong
    predictions[spoiled] = rng.choice(list(table), int(spoiled.sum()))
    return Batch(predictions, asked, seen)


def plain_reading(
    codec: TokenCodec, table: dict[int, str], predictions: Ints, labels: Ints, *, shift: bool = True
) -> tuple[list[list[str]], list[list[str]]]:
    """Texts of predicted and true events of each row, one text an event, read token by token."""
    ours, theirs = [], []
    for guess, row in zip(predictions, labels, strict=True):
        texts: tuple[list[str], list[str]] = ([], [])
        at = 0
        while at < len(row):
            if table.get(int(row[at])) != "<EVENT_START>":
                at += 1
                continue
            end = at + 1
            while end < len(row) and table.get(int(row[end])) not in ("<EVENT_START>", "<EVENT_END>"):
                end += 1
            if end == len(row):
                break
            if table.get(int(row[end])) == "<EVENT_END>":
                end += 1
            pieces: tuple[list[str], list[str]] = ([], [])
            for position in range(at, end):
                if row[position] == MASKED:
                    if row[position - 1] != MASKED:
                        for side in pieces:
                            side.append(codec.image)
                    continue
                true = table[int(row[position])]
                given = position < shift
                pieces[0].append(true if given else table.get(int(guess[position - shift]), "?"))
                pieces[1].append(true)
            for text, side in zip(texts, pieces, strict=True):
                text.append("".join(side))
            at = end
        ours.append(texts[0])
        theirs.append(texts[1])
    return ours, theirs


def hierarchical() -> TokenCodec:
    codec: TokenCodec = events.codec("hierarchical")  # type: ignore[assignment]
    return codec
