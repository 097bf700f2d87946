"""A run that is being played says so, wherever it is played; one that was left says that it is unfinished."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient
from tests.store.runs import some_run

from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site


def test_a_run_of_another_process_is_in_progress_until_that_process_ends(tmp_path: Path) -> None:
    run = some_run("mine")
    with open_store(tmp_path / "runs.db") as store, open_store(tmp_path / "runs.db") as other:
        other.begin(run)
        with TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1") as client:

            def is_in_progress() -> bool:
                found: bool = client.get(f"/api/runs/{run.id}/progress").json()["in_progress"]
                return found

            with other.locked(run.id):
                assert is_in_progress()
                for page in ("/runs", f"/runs/{run.id}"):
                    assert "<span>in progress" in client.get(page).text
            # What a page says at first may be older; its script asks every two seconds.
            assert not is_in_progress()
            assert "<span>unfinished" in client.get(f"/runs/{run.id}?again=1").text
            other.finish(run.id)
            assert not is_in_progress()
