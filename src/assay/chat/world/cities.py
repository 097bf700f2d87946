"""The cities of the embedded world, read from `cities.csv`: position, clock and climate of each, found by name."""

from __future__ import annotations

import csv
import functools
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo

from assay.chat.reading.places import fold


@dataclass(frozen=True, slots=True)
class CityClimate:
    """A city and its climate: one row of `cities.csv`."""

    name: str
    country: str
    """ISO 3166 code of two letters."""
    id: int
    """The GeoNames id, which OpenWeather uses too."""
    population: int
    latitude: float
    longitude: float
    time_zone: str
    """The IANA name: 'Europe/Paris'."""
    temperatures: tuple[float, float, float, float]
    """Mean temperatures of January, April, July and October in °C."""
    daily_range: float
    """Mean daily high minus mean daily low, in °C."""
    wet_day_shares: tuple[float, float]
    """Share of days with rain or snow, in January and in July."""

    def utc_offset(self, moment: datetime) -> timedelta:
        """Local time minus UTC."""
        offset = moment.astimezone(ZoneInfo(self.time_zone)).utcoffset()
        assert offset is not None  # the moment has a zone
        return offset


@functools.cache
def all_cities() -> tuple[CityClimate, ...]:
    """All cities, ordered by population, the largest first."""
    return tuple(city for city, _ in _rows())


@functools.cache
def _rows() -> tuple[tuple[CityClimate, dict[str, str]], ...]:
    text = (files("assay.chat.world") / "cities.csv").read_text(encoding="utf-8")
    return tuple(
        (
            CityClimate(
                name=row["name"],
                country=row["country"],
                id=int(row["id"]),
                population=int(row["population"]),
                latitude=float(row["latitude"]),
                longitude=float(row["longitude"]),
                time_zone=row["time_zone"],
                temperatures=(float(row["january"]), float(row["april"]), float(row["july"]), float(row["october"])),
                daily_range=float(row["daily_range"]),
                wet_day_shares=(float(row["wet_january"]), float(row["wet_july"])),
            ),
            row,
        )
        for row in csv.DictReader(text.splitlines())
    )


def find_city(name: str) -> CityClimate | None:
    """Find a city by its name or another name of it; case and accents do not matter.

    A country or region may follow: `Paris`, `Paris, FR`, `Austin, Texas`. None if there is no such city there.
    """
    name_part, *qualifiers = (normalized_name(part) for part in name.split(","))
    exact = {name.split(",")[0].strip().casefold()}
    candidates = [
        (city, regions)
        for city, regions in _cities_by_name().get(name_part, ())
        if all(qualifier in regions for qualifier in qualifiers if qualifier)
    ]
    # San Jose and San José are two cities: one that is spelled exactly like the query comes first.
    candidates.sort(key=lambda found: found[0].name.casefold() not in exact)
    return candidates[0][0] if candidates else None


@functools.cache
def _cities_by_name() -> dict[str, list[tuple[CityClimate, frozenset[str]]]]:
    """Cities by normalized name, the largest first, each with the normalized names of its country and region."""
    found: dict[str, list[tuple[CityClimate, frozenset[str]]]] = {}
    for own in (True, False):
        for city, row in _rows():
            regions = frozenset(
                normalized_name(part)
                for part in (city.country, *row["country_names"].split(";"), *row["region"].split(";"))
            )
            for name in [city.name] if own else filter(None, row["other_names"].split(";")):
                same_name = found.setdefault(normalized_name(name), [])
                if all(city is not other for other, _ in same_name):
                    same_name.append((city, regions))
    return found


def normalized_name(text: str) -> str:
    """A name without case, accents and punctuation: "St. Louis" equals "st louis", and "Tel-Aviv" "Tel Aviv"."""
    return " ".join(re.findall(r"\w+", re.sub(r"['’.]", "", fold(text.replace("ø", "o").replace("ł", "l")))))
