"""The scripted model as an assistant for any subject: it makes the calls that the scenario expects and reports results.

What it calls is decided by the turn of the suite, as far as the request offers those tools; a tool that hands the
conversation to another agent is called like any other. What it says is what the tools returned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from assay.chat.world.scripted.conversation import ToolOutcome, UserTurn
from assay.chat.world.scripted.planning import Toolbox, ToolUse
from assay.chat.world.scripted.schemas import completed
from assay.chat.world.scripted.telling import told
from assay.chat.world.wanted_calls import WantedCall

CLAIM = "I have looked that up for you, and it is all done."
"""What the model says if it forgets to call a tool."""

# A failure of a call that the model made as it should is believed if it comes again.
_BELIEVED_AFTER = 2
_LONGEST_ARGUMENT = 200
_LONGEST_ANSWER = 4_000
_HANDS_OVER = re.compile(r"(transfer|hand_?off)_to_", re.IGNORECASE)


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
    texts = dict.fromkeys(filter(None, map(told, own)))
    return " ".join(texts)[:_LONGEST_ANSWER] or as_asked(said)


def as_asked(said: str) -> str:
    """What an agent says that has no tool for it, such as one that another agent asks to write or translate."""
    return f"As asked: {said.strip()[:_LONGEST_ANSWER]}"
