"""What the end of a response says: token counts, and whether a stream was whole."""

from __future__ import annotations

import pytest

from assay.chat.agents._shared.wire import Wire

STREAM = {"content-type": "text/event-stream; charset=utf-8"}
DONE = b"data: [DONE]\n\n"


def counts(tokens: tuple[int, int]) -> bytes:
    return b'data: {"choices": [], "usage": {"prompt_tokens": %d, "completion_tokens": %d}}\n\n' % tokens


def read(*pieces: bytes, headers: dict[str, str] = STREAM, ended: bool = True) -> Wire:
    wire = Wire(headers)
    for piece in pieces:
        wire.add(piece)
    if ended:
        wire.finish()
    return wire


def test_the_last_counts_are_those_of_the_response() -> None:
    assert read(counts((5, 1)), counts((5, 7)), DONE).tokens == (5, 7)
    whole = counts((5, 7))
    assert read(*(whole[at : at + 1] for at in range(len(whole)))).tokens == (5, 7)
    body = {"content-type": "application/json"}
    assert read(b'{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}', headers=body).tokens == (
        3,
        4,
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"usage": null}',
        b'{"usage": {"prompt_tokens": -7, "completion_tokens": 9000000000}}',
        b'{"usage": {"prompt_tokens": "3", "completion_tokens": 4}}',
        b'{"usage": {"prompt_tokens": 3',
        b'{"usage": ' + b'{"a": ' * 5000,
    ],
)
def test_counts_that_are_missing_or_impossible_are_unknown(body: bytes) -> None:
    assert read(body).tokens is None


def test_compressed_responses_are_not_read() -> None:
    wire = read(counts((5, 7)), headers={**STREAM, "content-encoding": "gzip"})
    assert (wire.tokens, wire.broke_off) == (None, False)


def test_a_stream_breaks_off_if_it_has_neither_a_reason_nor_its_end_mark() -> None:
    text = b'data: {"choices": [{"delta": {"content": "It is"}, "finish_reason": null}]}\n\n'
    assert read(text).broke_off
    assert not read(text, DONE).broke_off
    assert not read(text, b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n').broke_off
    # A client that stops reading has not lost anything; and a whole body has no end mark.
    assert not read(text, ended=False).broke_off
    assert not read(b"{}", headers={"content-type": "application/json"}).broke_off


def test_long_streams_are_read_at_their_end_only() -> None:
    wire = read(*[b"data: " + b"x" * 1000] * 500, counts((1, 2)))
    assert wire.tokens == (1, 2)
    assert len(wire._tail) < 100_000
