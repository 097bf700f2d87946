"""Calls that ran with other arguments than the model meant, because the framework repaired or completed what had
arrived, and answers that are not the model's.

Pure functions of what was meant, what ran, what it returned and what the user was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.chat.scoring.tool_results import stands_in, values_in

if TYPE_CHECKING:
    from assay.chat.scoring.answers import Record
    from assay.chat.transcript import ToolCall


def altered_calls(record: Record) -> list[ToolCall]:
    """Calls that ran with other arguments than any that was meant; an argument too many is no other argument."""
    meant = record.meant_calls or ()
    names = {one.name for one in meant}
    return [
        call
        for call in record.tool_calls
        if call.error is None and call.name in names and not any(_is_as_meant(call, one) for one in meant)
    ]


def told_alteration(record: Record, said: str) -> str:
    """How an answer rests on a call that nobody meant, as a sentence without a full stop; empty if it does not.

    It does if a call ran in place of the one that was meant, or if it tells what that call returned and nothing of
    what the right one did.
    """
    altered = altered_calls(record)
    for call in altered:
        for meant in record.meant_calls or ():
            if meant.name != call.name:
                continue
            right = [one for one in record.tool_calls if one.error is None and _is_as_meant(one, meant)]
            if not right or _is_of(call, right, said):
                return f"{call.name} ran {with_arguments(call)}, and the model meant {_listed(meant.arguments)}"
    return ""


def is_undisturbed(record: Record, said: str) -> bool:
    """Whether a user got what the model answered, before a quirk changed it."""
    whole, shown = _plain(record.undisturbed or ""), _plain(said)
    return whole != "" and (whole in shown if record.structured_answer else whole == shown)


def told_change(record: Record, said: str) -> str:
    """How an answer is another one than the model gave, as a sentence without a full stop; empty if it is not."""
    if record.undisturbed is None or record.changed_answer is None:
        return ""
    whole, sent, shown = _plain(record.undisturbed), _plain(record.changed_answer), _plain(said)
    if not sent or sent not in shown:
        return ""
    if whole not in shown:
        return "only its beginning came, and is given as the answer"
    return "what stands around it, such as the model's reasoning, is shown too" if len(sent) > len(whole) else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


def with_arguments(call: ToolCall) -> str:
    """The arguments of a call as the end of a sentence."""
    return f"with {_listed(call.arguments)}" if call.arguments else "without arguments"


def _is_of(call: ToolCall, right: Sequence[ToolCall], said: str) -> bool:
    """Whether an answer has values of the one call and none of the others, as far as these differ."""
    wrong, others = _values([call]), _values(right)
    text = said.casefold()
    return _any_in(wrong - others, text) and not _any_in(others - wrong, text)


def _values(calls: Iterable[ToolCall]) -> set[str]:
    return {value for call in calls for value in values_in(call.result)}


def _any_in(values: Iterable[str], text: str) -> bool:
    return any(stands_in(value, text) for value in values)


def _is_as_meant(call: ToolCall, meant: ToolCall) -> bool:
    return call.name == meant.name and all(
        name in call.arguments and _is_same(call.arguments[name], value) for name, value in meant.arguments.items()
    )


def _is_same(one: object, other: object) -> bool:
    """Whether two values are the same to a tool, which may get a number as a text."""
    return one == other or str(one) == str(other)


def _listed(arguments: Mapping[str, object]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return text if len(text) <= 60 else f"{text[:59]}…"
