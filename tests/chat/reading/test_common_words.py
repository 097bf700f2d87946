"""Frequent words are not taken for weather, units or failures because their stems look alike: schauen is no Schauer."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from assay.chat.reading.lexicon import compile_lexicon
from assay.chat.reading.text import Reader

COMMON = tomllib.loads((Path(__file__).parent / "common_words.toml").read_text("utf-8"))
# Lists whose words decide what a text claims, denies or reports.
DECIDING = ("states", "tells", "cold", "items", "error", "missing", "negation", "hypothesis", "ended", "role", "change")


@functools.cache
def reader(language: str, domain: str) -> Reader:
    return Reader(compile_lexicon(language, files(f"assay.chat.domains.{domain}"), {}), use_places=False)


@pytest.mark.parametrize("domain", ["weather", "shop"])
@pytest.mark.parametrize("language", sorted(COMMON))
def test_a_common_word_is_in_no_list_that_decides_a_claim(language: str, domain: str) -> None:
    words = COMMON[language].split()
    assert len(words) >= 300
    taken = {
        word: sorted(keys)
        for word in words
        if (
            keys := {
                key
                for key, found in reader(language, domain).read(word).lists.items()
                if found and key.startswith(DECIDING)
            }
        )
    }
    assert taken == {}


@pytest.mark.parametrize("language", sorted(COMMON))
def test_a_common_word_is_not_a_unit(language: str) -> None:
    assert [word for word in COMMON[language].split() if reader(language, "weather").read(f"5 {word}").quantities] == []
