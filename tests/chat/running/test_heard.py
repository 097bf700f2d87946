"""Who follows an answer while it comes sees its words, and never a secret, however it is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.chat.running.heard import Heard
from assay.redaction import redacted

KEY = "sk-Zq7xP4mW9tLk2Rv8"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEow{KEY[3:]}\nAQAB\n-----END RSA PRIVATE KEY-----"


def heard(pieces: list[str]) -> list[str]:
    told: list[str] = []
    follower = Heard(told.append)
    for piece in pieces:
        follower.hear(piece)
    follower.end()
    return told


def test_words_are_passed_on_once_they_are_complete() -> None:
    assert heard(["It is", " sun", "ny in ", "Oslo."]) == ["It ", "is ", "sunny in ", "Oslo."]


@pytest.mark.parametrize(
    "secret", [f"Use {KEY} for it.", f"Authorization: Bearer {KEY[3:]} ok", f"Here:\n{PEM}\nDone."]
)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_no_secret_is_heard_piece_by_piece(secret: str, size: int) -> None:
    told = heard([secret[at : at + size] for at in range(0, len(secret), size)])
    shown = "".join(told)
    assert KEY[3:8] not in shown
    assert "MIIE" not in shown
    assert secret[:3] == shown[:3]


@given(st.lists(st.text(max_size=8), max_size=12))
def test_a_text_without_secrets_is_heard_whole(pieces: list[str]) -> None:
    text = "".join(pieces)
    if redacted(text) == text:
        assert "".join(heard(pieces)) == text


def test_a_very_long_answer_is_followed_for_a_while() -> None:
    told = heard(["word "] * 10_000)
    assert 15_000 < len("".join(told)) < 25_000
