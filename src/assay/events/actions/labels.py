"""Actions: key presses and releases, button transitions and scrolls, each a label at a time.

One mouse event may contain several actions (two buttons, a button and the wheel). Auto-repeat is not an action; `clock`
has counted it and left it out. Movement and frames are not actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.events.compiled import inner, njit
from assay.events.stream import EventStream
from assay.types import Ints

ACTION_KINDS = ("keyboard", "button", "scroll")
"""Kinds of actions. Movement is measured as a path, frames not at all."""

KEYS = 512
"""Labels below this are keys: twice the key code, plus 1 for a press."""
BUTTONS = 10
"""The next ten are button transitions, in the order of their flags: left down, left up, right down, …"""
SCROLLS = 4
"""The last: wheel up, wheel down, horizontal wheel right, left."""
LABELS = KEYS + BUTTONS + SCROLLS
KIND_EDGES = np.array([0, KEYS, KEYS + BUTTONS, LABELS])
"""Labels of kind k are KIND_EDGES[k] … KIND_EDGES[k+1]-1."""

HEADLINE = KEYS + BUTTONS
"""Labels below this, keys and buttons, enter the figures without a kind in their name."""

MATCHED, MISSED, EXTRA = range(3)
"""What became of an action: matched, missed, or predicted without a truth."""
SUBSTITUTED = 3
"""Of those missed and extra, the ones that replaced each other; distinguished only if single actions are kept."""

_KEPT = ("order", "labels", "counts")
"""What does not change if all times move."""
_ALL_LABELS = np.arange(LABELS, dtype=np.int16)
_EDGE_LABELS = np.arange(LABELS + 1)
_BUTTON_NAMES = ("left", "right", "middle", "fourth", "fifth")
_SCROLL_NAMES = ("wheel up", "wheel down", "wheel right", "wheel left")
_KEYBOARD, _MOUSE = 0, 1  # stream.Kind; a test checks that they agree


@dataclass(frozen=True)
class Actions:
    """The actions of one side of one episode, by label and then by time."""

    time_ns: Ints
    """Shape (n,); ascending within a label."""
    edges: Ints
    """Actions of label k are edges[k] … edges[k+1]-1; shape (LABELS + 1,)."""

    def __len__(self) -> int:
        return len(self.time_ns)

    @cached_property
    def labels(self) -> NDArray[np.int16]:
        """The label of each action, shape (n,)."""
        return np.repeat(_ALL_LABELS, self.counts)

    @cached_property
    def counts(self) -> Ints:
        """How many actions each label has, shape (LABELS,)."""
        return np.asarray(self.edges[1:] - self.edges[:-1])

    def shifted(self, by_ns: int) -> Actions:
        """The same actions, later by `by_ns`."""
        if not by_ns:
            return self
        moved = Actions(self.time_ns + by_ns, self.edges)
        moved.__dict__.update({name: self.__dict__[name] for name in _KEPT if name in self.__dict__})
        return moved

    @classmethod
    def of(cls, stream: EventStream) -> Actions:
        """The actions of events that are all valid, in the order of time and without auto-repeat."""
        return cls.among(stream, np.arange(len(stream)), stream.time_ns)

    @classmethod
    def among(cls, stream: EventStream, at: Ints, time_ns: Ints) -> Actions:
        """The actions of the events `at` of a stream, whose times are `time_ns`, ascending."""
        return cls(*_extract(at, time_ns, stream.kind, stream.vk, stream.press, stream.flags, stream.data))

    @cached_property
    def order(self) -> Ints:
        """The actions in the order of time, and those at the same time in the order of labels; shape (n,)."""
        return np.argsort(self.time_ns, kind="stable")

    @classmethod
    def listed(cls, labels: NDArray[np.integer], time_ns: Ints) -> Actions:
        """Actions given one by one, in any order."""
        order = np.lexsort((time_ns, labels))
        edges = np.searchsorted(labels[order], _EDGE_LABELS)
        return cls(np.ascontiguousarray(time_ns[order], np.int64), edges.astype(np.int64))


@njit(nogil=True, cache=True)
def _extract(at, time_ns, kind, vk, press, flags, data):  # type: ignore[no-untyped-def]
    size = 0
    for k in at:
        if kind[k] == _KEYBOARD:
            size += 1
        elif kind[k] == _MOUSE and flags[k] != 0:
            size += BUTTONS + 2
    label = np.empty(size, np.int16)
    when = np.empty(size, np.int64)
    count = 0
    for i in range(len(at)):
        k = at[i]
        if kind[k] == _KEYBOARD:
            label[count] = 2 * (vk[k] & 255) + press[k]
            when[count] = time_ns[i]
            count += 1
        elif kind[k] == _MOUSE and flags[k] != 0:
            for bit in range(BUTTONS + 2):
                if flags[k] >> bit & 1 and (bit < BUTTONS or data[k] != 0):
                    wheel = bit - BUTTONS
                    label[count] = KEYS + bit if wheel < 0 else KEYS + BUTTONS + 2 * wheel + (data[k] < 0)
                    when[count] = time_ns[i]
                    count += 1
    return by_label(label[:count], when[:count])


@inner(nogil=True, cache=True)
def by_label(label, when):  # type: ignore[no-untyped-def]
    """Times by label and then by time, and where each label begins; almost in the order of time already."""
    edges = np.zeros(LABELS + 1, np.int64)
    for one in label:
        edges[one + 1] += 1
    for k in range(LABELS):
        edges[k + 1] += edges[k]
    stop = edges[:-1].copy()
    ordered = np.empty(len(label), np.int64)
    for i in range(len(label)):
        at = stop[label[i]]
        while at > edges[label[i]] and ordered[at - 1] > when[i]:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = when[i]
        stop[label[i]] += 1
    return ordered, edges


def kind_of(label: int) -> str:
    """The kind of action that a label is."""
    return ACTION_KINDS[int(np.searchsorted(KIND_EDGES, label, "right")) - 1]


def key_of(label: int) -> int:
    """What is pressed and released, or turned: the same number for press and release of one key or button."""
    return label >> 1 << 1 if label < KEYS + BUTTONS else label


def name_of(label: int) -> str:
    """A label in words: 'A press', 'left down', 'wheel up'."""
    if label < KEYS:
        return f"{key_name(label >> 1)} {'press' if label & 1 else 'release'}"
    if label < KEYS + BUTTONS:
        return f"{_BUTTON_NAMES[(label - KEYS) // 2]} {'up' if (label - KEYS) & 1 else 'down'}"
    return _SCROLL_NAMES[label - KEYS - BUTTONS]


def name_of_key(label: int) -> str:
    """The key, button or wheel of a label: 'A', 'left button', 'wheel up'."""
    if label < KEYS:
        return key_name(label >> 1)
    if label < KEYS + BUTTONS:
        return f"{_BUTTON_NAMES[(label - KEYS) // 2]} button"
    return _SCROLL_NAMES[label - KEYS - BUTTONS]


# Microsoft's virtual-key codes, those that keyboards have.
_KEY_NAMES = {
    0x08: "Backspace", 0x09: "Tab", 0x0D: "Enter", 0x10: "Shift", 0x11: "Ctrl", 0x12: "Alt", 0x13: "Pause",
    0x14: "Caps Lock", 0x1B: "Esc", 0x20: "Space", 0x21: "Page Up", 0x22: "Page Down", 0x23: "End", 0x24: "Home",
    0x25: "Left", 0x26: "Up", 0x27: "Right", 0x28: "Down", 0x2C: "Print Screen", 0x2D: "Insert", 0x2E: "Delete",
    0x5B: "Left Win", 0x5C: "Right Win", 0x5D: "Menu", 0x6A: "Num *", 0x6B: "Num +", 0x6D: "Num -", 0x6E: "Num .",
    0x6F: "Num /", 0x90: "Num Lock", 0x91: "Scroll Lock", 0xA0: "Left Shift", 0xA1: "Right Shift", 0xA2: "Left Ctrl",
    0xA3: "Right Ctrl", 0xA4: "Left Alt", 0xA5: "Right Alt", 0xBA: ";", 0xBB: "=", 0xBC: ",", 0xBD: "-", 0xBE: ".",
    0xBF: "/", 0xC0: "`", 0xDB: "[", 0xDC: "\\", 0xDD: "]", 0xDE: "'",
}  # fmt: skip


def key_name(vk: int) -> str:
    """A virtual key's name, or its code if it has none."""
    if 0x30 <= vk <= 0x39 or 0x41 <= vk <= 0x5A:
        return chr(vk)
    if 0x60 <= vk <= 0x69:
        return f"Num {vk - 0x60}"
    if 0x70 <= vk <= 0x87:
        return f"F{vk - 0x6F}"
    return _KEY_NAMES.get(vk, f"key {vk}")
