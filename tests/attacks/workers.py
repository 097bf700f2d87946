"""Workers of an engine that return rubbish: it is refused, and no number differs; in this process, and on Ray."""

from __future__ import annotations

import copy
import pickle
import random
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.chat import samples
from assay.chat.scoring.streaming import score_stream
from assay.chat.transcript import write_jsonl
from assay.engines import Engine, attempted, unsent
from assay.errors import AssayError
from assay.events.sharded import Sharding
from tests.attacks import Attack, Outcomes
from tests.events.sharded_files import report_on, write_sides

RUBBISH: tuple[Any, ...] = (
    None, -1, 2**70, float("nan"), "rubbish", b"\xff" * 40, [], {}, (), [None], {"x": None}, (1, 2, 3), object,
    np.array([np.nan]), np.array([-1]), np.zeros((2, 2)), True,
)  # fmt: skip
_DEEPEST = 8
# Fields of a tally that was sent which follow from its states.
_DERIVED = ("_loose", "_ordered", "_places", "_blocks", "_arrived", "_maker", "_room")


def spoil(found: Any, chance: random.Random, depth: int = _DEEPEST) -> Any:
    """What a worker returned with one part of it, at any depth, replaced by something of another kind."""
    parts = _parts(found)
    if not parts or not depth or chance.random() < 0.1:
        return _rubbish(found, chance)
    key = chance.choice(parts)
    if isinstance(found, tuple):
        return tuple(spoil(one, chance, depth - 1) if at == key else one for at, one in enumerate(found))
    changed = copy.copy(found)
    if isinstance(found, list | dict):
        changed[key] = spoil(found[key], chance, depth - 1)
    else:
        object.__setattr__(changed, key, spoil(getattr(found, key), chance, depth - 1))
    return changed


def _parts(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(range(len(value)))
    if isinstance(value, dict):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [name for name in value.__dataclass_fields__ if name not in _DERIVED]
    return []


def _rubbish(before: Any, chance: random.Random) -> Any:
    """Something that cannot stand in the place of a value; another count would be a lie that nobody can see."""
    others = [one for one in RUBBISH if type(one) is not type(before)]
    return chance.choice([*others, -abs(before) - 1] if type(before) is int else others)


def _faulty(work: Callable[[Any], Any], seed: int, item: Any) -> Any:
    """The work of a worker of which some results are spoiled; runs on the worker."""
    found = work(item)
    chance = random.Random(f"{seed} {len(pickle.dumps(item))}")
    return spoil(found, chance) if chance.random() < 0.7 else found


@dataclass
class Faulty:
    """An engine whose workers return rubbish."""

    engine: Engine | None
    """Where the work is done; None for this process, through a pickle as between machines."""
    seed: int
    name: str = "faulty"

    def results(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        faulty = partial(_faulty, work, self.seed)
        if self.engine is not None:
            yield from self.engine.results(faulty, items)
            return
        for number, item in enumerate(items):
            found = attempted(faulty, item)
            try:
                received = pickle.loads(pickle.dumps(found))
            except Exception as error:  # as the engines do it
                received = unsent(error)
            yield number, received

    def close(self) -> None: ...


def _tries(times: int, folder: Path, engine: Engine | None) -> Outcomes:
    said = folder / "said.jsonl"
    write_jsonl(samples.transcripts(), said)
    write_sides(folder, episodes=3, seconds=1.0)

    def events(suffix: str, faulty: Faulty | None) -> Any:
        sharding = None if faulty is None else Sharding(faulty, rows=20)
        return report_on(folder, suffix, sharding).to_json()

    def chat(faulty: Faulty | None) -> Any:
        return score_stream(said, texts=True, engine=faulty, workers=1).summary_json()

    uses: list[Callable[[Faulty | None], Any]] = [partial(events, ""), partial(events, ".parquet"), chat]
    right = [use(None) for use in uses]
    for seed in range(times):
        at = seed % len(uses)
        try:
            found = uses[at](Faulty(engine, seed))
        except AssayError:
            yield None
        except Exception as error:
            yield f"seed {seed} of {at} ended in {type(error).__name__}: {str(error)[:100]}"
        else:
            yield None if found == right[at] else f"seed {seed} of {at} has other numbers"


def rubbish_here(times: int, folder: Path) -> Outcomes:
    """Events in files, events in Parquet and transcripts, with spoiled results of workers."""
    yield from _tries(times, folder, None)


def rubbish_on_ray(times: int, folder: Path) -> Outcomes:
    """The same with real workers of a Ray on this machine, if it is installed."""
    try:
        import ray  # noqa: F401
    except ImportError:
        print("  Ray is not installed: make .venv/.ray", file=sys.stderr)
        return
    from assay.engines.ray import RayEngine

    engine = RayEngine("local", workers=1)
    try:
        yield from _tries(times, folder, engine)
    finally:
        engine.close()


ATTACKS = [
    Attack("workers that return rubbish", rubbish_here, 6, 600, seconds=0.6),
    # Its workers are tried in `make test-cluster`.
    Attack("Ray workers that return rubbish", rubbish_on_ray, 0, 60),
]
