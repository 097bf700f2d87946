"""The mark of a store differs after every change, whoever made it, and stays while nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.store.forked import add_tag, exit_codes
from tests.store.runs import some_run

from assay.store import open_store
from assay.store.store import Store
from assay.store.watching import StoreWatch


@pytest.fixture
def watch(store: Store) -> Iterator[StoreWatch]:
    made = StoreWatch(store)
    yield made
    made.close()


CHANGES: dict[str, Callable[[Store, str], object]] = {
    "saved": lambda store, run_id: store.save(some_run("another")),
    "begun": lambda store, run_id: store.begin(some_run("another")),
    "tagged": lambda store, run_id: store.tag(run_id, "new"),
    "renamed": lambda store, run_id: store.rename(run_id, "other"),
    "summarised": lambda store, run_id: store.keep_summary(run_id, "1", {}),
    "deleted": lambda store, run_id: store.delete(run_id),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_this_process_changes_the_mark(change: str, store: Store, watch: StoreWatch) -> None:
    run_id = store.save(some_run("watched"))
    before = watch.mark()
    assert before is not None
    assert watch.mark() == before
    CHANGES[change](store, run_id)
    assert watch.mark() != before


def test_reading_changes_nothing(store: Store, watch: StoreWatch) -> None:
    run_id = store.save(some_run("watched"))
    before = watch.mark()
    store.load(run_id)
    store.list()
    assert watch.mark() == before


def test_another_process_changes_the_mark(address: str, store: Store, watch: StoreWatch) -> None:
    run_id = store.save(some_run("watched"))
    before = watch.mark()
    assert exit_codes(add_tag, [(address, run_id)]) == [0]
    after = watch.mark()
    assert after not in (None, before)
    assert watch.mark() == after


def test_a_transaction_that_is_under_way_is_not_seen_and_changes_the_mark_when_it_ends(
    address: str, store: Store, watch: StoreWatch
) -> None:
    run_id = store.save(some_run("watched"))
    with open_store(address) as other:
        with other._database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE runs SET name = 'half' WHERE id = '{run_id}'")
            during = watch.mark()
            assert during is not None
            assert store.describe(run_id).run.name == "watched"
        assert watch.mark() != during
        assert store.describe(run_id).run.name == "half"


def test_a_lost_connection_gives_no_mark_and_then_a_new_one(store: Store, watch: StoreWatch) -> None:
    before = watch.mark()
    watch._connection.close()
    assert watch.mark() is None
    after = watch.mark()
    assert after is not None
    assert after != before
