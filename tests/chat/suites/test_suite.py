"""Suites: what a file says is what is read, and what is wrong with it is said with its line."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from tests.chat.reference_assistant import play

from assay.chat.evaluator import METRIC_NAMES, ChatbotEvaluator
from assay.chat.scoring.scores import Scores, score
from assay.chat.suites import SUITES, Scenario, ScenarioTurn, Suite, load_suite, read_suite, schema
from assay.chat.transcript import Check, ToolCall
from assay.chat.world.cities import find_city
from assay.chat.world.embedded import World
from assay.chat.world.faults import FAULTS, Fault
from assay.chat.world.scripted import Skill
from assay.chat.yamlfile import load_yaml, parse_yaml, validated
from assay.errors import SourceError, UsageError

HEAD = "name: mine\nversion: 1\nscenarios:\n"
ONE = HEAD + "  - id: a\n    kind: current\n    turns:\n      - user: weather in Oslo\n"


def read(text: str) -> Suite:
    return read_suite(parse_yaml(text, "mine.yaml"))


def turn(extra: str) -> ScenarioTurn:
    """The one turn of a suite with one more line in it."""
    return read(f"{ONE}        {extra}\n").scenarios[0].turns[0]


def error_of(text: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read(text)
    return caught.value


# --- YAML without surprises ------------------------------------------------------------------------------------------


@pytest.fixture(params=["in C", "in Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers, of which one or the other is installed."""
    if request.param == "in Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML was built without libyaml")
    return str(request.param)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ["no", "yes", "on", "off", "y", "12:30", "2026-01-15", "007", "0x1F", "1_000", ".inf"])
def test_words_are_words(text: str) -> None:
    assert parse_yaml(f"a: {text}", "f").data == {"a": text}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("-5", -5), ("0", 0), ("1.5", 1.5), ("1e3", 1000.0), ("true", True), ("False", False), ("~", None)],
)
def test_numbers_and_truth_values_are_what_they_are(text: str, value: object) -> None:
    found = parse_yaml(f"a: {text}\nb: '{text}'\n", "f").data
    assert found == {"a": value, "b": text}
    assert type(found["a"]) is type(value)


@pytest.mark.usefixtures("parser")
def test_keys_are_text() -> None:
    assert parse_yaml("no: 1\n5: 2\n~: 3\n", "f").data == {"no": 1, "5": 2, "~": 3}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is given twice"),
        ("a: 1\nb: {c: 1, c: 2}\n", 2, "the key 'c' is given twice"),
        ("a: &x 1\nb: *x\n", 1, "alias"),
        ("a: *x\n", 1, "alias"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "tag"),
        ("a: 1\nb: !mine x\n", 2, "tag"),
        ("a: 1\nb: ! x\n", 2, "tag"),
        ("a: 1\n<<: {b: 2}\n", 2, "merge"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\nb:\n\tc: 2\n", 3, "a tab is used where spaces are needed"),
        ("a: 1\nb: c: d\n", 2, "in quotes"),
        ("a: 1\nb: 'open\n", 2, "quotation mark is not closed"),
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: 1\nb: @x\n", 2, "in quotes"),
        ("a: 1\n? [b]\n: c\n", 2, "Keys are text"),
        ("a: 1\nb: \x07\n", 2, "U+0007"),
        ("a: 1\nb: \ud800\n", 2, "U+D800"),
        ("a: 1\nb: " + "[" * 100, 2, "nested more than"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_yaml(text, "f.yaml")
    assert caught.value.where == f"f.yaml:{line}"
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ['a: "\\ud800"', 'a: "\\UFFFFFFFF"', "%FOO\n\n", "a: 1\n b: 2\n", "- 1\nb: 2\n"])
def test_any_other_error_is_one_sentence_too(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_yaml(text, "f.yaml")
    assert "\n" not in str(caught.value)


def test_a_bomb_of_aliases_does_not_go_off() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 8)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    with pytest.raises(SourceError, match="alias"):
        parse_yaml("\n".join(lines), "f")


@given(st.text(alphabet=st.sampled_from(list("ab:- \n\t[]{},'\"#&*!|>%@`?~01.")), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_yaml(text, "f")
    except SourceError as error:
        where = error.where
    else:
        where = "f"
        json.dumps(found.data)
    assert where is not None
    assert where.startswith("f")


@given(
    st.recursive(
        st.text() | st.integers(-9, 9) | st.booleans() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
@pytest.mark.slow
def test_what_yaml_writes_comes_back(data: Any) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, default_style='"')
    # In this style everything is quoted and tagged; the tags say nothing new.
    plain = re.sub(r"!!(int|bool|null|float) \"([^\"]*)\"", r"\2", text)
    assert parse_yaml(plain, "f").data == data


def test_every_node_knows_its_line() -> None:
    found = parse_yaml("a: 1\nb:\n  - c: 2\n    d: >-\n      e\n  - 3\n", "f")
    paths = {("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 0, "d"): 4, ("b", 1): 6}
    assert {path: found.line(path) for path in paths} == paths
    assert found.line(("b", 0, "x", 5)) == 3, "what is not there is where it would be"
    assert found.where(("b", 1)) == "f:6"


def test_files_are_utf_8_of_a_sensible_size(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes("\ufeffa: é\n".encode())
    assert load_yaml(file).data == {"a": "é"}
    for raw, says in ((b"a: 1\nb: \xe9\n", "is not UTF-8 text"), (b"a: " + b"x" * 5 * 2**20, "is larger than 4 MB")):
        file.write_bytes(raw)
        with pytest.raises(SourceError, match=says):
            load_yaml(file)
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(SourceError, match="cannot be read"):
            load_yaml(path)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    user: str
    times: int = 0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    turns: list[Inner] | None = None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "turns:\n- usr: x\n",
            "f:2: turns[0].usr: there is no such key. Did you mean 'user'? Known: times, user. 1 more",
        ),
        ("turns:\n- user: 5\n", "f:2: turns[0].user: must be text, got the number 5. Put it in quotes"),
        ("turns:\n- user: true\n", "f:2: turns[0].user: must be text, got true. Put it in quotes"),
        ("turns:\n- times: 1\n", "f:2: turns[0].user: must be given"),
        ("turns:\n- user: x\n  times: two\n", "f:3: turns[0].times: must be a whole number, got 'two'"),
        ("turns: x\n", "f:1: turns: must be a list, got 'x'"),
        ("turns:\n- user: x\n- y\n", "f:3: turns[1]: must be a table of keys and values, got 'y'"),
        ("- a\n", "f:1: the file: must be a table of keys and values, got a list"),
        ("", "f:1: the file: must be a table of keys and values, got empty"),
    ],
)
def test_a_model_is_held_to_with_line_and_field(text: str, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        validated(parse_yaml(text, "f"), Outer)
    assert str(caught.value).startswith(says)


# --- what a suite says -----------------------------------------------------------------------------------------------


def test_short_forms_mean_what_long_ones_do() -> None:
    short = turn("calls: [get_user_preferences, get_current_weather: {city: Oslo}, get_weather_forecast: ]")
    assert short.calls == [
        ToolCall(name="get_user_preferences"),
        ToolCall(name="get_current_weather", arguments={"city": "Oslo"}),
        ToolCall(name="get_weather_forecast"),
    ]
    long = turn(
        "calls: [{name: get_user_preferences}, {name: get_current_weather, arguments: {city: Oslo}}, "
        "{name: get_weather_forecast, arguments: {}}]"
    )
    assert short == long
    assert turn("weather: Oslo") == turn("weather: {city: Oslo}") == turn("weather: {city: Oslo, days: 0}")
    assert turn("calls: []").calls == []
    assert turn("says: [x]").calls is None, "left out, any call will do"


@pytest.mark.parametrize(
    ("text", "metric", "is_", "value"),
    [
        ("accuracy >= 0.9", "accuracy", ">=", 0.9),
        ("accuracy>=.9", "accuracy", ">=", 0.9),
        ("error_recovery < 1", "error_recovery", "<", 1.0),
        ("tool_call_count == 0.5", "tool_call_count", "==", 0.5),
        ("ambiguity_handling measured", "ambiguity_handling", "measured", 1.0),
        ("accuracy not measured", "accuracy", "measured", 0.0),
    ],
)
def test_checks_are_written_as_one_says_them(text: str, metric: str, is_: str, value: float) -> None:
    expected = Check.model_validate({"metric": metric, "is": is_, "value": value})
    assert turn(f"checks: [{text}]").checks == [expected]
    assert turn(f"checks: [{{metric: {metric}, is: '{is_}', value: {value}}}]").checks == [expected]


def test_clocks_are_moments() -> None:
    def clock(text: str) -> datetime | None:
        return read(f"clock: {text}\n{ONE}").clock

    assert clock("2026-01-15T10:00Z") == datetime(2026, 1, 15, 10, tzinfo=UTC)
    assert clock("2026-01-15 10:00") == datetime(2026, 1, 15, 10, tzinfo=UTC), "in UTC where it does not say"
    assert clock("2026-01-15T10:00:30+02:00") == datetime(2026, 1, 15, 8, 0, 30, tzinfo=UTC)
    for wrong in ("2026-01-15", "2026-13-01T00:00Z", "noon", "12:30", "20260115T1000Z", "5"):
        assert error_of(f"clock: {wrong}\n{ONE}").where == "mine.yaml:1"


def test_a_turn_has_its_own_fault_or_its_scenarios() -> None:
    scenario = read(
        f"{HEAD}  - id: a\n    kind: b\n    fault: timeout\n    turns: [user: x, {{user: y, fault: server_error*2}}]\n"
    ).scenarios[0]
    assert [scenario.fault_of(0), scenario.fault_of(1)] == [Fault("timeout"), Fault("server_error", 2)]
    assert read(ONE).scenarios[0].fault_of(0) is None


def test_a_scenario_has_its_own_clock_or_the_suites() -> None:
    own = "  - {id: b, kind: c, clock: 2026-07-01T00:00Z, turns: [user: x]}\n"
    suite = read(f"clock: 2026-01-15T10:00Z\n{ONE}{own}")
    assert [suite.clock_of(one) for one in suite.scenarios] == [
        datetime(2026, 1, 15, 10, tzinfo=UTC),
        datetime(2026, 7, 1, tzinfo=UTC),
    ]


BROKEN = {
    "an unknown key": ("usr: x", 8, "turns[0].usr: there is no such key. Did you mean 'user'?"),
    "an unknown metric": ("checks: [acuracy >= 0.9]", 8, "no metric called 'acuracy'. Did you mean 'accuracy'?"),
    "an unknown metric in a table": ("checks: [{metric: acuracy, is: measured}]", 8, "Did you mean 'accuracy'?"),
    "a score out of range": ("checks: [accuracy >= 90]", 8, "scores are between 0 and 1"),
    "a score out of range in a table": ("checks: [{metric: accuracy, is: '>=', value: 90}]", 8, "between 0 and 1"),
    "no check": ("checks: [accuracy is good]", 8, "Write 'accuracy >= 0.9'"),
    "an assignment": ("checks: [accuracy = 0.9]", 8, "Write 'accuracy >= 0.9'"),
    "an unknown comparison": ("checks: [{metric: accuracy, is: '=>', value: 1}]", 8, "checks[0].is: must be"),
    "an unknown fault": ("fault: timeuot", 8, "there is no fault called 'timeuot'. Did you mean 'timeout'?"),
    "a fault without a number": ("fault: timeout*", 8, "must have a positive integer after"),
    "two truths": ("{weather: Oslo, truth: {}}", 8, ""),
    "too many days": ("weather: {city: Oslo, days: 9}", 8, "weather.days"),
    "a day in words": ("weather: {city: Oslo, days: two}", 8, "must be a whole number, got 'two'"),
    "a call with two tools": ("calls: [{a: {}, b: {}}]", 8, "is not a tool call"),
    "a call with a result": ("calls: [{name: a, result: 1}]", 8, "calls[0].result: there is no such key"),
    "a call with no table": ("calls: [get_current_weather: Oslo]", 8, "must be a table"),
    "a number for a text": ("says: [15]", 8, "says[0]: must be text, got the number 15. Put it in quotes"),
    "an empty text": ("says: ['']", 8, "says[0]: must not be empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in BROKEN if name != "two truths"])
def test_an_error_in_a_turn_gives_its_line(name: str) -> None:
    line, number, says = BROKEN[name]
    error = error_of(f"{ONE}        {line}\n")
    assert error.where == f"mine.yaml:{number}"
    assert str(error).startswith(f"mine.yaml:{number}: scenarios[0].turns[0].")
    assert says in str(error)


def test_a_turn_has_one_truth() -> None:
    error = error_of(f"{ONE}        weather: Oslo\n        truth: {{temperature: 5}}\n")
    assert str(error) == (
        "mine.yaml:9: scenarios[0].turns[0].truth: the turn has both weather and truth. Keep one of them"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ONE.replace("version: 1", "version: one"), "mine.yaml:2: version: must be a whole number, got 'one'"),
        (ONE.replace("version: 1\n", ""), "mine.yaml:1: version: must be given"),
        (ONE.replace("name: mine", "name: mine/../x"), "mine.yaml:1: name: 'mine/../x' is not a valid name"),
        (ONE.replace("name: mine", "name: mine\ndomain: wether"), "mine.yaml:2: domain: there is no domain called"),
        (ONE.replace("id: a", "id: a b"), "mine.yaml:4: scenarios[0].id: 'a b' is not a valid name"),
        (ONE.replace("kind: current", "knd: current"), "mine.yaml:5: scenarios[0].knd: there is no such key"),
        (HEAD, "mine.yaml:3: scenarios: must be a list, got empty"),
        (HEAD + "  []\n", "mine.yaml:3: scenarios: must not be empty"),
        (HEAD + "  - {id: a, kind: b, turns: []}\n", "mine.yaml:4: scenarios[0].turns: must not be empty"),
        (
            ONE + "  - {id: b, kind: c, turns: [user: x]}\n  - {id: a, kind: c, turns: [user: x]}\n",
            "mine.yaml:9: scenarios[2].id: two scenarios have the id 'a'. Rename one; the other is scenario 1",
        ),
    ],
)
def test_an_error_in_a_suite_gives_its_line(text: str, says: str) -> None:
    assert str(error_of(text)).startswith(says)


# --- loading and choosing --------------------------------------------------------------------------------------------


def test_suites_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert "weather" in SUITES
    file = tmp_path / "mine.yaml"
    file.write_text(ONE, encoding="utf-8")
    assert load_suite(file) == load_suite(str(file)) == read(ONE)
    with pytest.raises(UsageError, match=r"no suite called 'wether'. Did you mean 'weather'.*or give the path"):
        load_suite("wether")
    with pytest.raises(SourceError, match="cannot be read"):
        load_suite("none.yaml")
    file.write_text(ONE.replace("user:", "usr:"), encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        load_suite(file)
    assert caught.value.where == f"{file}:7"


def test_the_digest_depends_on_content_not_on_notation() -> None:
    suite = read(ONE)
    assert suite.digest == read(f"# a comment\nlanguage: en\ndescription: ''\n{ONE}").digest
    assert suite.digest != read(ONE.replace("Oslo", "Bergen")).digest
    assert turn_digest("weather: Oslo") == turn_digest("weather: {city: Oslo}")
    assert turn_digest("checks: [accuracy>=0.9]") == turn_digest("checks: [{metric: accuracy, is: '>=', value: 0.9}]")
    assert turn_digest("calls: []") != suite.digest
    # Stored runs carry it: a key that a later version adds with a default must not change it.
    assert suite.digest == "dda7204257bb5fc8b6b2b6d98bae81a006193fe85a66c466db9395cc2562356b"


def turn_digest(extra: str) -> str:
    return read(f"{ONE}        {extra}\n").digest


def test_a_suite_survives_being_written_and_read_again() -> None:
    suite = load_suite("weather")
    again = Suite.model_validate_json(suite.model_dump_json(by_alias=True))
    assert again.digest == suite.digest


def test_parts_are_chosen_by_kind_and_id() -> None:
    suite = load_suite("weather")
    assert {one.kind for one in suite.select(kinds=["failure", "units"]).scenarios} == {"failure", "units"}
    assert [one.id for one in suite.select(ids=["failure-timeout*", "current-helsinki"]).scenarios] == [
        "current-helsinki",
        "failure-timeout",
        "failure-timeout-once",
    ]
    assert suite.select().digest == suite.digest
    with pytest.raises(UsageError, match=r"no kind of scenario called 'failures'. Did you mean 'failure'"):
        suite.select(kinds=["failures"])
    with pytest.raises(UsageError, match=r"no scenario called 'curent-helsinki'. Did you mean 'current-helsinki'"):
        suite.select(ids=["curent-helsinki"])
    with pytest.raises(UsageError, match="limit must be at least 1, got 0"):
        suite.select(limit=0)


def test_a_small_part_has_something_of_everything() -> None:
    suite = load_suite("weather")
    part = suite.select(limit=len(suite.kinds))
    assert part.kinds == suite.kinds
    order = [one.id for one in suite.scenarios]
    assert [one.id for one in part.scenarios] == sorted((one.id for one in part.scenarios), key=order.index)
    assert len(suite.select(limit=20).scenarios) == 20
    assert suite.select(limit=10_000).digest == suite.digest


def test_a_suite_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_suite("weather").name = "other"


# --- the schema ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> Any:
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_the_schema_accepts_the_weather_suite(validator: Any) -> None:
    data = load_yaml(Path(__file__).parents[3] / "src/assay/chat/suites/weather.yaml").data
    validator.validate(data)


@pytest.mark.parametrize(
    "extra",
    [
        "weather: Oslo",
        "weather: {city: Oslo, days: 3}",
        "truth: {temperature: 5}",
        "calls: [a, b: , c: {d: 1}, {name: e}, {name: f, arguments: {g: h}}]",
        "calls: []",
        "checks: [accuracy>=.9, error_recovery < 1, accuracy not measured, {metric: accuracy, is: measured}]",
        "fault: server_error*3",
    ],
)
def test_the_schema_accepts_every_form(validator: Any, extra: str) -> None:
    document = parse_yaml(f"{ONE}        {extra}\n", "f")
    read_suite(document)
    validator.validate(document.data)


# What a schema cannot know: which metrics are installed.
_BEYOND = {"an unknown metric", "an unknown metric in a table", "two truths"}


@pytest.mark.parametrize("name", [name for name in BROKEN if name not in _BEYOND])
def test_the_schema_refuses_what_loading_refuses(validator: Any, name: str) -> None:
    assert not validator.is_valid(parse_yaml(f"{ONE}        {BROKEN[name][0]}\n", "f").data)


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": "one"},
        {"version": 0},
        {"name": "a b"},
        {"clock": "noon"},
        {"scenarios": []},
        {"extra": 1},
        {"scenarios": [{"id": "a", "kind": "b", "turns": [{"user": "x", "weather": "Oslo", "truth": {"a": 1}}]}]},
    ],
)
def test_the_schema_refuses_a_broken_suite(validator: Any, wrong: dict[str, Any]) -> None:
    good = parse_yaml(ONE, "f").data
    assert validator.is_valid(good)
    broken = {**copy.deepcopy(good), **wrong}
    assert not validator.is_valid(broken)
    with pytest.raises(ValueError, match=r".*"):
        Suite.model_validate(broken)


def test_the_schema_describes_every_field() -> None:
    made = schema()
    tables = [made, *(made["$defs"][name] for name in ("Scenario", "ScenarioTurn", "ScenarioWeather"))]
    for table in tables:
        assert table["description"]
        for name, field in table["properties"].items():
            assert field.get("description") or name == "city", name


def test_the_guide_tells_every_key_and_every_fault() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/suites.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE))
    assert told == {*Suite.model_fields, *Scenario.model_fields, *ScenarioTurn.model_fields, *FAULTS}


# --- the weather suite -----------------------------------------------------------------------------------------------

WEATHER = load_suite("weather")
KINDS = [
    "current", "forecast", "advice", "context", "preferences", "ambiguity", "failure", "repeats", "paraphrases",
    "comparison", "units", "small_talk", "injection",
]  # fmt: skip


def identify(scenario: Scenario) -> str:
    return scenario.id


def test_it_has_enough_of_each_kind() -> None:
    kinds = Counter(scenario.kind for scenario in WEATHER.scenarios)
    assert list(kinds) == KINDS
    assert min(kinds.values()) >= 4
    assert len(WEATHER.scenarios) >= 70
    assert sum(len(scenario.turns) for scenario in WEATHER.scenarios) >= 110


def test_it_has_every_fault() -> None:
    faults = {str(scenario.fault_of(at)) for scenario in WEATHER.scenarios for at in range(len(scenario.turns))}
    assert {fault.split("*")[0] for fault in faults} - {"None"} == set(FAULTS)
    assert {"timeout*1", "server_error*1", "rate_limited*1", "model_error*1", "model_rate_limited*1"} <= faults


def test_it_travels_through_the_year_and_the_world() -> None:
    months = {clock.month for scenario in WEATHER.scenarios if (clock := WEATHER.clock_of(scenario))}
    assert months == set(range(1, 13))
    assert len(cities()) >= 60


def cities() -> set[str]:
    turns = [turn for scenario in WEATHER.scenarios for turn in scenario.turns]
    asked = {call.arguments["city"] for turn in turns for call in turn.calls or () if "city" in call.arguments}
    return asked | {turn.weather.city for turn in turns if turn.weather is not None}


def test_every_city_is_known_to_the_reader_of_answers() -> None:
    """A city that scoring does not recognise cannot be remembered, compared or asked for."""
    evaluator = ChatbotEvaluator(names=WEATHER.names, metrics=["accuracy"])

    def is_known(city: str) -> bool:
        return bool(evaluator.context(f"weather in {city}", "", "").query_places)

    assert {city for city in cities() if not is_known(city)} == set()


def test_every_city_but_one_is_in_the_embedded_world() -> None:
    assert {city for city in cities() if find_city(city) is None} == {"Atlantis"}


@pytest.mark.parametrize("scenario", WEATHER.scenarios, ids=identify)
def test_every_turn_demands_something(scenario: Scenario) -> None:
    assert scenario.id.startswith(scenario.kind.replace("_", "-"))
    for at, turn in enumerate(scenario.turns):
        assert turn.checks or turn.says or turn.never_says
        fault = scenario.fault_of(at)
        if fault is not None and fault.kind == "injection":
            assert turn.never_says == ["PWNED"]
        if scenario.kind == "injection":
            assert "PWNED" in turn.never_says
        if any(check.metric == "accuracy" and check.value > 0 for check in turn.checks):
            assert turn.weather is not None, "accuracy needs a truth"


# --- the weather suite, played ---------------------------------------------------------------------------------------

TURNS = sum(len(scenario.turns) for scenario in WEATHER.scenarios)


@functools.cache
def played(seed: int, *kinds: str, **errors: float) -> Scores:
    """The suite on an assistant without a framework, with the embedded weather and the scripted model."""
    with World(seed=seed, skill=Skill(**errors)) as world:
        return score(asyncio.run(play(WEATHER.select(kinds=kinds or None), world)))


def failed(scores: Scores) -> set[str]:
    return {f"{answer.scenario} turn {answer.turn}" for answer in scores.answers if not answer.passed}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.slow
def test_an_agent_without_mistakes_passes(seed: int) -> None:
    scores = played(seed)
    assert len(scores.answers) == TURNS
    wrong = failed(scores)
    assert len(wrong) <= 0.05 * TURNS, wrong


def test_every_metric_of_an_answer_is_measured_often_enough() -> None:
    measured = {name: set[str]() for name in METRIC_NAMES}
    for answer in played(1).answers:
        for name, entry in answer.entries.items():
            if entry.measured:
                measured[name].add(answer.scenario)
    of_the_source = {"implementation_effort", "integration_simplicity", "debuggability"}
    assert {name for name, scenarios in measured.items() if len(scenarios) < 8} == of_the_source


LOOKED_UP = ("current", "forecast", "advice", "repeats", "paraphrases", "injection")


@pytest.mark.parametrize(
    ("error", "kinds", "most"),
    [
        ("wrong_figure", LOOKED_UP, 0.05),
        ("forgotten_tool", LOOKED_UP, 0.05),
        ("needless_question", LOOKED_UP, 0.05),
        # It can only show from the second turn on.
        ("ignored_context", ("context",), 0.75),
    ],
)
@pytest.mark.slow
def test_who_makes_a_mistake_does_not(error: str, kinds: tuple[str, ...], most: float) -> None:
    """Each error that the scripted model can make is seen where it matters."""
    passed = [answer.passed for answer in played(1, *kinds, **{error: 1.0}).answers]
    assert sum(passed) <= most * len(passed)


def test_the_same_seed_gives_the_same_answers() -> None:
    part = WEATHER.select(limit=13)
    with World(seed=5) as world:
        first, second = (asyncio.run(play(part, world)) for _ in range(2))
    assert [[turn.assistant for turn in one.turns] for one in first] == [
        [turn.assistant for turn in one.turns] for one in second
    ]
