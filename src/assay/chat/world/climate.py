"""The simulated weather of the embedded world: a function of a seed, a city's climate and a time.

`cities.csv` gives each city its mean temperatures in January, April, July and October, its daily range and its share of
wet days; noise that is smooth in time is added to them. The same seed, city and time always give the same weather.
It knows nothing about the service that publishes it.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import NormalDist

from assay.chat.world.cities import CityClimate
from assay.chat.world.situation import chance


@dataclass(frozen=True, slots=True)
class Condition:
    """A weather condition of OpenWeather's list."""

    id: int
    main: str
    description: str
    icon: str
    """Without the suffix for day or night."""


@dataclass(frozen=True, slots=True)
class Hour:
    """The weather in a city at one time, in metric units."""

    temperature: float
    """°C"""
    feels_like: float
    """°C"""
    condition: Condition
    humidity: int
    """%"""
    pressure: int
    """hPa at sea level"""
    wind_speed: float
    """m/s"""
    wind_gust: float
    """m/s"""
    wind_direction: int
    """The direction that the wind comes from, in degrees."""
    clouds: int
    """%"""
    visibility: int
    """m"""
    rain: float
    """mm per hour"""
    snow: float
    """mm of water per hour"""
    chance_of_rain: float
    """Probability of rain or snow, from 0 to 1."""
    is_day: bool

    @property
    def icon(self) -> str:
        """The name of OpenWeather's icon."""
        return self.condition.icon + ("d" if self.is_day else "n")


# --- conditions -------------------------------------------------------------------------------------------------------

# https://openweathermap.org/weather-conditions
_CONDITIONS = {
    row.id: row
    for row in (
        Condition(200, "Thunderstorm", "thunderstorm with light rain", "11"),
        Condition(201, "Thunderstorm", "thunderstorm with rain", "11"),
        Condition(202, "Thunderstorm", "thunderstorm with heavy rain", "11"),
        Condition(300, "Drizzle", "light intensity drizzle", "09"),
        Condition(301, "Drizzle", "drizzle", "09"),
        Condition(500, "Rain", "light rain", "10"),
        Condition(501, "Rain", "moderate rain", "10"),
        Condition(502, "Rain", "heavy intensity rain", "10"),
        Condition(503, "Rain", "very heavy rain", "10"),
        Condition(600, "Snow", "light snow", "13"),
        Condition(601, "Snow", "snow", "13"),
        Condition(602, "Snow", "heavy snow", "13"),
        Condition(611, "Snow", "sleet", "13"),
        Condition(701, "Mist", "mist", "50"),
        Condition(741, "Fog", "fog", "50"),
        Condition(800, "Clear", "clear sky", "01"),
        Condition(801, "Clouds", "few clouds", "02"),
        Condition(802, "Clouds", "scattered clouds", "03"),
        Condition(803, "Clouds", "broken clouds", "04"),
        Condition(804, "Clouds", "overcast clouds", "04"),
    )
}
# Least precipitation of each condition, in mm of water per hour.
_RAINS = ((50.0, 503), (10.0, 502), (2.5, 501), (0.0, 500))
_SNOWS = ((2.5, 602), (0.8, 601), (0.0, 600))
_STORMS = ((10.0, 202), (2.5, 201), (0.0, 200))
# Least cloud cover of each condition in %, as OpenWeather defines them.
_CLOUDS = ((85, 804), (51, 803), (25, 802), (11, 801), (0, 800))
_SNOW_BELOW = 0.5
_SLEET_BELOW = 1.8
_STORM_ABOVE = 20.0
_FOG_BELOW = 22.0


# --- weather ----------------------------------------------------------------------------------------------------------

_NORMAL = NormalDist()
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_YEAR = 365.2425
# Share of the hours of a wet day that are wet.
_WET_HOURS = 0.45


class Climate:
    """The weather of every city at any time, for one seed."""

    def __init__(self, seed: int = 42) -> None:
        self._seed = seed
        # Consecutive forecasts overlap, and every agent requests the same hours.
        self._cached = functools.lru_cache(maxsize=65_536)(self._compute)
        self._tracks: dict[tuple[int, str], _Track] = {}

    def at(self, city: CityClimate, moment: datetime) -> Hour:
        """The weather in a city at a given time."""
        return self._cached(city, moment.astimezone(UTC))

    def _compute(self, city: CityClimate, moment: datetime) -> Hour:
        days = (moment - _EPOCH) / timedelta(days=1)
        season = 2 * math.pi * (days - 14) / _YEAR
        wet_share = (
            city.wet_day_shares[0]
            + city.wet_day_shares[1]
            + (city.wet_day_shares[0] - city.wet_day_shares[1]) * math.cos(season)
        ) / 2
        wet_hours = max(0.0, wet_share * _WET_HOURS)
        front = 0.8 * self._noise(city, "front", days, 1.3) + 0.6 * self._noise(city, "cell", days, 0.35)
        rank = _NORMAL.cdf(front)
        # Below 0 it is dry; precipitation begins at 0 and is heaviest at 1.
        intensity = (rank - (1 - wet_hours)) / wet_hours if wet_hours > 0 else -1.0
        is_wet = intensity > 0
        cover = 0.8 + 0.2 * intensity if is_wet else 0.8 * (rank / (1 - wet_hours)) ** _clearness(wet_share)
        clouds = min(100, round(100 * cover))
        temperature, swing = self._temperature(city, days, season, cover)
        wind = self._wind(city, days, season)
        humidity = _humidity(city, wet_share, temperature, swing, max(0.0, intensity))
        precipitation = _precipitation(intensity, temperature) if is_wet else 0.0
        elevation = sun_elevation(city, moment)
        condition = _condition(
            temperature, precipitation, clouds, humidity, wind, self._noise(city, "storm", days, 0.5)
        )
        is_snow = condition.main == "Snow"
        humidity = {"Fog": 99, "Mist": 96}.get(condition.main, humidity)
        return Hour(
            temperature=temperature,
            feels_like=_feels_like(temperature, humidity, wind),
            condition=condition,
            humidity=humidity,
            pressure=round(
                1013 + (2 + abs(city.latitude) / 7) * (0.8 * self._noise(city, "pressure", days, 2.1) - 0.6 * front)
            ),
            wind_speed=wind,
            wind_gust=round(wind * (1.4 + 0.2 * abs(front)), 2),
            wind_direction=round(self._trait(city, "wind") * 360 + 60 * self._noise(city, "vane", days, 1.1)) % 360,
            clouds=clouds,
            visibility=_visibility(condition, precipitation),
            rain=0.0 if is_snow else precipitation,
            snow=precipitation if is_snow else 0.0,
            chance_of_rain=_precipitation_chance(front, wet_hours),
            is_day=elevation > 0,
        )

    def _temperature(self, city: CityClimate, days: float, season: float, cover: float) -> tuple[float, float]:
        """The temperature in °C, and its difference from the day's mean."""
        january, april, july, october = city.temperatures
        # The trigonometric polynomial through four equidistant points.
        mean = (january + april + july + october) / 4
        mean += (january - july) / 2 * math.cos(season) + (april - october) / 2 * math.sin(season)
        mean += (january - april + july - october) / 4 * math.cos(2 * season)
        # Temperatures vary more in winter than in summer, and more on continents than on islands.
        winter = 0.5 + 0.5 * math.cos(season) * (1 if january <= july else -1)
        spread = min(5.0, 0.7 + 0.11 * abs(january - july)) * (0.55 + 0.6 * winter)
        anomaly = 0.93 * self._noise(city, "mass", days, 2.6) + 0.37 * self._noise(city, "stir", days, 0.6)
        # The day is warmest three hours after solar noon.
        hour = (days % 1) * 24 + city.longitude / 15
        daylight = min(1.25, max(0.3, _day_length(city.latitude, days) / 12))
        phase = 2 * math.pi * (hour - 15) / 24
        reach = city.daily_range / 2 * min(1.25, daylight * (1.25 - 0.5 * cover))
        swing = reach * (math.cos(phase) + 0.12 * math.cos(2 * phase))
        return round(min(52.0, max(-60.0, mean + spread * anomaly + swing)), 2), swing

    def _wind(self, city: CityClimate, days: float, season: float) -> float:
        """In m/s."""
        usual = 2.2 + 2.2 * self._trait(city, "breeze")
        # Winds are strongest in winter and at high latitudes.
        usual *= 1 + min(0.3, abs(city.latitude) / 200) * math.cos(season) * (1 if city.latitude >= 0 else -1)
        return round(usual * math.exp(0.45 * self._noise(city, "wind", days, 0.9)), 2)

    def _noise(self, city: CityClimate, purpose: str, days: float, period: float) -> float:
        """A standard normal variable that changes smoothly in time, with a correlation time of about `period` days."""
        track = self._tracks.get((city.id, purpose))
        if track is None:
            track = self._tracks[city.id, purpose] = _Track(self._seed, city.id, purpose)
        # Each has its own phase, so that they do not all change at the same time.
        at = days / period + track.phase
        knot = math.floor(at)
        part = at - knot
        weight = part * part * (3 - 2 * part)
        # Scaled so that its variance is the same between two knots as at them.
        return ((1 - weight) * track[knot] + weight * track[knot + 1]) / math.hypot(1 - weight, weight)

    def _trait(self, city: CityClimate, purpose: str) -> float:
        """A constant of the city, uniform from 0 to 1."""
        return _uniform(self._seed, city.id, purpose)


@functools.lru_cache(maxsize=8)
def climate_of(seed: int) -> Climate:
    """The climate of a seed, shared by all who ask for it: the service, the truth and the model need the same hours."""
    return Climate(seed)


class _Track(dict[int, float]):
    """The normal variables between which one kind of noise of a city moves, by their number, drawn when needed."""

    def __init__(self, seed: int, city: int, purpose: str) -> None:
        super().__init__()
        self._key = (seed, "climate", city, purpose)
        self.phase = _uniform(seed, city, purpose)

    def __missing__(self, knot: int) -> float:
        drawn = self[knot] = chance(*self._key, knot).gauss(0, 1)
        return drawn


@functools.lru_cache(maxsize=65_536)
def _uniform(seed: int, city: int, purpose: str) -> float:
    return chance(seed, "climate", city, purpose).random()


def _clearness(wet_share: float) -> float:
    """The exponent that turns the rank of a dry hour into cloud cover: dry climates are clear, wet ones cloudy."""
    return max(0.7, 4.0 - 9.0 * wet_share)


def _precipitation(intensity: float, temperature: float) -> float:
    """Rain or snow in mm of water per hour; warm air brings more of it."""
    return round(0.12 + 2.2 * intensity**3 * min(4.0, max(0.35, math.exp(0.07 * (temperature - 10)))), 2)


def _condition(
    temperature: float, precipitation: float, clouds: int, humidity: int, wind: float, instability: float
) -> Condition:
    if precipitation > 0:
        if temperature < _SNOW_BELOW:
            return _by_amount(_SNOWS, precipitation)
        if temperature < _SLEET_BELOW:
            return _CONDITIONS[611]
        if temperature >= _STORM_ABOVE and precipitation >= 1.0 and instability > 0.2:
            return _by_amount(_STORMS, precipitation)
        if precipitation < 0.25:
            return _CONDITIONS[300 if precipitation < 0.16 else 301]
        return _by_amount(_RAINS, precipitation)
    if humidity >= 92 and wind < 2.5 and clouds >= 25 and temperature < _FOG_BELOW:
        return _CONDITIONS[741 if humidity >= 97 and wind < 1.8 else 701]
    return _by_amount(_CLOUDS, clouds)


def _by_amount(table: tuple[tuple[float, int], ...], amount: float) -> Condition:
    return _CONDITIONS[next(number for least, number in table if amount >= least)]


def _humidity(city: CityClimate, wet_share: float, temperature: float, swing: float, intensity: float) -> int:
    """Humidity in %: higher in wet climates, lower in those with a large daily range, lowest in the afternoon."""
    usual = min(86, 56 + 50 * wet_share - 2.2 * (city.daily_range - 8)) - 0.8 * max(0.0, temperature - 26)
    return round(min(100.0, max(8.0, usual - 2.4 * swing + (10 + 14 * intensity if intensity > 0 else 0))))


def _feels_like(temperature: float, humidity: int, wind: float) -> float:
    """Steadman's apparent temperature in °C, in the form used by the Australian Bureau of Meteorology."""
    vapour = humidity / 100 * 6.105 * math.exp(17.27 * temperature / (237.7 + temperature))
    apparent = temperature + 0.33 * vapour - 0.70 * wind - 4.0
    return round(min(temperature + 9, max(temperature - 12, apparent)), 2)


def _visibility(condition: Condition, precipitation: float) -> int:
    """Visibility in m; OpenWeather reports at most 10 000."""
    if condition.main == "Fog":
        return 400
    if condition.main == "Mist":
        return 3000
    reach = 3000 if condition.main == "Snow" else 8000
    return max(500, min(10_000, round(10_000 - reach * precipitation / 8)))


def _precipitation_chance(front: float, wet_hours: float) -> float:
    """Probability of precipitation: one half if `front` is at the threshold of rain, rising with it."""
    if wet_hours <= 0:
        return 0.0
    return round(_NORMAL.cdf((front - _NORMAL.inv_cdf(1 - wet_hours)) / 0.35), 2)


# --- the sun ----------------------------------------------------------------------------------------------------------


def sun_elevation(city: CityClimate, moment: datetime) -> float:
    """The sun's elevation above the horizon in degrees, accurate to about one degree."""
    days = (moment.astimezone(UTC) - _EPOCH) / timedelta(days=1)
    latitude, declination = math.radians(city.latitude), _declination(days)
    angle = math.radians(((days % 1) * 24 + city.longitude / 15 - 12) * 15)
    return math.degrees(
        math.asin(
            math.sin(latitude) * math.sin(declination) + math.cos(latitude) * math.cos(declination) * math.cos(angle)
        )
    )


def sun_times(city: CityClimate, moment: datetime) -> tuple[datetime, datetime] | None:
    """Sunrise and sunset of the local day; None if the sun does not cross the horizon."""
    offset = city.utc_offset(moment)
    local_day = (moment.astimezone(UTC) + offset).replace(hour=0, minute=0, second=0, microsecond=0)
    noon = local_day - offset + timedelta(hours=12) + (offset - timedelta(hours=city.longitude / 15))
    length = _day_length(city.latitude, (noon - _EPOCH) / timedelta(days=1))
    if not 0 < length < 24:
        return None
    return noon - timedelta(hours=length / 2), noon + timedelta(hours=length / 2)


def _declination(days: float) -> float:
    return math.radians(-23.44) * math.cos(2 * math.pi * (days + 10) / _YEAR)


def _day_length(latitude: float, days: float) -> float:
    """Hours from sunrise to sunset."""
    tangent = -math.tan(math.radians(latitude)) * math.tan(_declination(days))
    return 24 / math.pi * math.acos(min(1.0, max(-1.0, tangent)))
