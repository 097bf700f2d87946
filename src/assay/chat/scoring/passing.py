"""Whether an answer passes, and which of its checks failed, each with the words that failed it.

What a scenario demands itself (`checks`, `says`, `never_says`, `calls`, `state`) always holds. A turn without checks
and state has the default rule: the task is completed, nothing checkable is wrong, and what the truth can answer is
claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.chat.checks import Check
from assay.chat.reading.visible import visible_part
from assay.chat.scoring.answers import FailedCheck, Record
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.asked import unclaimed
from assay.chat.scoring.metric import Entry, Evidence
from assay.chat.scoring.outcomes.interruptions import ConsentRecord, HangUpRecord
from assay.chat.scoring.tool_results import stands_in, values_in
from assay.chat.transcript import Turn
from assay.plural import counted

PASS_MARK = 0.7
"""The score that accuracy and task_completion need under the default rule."""

# Rules of accuracy that fire on something wrong; `state_missing` does if it quotes words, which contradict the truth.
_WRONG_ENDINGS = ("_wrong", "_contradicted", "denies_itself")
# Rules of task_completion that mean failure however right the rest is, unless the error is of something else.
_ERRORS = frozenset({"short_error", "error"})
_LONGEST_SAYS = 300
# In words. Shorter results, such as a state or a name, may stand in any answer.
_SHORTEST_SENTENCE = 4
# A table with fewer values may be stated by any answer.
_SMALLEST_TABLE = 2
_ERROR_FIELDS = ("error", "errors", "detail")


def failed_checks(turn: Turn, entries: Mapping[str, Entry], context: ScoringContext) -> tuple[FailedCheck, ...]:
    """The checks that an answer does not pass, in a fixed order; empty if it passes."""
    scored = [found for check in turn.checks if (found := _own(check, entries)) is not None]
    if turn.state is None and not any(_demands(check, entries) for check in turn.checks):
        scored = [*_default(turn, entries, context), *scored]
    return (*scored, *_texts(turn), *_calls(turn, context), *_state(turn), *_history(turn))


def meets_demands(turn: Turn, entries: Mapping[str, Entry], context: ScoringContext) -> bool:
    """Whether an answer passes everything but the default rule, and there is no truth that this compares it with."""
    scored = any(_own(check, entries) for check in turn.checks)
    return turn.truth is None and not scored and not any((*_texts(turn), *_calls(turn, context), *_state(turn)))


def interrupted_checks(turn: Turn, record: Record) -> tuple[FailedCheck, ...]:
    """The checks that a turn does not pass in which the user hung up or had to approve a tool: metrics do not count."""
    found = [] if record.hang_up is None else [*_hang_up(record.hang_up)]
    found += [] if record.consent is None else [*_consent(record.consent)]
    return (*found, *_texts(turn), *_state(turn), *_history(turn))


# --- what the user did -----------------------------------------------------------------------------------------------


def _hang_up(record: HangUpRecord) -> Iterator[FailedCheck]:
    """What should have stopped and has not."""
    if record.at is None:
        yield FailedCheck("the user can hang up", "the turn was over before")
        return
    if record.went_on:
        what = "answer of the model" if record.moment == "text" else "tool"
        yield FailedCheck("everything stops", f"the {what} under way was received to its end")
    later = [
        counted(number, f"further request of {name}")
        for number, name in ((record.model_calls, "the model"), (record.tool_calls, "a tool"))
        if number
    ]
    if later:
        yield FailedCheck("everything stops", f"{' and '.join(later)} came afterwards")
    if record.answered:
        yield FailedCheck("everything stops", "the turn was answered all the same")
    elif record.ended_ms is None:
        yield FailedCheck("everything stops", "the agent did not end its turn")


def _consent(record: ConsentRecord) -> Iterator[FailedCheck]:
    """How the user's decision was not kept."""
    if not record.asked:
        yield FailedCheck("asks for approval", "the user was not asked")
    if record.ran_unapproved:
        yield FailedCheck("runs only what is approved", "the tool ran before the user had decided")
    elif record.ran and record.decision != "approve":
        words = {"refuse": "although the user refused", "ignore": "although the user never answered"}
        yield FailedCheck("runs only what is approved", f"the tool ran {words[record.decision]}")
    elif not record.ran and record.decision == "approve":
        yield FailedCheck("runs what is approved", "the tool did not run although the user approved")


# --- the scenario's own checks ---------------------------------------------------------------------------------------


def _demands(check: Check, entries: Mapping[str, Entry]) -> bool:
    """Whether a check of the scenario applies to an answer."""
    entry = entries.get(check.metric)
    is_left_out = check.is_only_if_measured and entry is not None and not entry.measured
    return not (check.is_implied or is_left_out)


def _own(check: Check, entries: Mapping[str, Entry]) -> FailedCheck | None:
    if check.holds(entries):
        return None
    entry = entries.get(check.metric)
    if entry is None:
        return FailedCheck(str(check), f"{check.metric} was not scored")
    if not entry.measured:
        return FailedCheck(str(check), _short(f"{check.metric} was not measured: {_reason(entry)}"))
    return FailedCheck(str(check), *_why(check.metric, entry, rising=check.is_ in ("<", "<=")))


def _why(metric: str, entry: Entry, *, rising: bool = False) -> tuple[str, str]:
    """Why a metric has its score, with the words: the rule with the most points in the direction that failed."""
    says = f"{metric} is {entry.score:.2f}"
    against = [line for line in entry.evidence if (line.points > 0) is rising and line.points]
    if not against:
        return says, ""
    worst = max(against, key=lambda line: abs(line.points))
    return _short(f"{says}: {worst.says}"), worst.words


def _texts(turn: Turn) -> Iterator[FailedCheck]:
    said = turn.assistant or ""
    folded = said.casefold()
    shown = visible_part(said) if turn.says else None
    visible = folded if shown is None else shown.text.casefold()
    for text in turn.says:
        if text.casefold() not in visible:
            yield FailedCheck(f'says "{text}"', "the answer does not contain it")
    for text in turn.never_says:
        at = folded.find(text.casefold())
        if at >= 0:
            # Case folding may change the length of a text; then the demand itself is quoted.
            exact = said[at : at + len(text)]
            words = exact if exact.casefold() == text.casefold() else text
            yield FailedCheck(f'never says "{text}"', "the answer contains it", words)


def _state(turn: Turn) -> Iterator[FailedCheck]:
    """What should be stored about the user and is not."""
    for name, value in (turn.state or {}).items():
        if turn.stored is None:
            yield FailedCheck(f"stores {name}: {_plain(value)}", "what is stored is unknown")
        elif turn.stored.get(name) != value:
            found = f"it is {_plain(turn.stored[name])}" if name in turn.stored else "nothing is stored"
            yield FailedCheck(f"stores {name}: {_plain(value)}", _short(found))
    for product in turn.never_ordered:  # nothing is left to cancel if nothing was done
        yield FailedCheck(f"orders {product} before it is cancelled", "it was never on order")


def _history(turn: Turn) -> Iterator[FailedCheck]:
    """Whether the model was sent every message of the user once, and a whole history, whatever happened before."""
    lost = turn.lost_messages or 0
    if lost > 0:
        yield FailedCheck("no message is lost", f"{lost} of the user's messages did not reach the model")
    elif lost < 0:
        yield FailedCheck("no message is doubled", f"{-lost} of the user's messages reached the model twice")
    for flaw in turn.history_flaws:
        yield FailedCheck("the history is whole", f"the model was sent {flaw}")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _calls(turn: Turn, context: ScoringContext) -> Iterator[FailedCheck]:
    """Expected calls that were not made; an agent whose calls are unknown cannot be checked."""
    trajectory = context.trajectory
    if trajectory is None:
        return
    if not turn.expected_calls:
        if trajectory.unexpected:
            called = ", ".join(dict.fromkeys(trajectory.unexpected))
            yield FailedCheck("calls no tool", _short(f"{called} was called"))
    elif not trajectory.any_order:
        expected = ", ".join(dict.fromkeys(call.name for call in turn.expected_calls))
        reasons = [f"{name} was not called" for name in trajectory.missing]
        reasons += [str(difference) for difference in trajectory.differences]
        reasons += [f"{name} was called instead" for name in trajectory.unexpected if trajectory.missing]
        yield FailedCheck(f"calls {expected}", _short("; ".join(reasons)))


# --- the default rule ------------------------------------------------------------------------------------------------


def _default(turn: Turn, entries: Mapping[str, Entry], context: ScoringContext) -> Iterator[FailedCheck]:
    if not (turn.assistant or "").strip():
        yield FailedCheck("gives an answer", "the answer is empty")
        return
    if _repeats_the_question(context):
        yield FailedCheck("gives an answer", "it only repeats the question")
        return
    accuracy, completion = entries.get("accuracy"), entries.get("task_completion")
    for line in accuracy.evidence if accuracy is not None else ():
        if _is_wrong(line):
            yield FailedCheck("nothing is wrong", _short(line.says), line.words)
    missing = unclaimed(context)
    if missing is not None:
        yield FailedCheck("claims what was asked for", missing)
    if accuracy is not None and accuracy.measured and accuracy.score < PASS_MARK:
        yield FailedCheck(f"accuracy >= {PASS_MARK}", *_why("accuracy", accuracy))
    if completion is None or not completion.measured or completion.score >= PASS_MARK:
        return
    # An answer that claims what was asked for has done its task, however short: "€5.50."
    if context.truth:
        has_answered = missing is None
    else:
        has_answered = _says_what_is_demanded(turn) or _passes_on_result(turn) or _returns_courtesy(context)
        has_answered = has_answered or _tells_what_was_looked_up(turn, context)
    reports_error = any(line.id in _ERRORS for line in completion.evidence)
    has_failed = reports_error and bool(context.failures) and not _demands_error(turn)
    if not has_answered or has_failed:
        yield FailedCheck(f"task_completion >= {PASS_MARK}", *_why("task_completion", completion))


def _repeats_the_question(context: ScoringContext) -> bool:
    """Whether an answer has the words of the question and no other, in their order. A greeting may return one."""
    query, response = context.query, context.response
    return not context.is_small_talk and bool(query.plain()) and response.plain() == query.plain()


def _says_what_is_demanded(turn: Turn) -> bool:
    """Whether the answer has every demanded text as whole words, and not only those of the question."""
    said, asked = (turn.assistant or "").casefold(), (turn.user or "").casefold()
    is_new = any(text.casefold() not in asked for text in turn.says)
    if not is_new or any(text.casefold() not in said for text in turn.says):
        return False
    return all(re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", said) for text in turn.says)


def _demands_error(turn: Turn) -> bool:
    """Whether a demanded text is part of an error that a tool reported: to pass it on is what the scenario is about."""
    errors = [text.casefold() for call in turn.tool_calls or () for text in _error_texts(call.error, call.result)]
    asked = (turn.user or "").casefold()
    demanded = [text.casefold() for text in turn.says if text.casefold() not in asked]
    return any(text in error for text in demanded for error in errors)


def _error_texts(error: str | None, result: object) -> Iterator[str]:
    if error is not None:
        yield error
    if isinstance(result, Mapping):
        yield from (text for name in _ERROR_FIELDS for text in _texts_in(result.get(name)))


def _passes_on_result(turn: Turn) -> bool:
    """Whether the answer has a whole sentence that a tool returned, as agents with tools of their own give it, or
    everything that stands in a table, or the figure that is all it returned. If calls are expected, only their results
    count: those of other tools were not asked for.
    """
    said, asked = (turn.assistant or "").casefold(), (turn.user or "").casefold()
    expected = {call.name for call in turn.expected_calls or ()}
    results = [
        call.result for call in turn.tool_calls or () if call.error is None and (not expected or call.name in expected)
    ]
    return any(
        len(text.split()) >= _SHORTEST_SENTENCE and text.strip().casefold() in said
        for result in results
        for text in _texts_in(result)
    ) or any(_states_all(result, said, asked) for result in results)


def _tells_what_was_looked_up(turn: Turn, context: ScoringContext) -> bool:
    """Whether an answer gives data where the scenario's own checks cannot be made, as of tools of a user's own.

    Something must have been looked up, as far as that is known.
    """
    calls = turn.tool_calls
    is_looked_up = calls is None or any(call.error is None for call in calls)
    return bool(turn.checks) and is_looked_up and bool(context.told)


def _states_all(result: object, said: str, asked: str) -> bool:
    """Whether an answer has a figure, or every value of a table, as whole words, and not only those of the question."""
    values = list(values_in(result))
    is_figure = isinstance(result, (int, float))
    if len(values) < (1 if is_figure else _SMALLEST_TABLE) or all(stands_in(value, asked) for value in values):
        return False
    return all(stands_in(value, said) for value in values)


def _returns_courtesy(context: ScoringContext) -> bool:
    """Whether a word of thanks or a greeting gets one back, and no data: "You're welcome!"."""
    query, response = context.query, context.response
    if not query.all("courtesy") or not context.is_small_talk or query.is_question(0) or context.missing_parts:
        return False
    return bool(response.plain()) and response.plain() != query.plain() and not context.told and not context.advice


def _texts_in(result: object) -> Iterator[str]:
    """The texts that a tool returned, itself or as fields of a table."""
    if isinstance(result, str):
        yield result
    elif isinstance(result, Mapping):
        yield from (value for value in result.values() if isinstance(value, str))


def _is_wrong(line: Evidence) -> bool:
    return line.id.endswith(_WRONG_ENDINGS) or (line.id == "state_missing" and bool(line.words))


def _reason(entry: Entry) -> str:
    return entry.details.removeprefix("Not measured: ").removesuffix(".")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SAYS else f"{text[: _LONGEST_SAYS - 1]}…"
