"""Opens two recordings as one: read, paired by episode, put on one clock, matched; and keeps what was opened lately."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import NotFoundError, UsageError
from assay.events.align import CLOCKS, EpisodeCollector, Pair, alike, by_position, fell_back, fell_back_sentence
from assay.events.codecs import NAMES, Codec, codec
from assay.events.digest import StreamDigest
from assay.events.protocols.assay import PROTOCOL, Assay
from assay.events.sources import AnySource, Decision, ReadOptions, files_of, read
from assay.events.stored import encoding_of, protocol_of, settings_of
from assay.events.stream import EventStream
from assay.events.timeline.episode import EpisodeTimeline, ShiftedTimeline
from assay.plural import counted
from assay.store.store import Store
from assay.types import Run
from assay.web.recent import Recent
from assay.web.timeline.frames import EpisodeFrames, frames_of
from assay.web.timeline.recordings import Recording, ServedRecordings
from assay.web.timeline.videos import VideoDecoders

EXAMPLE = "example"
"""The id of a synthetic recording that every server has."""
MOST_EVENTS = 20_000_000
"""Events of one side that are held in memory, about 30 bytes each."""
_OPENED_KEPT, _EPISODES_KEPT, _SHIFTED_KEPT = 3, 6, 12
_EXAMPLE_SEED, _EXAMPLE_EPISODES, _EXAMPLE_SECONDS = 7, 3, 90.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """What an address names: two recordings, or a run that was made from two."""

    predicted: str = ""
    truth: str = ""
    run: str = ""
    encoding: str = "hierarchical"
    tolerance_ms: int = 50
    clock: str = "auto"
    baseline: str = ""
    """The trivial baseline that is shown in place of the prediction; empty for the prediction itself."""


@dataclass(frozen=True, slots=True)
class OpenedRecordings:
    """Both sides, episode by episode."""

    key: tuple[Any, ...]
    predicted: str
    """Its name."""
    truth: str
    pairs: Sequence[Pair]
    scoring: Assay
    notes: Sequence[str]
    """What a reader must know."""
    paths: tuple[Path | None, Path | None] = (None, None)
    """Where the true and the predicted recording are; None if it is not a file."""

    def pair(self, episode: str) -> Pair:
        """The episode of that name; the first one if the name is empty."""
        for pair in self.pairs:
            if not episode or pair.episode.name == episode:
                return pair
        raise NotFoundError(f"there is no episode '{episode[:80]}' in these recordings", hint="Choose one on the page")


class Timelines:
    """What the pages and the API ask for."""

    def __init__(self, store: Store, folders: Sequence[Path]) -> None:
        self.recordings = ServedRecordings(folders)
        self._store = store
        self._opened: Recent[OpenedRecordings] = Recent(_OPENED_KEPT)
        self._episodes: Recent[EpisodeTimeline] = Recent(_EPISODES_KEPT)
        self._shifted: Recent[ShiftedTimeline] = Recent(_SHIFTED_KEPT)
        self._frames: Recent[EpisodeFrames | None] = Recent(_EPISODES_KEPT)
        self._videos = VideoDecoders()

    def open(self, chosen: Chosen) -> OpenedRecordings:
        """Both sides; raises UsageError if they are not to be had."""
        if chosen.run:
            return self._of_run(self._store.describe(chosen.run).run)
        if chosen.encoding not in NAMES:
            raise UsageError(f"there is no encoding '{chosen.encoding[:80]}'", hint=f"Use one of: {', '.join(NAMES)}")
        if chosen.clock not in CLOCKS:
            raise UsageError(f"there is no clock '{chosen.clock[:80]}'", hint=f"Use one of: {', '.join(CLOCKS)}")
        encoder = codec(chosen.encoding)
        settings = {"tolerance_ms": float(chosen.tolerance_ms), "clock": chosen.clock}
        scoring = PROTOCOL.configured(encoder, settings)
        if chosen.predicted == chosen.truth == EXAMPLE:
            return self._opened.get((EXAMPLE, scoring), lambda: _example(scoring))
        if not chosen.predicted or not chosen.truth:
            raise NotFoundError("name the predicted and the true recording", hint="Choose both on the page Timeline")
        sides = self.recordings.get(chosen.predicted), self.recordings.get(chosen.truth)
        return self._read(sides[0], sides[1], encoder, scoring, {})

    def episode(self, opened: OpenedRecordings, name: str, baseline: str = "") -> EpisodeTimeline:
        """One episode, made ready; with a trivial baseline in place of the prediction if one is named."""
        pair = opened.pair(name)
        if baseline:
            known = self.episode(opened, name)
            key = (opened.key, pair.episode.name, baseline)
            return self._episodes.get(key, lambda: known.with_baseline(baseline))
        key = (opened.key, pair.episode.name, "")
        try:
            return self._episodes.get(key, lambda: EpisodeTimeline.of(pair, opened.scoring))
        except UsageError as error:  # an episode without actions, or without the frames that its clock needs
            raise NotFoundError(error.what, where=error.where, hint=error.hint) from error

    def shifted(self, opened: OpenedRecordings, name: str, shift_us: int, baseline: str = "") -> ShiftedTimeline:
        """One episode, matched with its prediction moved to earlier times."""
        episode = self.episode(opened, name, baseline)
        key = (opened.key, episode.name, baseline, shift_us)
        return self._shifted.get(key, lambda: ShiftedTimeline.of(episode, 1000 * shift_us))

    def frames(self, opened: OpenedRecordings, name: str) -> EpisodeFrames | None:
        """The frames of one episode; None if its recordings refer to none."""
        episode = self.episode(opened, name)
        key = (opened.key, episode.name)
        return self._frames.get(key, lambda: frames_of(episode, opened.paths, self._videos))

    def close(self) -> None:
        """End what was started to decode videos."""
        self._videos.close()

    def _of_run(self, run: Run) -> OpenedRecordings:
        if run.kind != "events":
            raise NotFoundError("only runs of desktop events have a timeline", hint="Choose another run")
        sources = [str(run.inputs.get(side, {}).get("source", "")) for side in ("predicted", "truth")]
        found = [self.recordings.at(source) for source in sources]
        for source, recording in zip(sources, found, strict=True):
            if recording is None:
                raise NotFoundError(
                    "the recordings of this run are not in a served folder",
                    hint=f"Start the server with --folder and the folder that has {source[:200]}",
                )
        settings = settings_of(run)
        scoring = protocol_of(run, "assay")
        assert isinstance(scoring, Assay)
        digests = {side: str(run.inputs[side].get("sha256") or "") for side in ("predicted", "truth")}
        predicted, truth = (one for one in found if one is not None)
        return self._read(predicted, truth, encoding_of(settings), scoring, digests)

    def _read(
        self, predicted: Recording, truth: Recording, encoder: Codec, scoring: Assay, digests: dict[str, str]
    ) -> OpenedRecordings:
        key = (predicted.state, truth.state, encoder, scoring, tuple(digests.items()))
        for side in (predicted, truth):
            self._check_inside(side)
        names, paths = (predicted.name, truth.name), (str(predicted.path), str(truth.path))
        return self._opened.get(
            key,
            lambda: replace(_opened(key, names, paths, encoder, scoring, digests), paths=(truth.path, predicted.path)),
        )

    def _check_inside(self, recording: Recording) -> None:
        """Files of a folder that are links could lead out of it."""
        for file in files_of(str(recording.path)):
            whole = Path(file).resolve()
            if not any(whole.is_relative_to(folder) for folder in self.recordings.folders):
                raise UsageError(f"'{recording.name}' has a link that leads out of the served folders")


def _opened(
    key: tuple[Any, ...],
    names: tuple[str, str],
    sources: tuple[AnySource, AnySource],
    encoder: Codec,
    scoring: Assay,
    digests: dict[str, str],
) -> OpenedRecordings:
    watched = StreamDigest(), StreamDigest()
    batches = [
        _limited(digest.watch(read(source, ReadOptions(encoder, decision=Decision()))), name)
        for source, name, digest in zip(sources, names, watched, strict=True)
    ]
    collector = EpisodeCollector()
    for pair in by_position(*alike(*batches)):
        collector.add(pair)
    pairs = list(collector.pairs())
    if not pairs:
        raise UsageError("the recordings have no events", hint="Choose others")
    notes = [
        f"The {side} recording has changed since the run: figures may differ from its report."
        for side, digest in zip(("predicted", "truth"), watched, strict=True)
        if digests.get(side) and digests[side] != digest.hexdigest()
    ]
    fallen = sum(fell_back(pair.predicted, pair.truth, scoring.clock) for pair in pairs)
    if fallen:
        notes.append(fell_back_sentence(fallen, len(pairs)))
    invalid = sum(len(pair.predicted) - int(pair.predicted.valid.sum()) for pair in pairs)
    if invalid:
        notes.append(f"{counted(invalid, 'predicted event')} could not be decoded and cannot be drawn.")
    return OpenedRecordings(key, *names, pairs, scoring, notes)


def _limited(batches: Iterable[EventStream], name: str) -> Iterator[EventStream]:
    total = 0
    for batch in batches:
        total += len(batch)
        if total > MOST_EVENTS:
            raise UsageError(
                f"'{name}' has more than {MOST_EVENTS:,} events, too many to be looked at together",
                hint="Choose a file with fewer episodes",
            )
        yield batch


def _example(scoring: Assay) -> OpenedRecordings:
    from assay.events import synthetic

    truth = synthetic.recording(episodes=_EXAMPLE_EPISODES, seconds=_EXAMPLE_SECONDS, seed=_EXAMPLE_SEED)
    model = replace(synthetic.LATE, wrong_key=0.03, wrong_button=0.02, gain=0.9)
    predicted = synthetic.prediction(truth, model, seed=_EXAMPLE_SEED)
    names = ("a synthetic model, 80 ms late", "a synthetic recording")
    return _opened((EXAMPLE, scoring), names, (predicted, truth), codec("hierarchical"), scoring, {})
