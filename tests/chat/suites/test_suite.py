"""Suites: what a file says is what is read, and errors are reported with their line."""

from __future__ import annotations

import copy
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.chat.suites.written import HEAD, ONE, error_of, read, turn

from assay.chat.checks import Check
from assay.chat.suites import SUITES, Scenario, ScenarioTurn, Suite, load_suite, read_suite, schema
from assay.chat.transcript import ToolCall
from assay.chat.world.faults import FAULTS, Fault
from assay.chat.yamlfile import load_yaml, parse_yaml
from assay.errors import SourceError, UsageError

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
    return jsonschema_rs.Draft202012Validator(schema())


def test_the_schema_accepts_the_weather_suite(validator: Any) -> None:
    data = load_yaml(Path(__file__).parents[3] / "src/assay/chat/suites/weather.yaml").data
    validator.validate(data)


@pytest.mark.parametrize(
    "extra",
    [
        "weather: Oslo",
        "weather: {city: Oslo, days: 3}",
        "truth: {temperature: 5}",
        "calls: [look, ask: , ask: {d: 1}, {name: look}, {name: ask, arguments: {g: h}}]",
        "calls: any",
        "calls: []",
        "checks: [accuracy>=.9, error_recovery < 1, groundedness not measured, {metric: accuracy, is: measured}]",
        "fault: server_error*3",
    ],
)
def test_the_schema_accepts_every_form(validator: Any, extra: str) -> None:
    document = parse_yaml(f"tools: [look, ask]\n{ONE}        {extra}\n", "f")
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


def test_the_guide_lists_every_key_and_every_fault() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/suites.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE))
    assert told == {*Suite.model_fields, *Scenario.model_fields, *ScenarioTurn.model_fields, *FAULTS}


def test_an_empty_choice_says_what_there_is_to_choose_from() -> None:
    suite = load_suite("weather")
    with pytest.raises(UsageError, match=r"no kind of a scenario is named. Name some of: current, "):
        suite.select(kinds=[])
    with pytest.raises(UsageError, match=r"no id of a scenario is named. Name some of: current-helsinki, "):
        suite.select(ids=())
