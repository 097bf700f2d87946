"""Tokens of events as they were written, if these are not the tokens that encoding the events gives.

A digit beyond its base, a minus before 0 or a scroll of 0 decode to values that are usually spelled in another way. The
decoder keeps the codes of such events beside the stream; this module puts them into the order of the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.events.codecs import kernels
from assay.events.stream import NO_TOKEN, EventStream, Kind

if TYPE_CHECKING:
    from assay.events.codecs.tokens import TokenCodec


def written_tokens(codec: TokenCodec, stream: EventStream, kind: Kind) -> NDArray[np.int64]:
    """Time and data tokens of events of one kind, all of which have a spelling, as they were written; shape (n, …).

    Digits are numbers; a minus and a press are 1, a plus and a release 0. dx comes whole before dy. NO_TOKEN stands
    for what an event does not have.
    """
    codes = stream.spellings[stream.spelling]  # type: ignore[index]
    begin = len(codec.time_bases)
    if kind == Kind.SCREEN:
        return np.asarray(codes[:, :begin])
    if kind == Kind.KEYBOARD:
        vk = codes[:, begin] - (kernels.VK if codec.signed else 0)
        return np.column_stack([codes[:, :begin], vk, codes[:, begin + 1] == kernels.PRESS])
    size = len(codec.delta_bases)
    if not codec.signed:
        both = begin + 2 * size
        deltas = [codes[:, begin:both:2], codes[:, begin + 1 : both : 2]]
        return np.concatenate([codes[:, :begin], *deltas, codes[:, both:]], axis=1)
    out = np.array(codes)
    flags = begin + 2 * (size + 1)
    for at in (begin, begin + size + 1, flags + 3):
        out[:, at] = np.where(out[:, at] == NO_TOKEN, NO_TOKEN, out[:, at] == kernels.MINUS)
    out[:, flags : flags + 3] -= kernels.BUTTON
    return out
