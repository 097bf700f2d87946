"""How often the scripted model makes which kind of error: a known rate that measured accuracy can be compared with.

Knows probabilities and kinds of error; the model decides what an error looks like.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from assay.chat.world.situation import chance
from assay.errors import UsageError, unknown_name

ERRORS: Mapping[str, str] = {
    "wrong_figure": "states temperatures that are off by more than 2 °C",
    "ignored_context": "ignores a city or a preference from an earlier turn",
    "needless_question": "asks for clarification although the request is clear",
    "forgotten_tool": "makes figures up instead of calling the tool",
}
"""Every kind of error, with a description. All of them lower the accuracy of an answer about the weather."""


@dataclass(frozen=True, slots=True)
class Skill:
    """The error rates of the scripted model, 0 by default. There is at most one error per turn."""

    wrong_figure: float = 0.0
    """Probability in a turn whose answer states a figure."""
    ignored_context: float = 0.0
    """Probability in a turn in which an earlier city or preference matters."""
    needless_question: float = 0.0
    """Probability in a turn whose request is clear."""
    forgotten_tool: float = 0.0
    """Probability in a turn that needs a tool."""
    any_error: float = 0.0
    """Probability of an error in a turn to which at least one kind applies; the kind is drawn uniformly from those."""

    def __post_init__(self) -> None:
        rates = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, rate in rates.items():
            if not (math.isfinite(rate) and 0.0 <= rate <= 1.0):
                raise UsageError(f"{name} must be a probability, got {rate}", hint="Give a number from 0 to 1")
        if math.fsum(rates.values()) > 1.0 + 1e-9:
            raise UsageError(
                "the error rates add up to more than 1", hint="There is at most one error per turn; lower the rates"
            )

    @classmethod
    def parse(cls, text: str) -> Skill:
        """Read a skill from text: `0.9` (an error in one turn of ten), or `wrong_figure=0.2,forgotten_tool=0.1`."""
        hint = "Write 0.9, or wrong_figure=0.2,forgotten_tool=0.1"
        if "=" not in text:
            share = _number(text, text, hint)
            if not 0.0 <= share <= 1.0:
                raise UsageError(
                    f"a skill is the share of turns without an error, got {text.strip()}",
                    hint="Give a number from 0 to 1",
                )
            # 1 − 0.9 is not 0.1 in binary; rounding gives the decimal rate that was meant.
            return cls(any_error=round(1.0 - share, 12))
        rates: dict[str, float] = {}
        for part in text.split(","):
            name, _, rate = (piece.strip() for piece in part.partition("="))
            if name not in ERRORS:
                raise unknown_name("kind of error", name, ERRORS)
            if name in rates:
                raise UsageError(f"'{text}' names {name} twice", hint=hint)
            rates[name] = _number(rate, text, hint)
        return cls(**rates)

    def __str__(self) -> str:
        """The text form that `parse` reads."""
        named = {name: getattr(self, name) for name in ERRORS if getattr(self, name)}
        if not named:
            return f"{round(1.0 - self.any_error, 12):g}"
        return ",".join(f"{name}={rate:g}" for name, rate in named.items())

    @property
    def is_perfect(self) -> bool:
        return not any(getattr(self, field.name) for field in fields(self))

    def rate(self, applicable: Collection[str]) -> float:
        """The probability of an error in a turn to which these kinds apply."""
        return math.fsum(getattr(self, name) for name in applicable) + (self.any_error if applicable else 0.0)

    def draw_error(self, seed: int, key: tuple[object, ...], applicable: Collection[str]) -> str | None:
        """The error of the turn that `key` names (scenario, repetition, turn), or None.

        The draw depends on the turn only: every agent, and every call of the model in the turn, gets the same error.
        """
        draw = chance(seed, *key, "skill")
        at = draw.random()
        kinds = [name for name in ERRORS if name in applicable]
        for name in ERRORS:
            # Each kind keeps its part of the unit interval whether or not it applies, so that a turn's draw does not
            # depend on which other kinds apply.
            at -= getattr(self, name)
            if at < 0.0:
                return name if name in kinds else None
        return draw.choice(kinds) if kinds and at < self.any_error else None

    def describe(self) -> str:
        """One sentence for reports."""
        if self.is_perfect:
            return "The scripted model was set to make no errors."
        parts = [f"{name.replace('_', ' ')} in {getattr(self, name):.3g} of the turns it applies to"
                 for name in ERRORS if getattr(self, name)]  # fmt: skip
        if self.any_error:
            parts.append(f"an error of any kind that applies in {self.any_error:.3g} of the turns")
        return f"The scripted model was set to make errors: {'; '.join(parts)}."


def _number(text: str, whole: str, hint: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"'{whole}' is not a valid skill", hint=hint) from None
