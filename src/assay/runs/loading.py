"""Stored runs by reference: load one as a result, compare some, and store a result.

A reference is an id or the beginning of one, a name (its newest complete run), `@last`, or `@last~1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from assay.errors import AssayError, UsageError, unknown_name
from assay.runs.results import rebuilt
from assay.store import open_store

if TYPE_CHECKING:
    from assay.chat.scoring.answers import Answer
    from assay.chat.scoring.scores import Scores
    from assay.compare import Comparison, Margin, Side
    from assay.events.evaluation import EventReport
    from assay.result import Result
    from assay.runs.load_tests import LoadResult
    from assay.store.store import Store
    from assay.types import Run

AnyStore: TypeAlias = "str | Path | Store | None"
"""A store by address, an open one, or None for the default store."""


def load(reference: str = "@last", *, store: AnyStore = None) -> Result:
    """The result of a stored run: scores as stored, every estimate recomputed.

    A run of events gives an `EventReport`, scored transcripts give `Scores`, a run of agents an `ExperimentResult`.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=2, seconds=1, seed=1)
        >>> _ = record(events.evaluate(truth, truth), store="example.db", name="perfect")
        >>> load("perfect", store="example.db").flat("owa")["comparable"]
        1.0

    """
    with ExitStack() as stack:
        opened = opened_store(store, stack)
        run = opened.load(reference)
        return rebuilt(run, opened.answers(run.id))


def load_answers(reference: str = "@last", *, store: AnyStore = None, baselines: bool = False) -> list[Answer]:
    """The scored answers of a stored run, finished or not, in the order in which they were stored.

    The answers of baselines, which a run of agents also has, are included only with `baselines=True`.

    Example:
        >>> from assay import chat
        >>> turn = chat.Turn(user="Hi", assistant="Hello!")
        >>> scores = chat.score([chat.Transcript(agent="bot", scenario="hello", turns=[turn])])
        >>> _ = record(scores, store="answers.db", name="greeting")
        >>> load_answers("greeting", store="answers.db")[0].response
        'Hello!'

    """
    from assay.chat.scoring.answers import Answer

    with ExitStack() as stack:
        opened = opened_store(store, stack)
        left_out = () if baselines else opened.describe(reference).run.settings.get("baselines", ())
        return [Answer.from_json(row) for row in opened.answers(reference) if row["agent"] not in left_out]


def record(
    result: EventReport | Scores | LoadResult,
    *,
    store: AnyStore = None,
    name: str = "",
    tags: Iterable[str] = (),
    command: Sequence[str] = (),
) -> str:
    """Store a result as a run and give its id.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=2, seconds=1, seed=1)
        >>> run_id = record(events.evaluate(truth, truth), store="recorded.db", name="perfect")
        >>> len(run_id) > 8
        True

    """
    from assay.chat.scoring.scores import Scores
    from assay.runs.from_results import recorded_run

    run = recorded_run(result, command=command, name=name, tags=tags)
    rows = [answer.to_row() for answer in result.answers] if isinstance(result, Scores) else []
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store)) if store is None or isinstance(store, str | Path) else store
        return opened.save(run, answers=rows)


def compare(
    *references: str | Path,
    store: AnyStore = None,
    margin: float | Margin = 0.05,
    seed: int = 42,
    full: bool = False,
    files: bool = True,
    lower: Iterable[str] = (),
    higher: Iterable[str] = (),
) -> list[Comparison]:
    """Compare stored runs with the first one, which is the baseline.

    A reference may also be a file: a log that another tool wrote (see `assay.logs`), which is not stored. With
    `files=False`, for references that others send, only a `Path` is a file, and a text is always a run of the store.
    `lower` and `higher` are scores of logs of which lower or higher values are better; by default their names tell.
    `RUN:AGENT` names one agent of a run. Two runs with several agents are compared agent by agent; a single run with
    several agents is compared within itself, every other agent with the first. If every framework was played with each
    of several models, the comparisons are their main effects and interactions.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=4, seconds=1, seed=1)
        >>> for name in ("a", "b"):
        ...     _ = record(events.evaluate(truth, truth), store="compared.db", name=name)
        >>> compare("a", "b", store="compared.db")[0].line("comparable").verdict.difference
        0.0

    """
    from assay.compare import compare as compare_sides

    with ExitStack() as stack:
        logs = [isinstance(one, Path) or (files and is_log_file(one)) for one in references]
        # Logs of other tools need no store.
        opened = None if all(logs) else opened_store(store, stack)
        lower, higher = tuple(lower), tuple(higher)
        found = [
            (log_run(reference, lower=lower, higher=higher), None)
            if opened is None or is_log
            else load_side(str(reference), opened)
            for reference, is_log in zip(references, logs, strict=True)
        ]
    _check_directions((*lower, *higher), [run for (run, _), is_log in zip(found, logs, strict=True) if is_log])
    if len(found) == 1 and found[0][1] is None:
        factors = _effects_of(found[0][0], margin=margin, seed=seed)
        if factors:
            return factors
    return [compare_sides(a, b, margin=margin, seed=seed, full=full) for a, b in pairs_of(found)]


def is_log_file(reference: str) -> bool:
    """Whether a reference is a file: a log of another tool, and not a run of a store."""
    try:
        return Path(reference).is_file()
    except (OSError, ValueError):  # too long, or with a zero byte: not a path
        return False


def log_run(path: str | Path, *, lower: Iterable[str] = (), higher: Iterable[str] = ()) -> Run:
    """A log of another tool as a run that no store holds."""
    from assay.logs.reading import no_garbage_collection, read_logs

    with no_garbage_collection():
        return replace(read_logs(path, lower=lower, higher=higher).as_run(), name=Path(path).name)


def _check_directions(named: Sequence[str], logs: Sequence[Run]) -> None:
    """Raise UsageError if a score whose direction is stated is in none of the logs."""
    if named and not logs:
        raise UsageError(
            "only scores of log files can be said to be better when lower or higher",
            hint="Stored runs have their directions: give them to `assay import`",
        )
    known = {name for run in logs for name in run.settings["metrics"]}
    for name in named:
        if name not in known:
            raise unknown_name("score", name, known)


def _effects_of(run: Run, *, margin: float | Margin, seed: int) -> list[Comparison]:
    """Main effects and interactions of a run in which every framework was played with each of several models."""
    if run.kind != "experiment":
        return []
    from assay.compare.factors import effects
    from assay.runs.stored_agents import stored_cells

    return effects(run, stored_cells(run), margin=margin, seed=seed)


def load_side(reference: str, store: Store) -> tuple[Run, str | None]:
    """A stored run, with the agent if the reference names one (`RUN:AGENT`)."""
    try:
        return store.load(reference), None
    except AssayError:
        # A name may contain a colon, so the part after it is an agent only if the whole is not a run.
        head, mark, agent = reference.rpartition(":")
        if not (head and mark and agent):
            raise
        return store.load(head), agent


def pairs_of(runs: Sequence[tuple[Run, str | None]]) -> list[tuple[Side, Side]]:
    """Baseline and candidate of every comparison: see `compare`."""
    from assay.compare import side_of

    if not runs:
        raise UsageError("a comparison needs two runs", hint="Name a baseline and at least one candidate")
    (first, agent), *others = runs
    if not others:
        if first.half != "events" and len(first.tallies) == 1 and agent is None:
            only = next(iter(first.tallies))
            raise UsageError(
                f"the run '{first.name or first.id}' has one agent, '{only}', and nothing to compare it with",
                hint="Name another run too",
            )
        if first.half == "events" or len(first.tallies) < 2 or agent is not None:
            raise UsageError("a comparison needs two runs", hint="Name a baseline and at least one candidate")
        baseline, *candidates = (side_of(first, name) for name in first.tallies)
        return [(baseline, candidate) for candidate in candidates]
    pairs = []
    for other, other_agent in others:
        several = any(run.half == "chat" and len(run.tallies) > 1 for run in (first, other))
        if agent is None and other_agent is None and several and first.half == other.half:
            shared = [name for name in first.tallies if name in other.tallies]
            if not shared:
                raise UsageError(
                    "these runs have no agent in common",
                    hint=f"Name them: {first.id}:{next(iter(first.tallies))} {other.id}:{next(iter(other.tallies))}",
                )
            pairs += [(side_of(first, name), side_of(other, name)) for name in shared]
        else:
            pairs.append((side_of(first, agent), side_of(other, other_agent)))
    return pairs


def opened_store(store: AnyStore, stack: ExitStack) -> Store:
    """The store to read from, closed with the stack if it was opened here. A file that does not exist is an error."""
    if store is None or isinstance(store, str | Path):
        return stack.enter_context(open_store(store, create=False))
    return store
