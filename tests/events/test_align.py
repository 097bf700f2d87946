"""Pairing by position, bins of time, and clocks that wrap around."""

from __future__ import annotations

import pytest

from assay.errors import SourceError
from assay.events.align import EpisodeCollector, Pair, by_position
from assay.events.stream import Episode, EventStream, Problem, concatenate


def numbered(name: str, *times: int) -> EventStream:
    """Frames of one episode; their times tell them apart."""
    return EventStream.from_events([{"kind": "screen", "ts": ts} for ts in times]).of_episode(Episode(name))


def shown(pairs: list[Pair]) -> list[tuple[str, int, list[int | None], list[int | None]]]:
    def side(stream: EventStream) -> list[int | None]:
        return [event["ts"] if event else None for event in stream.to_events()]

    return [(pair.episode.name, pair.start, side(pair.predicted), side(pair.truth)) for pair in pairs]


def test_positions_are_paired_within_an_episode() -> None:
    predicted, truth = (
        concatenate([numbered("a", 1, 2), numbered("b", 3)]),
        concatenate([numbered("a", 10, 20), numbered("b", 30)]),
    )
    assert shown(list(by_position([predicted], [truth]))) == [("a", 0, [1, 2], [10, 20]), ("b", 0, [3], [30])]


def test_events_that_one_side_lacks_are_missing() -> None:
    found = list(by_position([numbered("a", 1)], [numbered("a", 10, 20, 30)]))
    assert shown(found) == [("a", 0, [1], [10]), ("a", 1, [None, None], [20, 30])]
    assert set(found[1].predicted.problem) == {Problem.MISSING}
    (first, extra) = by_position([numbered("a", 1, 2)], [numbered("a", 10)])
    assert set(extra.truth.problem) == {Problem.MISSING}
    assert len(first.truth) == 1


def test_an_episode_of_only_one_side_is_missing_completely() -> None:
    sides = concatenate([numbered("a", 1), numbered("b", 2)]), numbered("a", 10)
    assert shown(list(by_position([sides[0]], [sides[1]]))) == [("a", 0, [1], [10]), ("b", 0, [2], [None])]
    assert shown(list(by_position([sides[1]], [sides[0]]))) == [("a", 0, [10], [1]), ("b", 0, [None], [2])]


def test_a_pair_has_the_episode_of_its_truth() -> None:
    truth = numbered("a", 10).of_episode(Episode("a", "game", 5, 7))
    (pair,) = by_position([numbered("a", 1)], [truth])
    assert pair.episode == Episode("a", "game", 5, 7)


def test_sides_without_a_common_episode_are_an_error() -> None:
    predicted = concatenate([numbered(name, 1) for name in "abcde"])
    with pytest.raises(SourceError, match=r"'a', 'b', 'c' and 2 more against 'x', 'y'"):
        list(by_position([predicted], [concatenate([numbered("x", 1), numbered("y", 1)])]))


def test_rows_of_episodes_that_alternate_are_paired_in_one_piece_each() -> None:
    # In the order of time, say: nearly every event is of another episode than the one before.
    first, second = numbered("a", *range(0, 60, 2)), numbered("b", *range(1, 60, 2))
    both = concatenate([second, first])  # b begins first in the batch, a in the rows
    mixed = both[both.time_ns.argsort()]
    for predicted, truth in ((mixed, mixed), (mixed, both), (both, mixed)):
        found = list(by_position([predicted], [truth]))
        assert sorted((pair.episode.name, len(pair.truth)) for pair in found) == [("a", 30), ("b", 30)]
        assert all(pair.truth.time_ns.tolist() == pair.predicted.time_ns.tolist() for pair in found)
        assert all(pair.truth.time_ns.tolist() == sorted(pair.truth.time_ns.tolist()) for pair in found)
    assert [pair.episode.name for pair in by_position([both], [mixed])] == ["a", "b"]
    halves = [mixed[:31], mixed[31:]]
    assert sum(len(pair.truth) for pair in by_position(halves, halves)) == 60


def test_no_batches_give_no_pairs() -> None:
    assert list(by_position([], [])) == []
    assert shown(list(by_position([], [numbered("a", 1)]))) == [("a", 0, [None], [1])]


# --- episodes that are complete ---------------------------------------------------------------------------------------


def several(n: int, events: int) -> list[EventStream]:
    """n episodes of key presses, a batch each."""
    rows = [{"kind": "keyboard", "ts": at * 10**9, "vk": 65, "press": True} for at in range(events)]
    return [EventStream.from_events(rows, episodes=(Episode(f"e{at}"),)) for at in range(n)]


def test_episodes_followed_by_others_are_closed_if_many_events_wait() -> None:
    truth, predicted = several(6, 100), [side[:80] for side in several(6, 100)]
    collector, waiting, most = EpisodeCollector(), 0, 0
    closed: list[str] = []
    for pair in by_position(predicted, truth, keep=150):
        collector.add(pair)
        waiting += len(pair.truth)
        most = max(most, waiting)
        if pair.last:
            whole = collector.take(pair.episode)
            assert (len(whole.predicted), len(whole.truth)) == (80, 100)
            closed.append(pair.episode.name)
            waiting -= 100
    assert most <= 300
    assert closed == ["e0", "e1", "e2", "e3", "e4"][: len(closed)]
    assert len(closed) >= 3
    left = list(collector.pairs())
    assert [(len(pair.predicted), len(pair.truth)) for pair in left] == [(80, 100)] * (6 - len(closed))


def test_without_a_limit_no_episode_is_closed() -> None:
    truth = several(6, 100)
    assert not any(pair.last for pair in by_position(truth, truth))
    mixed = [truth[0][:50], *truth[1:], truth[0][50:]]
    assert sum(len(pair.truth) for pair in by_position(mixed, mixed, keep=10**6)) == 600


def test_a_closed_episode_that_continues_is_an_error() -> None:
    truth = several(6, 100)
    mixed = [truth[0][:50], *truth[1:], truth[0][50:]]
    with pytest.raises(SourceError, match=r"'e0' continues after others.*Sort the rows by episode"):
        list(by_position(mixed, mixed, keep=150))
