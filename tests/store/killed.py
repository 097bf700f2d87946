"""Kills writers at random points and checks after each that nothing is lost, doubled or half true.

Every child is forked from this process, which has imported everything and opened nothing, so that dozens take
seconds. A child says through a pipe what the store has acknowledged, and is killed a random moment after a random
number of acknowledgements: within a commit too, and in the middle of a run however fast or loaded the machine is.
It also says when it begins to write: a kill after a beginning without an acknowledgement hit the middle of a write.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace

from tests.store.runs import some_run

from assay.store import open_store
from assay.store.ids import new_id
from assay.store.store import Store
from assay.types import Case, Run

CASES, AT_ONCE = 24, 2
BEGUN = 255
"""What a writer says before each write; afterwards it says the numbers of the cases."""
# An attempt is killed after at most this many of the twelve writes that a whole run takes.
MOST_WRITES = 4
GROUPS = ("owa", "d2e")


def kill_writers(address: str, kills: int) -> dict[str, int]:
    """Resume runs that are killed again and again; returns how often what happened."""
    chance = random.Random(7)
    _timed(address)  # makes the tables, and whatever is slow only once
    one_write = _timed(address) / (CASES / AT_ONCE)
    run = replace(some_run("resumed", cases=CASES, groups=GROUPS), id=new_id())
    acknowledged: set[int] = set()
    middle, writing, finished = 0, 0, []
    for attempt in range(kills):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _write(address, run, write)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as told:
            said = b"".join(told.read(1 + AT_ONCE) for _ in range(chance.randint(0, MOST_WRITES)))
            time.sleep(chance.uniform(0, one_write))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            said += told.read() or b""
            acknowledged |= set(said) - {BEGUN}
            writing += said.endswith(bytes([BEGUN]))
        with open_store(address) as store:
            complete = _check(store, run, acknowledged)
            middle += bool(not complete and acknowledged)
        if complete:
            finished.append(run)
            run, acknowledged = replace(some_run(f"resumed {attempt}", cases=CASES, groups=GROUPS), id=new_id()), set()
    _write(address, run, None)
    with open_store(address) as store:
        for one in [*finished, run]:
            assert _check(store, one, set(range(CASES)))
            assert store.load(one.id).tallies.keys() == one.tallies.keys()
        wholes = [entry for entry in store.list() if entry.run.name.startswith("whole")]
        assert all(entry.complete and entry.cases == CASES for entry in wholes)
    return {
        "kills": kills,
        "in_the_middle": middle,
        "while_writing": writing,
        "finished": len(finished),
        "whole": len(wholes),
    }


def _timed(address: str) -> float:
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        _write(address, some_run("timed", cases=CASES, groups=GROUPS), None)
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - start


def _write(address: str, run: Run, pipe: int | None) -> None:
    """Resume the run: whatever is not there yet, a few cases in each transaction; then one run in a single one."""
    with open_store(address) as store:
        store.begin(run)
        done = store.done(run.id)
        cases = list(run.tallies[GROUPS[0]])
        left = [case for case in cases if not all((group, case) in done for group in GROUPS)]
        for start in range(0, len(left), AT_ONCE):
            some = left[start : start + AT_ONCE]
            if pipe is not None:
                os.write(pipe, bytes([BEGUN]))
            store.add_cases(run.id, {group: {case: run.tallies[group][case] for case in some} for group in GROUPS})
            if pipe is not None:
                os.write(pipe, bytes(cases.index(case) for case in some))
        store.finish(run.id)
        store.save(some_run("whole", cases=CASES, groups=GROUPS))


def _check(store: Store, run: Run, acknowledged: set[int]) -> bool:
    """Whether the run is complete; what is there must be true and must hold everything acknowledged."""
    entries = [entry for entry in store.list() if entry.run.id == run.id]
    if not entries:
        assert not acknowledged
        return False
    (entry,) = entries
    done = store.done(run.id)
    cases: list[Case] = list(run.tallies[GROUPS[0]])
    assert {(group, cases[at]) for at in acknowledged for group in GROUPS} <= done
    # A transaction wrote each case for all groups or for none.
    assert done == {(group, case) for _, case in done for group in GROUPS}
    assert entry.cases == len({case for _, case in done})
    if entry.complete:
        loaded = store.load(run.id)
        for group in GROUPS:
            assert list(loaded.tallies[group]) == cases
            for case in cases:
                assert loaded.tallies[group][case]["errors"] == run.tallies[group][case]["errors"]
    return entry.complete


if __name__ == "__main__":
    print(json.dumps(kill_writers(sys.argv[1], int(sys.argv[2]))))
