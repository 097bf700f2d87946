"""Readers of pages: each has a connection of its own, asks for a page, reads it to its last byte, and goes on."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PAUSE = (0.5, 1.5)
"""Seconds between two pages of a reader who reads, drawn evenly."""


@dataclass
class Readings:
    """Seconds from a request's first byte to the answer's last one, by kind of page; and what went wrong."""

    seconds: float
    by_kind: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: int = 0

    @property
    def all(self) -> list[float]:
        return sorted(time for times in self.by_kind.values() for time in times)

    def medians(self) -> dict[str, float]:
        """The median of each kind of page."""
        return {kind: statistics.median(times) for kind, times in self.by_kind.items()}

    def in_words(self) -> str:
        times = self.all
        p50, p99 = times[len(times) // 2], times[int(0.99 * len(times))]
        return (
            f"{len(times) / self.seconds:,.0f} pages/s, median {1000 * p50:,.1f} ms, p99 {1000 * p99:,.0f} ms, "
            f"at most {1000 * times[-1]:,.0f} ms, {self.errors} errors"
        )


async def read_pages(
    port: int, pages: Mapping[str, Sequence[str]], *, readers: int, seconds: float, pauses: bool, seed: int = 1
) -> Readings:
    """Let readers read pages of every kind equally often, drawn by `seed`; without `pauses` each asks again at once."""
    found = Readings(seconds)
    start = time.perf_counter()

    async def read(number: int) -> None:
        draw = random.Random(1000 * seed + number)
        if pauses:
            await asyncio.sleep(draw.uniform(0, PAUSE[1]))
        source, sink = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        try:
            while time.perf_counter() - start < seconds:
                kind = draw.choice(list(pages))
                asked = time.perf_counter()
                is_right = await _page(source, sink, draw.choice(pages[kind]), port)
                taken = time.perf_counter() - asked
                found.by_kind[kind].append(taken)
                found.errors += not is_right
                if pauses:
                    await asyncio.sleep(draw.uniform(*PAUSE))
        finally:
            sink.close()

    await asyncio.gather(*(read(number) for number in range(readers)))
    return found


async def _page(source: asyncio.StreamReader, sink: asyncio.StreamWriter, path: str, port: int) -> bool:
    """Whether a page came whole."""
    sink.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/html\r\n\r\n".encode())
    head = await source.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
    body = await source.readexactly(length)
    return b" 200 " in lines[0] and body.endswith(b"</html>")
