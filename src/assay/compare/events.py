"""Two runs of events, measured on the episodes that both have: every protocol they share, from their stored tallies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.compare.comparison import Measure, Measured, Sample, Side, differing_settings, matched, pooled_strata
from assay.errors import UsageError
from assay.events.protocols import PROTOCOLS, EventProtocol, ProtocolMetric
from assay.events.stored import protocol_of, settings_of
from assay.events.stream import Episode
from assay.events.tally import Tally
from assay.stats import Resampling
from assay.types import Case, Estimate, Floats, Run, State

# Up to this many episodes are scored one by one for the list of changed episodes; more would take too long.
_MOST_LISTED_EPISODES = 1000


def measure_events(a: Side, b: Side, *, level: float, seed: int, reps: int, full: bool) -> Sample:
    """Every metric of every protocol that both runs were scored with in the same version."""
    protocols, notes = _shared_protocols(a.run, b.run)
    common = _common_cases(a.run, b.run, [protocol.name for protocol in protocols])
    cases, pooled = pooled_strata(common)
    notes += pooled
    unit = "episode" if len(cases) >= 2 else "event"
    if unit == "event" and cases:
        notes.append(
            "There is one common episode: intervals vary its events, separately on each side. That says nothing about "
            "other episodes, and events of one episode are not independent."
        )
    chosen = {
        protocol.name: [metric for metric in protocol.metrics if metric.headline or (full and metric.listed)]
        for protocol in protocols
    }
    # With the same episodes, and on the same resamples of them, differences are paired. Draws of single events do not
    # correspond to each other, although with the same seed they would seem to: so each side has its own seed.
    plans = [Resampling(unit, reps, level, seed + (unit == "event") * at, keep=True) for at in (0, 1)]
    measured: list[Measured] = []
    for protocol in protocols if cases else []:
        tallies = [_tally(side.run.tallies[protocol.name], common, cases) for side in (a, b)]
        estimates = [protocol.finish(tally, plan) for tally, plan in zip(tallies, plans, strict=True)]
        scores = _case_scores(protocol, (a.run, b.run), common, chosen[protocol.name]) if unit == "episode" else {}
        for metric in chosen[protocol.name]:
            sides = [found[metric.key] for found in estimates]
            measured.append(
                Measured(
                    _measure_of(protocol, metric),
                    sides[0],
                    sides[1],
                    scores.get(metric.key),
                    len(cases) if unit == "episode" else min(side.n for side in sides),
                )
            )
    measured = _with_unique_titles(measured)
    if unit == "episode" and len(cases) > _MOST_LISTED_EPISODES:
        notes.append(f"{len(cases):,} episodes are too many to list which changed; the verdicts rest on all of them.")
    return Sample(cases, measured, unit, reps, notes)


def _shared_protocols(a: Run, b: Run) -> tuple[list[EventProtocol], list[str]]:
    """The protocols that both were scored with, as they were configured, and why others are left out."""
    found, notes = [], []
    for name in a.tallies:
        if name not in b.tallies:
            notes.append(f"{name} was not compared: only the baseline was scored with it.")
            continue
        protocol = PROTOCOLS.get(name)
        versions = [run.versions.get(name, protocol.version) for run in (a, b)]
        if versions[0] != versions[1]:
            notes.append(
                f"{name} was not compared: {name}@{versions[0]} and {name}@{versions[1]} are different measures."
            )
        elif versions[0] != protocol.version:
            notes.append(f"{name} was not compared: this assay has {name}@{protocol.version}, not @{versions[0]}.")
        elif differing := _differing_settings(a, b, name):
            notes.append(f"{name} was not compared: {differing}.")
        else:
            found.append(protocol_of(a, name))
    notes += [
        f"{name} was not compared: only the candidate was scored with it." for name in b.tallies.keys() - a.tallies
    ]
    if not found:
        raise UsageError(
            "these runs have no protocol in common", hint=" ".join(notes) or "Score both with the same protocol"
        )
    return found, notes


def _differing_settings(a: Run, b: Run, protocol: str) -> str:
    """Settings of a protocol that were not the same, in words; empty if all were."""
    if protocol_of(a, protocol) == protocol_of(b, protocol):
        return ""
    one, other = settings_of(a), settings_of(b)
    words = differing_settings(one["protocols"].get(protocol, {}), other["protocols"].get(protocol, {}), f"{protocol}.")
    # Settings that a protocol takes from the encoding, such as the bases of its digits, are listed under the encoding.
    return "; ".join([*words, *differing_settings(one["encoding"], other["encoding"], "encoding.")])


def _common_cases(a: Run, b: Run, protocols: Sequence[str]) -> list[Case]:
    """Episodes that both runs have under every protocol compared."""
    both = [matched(a.tallies[name], b.tallies[name]) for name in protocols]
    kept = set(both[0]).intersection(*both[1:])
    return [case for case in both[0] if case in kept]


def _tally(states: Mapping[Case, Mapping[str, State]], common: Sequence[Case], resampled: Sequence[Case]) -> Tally:
    """The tally of the common cases, in the strata they are resampled in."""
    tally = Tally()
    for case, stratified in zip(common, resampled, strict=True):
        tally.add(Episode(case.name, stratified.stratum), states[case])
    return tally


def _case_scores(
    protocol: EventProtocol, runs: tuple[Run, Run], cases: Sequence[Case], metrics: Sequence[ProtocolMetric]
) -> dict[str, tuple[Floats, Floats]]:
    """Each metric of each single episode, on both sides; empty if there are too many episodes."""
    if len(cases) > _MOST_LISTED_EPISODES:
        return {}
    alone = Resampling("episode", reps=1)  # one episode has no interval of that unit, so nothing is resampled
    sides: list[list[Mapping[str, Estimate]]] = []
    for run in runs:
        states = run.tallies[protocol.name]
        sides.append([protocol.finish(_tally(states, [case], [case]), alone) for case in cases])

    def column(side: list[Mapping[str, Estimate]], key: str) -> Floats:
        values = (found[key].value for found in side)
        return np.array([math.nan if value is None else value for value in values])

    return {metric.key: (column(sides[0], metric.key), column(sides[1], metric.key)) for metric in metrics}


def _measure_of(protocol: EventProtocol, metric: ProtocolMetric) -> Measure:
    return replace(
        Measure(metric.key, metric.title, f"{protocol.name}@{protocol.version}"),
        group=metric.group,
        unit=metric.unit,
        better=metric.better,
        headline=metric.headline,
        undefined=metric.undefined,
    )


def _with_unique_titles(measured: Sequence[Measured]) -> list[Measured]:
    """The figures with unique titles: a title that occurs twice gets its group or its protocol added."""
    within = Counter((entry.measure.part, entry.measure.title) for entry in measured)
    titles = [
        f"{m.title}, {m.group.lower()}" if within[m.part, m.title] > 1 else m.title
        for m in (entry.measure for entry in measured)
    ]
    overall = Counter(titles)
    return [
        replace(
            entry,
            measure=replace(
                entry.measure, title=f"{title}, {entry.measure.part.split('@')[0]}" if overall[title] > 1 else title
            ),
        )
        for entry, title in zip(measured, titles, strict=True)
    ]
