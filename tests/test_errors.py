"""An error says what is wrong, where, and what to do, and survives the way from one process to another."""

from __future__ import annotations

import pickle

import pytest

from assay import errors
from assay.errors import AssayError, ColumnError, MissingExtraError, SourceError, TruthError, UsageError

KINDS = (AssayError, UsageError, MissingExtraError, SourceError, ColumnError, TruthError)


def test_what_where_and_hint_make_one_line() -> None:
    assert str(UsageError("no such thing")) == "no such thing"
    assert str(SourceError("is empty", where="a.jsonl, row 3")) == "a.jsonl, row 3: is empty"
    assert str(UsageError("is wrong", where="here", hint="Do better")) == "here: is wrong. Do better"


@pytest.mark.parametrize("kind", KINDS)
def test_errors_cross_processes(kind: type[AssayError]) -> None:
    error = kind("what", where="where", hint="hint")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (copy.what, copy.where, copy.hint) == ("what", "where", "hint")
    assert str(copy) == str(error)


def test_an_unknown_name_lists_the_known_ones_unless_they_would_fill_the_screen() -> None:
    few = errors.unknown_name("suite", "wether", ["weather", "shop"])
    assert str(few) == "there is no suite called 'wether'. Did you mean 'weather'? Known: shop, weather"
    many = errors.unknown_name("scenario", "none", [f"s{number:03d}" for number in range(106)])
    assert str(many).endswith("s039 and 66 more")


def test_one_tree() -> None:
    assert all(issubclass(kind, AssayError) for kind in KINDS)
    assert issubclass(ColumnError, SourceError)


def test_a_missing_extra_says_which_command_installs_it() -> None:
    error = errors.missing_extra("numba", "events", "decode token text")
    assert 'pip install "assay-agents[events]"' in str(error)
    assert "'numba'" in str(error)


def test_an_unknown_name_hints_at_the_nearest() -> None:
    error = errors.unknown_name("protocol", "owo", ["sequence", "owa"])
    assert str(error) == "there is no protocol called 'owo'. Did you mean 'owa'? Known: owa, sequence"
    assert str(errors.unknown_name("thing", "x", [])) == "there is no thing called 'x'. Known: none"
