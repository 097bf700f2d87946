"""Expectations that cannot be checked are said, and not passed over."""

from __future__ import annotations

from assay.chat.scoring.answers import Record
from assay.chat.scoring.applicability import expectations_of
from assay.chat.transcript import ToolCall

BOOKING = [ToolCall(name="book_room")]


def test_an_expected_call_of_an_agent_that_reports_none_is_not_checked_and_said() -> None:
    expected = expectations_of(BOOKING, [], record=Record(), response="Booked.", bundled_tools=(), knows_truth=True)
    assert expected.not_applicable == ["calls book_room: the agent does not report which tools it calls"]


def test_an_expected_call_of_an_agent_that_reports_its_calls_is_checked() -> None:
    record = Record(own_tool_calls=0)
    expected = expectations_of(BOOKING, [], record=record, response="Booked.", bundled_tools=(), knows_truth=True)
    assert expected.calls == BOOKING
    assert not expected.not_applicable
