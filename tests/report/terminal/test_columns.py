"""Names at the head of columns: what tells them apart is kept, and what fits is not cut."""

from __future__ import annotations

import pytest
from rich.console import Console
from tests.report.agent_scores import answer, scored
from tests.report.terminal.printing import printed

from assay.report.terminal.columns import beside, names_apart


@pytest.mark.parametrize(
    ("names", "room", "shown"),
    [
        (["kitchen", "lg"], 7, ["kitchen", "lg"]),
        (["openai-agents 0.19.0", "openai-agents 0.20.0"], 15, ["openai-a…0.19.0", "openai-a…0.20.0"]),
        (["pydantic-ai 2.0.0b7", "pydantic-ai"], 15, ["pydanti…2.0.0b7", "pydantic-ai"]),
        (["langgraph @ a", "langgraph @ b"], 6, ["lang…a", "lang…b"]),
        (["langgraph @ gpt-4o-mini", "langgraph @ gpt-4o"], 7, ["la…mini", "lang…4o"]),
        # Nothing in common: the beginning says most.
        (["google-adk", "langgraph"], 6, ["googl…", "langg…"]),
        # What differs is longer than the room.
        (["agent one-of-many-words", "agent two-of-many-words"], 8, ["…one-of…", "…two-of…"]),
        (["alone-and-long"], 6, ["alone…"]),
    ],
)
def test_names_keep_what_tells_them_apart(names: list[str], room: int, shown: list[str]) -> None:
    assert names_apart(names, room) == shown
    assert all(len(name) <= room for name in shown)


def headings(agents: list[str], rows: list[str]) -> str:
    table = beside("scenario", agents, range(len(agents)), 80, rows=rows)
    for row in rows:
        table.add_row(row, *("1/1" for _ in agents))
    console = Console(width=80)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()[0]


def test_a_name_is_whole_if_the_first_column_leaves_room() -> None:
    agents = ["kitchen", "wadk", "ship", "plain", "lg"]
    assert headings(agents, ["arguments-not-json-always"]).split() == [
        "scenario", "1", "kitchen", "2", "wadk", "3", "ship", "4", "plain", "5", "lg",
    ]  # fmt: skip
    # A first column as long as a line leaves the cells what they need, and the names that.
    assert "1 kitch…" in headings(agents, ["x" * 80])


def test_versions_are_told_apart_in_every_table() -> None:
    versions = [f"openai-agents 0.{number}.0" for number in (19, 20, 21, 22)]
    answers = [
        answer(name, f"s{at}", at % 2 == 0 or name != versions[0], wall=1.0, model=0.5, tools=0.1)
        for name in versions
        for at in range(6)
    ]
    lines = printed(scored(*answers))
    for version in ("19.0", "20.0", "21.0", "22.0"):
        assert any(version in line for line in lines if line.startswith("metric"))
        assert any(version in line for line in lines if line.startswith("scenario"))
