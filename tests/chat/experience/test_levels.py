"""Levels follow from figures by the documented thresholds."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.chat.experience import levels


@pytest.mark.parametrize(
    ("packages", "megabytes", "names", "word"),
    [
        (16, 17, 10, "low"),
        (32, 34, 20, "low"),
        (33, 34, 20, "low"),  # one figure over its threshold does not change the level
        (33, 35, 20, "medium"),
        (211, 35, 20, "medium"),
        (65, 69, 10, "high"),
    ],
)
def test_setup_is_the_median_of_three_levels(packages: int, megabytes: float, names: int, word: str) -> None:
    assert levels.setup({"packages": packages, "megabytes": megabytes, "framework_names": names}) == word


def test_level_without_its_figures_is_none() -> None:
    assert levels.setup({"packages": 20, "megabytes": 20}) is None
    assert levels.complexity({}) is None
    assert levels.documentation({"documented_share": None}) is None


@pytest.mark.parametrize(
    ("share", "word"), [(1.0, "comprehensive"), (0.8, "comprehensive"), (0.79, "moderate"), (0.3, "none")]
)
def test_documentation_level(share: float, word: str) -> None:
    assert levels.documentation({"documented_share": share}) == word


def test_documentation_page_states_the_thresholds_in_use() -> None:
    page = Path(__file__).parents[3] / "docs" / "concepts" / "developer-experience.md"
    words = " ".join(page.read_text(encoding="utf-8").split())
    for thresholds in (levels.SETUP, levels.COMPLEXITY):
        (low, medium), *others = thresholds.values()
        assert f"low up to {low:g}, medium up to {medium:g}." in words
        for low, medium in others:
            assert f": {low:g} and {medium:g}." in words
    assert (
        f"comprehensive from {levels.COMPREHENSIVE:.0%}, moderate from {levels.MODERATE:.0%}".replace("%", " %")
        in words
    )
