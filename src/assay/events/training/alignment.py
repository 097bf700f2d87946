"""Checks whether predictions and labels are aligned, and whether the model only copies its input.

Counts how often a prediction equals its own label, the one before it and the one after it. Counts add up; warnings are
made from them at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from assay.types import Ints

# Below this many informative positions, agreement may be chance.
_ENOUGH = 20
# A prediction that fits another place than its own this often, and more often than its own, does so for a reason.
_SUSPICIOUS = 0.25
_MOSTLY = 0.9


@dataclass(frozen=True)
class TokenAlignment:
    """Counts over the informative positions: those at which the two labels in question differ."""

    before: int = 0
    """Positions whose label differs from the token before, which the model had just been given."""
    before_hits: int = 0
    """Of these, how many predictions equal the token before."""
    before_right: int = 0
    """Of these, how many equal their own label."""
    after: int = 0
    """Positions whose label differs from the next one."""
    after_hits: int = 0
    """Of these, how many predictions equal the next label."""
    after_right: int = 0
    inputs: int = 0
    """Labels that could be found among the inputs."""
    inputs_here: int = 0
    """Of these, how many equal the input at their own position."""
    inputs_next: int = 0
    """Of these, how many equal the input at the next position: labels that were shifted already."""

    @classmethod
    def of(cls, predictions: Ints, labels: Ints, inputs: Ints | None, at: Ints, *, shift: bool) -> TokenAlignment:
        """The counts of one batch, shape (rows, positions) each; `at` are the flat positions that are scored."""
        width = max(labels.shape[1], 1)
        flat = labels.ravel()
        guess, own = predictions.ravel()[at - shift], flat[at]
        column = at % width
        here = following = known = 0
        if inputs is not None:
            here, following, known = _among_inputs(flat, inputs.ravel(), at, width)
        seen = np.where(column > 0, flat[at - 1], -100) if len(at) else flat[:0]
        if inputs is not None and known and here >= _MOSTLY * known:
            # The first token of an event follows what may have no label, but the model has seen it.
            seen = np.where(column > 0, inputs.ravel()[at - 1], -100)
        coming = np.where(column < width - 1, flat[np.minimum(at + 1, len(flat) - 1)], -100) if len(at) else flat[:0]
        return cls(*_compared(guess, own, seen), *_compared(guess, own, coming), known, here, following)

    def __add__(self, other: TokenAlignment) -> TokenAlignment:
        return TokenAlignment(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def warnings(self, *, shift: bool) -> list[str]:
        """Warnings about what looks wrong."""
        found = []
        if _suspicious(self.before, self.before_hits, self.before_right):
            found.append(self._early(shift))
        if _suspicious(self.after, self.after_hits, self.after_right):
            advice = (
                "The labels seem to begin one position late. Give labels as they go into the model."
                if shift
                else "A shift by one is missing: leave `shift` at its default, which does it."
            )
            found.append(
                f"{_share(self.after_hits, self.after)} of the predictions equal the label after their own, and "
                f"{_share(self.after_right, self.after)} their own. {advice}"
            )
        if self.inputs and self.inputs_next >= _MOSTLY * self.inputs and shift:
            found.append(
                "The labels equal the inputs one position on, so they were shifted already and have now been "
                "shifted again: give `shift=False`."
            )
        return found

    def _early(self, shift: bool) -> str:
        counts = (
            f"{_share(self.before_hits, self.before)} of the predictions equal the token before the one asked for, and "
            f"{_share(self.before_right, self.before)} the one asked for."
        )
        if self.inputs and self.inputs_here >= _MOSTLY * self.inputs:
            return f"{counts} The model copies its input."
        doubt = (
            "or predictions or labels were already shifted (a double shift): then give `shift=False`"
            if shift
            else "or the predictions stand one position too late"
        )
        return f"{counts} Either the model copies its input, {doubt}."


def _compared(guess: Ints, own: Ints, other: Ints) -> tuple[int, int, int]:
    """Positions whose label differs from `other`; of these, predictions that equal `other`, and their own label."""
    telling = (other >= 0) & (other != own)
    return int(telling.sum()), int((telling & (guess == other)).sum()), int((telling & (guess == own)).sum())


def _among_inputs(labels: Ints, inputs: Ints, at: Ints, width: int) -> tuple[int, int, int]:
    """Of the labels at `at`: how many equal the input there, how many the next one, and how many can be told apart."""
    column = at % width
    inner = at[column < width - 1]
    telling = inner[inputs[inner] != inputs[inner + 1]]
    own = labels[telling]
    here, following = int((inputs[telling] == own).sum()), int((inputs[telling + 1] == own).sum())
    return here, following, len(telling)


def _suspicious(n: int, hits: int, right: int) -> bool:
    return n >= _ENOUGH and hits > right and hits >= _SUSPICIOUS * n


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
