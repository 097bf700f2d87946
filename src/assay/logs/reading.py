"""From log files to scores: which format, which repetition, what kind of score, and what passes."""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from assay.chat.scoring.answers import Answer, FailedCheck
from assay.chat.scoring.metric import LOG_VERSION, Entry, Metric, ScoreScale, band
from assay.chat.scoring.scores import Scores
from assay.errors import SourceError, UsageError
from assay.logs.contents import AnswerBudget, LogContent
from assay.logs.directions import lower_is_better
from assay.logs.logged import LOG_FORMATS, LogFormat, LoggedAnswer, LogOptions
from assay.redaction import redacted, redacted_all

PASS_AT = 0.5
"""If nothing in a log says what passes: every score from 0 to 1 must be at least this."""
_MOST_LEVELS = 11
_MOST_SCORES = 5000
_BYTES_A_SCORE = 300
_MOST_KNOWN = 50_000
_Scored = tuple[str, Entry, FailedCheck | None]
_LAST_REPETITION = 2**31 - 1  # of those that a store can hold
BetterWhen = Literal["higher", "lower"]


def read_logs(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str = "auto",
    agent: str = "",
    lower: Iterable[str] = (),
    higher: Iterable[str] = (),
    pass_at: float | None = None,
    options: LogOptions | None = None,
    seed: int = 42,
) -> Scores:
    r"""The scored answers of logs that other tools wrote; several files make one result, with an agent for each model.

    `agent` is the name of what answered if a log does not say it; otherwise the file's name is. `lower` are scores that
    are better when lower, `higher` those that are better when higher; of others the name decides: latency and cost are
    better when lower. An answer passes by the tool's own verdict; if there is none, if all scores of right
    and wrong are right; if there are none of those either, if every score from 0 to 1 is at least 0.5. With `pass_at`
    every score from 0 to 1 must be at least that, whatever the tool says.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("scores.csv").write_text("case,model,score\na,m,1\nb,m,0\n")
        >>> read_logs("scores.csv").rows()[0]["mean"]
        0.5

    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise UsageError("no log was given", hint="Name at least one file")
    stated: dict[str, BetterWhen] = {}
    answers: list[LoggedAnswer] = []
    inputs: list[dict[str, str]] = []
    budget = AnswerBudget()
    with no_garbage_collection():
        for path in map(Path, files):
            content = LogContent(path)
            found = _format_of(content, format)
            stated |= dict.fromkeys(map(_identifier, found.lower_is_better), "lower")
            read = []
            for one in found.answers(content, options or LogOptions()):
                texts = len(one.query) + len(one.response) + len(one.error)
                budget.spend(texts + _BYTES_A_SCORE * len(one.scores), str(path))
                read.append(one)
            if not read:
                raise SourceError("has no scored answers", where=str(path), hint="Was the evaluation cancelled?")
            own = agent or path.name.partition(".")[0]
            for one in read:
                one.agent = one.agent or own
            answers += read
            inputs.append({"source": str(path), "sha256": content.sha256, "format": found.title})
        stated |= dict.fromkeys(map(_identifier, lower), "lower")
        stated |= dict.fromkeys(map(_identifier, higher), "higher")
        return _scores(answers, stated, pass_at, inputs, seed)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A log becomes millions of objects without cycles; searching them for some takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # Together these make all objects old ones, which are not searched at once.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _format_of(content: LogContent, name: str) -> LogFormat:
    if name != "auto":
        return LOG_FORMATS.get(name)
    # Tables last: any file of JSON lines looks like one.
    names = sorted(LOG_FORMATS.names(), key=lambda one: one == "table")
    for one in names:
        found = LOG_FORMATS.get(one)
        if found.recognises(content):
            return found
    raise SourceError(
        "is not a log that assay knows", where=str(content.path), hint=f"Name its format: {', '.join(names)}"
    )


def _scores(
    answers: Sequence[LoggedAnswer],
    stated: Mapping[str, BetterWhen],
    pass_at: float | None,
    inputs: list[dict[str, str]],
    seed: int,
) -> Scores:
    tool = " and ".join(dict.fromkeys(one["format"] for one in inputs))
    names = _names(name for answer in answers for name in answer.scores)
    by_score: dict[str, list[float]] = {given: [] for given in names}
    for answer in answers:
        for given, score in answer.scores.items():
            if score is not None:
                by_score[given].append(score)
    values = {names[given]: found for given, found in by_score.items()}
    metrics = {
        name: Metric(
            name,
            "own",
            0.0,
            (),
            f"What did {given} score?",
            direction=stated.get(name, "lower" if lower_is_better(given) else "higher"),
            scale=scale_of(values[name]),
            version=LOG_VERSION + tool,
        )
        for given, name in names.items()
    }
    several_tasks = len({answer.task for answer in answers}) > 1
    making = _Answers(names, metrics, _decisive(metrics, pass_at), pass_at)
    agents = {name: redacted(name) for name in {answer.agent for answer in answers}}
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    keys: dict[tuple[str, str, int], None] = {}
    found = []
    cases = [f"{one.task}/{one.case}" if several_tasks and one.task else one.case for one in answers]
    texts = zip(
        redacted_all(cases),
        redacted_all([one.query for one in answers]),
        redacted_all([one.response for one in answers]),
        strict=True,
    )
    for answer, case, shown in zip(answers, cases, texts, strict=True):
        number = answer.repetition
        at = number if number is not None and 0 <= number <= _LAST_REPETITION else seen[answer.agent, case]
        seen[answer.agent, case] += 1
        if (answer.agent, case, at) in keys:
            raise SourceError(
                f"'{answer.agent}' has two answers for repetition {at} of '{case}'",
                hint="Give each repetition a number of its own, or read the files one by one",
            )
        keys[answer.agent, case, at] = None
        found.append(making.answer(answer, agents[answer.agent], shown, at))
    if not found:
        raise SourceError("the logs have no scored answers")
    named = {"log" if len(inputs) == 1 else f"log {at}": one for at, one in enumerate(inputs, 1)}
    return Scores(tuple(found), tuple(metrics.values()), seed, named)


def scale_of(values: Sequence[float]) -> ScoreScale:
    """What kind of score these values are: right or wrong, from 0 to 1, a few levels, or any number."""
    found = np.asarray(values, np.float64)
    if ((found == 0.0) | (found == 1.0)).all():
        return "binary"
    if ((found >= 0.0) & (found <= 1.0)).all():
        return "share"
    if (found == np.trunc(found)).all() and found.max() <= 100 and len(np.unique(found)) <= _MOST_LEVELS:
        return "ordinal"
    return "positive" if found.min() > 0 else "any"


class _Answers:
    """Makes answers with scores from what logs say."""

    def __init__(
        self, names: Mapping[str, str], metrics: Mapping[str, Metric], decisive: set[str], pass_at: float | None
    ) -> None:
        """`names` are those of metrics by the names of scores."""
        self._names = names
        self._decisive = decisive
        self._pass_at = pass_at
        self._limit = limit = PASS_AT if pass_at is None else pass_at
        self._of_score = {
            given: (name, metrics[name].group, metrics[name].version, f"{name} >= {limit:g}" * (name in decisive))
            for given, name in names.items()
        }
        self._known: dict[tuple[str, float | None, str], _Scored] = {}

    def answer(self, logged: LoggedAnswer, agent: str, shown: tuple[str, str, str], repetition: int) -> Answer:
        """`shown` are case, query and response without secrets."""
        entries = {}
        failed: list[FailedCheck] = []
        reasons, error = logged.reasons, logged.error
        for given, score in logged.scores.items():
            details = redacted(reasons.get(given, "")).strip() if reasons else ""
            if score is None:
                details = details or redacted(error)
            known = self._known.get((given, score, details)) or self._scored(given, score, details)
            name, entries[name], failure = known
            if failure is not None:
                failed.append(failure)
        passed = self._passed(logged, failed) if logged.passed is None or self._pass_at is not None else logged.passed
        if passed:
            failed = []
        elif not failed:
            reason = "the log has no score for it" if logged.passed is None else "the tool says that it failed"
            failed = [FailedCheck("passed", redacted(logged.error) or reason)]
        case, query, response = shown
        return Answer(
            agent=agent,
            scenario=case,
            repetition=repetition,
            turn=0,
            query=query,
            response=response,
            entries=entries,
            passed=passed,
            failures=tuple(failed),
        )

    def _scored(self, given: str, score: float | None, details: str) -> _Scored:
        """One score as the name of its metric, its entry, and the check that it fails; most logs have few of them."""
        name, group, version, check = self._of_score[given]
        value = 0.0 if score is None else score
        entry = Entry(
            score=value,
            measured=score is not None,
            band=band(value),
            details=details or ("" if score is not None else "Not measured: the log has no score."),
            evidence=[],
            base=0.0,
            group=group,
            version=version,
        )
        failure = None
        if check and score is not None and score < self._limit:
            failure = FailedCheck(check, details or f"it is {score:g}")
        found = name, entry, failure
        if len(self._known) < _MOST_KNOWN:
            self._known[given, score, details] = found
        return found

    def _passed(self, logged: LoggedAnswer, failed: Sequence[FailedCheck]) -> bool:
        """Whether an answer passes by its scores."""
        if failed or logged.error:
            return False
        known = (self._names[given] for given, score in logged.scores.items() if score is not None)
        return any(name in self._decisive for name in known) if self._decisive else any(True for _ in known)


def _decisive(metrics: dict[str, Metric], pass_at: float | None) -> set[str]:
    """The scores that decide what passes if the log does not: those of right and wrong, or else those up to 1."""
    higher = {name: one.scale for name, one in metrics.items() if one.direction == "higher"}
    right_or_wrong = {name for name, scale in higher.items() if scale == "binary"}
    up_to_one = right_or_wrong | {name for name, scale in higher.items() if scale == "share"}
    return up_to_one if pass_at is not None else right_or_wrong or up_to_one


def _names(given: Iterable[str]) -> dict[str, str]:
    """The names of metrics by the names of scores; different scores never share one."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(given):
        if len(found) == _MOST_SCORES:
            raise SourceError(
                f"the logs have more than {_MOST_SCORES:,} different scores", hint="Name those that count: --score NAME"
            )
        plain = _identifier(name)
        candidate, number = plain, 2
        while candidate in taken:
            candidate, number = f"{plain}_{number}", number + 1
        found[name] = candidate
        taken.add(candidate)
    return found


def _identifier(name: str) -> str:
    plain = re.sub(r"\W+", "_", redacted(name)).strip("_")[:80] or "score"
    return plain if plain.isidentifier() else f"score_{plain}"
