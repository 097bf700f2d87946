"""The weather: reads it in the shapes that weather services and assistants use.

Those are `{"current": {...}, "forecast": [...]}` as assistants store it, OpenWeather's own answers (current, five-day
list, one call), and a flat table. Temperatures are in °C unless the data says imperial; above 150 they are in kelvin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from assay.chat.domains import Domain, Fact, Truth, first_value, read_mapping, read_number, read_text
from assay.errors import UsageError

_TEMPERATURE = ("temperature", "temp", "temp_c", "temperature_c", "temp_f", "temperature_f", "temperature_celsius")
_FEELS = ("feels_like", "feelslike", "feels_like_c", "apparent_temperature", "feelslike_c", "feels_like_f")
_HIGH = ("high", "temp_max", "max_temp", "temperature_max", "max_temperature", "temp_high", "max", "maxtemp_c")
_LOW = ("low", "temp_min", "min_temp", "temperature_min", "min_temperature", "temp_low", "min", "mintemp_c")
_CONDITION = ("main_condition", "condition", "conditions", "description", "weather", "summary", "main")
_PLACE = ("city", "name", "location", "place", "city_name")
_DATE = ("date", "day", "dt_txt", "datetime", "dt")
_DAYS = ("forecast", "daily", "days", "list", "forecasts")
_CURRENT = ("current", "current_weather", "now")
_WEATHER = frozenset((*_CURRENT, *_TEMPERATURE, *_DAYS, "main"))
_ENVELOPES = ("data", "result", "weather", "report", "weather_data")
_KELVIN_ABOVE = 150.0
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# How deep a list of days may be nested: {"forecast": {"daily": [...]}}.
_DEEPEST = 3


def read_truth(data: Any) -> Truth:
    """Current temperature, feels-like and condition, and for each day of a forecast its high, low and condition."""
    field = "truth"
    is_list = type(data) is not dict and isinstance(data, Sequence) and not isinstance(data, str)
    root = {"forecast": data} if is_list else _unwrapped(read_mapping(data, field))
    imperial = str(root.get("units", "")).lower() in ("imperial", "fahrenheit", "f", "us")
    nested = next((name for name in _CURRENT if name in root), None)
    current = read_mapping(root.get(nested), f"{field}.{nested}") if nested else root
    reader = _Reader(imperial)
    facts: list[Fact] = []
    states: dict[str | None, str] = {}
    where = f"{field}.{nested}" if nested else field
    main = current.get("main")
    inner = main if isinstance(main, Mapping) else current
    if isinstance(inner.get("temperature"), Mapping):  # {"temperature": {"current": 15, "feels_like": 13}}
        inner = {**inner["temperature"], **inner}
    for names, role in ((_TEMPERATURE, "actual"), (_FEELS, "feels_like")):
        value = reader.temperature(inner, names, where)
        if value is not None:
            facts.append(Fact("temperature", value, role))
    condition = reader.condition(current, where)
    if condition:
        states[None] = condition
    today = reader.date(current, where)
    for day, high, low, state in reader.days(root, field):
        facts += [
            Fact("temperature", value, role, day) for role, value in (("high", high), ("low", low)) if value is not None
        ]
        if state:
            states[day] = state
    return Truth(_place(root, current, field), tuple(facts), states, today=today, source=data)


def _unwrapped(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table itself, or the one inside an envelope: `{"status": "success", "data": {...}}`."""
    if not _WEATHER.isdisjoint(table):
        return table
    inner = next((table[name] for name in _ENVELOPES if isinstance(table.get(name), Mapping)), None)
    return table if inner is None else inner


class _Reader:
    def __init__(self, imperial: bool) -> None:
        self.imperial = imperial

    def temperature(self, table: Mapping[str, Any], names: Sequence[str], where: str) -> float | None:
        name, raw = first_value(table, names)
        if raw is None:
            return None
        if isinstance(raw, Mapping):  # {"temp": {"day": …, "min": …, "max": …}}
            name, raw = first_value(raw, ("day", "value", "current", "celsius"))
        fahrenheit = self.imperial or name.endswith("_f")
        if isinstance(raw, str):  # "15 °C"
            fahrenheit = fahrenheit or raw.rstrip().upper().endswith("F")
            raw = raw.replace("−", "-").rstrip("°CcFf \t") or None
        value = read_number(raw, f"{where}.{name}")
        if value is None:
            return None
        if fahrenheit:
            return (value - 32) * 5 / 9
        return value - 273.15 if value > _KELVIN_ABOVE else value

    def condition(self, table: Mapping[str, Any], where: str) -> str | None:
        words = []
        for name in filter(table.__contains__, _CONDITION):
            value = table[name]
            if value is None:
                continue
            if not isinstance(value, str) and isinstance(value, Sequence):
                value = value[0] if value else None
            if not isinstance(value, str) and isinstance(value, Mapping):
                if name == "main":
                    continue
                value = first_value(value, ("main", "text", "description"))[1]
            said = read_text(value, f"{where}.{name}")
            if said:
                words.append(said)
        return words[0] if words else None

    def date(self, table: Mapping[str, Any], where: str) -> str | None:
        """An ISO date, or the day's name as it is given. Raises UsageError if there is no such date."""
        name, value = first_value(table, _DATE)
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e11:
            return datetime.fromtimestamp(value, UTC).date().isoformat()
        if hasattr(value, "isoformat"):
            return str(value.isoformat())[:10]
        if not isinstance(value, str) or not value.strip():
            return None
        if _ISO_DATE.match(value):
            try:
                datetime.fromisoformat(value[:10])
            except ValueError:
                hint = "Write it as year, month and day: 2026-11-18"
                raise UsageError(f"{where}.{name} is {value!r:.60}, which is not a date", hint=hint) from None
        return value.strip()[:10] if value[:4].isdigit() else value.strip().lower()

    def days(self, root: Mapping[str, Any], field: str) -> list[tuple[str, float | None, float | None, str | None]]:
        """Date, high, low and condition of each day; the steps of a finer forecast are grouped by day."""
        name, value = first_value(root, _DAYS)
        if value is None:
            return []
        for _ in range(_DEEPEST):
            if isinstance(value, Mapping) and first_value(value, _DAYS)[1] is not None:
                field, (name, value) = f"{field}.{name}", first_value(value, _DAYS)
        if isinstance(value, Mapping) and value and all(isinstance(entry, Mapping) for entry in value.values()):
            value = [{"date": day, **entry} for day, entry in value.items()]  # {"tomorrow": {...}}
        if not isinstance(value, Sequence) or isinstance(value, str):
            return []
        gathered: dict[str, tuple[list[float], list[float], list[str]]] = {}
        for at, entry in enumerate(value):
            where = f"{field}.{name}[{at}]"
            table = read_mapping(entry, where)
            main = table.get("main")
            inner = main if isinstance(main, Mapping) else table
            if isinstance(table.get("temp"), Mapping):
                inner = table["temp"]
            highs, lows, states = gathered.setdefault(self.date(table, where) or f"day {at + 1}", ([], [], []))
            single = self.temperature(table if inner is table else inner, _TEMPERATURE, where)
            high, low = self.temperature(inner, _HIGH, where), self.temperature(inner, _LOW, where)
            highs += [found for found in (high if high is not None else single,) if found is not None]
            lows += [found for found in (low if low is not None else single,) if found is not None]
            states += filter(None, [self.condition(table, where)])
        return [
            (day, max(highs, default=None), min(lows, default=None), max(states, key=states.count) if states else None)
            for day, (highs, lows, states) in gathered.items()
        ]


def _place(root: Mapping[str, Any], current: Mapping[str, Any], field: str) -> str | None:
    for table in (current, root):
        for name in filter(table.__contains__, _PLACE):
            value = table[name]
            if value is None:
                continue
            if not isinstance(value, str) and isinstance(value, Mapping):
                value = value.get("name")
            said = read_text(value, f"{field}.{name}")
            if said:
                return said
    return None


DOMAIN = Domain("weather", files(__name__), read_truth)
