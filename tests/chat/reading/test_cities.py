"""The file of cities is the one that GeoNames' data gives."""

from __future__ import annotations

from importlib.resources import files

import pytest

from assay.chat.reading.make_cities import city_lines
from assay.chat.reading.places import gazetteer


@pytest.mark.slow
def test_the_file_of_cities_is_up_to_date() -> None:
    written = (files("assay.chat.reading") / "cities.tsv").read_text("utf-8")
    assert written == "\n".join(city_lines()) + "\n"


def test_a_name_has_its_people_and_its_main_name() -> None:
    york = gazetteer()["new"].cities["new", "york"]
    assert york.name == "new york city"
    assert york.people > 8_000_000
    assert not york.several


def test_cities_of_one_name_are_several_of_note() -> None:
    assert gazetteer()["springfield"].cities["springfield",].several


def test_a_town_of_the_same_name_is_a_namesake() -> None:
    portland, helsinki = gazetteer()["portland"].cities["portland",], gazetteer()["helsinki"].cities["helsinki",]
    assert portland.namesakes
    assert not portland.several
    assert not helsinki.namesakes
    assert gazetteer()["newcastle"].cities["newcastle",].namesakes  # Newcastle upon Tyne


def test_words_that_no_city_starts_with_have_none() -> None:
    assert gazetteer().get("temperature") is None
    assert gazetteer().get("#") is None
