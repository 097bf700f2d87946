"""The cities of the embedded world, read from `cities.csv`: position, clock and climate of each, found by name."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files

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
    offset: int
    """Standard time minus UTC, in minutes."""
    summer_time: str
    """The name of its daylight-saving rule, or '' if it has none."""
    temperatures: tuple[float, float, float, float]
    """Mean temperatures of January, April, July and October in °C."""
    daily_range: float
    """Mean daily high minus mean daily low, in °C."""
    wet_day_shares: tuple[float, float]
    """Share of days with rain or snow, in January and in July."""

    def utc_offset(self, moment: datetime) -> timedelta:
        """Local time minus UTC."""
        standard = timedelta(minutes=self.offset)
        rule = _SUMMER_TIMES.get(self.summer_time)
        local = moment.astimezone(UTC).replace(tzinfo=None) + standard
        return standard + timedelta(hours=1) if rule is not None and rule.is_active(local) else standard


@dataclass(frozen=True, slots=True)
class _SummerTime:
    """A daylight-saving rule: starts and ends on the first Sunday on or after a day of a month, at 2:00 standard time.

    Real rules differ by up to a few hours.
    """

    start: tuple[int, int]
    end: tuple[int, int]

    def is_active(self, standard: datetime) -> bool:
        """Whether daylight-saving time applies at a moment, given in standard time."""
        start, end = (_first_sunday(date(standard.year, *day)) for day in (self.start, self.end))
        # The clocks change at 2:00.
        today = (standard - timedelta(hours=2)).date()
        return start <= today < end if start < end else not end <= today < start


def _first_sunday(day: date) -> date:
    return day + timedelta(days=6 - day.weekday())


_SUMMER_TIMES: Mapping[str, _SummerTime] = {
    "eu": _SummerTime((3, 25), (10, 25)),
    "us": _SummerTime((3, 8), (11, 1)),
    "eg": _SummerTime((4, 24), (10, 25)),
    "cl": _SummerTime((9, 2), (4, 2)),
    "au": _SummerTime((10, 1), (4, 1)),
    "nz": _SummerTime((9, 24), (4, 1)),
}


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
                offset=int(row["offset"]),
                summer_time=row["summer_time"],
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
