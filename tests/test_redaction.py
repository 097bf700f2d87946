"""No password, key or token gets into a run, wherever on a command line it stands."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.redaction import redacted, redacted_command, redacted_value

letters = st.characters(min_codepoint=33, max_codepoint=126)
# Marked, so that finding one in the output is no accident.
secrets = st.text(letters, max_size=20).map(lambda text: f"Zq7{text}7qZ")
safe_secrets = st.text("abcXYZ0189-_.~", max_size=20).map(lambda text: f"Zq7{text}7qZ")
options = st.sampled_from(
    ["--token", "--api-key", "--key", "--password", "--judge-key", "--db-password", "-password", "--accessToken"]
)
variables = st.sampled_from(
    ["OPENAI_API_KEY", "HF_TOKEN", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "MY_SECRET", "DB_PASS", "token", "apiKey"]
)


@given(secrets, options)
def test_the_value_of_a_secret_option_is_hidden(secret: str, option: str) -> None:
    for words in ([option, secret], [f"{option}={secret}"]):
        kept = redacted_command(["assay", "events", "eval", "a", *words, "b"])
        assert "Zq7" not in kept
        assert secret not in kept
        assert kept.startswith("assay events eval a ")
        assert kept.endswith(" b")


@given(secrets, variables)
def test_the_value_of_a_secret_variable_is_hidden(secret: str, variable: str) -> None:
    assert "Zq7" not in redacted_command(["assay", f"{variable}={secret}"])


@given(secrets, st.sampled_from(["postgresql", "https", "s3", "redis+tls"]), st.sampled_from(["user", ""]))
def test_an_address_keeps_its_host_and_loses_its_password(secret: str, scheme: str, user: str) -> None:
    # '?' and '#' end an address's authority even for browsers; everything else may stand unescaped in a password.
    password = secret.replace("?", "").replace("#", "").replace("Zq7/", "Zq7")
    kept = redacted_command(["assay", "--store", f"{scheme}://{user}:{password}@db.example:5432/runs"])
    assert "Zq7" not in kept
    assert "db.example:5432/runs" in kept


@given(safe_secrets)
def test_secret_parameters_of_an_address_are_hidden(secret: str) -> None:
    kept = redacted(f"https://data.example/truth.parquet?version=3&X-Amz-Signature={secret}&token={secret}")
    assert "Zq7" not in kept
    assert "version=3" in kept


@given(safe_secrets)
def test_settings_are_cleaned_all_the_way_down(secret: str) -> None:
    settings = {"a": [{"api_key": secret}, f"https://me:{secret}@host/"], "headers": {"x": f"Bearer {secret}"}}
    assert "Zq7" not in str(redacted_value(settings))


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnop1234",
        "hf_abcdefghijklmnop1234",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc",
    ],
)
def test_keys_are_known_by_their_look(text: str) -> None:
    assert text not in redacted_command(["assay", "events", "eval", text, f"--column=text={text}"])


def test_the_values_of_this_process_s_secret_variables_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_API_KEY", "plainword")
    assert redacted("data/plainword/x") == "data/***/x"


@pytest.mark.parametrize(
    "words",
    [
        ["assay", "events", "eval", "pred.jsonl", "truth dir/*.parquet", "--image-token", "<image>", "--seed=7"],
        ["assay", "events", "eval", "s3://bucket/data@v1.parquet", "http://host:8080/a", "--column", "text=generated"],
        ["assay", "chat", "run", "--max-tokens", "100", "keyboard=1", "monkey=2", "--tokenizer", "x"],
    ],
)
def test_what_is_not_secret_can_be_pasted_back(words: list[str]) -> None:
    assert shlex.split(redacted_command(words)) == words


def test_names_of_variables_are_kept_for_whoever_resumes_the_run() -> None:
    agent = {"name": "ours", "key_env": "OURS_API_KEY", "headers_env": {"Authorization": "OUR_TOKEN"}}
    assert redacted_value({"agents": [agent]}) == {"agents": [agent]}


@given(safe_secrets)
def test_a_key_where_the_name_of_a_variable_belongs_is_hidden(secret: str) -> None:
    agent = {"key_env": secret, "headers_env": {"Authorization": secret, "X-Other": [secret]}}
    assert "Zq7" not in str(redacted_value({"agents": [agent]}))
