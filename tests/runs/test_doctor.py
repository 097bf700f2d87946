"""What `assay doctor` says about things that work, are missing, or fail."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.command import assay_command

from assay.runs.doctor import SetupCheck, examine, extras_of


def checked(name: str, **given: object) -> SetupCheck:
    [found] = [check for check in examine(**given) if check.name == name]  # type: ignore[arg-type]
    return found


def test_extras_have_all_that_is_within_them() -> None:
    extras = extras_of()
    assert "dev" not in extras
    assert {"numba", "pyarrow"} <= set(extras["events"])
    assert set(extras["store"]) <= set(extras["agents"]) <= set(extras["langgraph"]) <= set(extras["all"])


def test_what_is_installed_here_is_found(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    found = {check.name: check for check in examine(store=store)}
    assert found["extra events"].condition == found["extra store"].condition == found["store"].condition == "ok"
    assert found["store"].says == f"{found['store'].says.split(',')[0]}, 0 runs"


@pytest.mark.slow
def test_what_is_set_up_and_fails_is_broken_and_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401 if self.headers["authorization"] != "Bearer right" else 200)
            self.end_headers()

        def log_message(self, *given: object) -> None:
            pass

    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789abcdef")
    (tmp_path / "runs.db").write_text("this is no database, but it is long enough to be taken for one")
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        refused = checked("endpoint", urls=(url,))
        done = assay_command("doctor", "--json", "-", "--url", url, "--store", str(tmp_path / "runs.db"))
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert checked("endpoint", urls=(url,)).condition == "ok"
        server.shutdown()
    assert (refused.condition, refused.remedy) == ("broken", "Set OPENAI_API_KEY")
    assert done.returncode == 1
    assert "sk-wrong" not in done.stdout + done.stderr
    broken = {check["name"] for check in json.loads(done.stdout)["checks"] if check["condition"] == "broken"}
    assert broken == {"store", "endpoint"}
    assert checked("endpoint", urls=(url,)).condition == "broken"  # nobody listens any more
