"""Settings of HTTP endpoints are validated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.command import assay_command

from assay.chat.agents.http import Endpoint


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": "ftp://127.0.0.1/"}, "is not an http(s) URL"),
        ({"url": "127.0.0.1:80"}, "is not an http(s) URL"),
        ({"url": "http://"}, "is not an http(s) URL"),
        ({"url": "http://h:99999/"}, "is not an http(s) URL"),
        ({"url": "http://h/\r\nx"}, "is not an http(s) URL"),
        ({"url": "http://a:b@h/"}, "contains a user name or a password"),
        ({"key_env": "sk-123"}, "must be the name of an environment variable, in capitals"),
        ({"headers_env": {"X-Key": "hunter2"}}, "must be the name of an environment variable"),
        ({"headers_env": {"X Key": "KEY"}}, "is not a valid header name"),
        ({"request": {"q": "{mesage}"}, "form": "json"}, "has an unknown placeholder {mesage}"),
        ({"request": {"q": "hello"}, "form": "json"}, "does not contain the user's message"),
        ({"request": {"q": "{message}", "h": "so far: {history}"}, "form": "json"}, "{history} inside a longer text"),
        ({"answer": "x"}, "'answer' cannot be used with the form openai"),
        ({"form": "json", "stream": True}, "'stream' cannot be used with the form json"),
        ({"stream": True, "tool_calls": {"path": "x"}}, "'tool_calls' cannot be used with 'stream'"),
        ({"timeout": 0}, "greater than 0"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Endpoint(**{"url": "http://127.0.0.1/v1", **settings})
    assert words in str(caught.value.errors()[0]["msg"])


def test_a_key_that_is_not_set_ends_a_run_before_it_begins(tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text(
        "agents:\n  - {name: mine, http: 'http://127.0.0.1:9/v1', key_env: NOT_SET_KEY}\n", encoding="utf-8"
    )
    done = assay_command("chat", "run", "--agents", file, "--limit", "2", "--no-store", "--no-experience")
    assert done.returncode == 2
    assert (
        "the agent 'mine' cannot be used, so nothing was played: the environment variable NOT_SET_KEY is not set"
        in (done.stderr)
    )
