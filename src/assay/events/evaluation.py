"""From two sources to a report: read, align, score, tally, estimate. Used by Python users and the command line alike.

It uses protocols through their contract only. Tables and pages are in `assay.report`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from assay import __version__
from assay.errors import UsageError
from assay.events.align import alike
from assay.events.bounded import SETTING, bounded_protocols
from assay.events.checks import check, warnings_about
from assay.events.codecs import Codec, codec
from assay.events.digest import StreamDigest
from assay.events.input import Input, described
from assay.events.progress import ProgressCallback, figure_counter, follow
from assay.events.protocols import PROTOCOLS, EventProtocol, ProtocolMetric, cautions, check_tallies
from assay.events.scoring import score_streams
from assay.events.sharded import Sharding, named_files, score_in_shards
from assay.events.sources import AnySource, Decision, ReadOptions, read
from assay.events.stored import encoding_of, settings_of
from assay.events.stream import Episode, EventStream, concatenate
from assay.events.tally import Tally
from assay.result import Result
from assay.stats import Resampling
from assay.types import Estimate, Run


@dataclass(frozen=True, slots=True)
class ProtocolResult:
    """The numbers of one protocol."""

    name: str
    version: int
    metrics: Sequence[ProtocolMetric]
    estimates: Mapping[str, Estimate]
    settings: Mapping[str, Any]
    tally: Tally
    describe: Callable[[], Mapping[str, Any]] | None = field(default=None, repr=False, compare=False)
    """Computes the details, for protocols that have any."""

    @property
    def details(self) -> Mapping[str, Any]:
        """Verdict, tables and curves in addition to the figures, ready for JSON; empty if the protocol has none."""
        return self.describe() if self.describe is not None else {}

    @property
    def label(self) -> str:
        """Name and version, as shown with every number: 'owa@1'."""
        return f"{self.name}@{self.version}"

    def flat(self) -> dict[str, float | None]:
        """Every figure by its key, with the ends of the intervals that have a key of their own."""
        out: dict[str, float | None] = {}
        for metric in self.metrics:
            estimate = self.estimates[metric.key]
            out[metric.key] = estimate.value
            if metric.ends:
                out[metric.ends[0]], out[metric.ends[1]] = estimate.low, estimate.high
        return out


@dataclass(frozen=True, slots=True)
class EventReport(Result):
    """The scores of one prediction against one truth, with notes on the input that a reader must know."""

    subject: ClassVar[str] = "events"

    protocols: Mapping[str, ProtocolResult]
    """Results by protocol name, in the order requested."""
    predicted: Input
    truth: Input
    settings: Mapping[str, Any]
    warnings: Sequence[str]
    """Sentences about the input that matter for interpreting the numbers."""
    scoring: Scoring | None = field(default=None, repr=False, compare=False)
    """How it was scored; None for a report that was built by hand."""

    def __add__(self, other: EventReport) -> EventReport:
        """The report on both together: tallies are added, and every number is recomputed.

        Episodes of the same name are parts of one episode. Protocols that need whole episodes have scored each part.
        """
        if self.scoring is None or other.scoring is None or self.scoring.stated != other.scoring.stated:
            raise UsageError(
                "these reports were not scored in the same way and cannot be added",
                hint="Add reports that share protocols, encoding, seed and settings",
            )
        tallies = {name: result.tally + other.protocols[name].tally for name, result in self.protocols.items()}
        return self.scoring.report(tallies, self.predicted + other.predicted, self.truth + other.truth)

    def flat(self, protocol: str = "owa") -> dict[str, float | None]:
        """Every figure of one protocol by its key (docs/reference/figures.md); None if undefined."""
        for result in self.protocols.values():
            if protocol in (result.name, result.label):
                return result.flat()
        known = ", ".join(result.label for result in self.protocols.values())
        raise UsageError(f"'{protocol}' was not evaluated", hint=f"Evaluated: {known}")

    @property
    def verdict(self) -> list[dict[str, Any]]:
        """What the figures show, as sentences that quote them, the main one first; empty without `assay@1`.

        Each finding has its `protocol`, its `kind`, its `tone` ('good', 'bad' or 'note'), `figures` and `text`.
        """
        return _findings({result.label: result.details for result in self.protocols.values()})

    def as_run(self) -> Run:
        """The report as a run that is not yet stored, to be compared or recorded."""
        tallies = {name: result.tally.by_case() for name, result in self.protocols.items()}
        scored = {case.name for by_case in tallies.values() for case in by_case}
        inputs = {
            # The cases name the episodes; only episodes that one side lacks have to be kept in addition.
            side: seen.to_json() | {"spoiled_kinds": dict(seen.spoiled_kinds), "absent": sorted(scored - seen.episodes)}
            for side, seen in (("predicted", self.predicted), ("truth", self.truth))
        }
        return Run.unstored(
            "events",
            settings=self.settings,
            seed=int(self.settings["seed"]),
            versions={name: result.version for name, result in self.protocols.items()},
            tallies=tallies,
            inputs=inputs,
        )

    def to_json(self) -> dict[str, Any]:
        """What `assay events eval --json` prints: the verdict in words, then every figure."""
        details = {result.label: dict(result.details) for result in self.protocols.values() if result.describe}
        return {
            "assay": __version__,
            "verdict": _findings(details),
            "protocols": {result.label: result.flat() for result in self.protocols.values()},
            "estimates": {
                result.label: {key: _estimate_json(estimate) for key, estimate in result.estimates.items()}
                for result in self.protocols.values()
            },
            "details": details,
            "inputs": {"predicted": self.predicted.to_json(), "truth": self.truth.to_json()},
            "settings": dict(self.settings),
            "warnings": list(self.warnings),
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row for each figure of each protocol, with its interval if it has one."""
        found = []
        for result in self.protocols.values():
            for key, value in result.flat().items():
                estimate = result.estimates.get(key)
                row = {"protocol": result.label, "figure": key, "value": value}
                row |= {"low": estimate.low, "high": estimate.high, "n": estimate.n} if estimate else {}
                found.append(row)
        return found


@dataclass(frozen=True)
class Scoring:
    """How events are scored: chosen before anything is read, and all that is needed to turn tallies into a report."""

    encoder: Codec
    protocols: Sequence[EventProtocol]
    """Configured for the encoding."""
    interval: str | None = None
    """The unit of resampling; None means episodes if at least two are named, otherwise events."""
    reps: int = 1000
    level: float = 0.95
    seed: int = 42
    allow_duplicates: bool = False
    """Whether several rows may belong to one episode; they are joined."""

    @classmethod
    def of(
        cls,
        protocols: Sequence[str],
        encoding: str | Codec,
        *,
        strict: bool = False,
        interval: str | None = None,
        reps: int = 1000,
        level: float = 0.95,
        seed: int = 42,
        settings: Mapping[str, Any] | None = None,
        bounded: bool = False,
    ) -> Scoring:
        """From names of protocols. Raises UsageError for an invalid setting, before anything is read."""
        if not protocols:
            raise UsageError("no protocol was given", hint=f"Known: {', '.join(PROTOCOLS.names())}")
        encoder = codec(encoding, strict=strict) if isinstance(encoding, str) else encoding
        chosen = _configured(protocols, encoder, {"seed": seed, **(settings or {})})
        Resampling(interval or "event", reps, level, seed)
        if bounded:
            chosen = bounded_protocols(chosen, interval)
        return cls(encoder, chosen, interval, reps, level, seed)

    @property
    def in_order(self) -> bool:
        """Whether single values have to be kept in order, as the `reference` interval requires."""
        return self.interval == "reference"

    @property
    def stated(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return {
            "encoding": self.encoder.to_json(),
            "interval": self.interval,
            "reps": self.reps,
            "level": self.level,
            "seed": self.seed,
            "protocols": {one.name: dict(one.settings()) for one in self.protocols},
        }

    def report(
        self,
        tallies: Mapping[str, Tally],
        predicted: Input,
        truth: Input,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> EventReport:
        """The numbers of these tallies, by protocol. Raises an error if the input has nothing to score."""
        check(predicted, truth, allow_duplicates=self.allow_duplicates)
        # Episodes that only one side has count too: they were scored as missing.
        known = max(len(side.episodes - {""}) for side in (predicted, truth))
        plan = Resampling(self.interval or ("episode" if known >= 2 else "event"), self.reps, self.level, self.seed)
        figures = sum(len(protocol.metrics) for protocol in self.protocols)
        if progress is not None:
            plan = replace(plan, made=figure_counter(progress, figures))
        results = {protocol.name: _result(protocol, tallies[protocol.name], plan) for protocol in self.protocols}
        plan.count(figures)  # those that need no resampling too
        stated = self.stated | {"interval": plan.unit}
        warnings = cautions(self.protocols, tallies) + warnings_about(predicted, truth, plan.unit, known)
        return EventReport(results, predicted, truth, stated, warnings, self)


def evaluate(
    predicted: AnySource,
    truth: AnySource,
    *,
    protocols: Sequence[str] = ("assay", "owa"),
    encoding: str | Codec = "hierarchical",
    strict: bool = False,
    interval: str | None = None,
    reps: int = 1000,
    level: float = 0.95,
    seed: int = 42,
    settings: Mapping[str, Any] | None = None,
    bounded_tallies: bool = False,
    predicted_columns: Mapping[str, str] | None = None,
    truth_columns: Mapping[str, str] | None = None,
    rows: str = "auto",
    tokenizer: Any = None,
    allow_duplicates: bool = False,
    threads: int | None = None,
    sharding: Sharding | None = None,
    progress: ProgressCallback | None = None,
) -> EventReport:
    """Score `predicted` against `truth`: paths, addresses, token text, lists of it, or EventStreams.

    `interval` is the unit of resampling, 'reference', 'event' or 'episode'; by default episodes if at least two are
    named, otherwise events. `settings` are passed to the protocols that have them: `tolerance_ms` and `teacher_forced`
    of assay, `bin_ms` of d2e, `clock` of both. `bounded_tallies` rounds errors of times to 8 significant bits, so that
    tallies of recordings stay small; the report says so. `tokenizer`, an object or the path of its file, is used to
    read columns of token ids. Two rows for one episode are an error unless `allow_duplicates` is set. With `sharding`,
    files and folders are scored in shards by an engine, such as a Ray cluster; the numbers are the same.

    Example:
        >>> truth = ["<EVENT_START><KEYBOARD><0><1><2><65><press><EVENT_END>"]
        >>> predicted = ["<EVENT_START><KEYBOARD><0><1><4><65><press><EVENT_END>"]
        >>> report = evaluate(predicted, truth, protocols=("owa",))
        >>> report.flat("owa")["timestamp_signed_error_iqm_ms"]  # 20 ms late
        20.0

    """
    scoring = Scoring.of(
        protocols,
        encoding,
        strict=strict,
        interval=interval,
        reps=reps,
        level=level,
        seed=seed,
        settings=settings,
        bounded=bounded_tallies,
    )
    scoring = replace(scoring, allow_duplicates=allow_duplicates)
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be at least 1, got {threads}", hint="Leave it out to use all cores")
    inputs = Input(described(predicted)), Input(described(truth))
    readings = [
        ReadOptions(
            scoring.encoder,
            columns or {},
            rows=rows,  # type: ignore[arg-type]
            tokenizer=tokenizer,
            decision=Decision(),
            progress=follow(progress, name),
        )
        for name, columns in (("reading predictions", predicted_columns), ("reading truths", truth_columns))
    ]
    if sharding is None:
        tallies = _score_whole(predicted, truth, scoring, readings, inputs, threads=threads, progress=progress)
    else:
        sources = tuple(named_files([predicted, truth]))
        tallies, found = score_in_shards(
            (sources[0], sources[1]), scoring, readings, sharding, threads=threads, progress=progress
        )
        inputs = replace(found[0], source=inputs[0].source), replace(found[1], source=inputs[1].source)
    check_tallies(scoring.protocols, tallies)
    return scoring.report(tallies, *inputs, progress=follow(progress, "resampling"))


def _score_whole(
    predicted: AnySource,
    truth: AnySource,
    scoring: Scoring,
    readings: Sequence[ReadOptions],
    inputs: tuple[Input, Input],
    *,
    threads: int | None,
    progress: ProgressCallback | None,
) -> dict[str, Tally]:
    """The tallies of two sources that are read from beginning to end; `inputs` notes what was read."""
    digests = StreamDigest(), StreamDigest()
    sides = alike(digests[0].watch(read(predicted, readings[0])), digests[1].watch(read(truth, readings[1])))
    watched = [_watched(batches, seen) for batches, seen in zip(sides, inputs, strict=True)]
    tallies = score_streams(
        watched[0],
        watched[1],
        scoring.protocols,
        in_order=scoring.in_order,
        threads=threads,
        progress=follow(progress, "scoring"),
    )
    for seen, reading, digest in zip(inputs, readings, digests, strict=True):
        seen.sha256 = digest.hexdigest()
        if reading.decision is not None:
            reading.decision.settle()
            seen.rows, seen.doubled = reading.decision.shape or "", set(reading.decision.doubled)
    return tallies


def rebuilt_report(run: Run) -> EventReport:
    """The report of a stored run: its numbers recomputed from its tallies, with the settings it was scored with."""
    stated = settings_of(run)
    encoder = encoding_of(stated)
    plan = Resampling(stated["interval"], stated["reps"], stated["level"], stated["seed"])
    results, protocols = {}, []
    for name, version in run.versions.items():
        kept = stated["protocols"].get(name, {})
        (protocol,) = _configured([f"{name}@{version}"], encoder, kept)
        if kept.get(SETTING):
            (protocol,) = bounded_protocols([protocol])
        protocols.append(protocol)
        tally = Tally()
        for case, states in run.tallies.get(name, {}).items():
            tally.add(Episode(case.name, case.stratum), states)
        results[name] = _result(protocol, tally, plan)
    names = {case.name for by_case in run.tallies.values() for case in by_case}
    predicted, truth = (
        Input.from_json(run.inputs[side], names - set(run.inputs[side].get("absent", ())))
        for side in ("predicted", "truth")
    )
    known = max(len(side.episodes - {""}) for side in (predicted, truth))
    scoring = Scoring(encoder, protocols, plan.unit, plan.reps, plan.level, plan.seed)
    tallies = {name: result.tally for name, result in results.items()}
    warnings = cautions(protocols, tallies) + warnings_about(predicted, truth, plan.unit, known)
    return EventReport(results, predicted, truth, stated, warnings, scoring)


def _result(protocol: EventProtocol, tally: Tally, plan: Resampling) -> ProtocolResult:
    estimates = protocol.finish(tally, plan)
    described = getattr(protocol, "details", None)
    return ProtocolResult(
        protocol.name,
        protocol.version,
        protocol.metrics,
        estimates,
        protocol.settings(),
        tally,
        None if described is None else _Details(partial(described, tally, estimates, plan)),
    )


@dataclass
class _Details:
    """The details of a protocol, computed when they are first needed: table, JSON and page have the same."""

    describe: Callable[[], Mapping[str, Any]]
    found: Mapping[str, Any] | None = None

    def __call__(self) -> Mapping[str, Any]:
        self.found = self.describe() if self.found is None else self.found
        return self.found


def decode(
    source: AnySource, encoding: str | Codec = "hierarchical", *, strict: bool = False, **reading: Any
) -> EventStream:
    """All events of a source as one stream: a path, an address, token text, a list of texts, a table.

    Example:
        >>> decode("<EVENT_START><KEYBOARD><0><1><2><65><press><EVENT_END>").vk.tolist()
        [65]

    """
    encoder = codec(encoding, strict=strict) if isinstance(encoding, str) else encoding
    return concatenate(list(read(source, ReadOptions(encoder, **reading))))


def _configured(names: Sequence[str], encoder: Codec, settings: Mapping[str, Any]) -> list[EventProtocol]:
    found: dict[str, EventProtocol] = {}  # a protocol given twice, by name and by version, is scored once
    for name in names:
        bare, _, version = name.partition("@")
        protocol = PROTOCOLS.get(bare)
        if version and version != str(protocol.version):
            raise UsageError(f"there is no {name}", hint=f"Available: {protocol.name}@{protocol.version}")
        found[bare] = protocol
    return [protocol.configured(encoder, settings) for protocol in found.values()]


def _watched(batches: Iterable[EventStream], side: Input) -> Iterator[EventStream]:
    for batch in batches:
        side.see(batch)
        yield batch


def _findings(details: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The findings of all protocols, from their details by label."""
    return [{"protocol": label, **found} for label, known in details.items() for found in known.get("verdict", ())]


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "unit": estimate.unit,
        "n": estimate.n,
        "n_units": estimate.n_units,
    }
