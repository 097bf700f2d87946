"""A model as judge, against a real server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay.chat import ChatbotEvaluator, Entry
from assay.chat.judge import Judge
from assay.errors import UsageError


@contextmanager
def server(
    *replies: str, status: int = 200, fails: int = 0, together: int = 1
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An endpoint that gives `replies` by seed and keeps what it was asked.

    The first `fails` requests get status 503; no request is answered before `together` of them have come.
    """
    asked: list[dict[str, Any]] = []
    arrived = threading.Barrier(together, timeout=10)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = dict(self.headers)
            asked.append({**body, "path": self.path, "key": self.headers.get("Authorization"), "headers": headers})
            arrived.wait()
            # By its seed, not by its turn: samples are asked for at the same time.
            content = replies[(body["seed"] - 42) % len(replies)]
            data = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
            self.send_response(503 if len(asked) <= fails else status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/v1", asked
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("ASSAY_JUDGE_KEY", raising=False)


def judged(judge: Judge, response: str = "It's 15°C.") -> Entry:
    evaluator = ChatbotEvaluator(metrics=[judge.metric()])
    return evaluator.evaluate_response("Weather in Oslo?", response, "agent")["judge"]


@pytest.mark.slow
def test_the_score_is_the_mean_of_the_samples() -> None:
    with server('{"score": 5, "reason": "right"}', 'Sure! {"score": 3, "reason": "brief"}', '```{"score": 4}```') as (
        url,
        asked,
    ):
        entry = judged(Judge(url, "m"))
    # On a scale from 1 to 5 these are 1.0, 0.5 and 0.75.
    assert entry.score == 0.75
    assert len(entry.evidence) == 3
    assert "from 3 to 5, standard deviation 0.82" in entry.details
    assert sorted(request["seed"] for request in asked) == [42, 43, 44]
    assert {request["path"] for request in asked} == {"/v1/chat/completions"}
    assert "It's 15°C." in asked[0]["messages"][0]["content"]


def test_agreement_is_reported_too() -> None:
    with server('{"score": 4}') as (url, _):
        assert "all agree" in judged(Judge(url, "m")).details


def test_an_unusable_sample_is_left_out_and_counted() -> None:
    with server('{"score": 5}', "no json", '{"score": 5}') as (url, _):
        entry = judged(Judge(url, "m"))
    assert (entry.score, entry.measured) == (1.0, True)
    assert "1 failed" in entry.details


@pytest.mark.parametrize("reply", ["five", '{"score": 9}', '{"score": true}', '{"grade": 5}', "{", "[]"])
@pytest.mark.slow
def test_unusable_replies_are_not_measured(reply: str) -> None:
    with server(reply) as (url, _):
        entry = judged(Judge(url, "m"))
    assert (entry.score, entry.measured, entry.evidence) == (0.5, False, [])
    assert "3 of 3 judgements failed" in entry.details


def test_a_failing_or_absent_server_is_not_measured() -> None:
    with server("", status=500) as (url, _):
        assert "500" in judged(Judge(url, "m", retries=0)).details
    assert not judged(Judge(url, "m", timeout=2, retries=0)).measured


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_KEY", "abc")
    with server('{"score": 5}') as (url, asked):
        judged(Judge(url, "m", samples=1))
    assert asked[0]["key"] == "Bearer abc"


def test_prompt_scale_and_model_are_part_of_the_version() -> None:
    base = Judge("http://127.0.0.1:1", "m")
    others = [
        Judge("http://127.0.0.1:1", "n"),
        Judge("http://127.0.0.1:1", "m", prompt="{query}"),
        Judge("http://127.0.0.1:1", "m", scale=(0, 10)),
        Judge("http://127.0.0.1:1", "m", samples=5),
    ]
    assert len({judge.version for judge in (base, *others)}) == 5
    assert Judge("http://127.0.0.1:2", "m").version == base.version
    assert base.metric().version == base.version


def test_it_is_off_by_default() -> None:
    assert "judge" not in {metric.name for metric in ChatbotEvaluator().metrics}


def test_an_impossible_judge_is_refused() -> None:
    for arguments in ({"url": "file:///etc/passwd"}, {"samples": 0}, {"scale": (5, 5)}):
        with pytest.raises(UsageError):
            Judge(**{"url": "http://127.0.0.1:1", "model": "m", **arguments})  # type: ignore[arg-type]


def test_braces_in_texts_are_kept() -> None:
    with server('{"score": 5}') as (url, asked):
        judged(Judge(url, "m", samples=1), response="{query} {0} %s")
    assert "{query} {0} %s" in asked[0]["messages"][0]["content"]


@pytest.mark.slow
def test_the_environment_s_account_elsewhere_is_not_sent_along(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret-of-another")
    with server('{"score": 5}') as (url, asked):
        judged(Judge(url, "m", samples=1))
    assert asked[0]["key"] is None
    assert "secret-of-another" not in str(asked[0]["headers"])


@pytest.mark.slow
def test_what_fails_for_a_moment_is_tried_again() -> None:
    with server('{"score": 5}', fails=1) as (url, asked):
        entry = judged(Judge(url, "m", samples=1))
    assert (entry.score, entry.measured) == (1.0, True)
    assert len(asked) == 2


def test_samples_are_asked_for_at_the_same_time() -> None:
    """Each waits until all three have arrived: one after the other, none would ever be answered."""
    with server('{"score": 4}', together=3) as (url, _):
        entry = judged(Judge(url, "m", samples=3, timeout=20, retries=0))
    assert (entry.score, entry.measured) == (0.75, True)
