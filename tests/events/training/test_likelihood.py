"""Log-probabilities of tokens become log-likelihoods and calibration of events: figures that fit in a comment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.events.training.batches import MASKED, hierarchical, split, vocabulary

from assay.errors import UsageError
from assay.events.training.likelihood import token_log_probabilities
from assay.events.training.tokens import TokenEvaluation
from assay.types import Floats, Ints

CODEC = hierarchical()
TABLE = vocabulary(CODEC)
IDS = {token: number for number, token in TABLE.items()}
TOKENS = max(TABLE) + 1
KEY = "<EVENT_START><KEYBOARD><0><1><2><65><press><EVENT_END>"
FRAME = "<EVENT_START><SCREEN><0><1><2><fake_image_placeholder><EVENT_END>"


def labels(*texts: str) -> Ints:
    """One row: a token without a label, then events."""
    return np.array([[MASKED, *(IDS[token] for text in texts for token in split(text))]], np.int64)


def logits(asked: Ints, probability: float) -> Floats:
    """The true next token has this probability; the others share the rest."""
    others = math.log((1 - probability) / (TOKENS - 1)) if probability < 1 else -math.inf
    values = np.full((*asked.shape, TOKENS), others)
    following = np.roll(asked, -1, axis=1)
    np.put_along_axis(values, np.maximum(following, 0)[..., None], math.log(probability), axis=-1)
    return values + 7.0  # logits are log-probabilities but for a constant


def flat(asked: Ints, values: Any, **options: Any) -> dict[str, float | None]:
    evaluation = TokenEvaluation(TABLE, ["assay"], reps=20, log_probabilities=True, **options)
    evaluation.update(values, asked)
    return evaluation.compute().flat("assay")


def test_the_loss_of_an_event_is_the_sum_over_its_tokens() -> None:
    asked = labels(KEY, KEY)
    found = flat(asked, logits(asked, 0.9))
    assert found["nll"] == pytest.approx(-8 * math.log(0.9), abs=1e-9)
    # All right, with a confidence of 0.9 to the power of 8.
    assert found["calibration_error"] == pytest.approx(1 - 0.9**8, abs=1e-9)


def test_certain_and_right_is_perfect() -> None:
    asked = labels(KEY)
    found = flat(asked, logits(asked, 1.0))
    assert (found["nll"], found["calibration_error"]) == (0, 0)


def test_certain_and_wrong_is_as_bad_as_can_be() -> None:
    asked = labels(KEY)
    other = labels(KEY.replace("<65>", "<66>"))
    found = flat(asked, logits(other, 1.0))
    assert found["calibration_error"] == 1
    assert found["nll"] == 1e6  # the truth had no probability at all


def test_what_is_not_asked_for_is_certain_and_frames_do_not_count() -> None:
    asked = labels(KEY)
    with_frame = labels(FRAME, KEY)
    assert flat(with_frame, logits(with_frame, 0.5))["nll"] == flat(asked, logits(asked, 0.5))["nll"]
    begins = asked[:, 1:]  # its first token stands where nothing predicts it
    assert flat(begins, logits(begins, 0.5))["nll"] == pytest.approx(-7 * math.log(0.5), abs=1e-9)


def test_log_probabilities_equal_the_plain_formula() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2, 5, 11)).astype(np.float32)
    asked = rng.integers(0, 11, (2, 5))
    asked[0, 2] = MASKED
    plain = values - np.log(np.exp(values.astype(np.float64)).sum(-1, keepdims=True))
    for shift in (True, False):
        true, best = token_log_probabilities(values, asked, shift=shift)
        assert np.allclose(best, plain.max(-1), atol=1e-12)
        for row in range(2):
            for at in range(5):
                label = asked[row, at + shift] if at + shift < 5 else MASKED
                wanted = 0 if label == MASKED else plain[row, at, label]
                assert true[row, at] == pytest.approx(wanted, abs=1e-12)


def test_what_is_missing_is_refused() -> None:
    with pytest.raises(UsageError, match="scored by assay@1"):
        TokenEvaluation(TABLE, ["owa"], log_probabilities=True)
    asked = labels(KEY)
    with pytest.raises(UsageError, match="need logits"):
        flat(asked, asked)
    with pytest.raises(UsageError, match="log-probabilities have shape"):
        flat(asked, (asked, np.zeros((1, 3)), np.zeros((1, 3))))


def test_without_them_nothing_is_said() -> None:
    asked = labels(KEY)
    evaluation = TokenEvaluation(TABLE, ["assay"], reps=20)
    evaluation.update(logits(asked, 0.9), asked)
    found = evaluation.compute().flat("assay")
    assert found["nll"] is None
    assert found["calibration_error"] is None
