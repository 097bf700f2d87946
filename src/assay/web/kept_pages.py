"""Pages as they were last rendered, shown again as long as nothing that they could show has changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable


class KeptPages:
    """Rendered pages by address, all of one mark: the state of everything that pages show.

    A mark never comes back, so pages of another one are dropped.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._mark: Hashable = None
        self._pages: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, address: str, mark: Hashable) -> bytes | None:
        """The page of an address, if it was rendered under this mark. Without a mark nothing is found."""
        with self._lock:
            if mark is None or mark != self._mark:
                return None
            found = self._pages.get(address)
            if found is not None:
                self._pages.move_to_end(address)
            return found

    def keep(self, address: str, mark: Hashable, page: bytes) -> None:
        """Keep a page that was rendered after `mark` was taken; the pages that were not seen longest make room."""
        # An address can be long too, and is chosen by whoever asks.
        size = len(address) + len(page)
        if mark is None or size > self._most_bytes // 8:
            return
        with self._lock:
            if mark != self._mark:
                self._pages.clear()
                self._bytes, self._mark = 0, mark
            if address in self._pages:
                self._bytes -= len(address) + len(self._pages.pop(address))
            self._pages[address] = page
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= sum(map(len, self._pages.popitem(last=False)))
