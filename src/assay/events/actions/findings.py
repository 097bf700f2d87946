"""One finding of a verdict: what it is about, the figures it rests on, and a sentence; and how numbers are worded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Tone = Literal["good", "bad", "note"]
FULL_COVERAGE = 0.95
"""Below this share of the truth's span, predictions stop early or begin late; d2e@1 has the same bound."""


@dataclass(frozen=True, slots=True)
class VerdictFinding:
    """One thing that the figures show."""

    kind: str
    """What it is about: 'skill', 'copies', 'lag', 'drift', 'confused', 'never', 'frames', 'coverage', …"""
    tone: Tone
    """'good' and 'bad' judge the model; a 'note' is about the data."""
    figures: Mapping[str, Any]
    """The numbers that it rests on, by the keys of the protocol if they have one."""
    text: str
    """The finding as one sentence that quotes them."""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "tone": self.tone, "figures": dict(self.figures), "text": self.text}


def signed_text(value: float) -> str:
    """A number with two digits and a real minus sign; what rounds to 0 has none."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def rounded_text(value: float) -> str:
    """A number without digits after the point, with a real minus sign."""
    return f"{value:.0f}".replace("-0", "0").replace("-", "−")


def lag_text(ms: float) -> str:
    """A lag in words."""
    return "on time" if not ms else f"{abs(ms):.0f} ms {'late' if ms > 0 else 'early'}"


def percent_text(share: float) -> str:
    """A share in percent; small ones with a digit more."""
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.1 else f"{100 * share:.1f} %"
