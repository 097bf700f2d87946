"""The scripted model as an assistant for any subject: it makes the calls that the scenario expects and reports results.

What it calls is decided by the turn of the suite, as far as the request offers those tools; a tool that hands the
conversation to another agent is called like any other. What it says is what the tools returned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.chat.world.scripted.conversation import ToolOutcome, UserTurn
from assay.chat.world.scripted.planning import Toolbox, ToolUse
from assay.chat.world.scripted.schemas import completed
from assay.chat.world.wanted_calls import WantedCall

CLAIM = "I have looked that up for you, and it is all done."
"""What the model says if it forgets to call a tool."""

# A failure of a call that the model made as it should is believed if it comes again.
_BELIEVED_AFTER = 2
_LONGEST_ARGUMENT = 200
_LONGEST_ANSWER = 4_000
_SENTENCE_WORDS = 4
_HANDS_OVER = re.compile(r"(transfer|hand_?off)_to_", re.IGNORECASE)
_IS_ERROR = re.compile(r"\W*(\d+ validation |tool |function )?(errors?|exception|failed|failure)\b", re.IGNORECASE)
_GOOD = frozenset({"success", "ok", "done", "succeeded"})


def is_followed(wanted: Sequence[WantedCall], turn: UserTurn, toolbox: Toolbox) -> bool:
    """Whether the request is about the calls that the turn expects: it offers one, or has the result of one."""
    called = {outcome.name for outcome in turn.outcomes}
    return any(call.name in toolbox.parameters or call.name in called for call in wanted)


def next_step(
    wanted: Sequence[WantedCall], turn: UserTurn, toolbox: Toolbox, *, has_quirk: bool
) -> tuple[ToolUse, ...] | str:
    """The calls to make next, or the answer.

    Calls of one tool that follow each other are made in one message, others one after another: a call may need what
    the one before it has done. With a quirk of the model, a call that failed is made again.
    """
    done = _results(wanted, turn, has_quirk=has_quirk)
    waiting = [call for call, outcome in zip(wanted, done, strict=True) if outcome is None]
    offered = [call for call in waiting if call.name in toolbox.parameters]
    if offered:
        together = [offered[0]]
        for call in offered[1:]:
            if call.name != offered[0].name:
                break
            together.append(call)
        said = turn.said[:_LONGEST_ARGUMENT]
        return tuple(
            _use(call, toolbox, said) for call in together[: 1 if _HANDS_OVER.match(offered[0].name) else None]
        )
    return answer([outcome for outcome in done if outcome is not None], turn.said)


def _use(call: WantedCall, toolbox: Toolbox, said: str) -> ToolUse:
    return ToolUse(call.name, completed(toolbox.parameters[call.name], call.arguments, said))


def _results(wanted: Sequence[WantedCall], turn: UserTurn, *, has_quirk: bool) -> list[ToolOutcome | None]:
    """The result of each wanted call so far; None for those that are still to be made."""
    refused: Counter[str] = Counter()
    counted = []
    for outcome in turn.outcomes:
        if has_quirk and outcome.failure is not None:
            if not any(_is_as_wanted(outcome, call) for call in wanted):
                continue
            key = f"{outcome.name} {outcome.arguments}"
            refused[key] += 1
            if refused[key] != _BELIEVED_AFTER:
                continue
        counted.append(outcome)
    found: list[ToolOutcome | None] = []
    for call in wanted:
        # The result of the very call, else of one that was made in its place, with arguments that were cut off.
        fitting = [one for one in counted if one.name == call.name]
        taken = next((one for one in fitting if _is_as_wanted(one, call)), fitting[0] if fitting else None)
        if taken is not None:
            counted.remove(taken)
        found.append(taken)
    return found


def _is_as_wanted(outcome: ToolOutcome, call: WantedCall) -> bool:
    return outcome.name == call.name and all(
        name in outcome.arguments and outcome.arguments[name] == value for name, value in call.arguments.items()
    )


# --- what is said ----------------------------------------------------------------------------------------------------


def answer(outcomes: Sequence[ToolOutcome], said: str) -> str:
    """What the tools returned, as text; without a result, the user's words."""
    own = [one for one in outcomes if not _HANDS_OVER.match(one.name)] or list(outcomes)
    texts = dict.fromkeys(filter(None, map(_told, own)))
    return " ".join(texts)[:_LONGEST_ANSWER] or as_asked(said)


def as_asked(said: str) -> str:
    """What an agent says that has no tool for it, such as one that another agent asks to write or translate."""
    return f"As asked: {said.strip()[:_LONGEST_ANSWER]}"


def _told(outcome: ToolOutcome) -> str:
    result = outcome.result
    if outcome.failure is not None:
        is_plain = isinstance(result, str) and result.strip() and not _IS_ERROR.match(result)
        return str(result).strip() if is_plain else f"I could not do that: {outcome.failure.strip().rstrip('.')}."
    name = outcome.name.replace("_", " ").strip()
    if isinstance(result, Mapping):
        return " ".join(_sentences(result)) or f"{_capital(name)}: done."
    if isinstance(result, list):
        return f"{_capital(name)}: {_listed(result)}."
    text = "" if result is None else _plain(result)
    # A bare figure, or a word, says of what it is.
    return text if len(text.split()) > 1 else f"{_capital(name)}: {text or 'done'}."


def _sentences(table: Mapping[Any, Any]) -> Iterator[str]:
    """A table as short sentences; a sentence in it stands as it is."""
    for name, value in table.items():
        if value is None or value == "" or (str(name) == "status" and str(value).lower() in _GOOD):
            continue
        if isinstance(value, str) and len(value.split()) >= _SENTENCE_WORDS:
            yield value.strip()
        elif isinstance(value, Mapping):
            yield from _sentences(value)
        else:
            words = _capital(str(name).replace("_", " "))
            yield f"{words}: {_listed(value) if isinstance(value, list) else _plain(value)}."


def _listed(rows: Sequence[Any]) -> str:
    return ", ".join(
        "; ".join(text.rstrip(".") for text in _sentences(row)) if isinstance(row, Mapping) else _plain(row)
        for row in rows
    )


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
