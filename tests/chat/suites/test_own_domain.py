"""A suite about a domain of the user's own: the suite states its name, and the user gives its folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from pathlib import Path

import pytest
from tests.command import assay_command

from assay import chat
from assay.chat import DOMAINS, Transcript, Turn
from assay.chat.domains import _own
from assay.chat.domains._own import domain_name, load_own_domain, own_domain_path
from assay.chat.running.scoring_process import ProcessScorer
from assay.errors import SourceError, UsageError

LIBRARY = Path(__file__).parents[2] / "plugins" / "assay-sample" / "src" / "assay_sample" / "library"
SHOP = Path(chat.__file__).parent / "domains" / "shop"
SUITE = """name: desk
version: 1
domain: library
names: [Emma]
scenarios:
  - id: loan
    kind: loans
    turns:
      - user: How long may I keep Emma?
        truth: {book: Emma, days: 28}
  - id: again
    kind: loans
    turns:
      - user: How long is the loan of Emma?
        truth: {book: Emma, days: 28}
"""
BOTS = """
def right(message):
    return "You may keep Emma for 28 days."

def wrong(message):
    return "You may keep Emma for 21 days."
"""


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DOMAINS, "_here", {})
    monkeypatch.setattr(_own, "_PATHS", {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(LIBRARY, tmp_path / "library", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "desk.yaml").write_text(SUITE, "utf-8")
    (tmp_path / "bots.py").write_text(BOTS, "utf-8")
    return tmp_path


def passed(folder: Path, *words: object) -> dict[tuple[str, str], bool]:
    """Whether each scenario was passed, by agent."""
    done = assay_command("chat", "run", *words, "--no-experience", "--json", "-", cwd=folder)
    assert done.returncode == 0, done.stderr
    return {(one["agent"], one["scenario"]): one["passed"] for one in json.loads(done.stdout)["answers"]}


@pytest.mark.slow
def test_a_run_takes_the_folder_of_the_domain_that_its_suite_names(folder: Path) -> None:
    agents = "right=bots:right,wrong=bots:wrong"
    found = passed(
        folder, "--suite", "desk.yaml", "--domain", "library", "--agents", agents, "--no-baselines", "--no-store"
    )
    assert found == {(agent, one): agent == "right" for agent in ("right", "wrong") for one in ("loan", "again")}


def test_suites_are_checked_with_the_folder(folder: Path) -> None:
    listed = assay_command("chat", "suites", "desk.yaml", "--domain", "./library", cwd=folder)
    assert listed.returncode == 0, listed.stderr
    assert "How long may I keep Emma?" in listed.stdout


def test_without_the_folder_the_error_says_to_give_it(folder: Path) -> None:
    done = assay_command("chat", "suites", "desk.yaml", cwd=folder)
    assert done.returncode == 2
    assert "desk.yaml:3: domain: there is no domain called 'library'" in done.stderr
    assert "For a domain of your own, give its folder: --domain ./library" in done.stderr


@pytest.mark.parametrize("path", ["./library", "/srv/library", "../library/__init__.py", "library.py"])
def test_a_suite_cannot_name_a_path(folder: Path, path: str) -> None:
    (folder / "desk.yaml").write_text(SUITE.replace("domain: library", f"domain: {path}"), "utf-8")
    done = assay_command("chat", "suites", "desk.yaml", "--domain", "library", cwd=folder)
    assert done.returncode == 2
    assert f"3: domain: '{path}' is a path, and a suite names its domain" in done.stderr
    assert f"and give --domain {path} on the command line" in done.stderr


def test_the_folder_has_to_be_that_of_the_suite(folder: Path) -> None:
    done = assay_command("chat", "run", "--suite", "shop", "--domain", "library", "--agents", "a=b:c", cwd=folder)
    assert done.returncode == 2
    assert "is about 'shop', and the domain that was given is 'library'" in done.stderr


def test_python_code_gives_the_folder_too(folder: Path) -> None:
    result = chat.run(
        folder / "desk.yaml", {"right": lambda message: "28 days."}, domain=folder / "library", baselines=False
    )
    assert [answer.passed for answer in result.answers] == [True, True]
    assert chat.load_suite(folder / "desk.yaml", domain=folder / "library").domain == "library"


@pytest.mark.slow
def test_the_process_that_scores_gets_the_folder(folder: Path) -> None:
    load_own_domain(folder / "library")
    turn = Turn(user="How long may I keep Emma?", assistant="21 days.", truth={"book": "Emma", "days": 28})
    talk = Transcript(agent="bot", scenario="loan", domain="library", turns=[turn])

    async def score() -> float | None:
        settings = {"domain": "library", "language": "en", "names": ["Emma"], "metrics": ["accuracy"]}
        scorer = ProcessScorer(settings, own_domain=own_domain_path("library"))
        await scorer.start()
        DOMAINS._here.clear()  # what cannot be scored there cannot be scored here either
        try:
            return (await scorer.score(talk, 0)).entries["accuracy"].score
        finally:
            await scorer.close()

    assert asyncio.run(score()) == 0.7


def test_the_folder_wins_over_an_installed_domain_of_its_name(folder: Path) -> None:
    code = (folder / "library" / "__init__.py").read_text("utf-8")
    (folder / "library" / "__init__.py").write_text(code.replace('Domain("library"', 'Domain("shop"'), "utf-8")
    assert domain_name(folder / "library") == "shop"
    assert DOMAINS.get("shop").folder == folder / "library"


def test_two_folders_of_one_name_can_be_used_in_turn(folder: Path) -> None:
    other = shutil.copytree(folder / "library", folder / "other" / "library")
    for path in (folder / "library", other, folder / "library"):
        assert DOMAINS.get(domain_name(path)).folder == path


@pytest.mark.slow
def test_a_run_is_resumed_with_the_same_folder(folder: Path) -> None:
    store = folder / "runs.db"
    _stopped(folder, store)
    resume = ("chat", "run", "--resume", "@unfinished", "--store", store)
    DOMAINS._here.clear()
    _own._PATHS.clear()

    done = assay_command(*resume, cwd=folder)
    assert done.returncode == 2
    assert "the run is about 'library', a domain that was given as a folder" in done.stderr
    assert "Give its folder again, with --domain ./library" in done.stderr

    words = folder / "library" / "en.toml"
    before = words.read_text("utf-8")
    words.write_text(before + '\n[lists.more]\nany = ["word"]\n', "utf-8")
    done = assay_command(*resume, "--domain", "library", cwd=folder)
    assert "the domain 'library' has changed since the run was started" in done.stderr

    words.write_text(before, "utf-8")
    done = assay_command(*resume, "--domain", "shop", cwd=folder)
    assert "the run is about 'library', and the domain that was given is 'shop'" in done.stderr

    done = assay_command(*resume, "--domain", "library", "--json", "-", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [answer["passed"] for answer in json.loads(done.stdout)["answers"]] == [True, True]


def _stopped(folder: Path, store: Path) -> None:
    """A run that ends after its first conversation."""
    from assay.runs.planning import plan_experiment
    from assay.runs.starting import start_run

    def stop(progress: chat.Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with contextlib.chdir(folder):
        experiment = plan_experiment("desk.yaml", "right=bots:right", domain="library", baselines=False)
        assert experiment.to_json()["suite"]["domain"] == "library"
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(start_run(experiment, store=store, progress=stop))


def test_a_copy_of_the_shop_reads_its_own_files(tmp_path: Path) -> None:
    copy = shutil.copytree(SHOP, tmp_path / "stall", ignore=shutil.ignore_patterns("__pycache__"))
    code = (copy / "__init__.py").read_text("utf-8")
    # As it is copied, and as code that names the files of another domain.
    for folder in ("files(__name__)", 'files("assay.chat.domains.shop")'):
        changed = code.replace('Domain("shop", files(__name__)', f'Domain("stall", {folder}')
        assert changed != code
        (copy / "__init__.py").write_text(changed, "utf-8")
        _own._from_file.cache_clear()
        assert DOMAINS.get(domain_name(copy)).folder == copy
    (copy / "domain.toml").unlink()
    with pytest.raises(UsageError, match="there is no file for the domain 'stall'"):
        _ = DOMAINS.get("stall").settings


def test_a_folder_that_is_not_there_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not a Python file"):
        domain_name("./nosuch")


def _with_states(folder: Path, words: str) -> Path:
    """The library with a state of its books, and its words."""
    library = folder / "library"
    code = (library / "__init__.py").read_text("utf-8")
    code = code.replace("facts, source=data)", "facts, {None: record['status']} if 'status' in record else {})")
    (library / "__init__.py").write_text(code, "utf-8")
    with (library / "domain.toml").open("a", encoding="utf-8") as file:
        file.write('\n[states]\nfree = {contradicts = ["on_loan"]}\non_loan = {contradicts = ["free"]}\n')
    with (library / "en.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[lists.states]\n{words}\n")
    (folder / "desk.yaml").write_text(SUITE.replace("days: 28", "status: free"), "utf-8")
    return library


def test_a_truth_may_name_a_state_by_its_own_name(folder: Path) -> None:
    library = _with_states(folder, 'free = ["is vacant", "is in"]\non_loan = ["checked out"]')
    agents = {"right": lambda message: "Emma is vacant.", "wrong": lambda message: "Emma is checked out."}
    result = chat.run(folder / "desk.yaml", agents, domain=library, baselines=False)
    passes = {(answer.agent, answer.entries["accuracy"].score) for answer in result.answers}
    assert passes == {("right", 1.0), ("wrong", 0.8)}, passes


def test_a_state_without_words_is_an_error_that_names_the_file(folder: Path) -> None:
    library = _with_states(folder, 'on_loan = ["checked out"]')
    with pytest.raises(SourceError) as caught:
        chat.load_suite(folder / "desk.yaml", domain=library)
    assert "the state 'free' is in domain.toml, but en.toml has no words for it" in str(caught.value)
    assert 'Add free = ["free"] to [lists.states] of en.toml' in str(caught.value)
