"""No password, key or token gets into a run, wherever on a command line it is."""

from __future__ import annotations

import base64
import json
import shlex
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.redaction import harmless_text, redacted, redacted_all, redacted_command, redacted_value

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
    assert redacted_command(["assay", "data/plainword/x"]) == "assay 'data/***/x'"


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


# --- shapes of keys in texts -----------------------------------------------------------------------------------------

K = "Zq7xP4mW9tLk2Rv8"  # what no output may contain, nor any part of it that is longer than four characters
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.Zq7xP4mW9tLk2Rv8"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEow{K}\n{K}AQAB\n-----END RSA PRIVATE KEY-----"
BASIC = base64.b64encode(f"ada:{K}".encode()).decode()

SHAPES = {
    "bearer header": f"Authorization: Bearer {K}",
    "bearer header, lower case": f"authorization: bearer {K}",
    "bearer header, upper case": f"AUTHORIZATION: BEARER {K}",
    "bearer header on two lines": f"Authorization:\n  Bearer {K}\nAccept: */*",
    "basic header": f"Authorization: Basic {BASIC}",
    "header without a scheme": f"Authorization: {K}",
    "header of another scheme": f"Authorization: Token {K}",
    "header with parameters": f'Authorization: Digest username="ada", nonce="x1", response="{K}"',
    "signed request": f"Authorization: AWS4-HMAC-SHA256 Credential=ada/20260101/s3, Signature={K}",
    "proxy header": f"Proxy-Authorization: Basic {BASIC}",
    "key header": f"x-api-key: {K}",
    "key header of a vendor": f"Ocp-Apim-Subscription-Key: {K}",
    "header in a sentence": f"401 for Authorization: Bearer {K} at the gateway",
    "header as JSON": f'{{"headers": {{"Authorization": "Bearer {K}", "Accept": "json"}}}}',
    "header as a Python dict": f"{{'authorization': 'Bearer {K}', 'accept': 'json'}}",
    "header tuple": f"[('Authorization', 'Bearer {K}'), ('Accept', 'json')]",
    "header tuple of bytes": f"[(b'authorization', b'Bearer {K}'), (b'accept', b'json')]",
    "key header tuple of bytes": f"(b'x-api-key', b'{K}')",
    "curl": f"curl -H 'Authorization: Bearer {K}' https://api.example.org",
    "curl user": f"curl -u ada:{K} https://api.example.org",
    "bearer alone": f"refused: Bearer {K}",
    "basic alone": f"sent Basic {BASIC}",
    "appid": f"GET https://api.openweathermap.org/data/2.5/weather?q=Oslo&appid={K}&units=metric: 401",
    "api_key": f"https://api.example.org/v1?api_key={K}",
    "key": f"https://maps.example.org/?key={K}&q=Oslo",
    "key that is a word": "https://maps.example.org/?key=qwertyZq7x&q=Oslo",
    "token": f"https://api.example.org/v1?lang=en&token={K}",
    "access_token": f"https://api.example.org/v1#access_token={K}&expires=3600",
    "sig": f"https://x.blob.example.net/c/f?sv=2024&sig={K}",
    "signature": f"https://s3.example.org/f?X-Amz-Credential={K}&X-Amz-Signature={K}",
    "parameter with an escaped ampersand": f"https://api.example.org/v1?q=Oslo\\u0026appid={K}",
    "parameter in HTML": f"https://api.example.org/v1?q=Oslo&amp;token={K}",
    "percent-encoded parameter": f"redirect=https%3A%2F%2Fapi.example.org%2Fv1%3Fappid%3D{K}%26q%3DOslo",
    "percent-encoded twice": f"next=%253Fapi_key%253D{K}",
    "percent-encoded user": f"url=https%3A%2F%2Fada%3A{K}%40db.example.org",
    "user of an address": f"cannot reach https://ada:{K}@api.example.org/v1",
    "password with special characters": f"cannot reach https://ada:p@ss/{K}#1?x@api.example.org/v1",
    "password with quotes": f"cannot reach postgresql://ada:a'b\"{K}@db.example.org/runs",
    "user without password": f"git clone https://{K}@github.com/ada/repo.git",
    "connection string": f"postgresql://ada:{K}@db.example.org:5432/runs?sslmode=require",
    "connection string with a driver": f"could not connect to postgresql+psycopg://ada:{K}@db/runs",
    "address in JSON": f'{{"url":"redis://:{K}@cache:6379/0","email":"ada@example.org"}}',
    "ODBC": f"Server=db;User Id=sa;Password={K};Database=x",
    "libpq": f"host=db user=ada password={K} dbname=runs",
    "libpq, quoted": f"host=db password='a b {K}' dbname=runs",
    "Azure storage": f"DefaultEndpointsProtocol=https;AccountName=ada;AccountKey={K}==;EndpointSuffix=x.net",
    "Azure shared access": f"Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={K}=",
    "JSON": f'{{"user": "ada", "api_key": "{K}"}}',
    "JSON, camel case": f'{{"clientSecret": "{K}", "apiKey":"{K}"}}',
    "JSON with an escaped quote": f'{{"password": "a\\"b{K}", "x": 1}}',
    "JSON in JSON": f'{{"body": "{{\\"access_token\\": \\"{K}\\", \\"x\\": 1}}"}}',
    "JSON in JSON with an escaped quote": json.dumps({"body": f'{{"password": "a\\"b{K}", "x": 1}}'}),
    "JSON as Python writes it, with an escaped quote": repr([f'{{"password": "a\\"b{K}", "x": 1}}']),
    "JSON that is cut off": f'{{"refresh_token": "{K}',
    "Python keyword": f"Client(base_url='x', api_key='{K}', timeout=3)",
    "Python dataclass": f"Settings(model='m', model_key='{K}')",
    "Python bytes": f"{{'secret': b'{K}'}}",
    "environment": f"OPENAI_API_KEY={K}",
    "exported": f'export HF_TOKEN="{K}"; python run.py',
    "environment in Python": f"os.environ['MY_SERVICE_TOKEN'] = '{K}'",
    "environ repr": f"environ({{'HOME': '/root', 'DB_PASS': '{K}'}})",
    "YAML": f"model: m\napi_key: {K}\nurl: x",
    "YAML with a word": "model: m\npassword: qwertyZq7x\nurl: x",
    "TOML": f'[model]\nsecret = "{K}"',
    "ini": f"[db]\npasswd={K}\n",
    "XML": f"<config><password>{K}</password></config>",
    "option": f"started with --api-key {K} --seed 3",
    "option with a sign": f"started with --token={K}",
    "sentence": f"Incorrect API key provided: {K}. You can find yours in the settings.",
    "sentence with a token": f"the token {K} has expired",
    "OpenAI": "key sk-Zq7xP4mW9tLk2Rv8abcd is wrong",
    "OpenAI project": "sk-proj-Zq7xP4mW9tLk2Rv8_abc-def",
    "Anthropic": "sk-ant-api03-Zq7xP4mW9tLk2Rv8",
    "Google": "AIzaSyZq7xP4mW9tLk2Rv8Zq7xP4mW9tLk2Rv",
    "GitHub": "ghp_Zq7xP4mW9tLk2Rv8Zq7xP4mW9tLk2Rv8abcd",
    "GitHub, fine-grained": "github_pat_11ABCDE_Zq7xP4mW9tLk2Rv8",
    "GitLab": "glpat-Zq7xP4mW9tLk2Rv8",
    "Slack": "xoxb-123456789012-Zq7xP4mW9tLk2Rv8",
    "Slack webhook": "https://hooks.slack.com/services/T00000000/B00000000/Zq7xP4mW9tLk2Rv8",
    "AWS": "AKIAIOSFZq7xODNN".upper(),
    "Hugging Face": "hf_Zq7xP4mW9tLk2Rv8Zq7xP4mW9tLk2Rv8ab",
    "Groq": "gsk_Zq7xP4mW9tLk2Rv8Zq7xP4mW9tLk2Rv8",
    "Stripe": "sk_live_Zq7xP4mW9tLk2Rv8",
    "SendGrid": "SG.Zq7xP4mW9tLk2Rv8abcd.Zq7xP4mW9tLk2Rv8",
    "Telegram": "https://api.telegram.org/bot123456789:Zq7xP4mW9tLk2Rv8Zq7xP4mW9tLk2Rv8abc/getMe",
    "JSON Web Token": f"expired: {JWT}",
    "cookie": f"Cookie: theme=dark; session={K}; lang=en",
    "set cookie": f"Set-Cookie: sid={K}; Path=/; HttpOnly",
    "cookie tuple": f"(b'set-cookie', b'sid={K}; Path=/')",
    "private key": f"cannot load {PEM} from memory",
    "private key on one line": "cannot load " + PEM.replace("\n", " "),
    "private key, escaped": json.dumps({"pem": PEM}),
    "private key that is cut off": PEM[:-30],
    "private key that is cut off, in JSON in JSON": json.dumps(json.dumps({"pem": PEM[:-30]})),
    "password in a sentence": "The password is Zq7xP4m!",
    "password with signs": "your password was set to: Zq7x&P4mW9, keep it",
    "user alone": f"cloned from https://{K}@forge.example.org/ada/repo",
    "traceback": f'  File "bot.py", line 3, in ask\n    raise Refused(api_key)\nRefused: 401 for api_key={K}\n',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_a_key_stays_in_a_text(shape: str) -> None:
    for text in (SHAPES[shape], f"RuntimeError: {SHAPES[shape]}", f"first\n{SHAPES[shape]}\nlast"):
        kept = redacted(text)
        assert "***" in kept
        for part in (K[at : at + 5] for at in range(len(K) - 4)):
            assert part.lower() not in kept.lower(), kept
        assert BASIC not in kept
        assert "MIIE" not in kept
        assert redacted(kept) == kept


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_a_key_stays_in_data_or_on_a_command_line(shape: str) -> None:
    text = SHAPES[shape]
    data = {"calls": [{"name": "get", "arguments": {"q": text}, "result": [text, {"inner": text}], "error": text}]}
    assert harmless_text(data) is None
    for kept in (json.dumps(redacted_value(data)), redacted_command(["assay", "chat", "run", text])):
        assert "***" in kept
        assert K not in kept
        assert K[:8] not in kept
        assert BASIC not in kept


HARMLESS = [
    "the key to a good day is a warm coat",
    "The key: bring an umbrella, and leave early.",
    "Key points: rain until noon; sun later.",
    "a token bucket limits requests to 5 per second",
    "unexpected token '}' at line 3, column 14",
    "JSONDecodeError: Expecting ',' delimiter: line 1 column 12 (char 11)",
    "KeyError: 'temperature_2m_max'",
    "KeyError: 'abc-123x9y8'",
    "max_tokens=4096, prompt_tokens: 1234567, total_tokens=1235012",
    '{"usage": {"prompt_tokens": 812, "completion_tokens": 95, "total_tokens": 907}}',
    '{"token_type": "bearer", "expires_in": 3600}',
    "the bearer of bad news brought basic supplies",
    "Basic understanding of HTML5 and JavaScript is enough.",
    "Bearer token is missing",
    "a password is required to sign in",
    "Password: required",
    "passed 12 of 14 checks; pass rate 0.86; pass^3 = 0.61",
    "the author of the passage was authorized to pass",
    "https://example.org/docs/page.html?lang=en&page=2#section-3",
    "https://api.openweathermap.org/data/2.5/weather?q=Oslo&units=metric",
    "http://127.0.0.1:8000/v1/chat/completions",
    "https://medium.com/@ada/how-to-dress-for-rain-1a2b3c4d5e6f",
    "https://registry.example.org:8080/@scope/package",
    "s3://bucket/data@v1.parquet",
    "git+https://github.com/ada/repo@main",
    "write to ada@example.org or call +47 22 33 44 55",
    "commit 3f2c1a9b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a fixed it",
    "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "run 01JCQZ8Y4M9T3W6K2R5V7X8B0N took 3.5 s",
    "trace 4bf92f3577b34da6a3ce929d0e0e4736 span 00f067aa0ba902b7",
    "The temperature is 21.5 °C in Paris; wind 12 km/h from 240°.",
    "Oslo: -3 °C at 2026-01-15T09:00:00Z, 80 % humidity",
    '{"city": "Oslo", "temp": -3.2, "conditions": ["snow", "wind"]}',
    "get_weather(city='Oslo', days=3)",
    '{"name": "get_forecast", "arguments": {"city": "New York", "days": 5}}',
    "sorted(days, key=lambda day: day.high)",
    "the keyboard has 104 keys, and the monkey pressed none",
    "tokenizer: cl100k_base; tokenization took 12 ms",
    "a signature dish of the region; its signature: cod with butter",
    "see section 3: Authentication, and section 4: Authorization and roles",
    "The secret of good bread? Time. Secret number two: patience pays.",
    "cookies: two kinds, oat and ginger",
    "risk-adjusted-returns-of-the-year and ask-me-anything-about-it",
    "npm_config_registry and hf_hub_download are names",
    "100%25 sure; caf%C3%A9 and%20more",
    "session 3 starts at 14:30; session: keynote, room: B2",
    "the pattern .*-key matches any-key and no-key",
    "<p>Take a coat</p><b>and a scarf</b>",
    "--seed 7 --image-token <image> --max-tokens 100",
    "SKU-12345678 costs €89.90, order key: blue-shirt-42",
    "ValueError: too many values to unpack (expected 2)",
    "HTTP 429: retry after 30 s, limit 60 requests/min",
    "Je vous conseille un parapluie : il pleuvra à Lyon.",
    "Write postgresql://user@host:5432/database",
    "git clone ssh://git@forge.example.org/ada/repo.git",
    "the pass is €49.90, and the mountain pass was 2,100m high",
    "the password is required, and the passphrase is case-sensitive",
    "Your password was changed; the password is now at least 8 characters long.",
    "Add --token with at least 16 characters that nobody can guess (openssl rand -hex 16 prints some)",
    "Passau, Passage and Pasadena are places; Key West is warm, 28 °C.",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text
    assert redacted_value({"answer": [text]}) == {"answer": [text]}


def test_there_are_as_many_harmless_texts_as_the_forty_shapes() -> None:
    assert len(SHAPES) >= 40
    assert len(HARMLESS) >= 40


def test_arguments_of_tools_keep_ordinary_values_under_names_that_may_be_secret() -> None:
    """A call is compared with the one that was expected: `key` may as well be the key of a record."""
    arguments = {"key": "blue-shirt", "token": "ETH", "pass": 2, "field": "temperature_2m", "auth": None}
    assert redacted_value(arguments) == arguments


@pytest.mark.parametrize(
    "data",
    [
        {"password": "duck"},
        {"of": [{"api_key": 7}]},
        {"key": "blue-shirt"},
        {"key_env": "my key"},
        {"a": ("b", "c")},
        {3: "x"},
        f"Bearer {K}",
        ["fine", {"and": f"sk-{K}"}],
        {f"https://me:{K}@example.org": 1},
    ],
)
def test_data_that_would_be_changed_is_never_called_harmless(data: Any) -> None:
    assert harmless_text(data) is None


@pytest.mark.parametrize("text", ["It rains in Rome.", "Take 2 coats, é."])
def test_data_that_is_called_harmless_stays_as_it_is(text: str) -> None:
    data = {"name": "get", "arguments": {"q": text, "n": 1}, "result": [text, None, True, 1.5], "error": None}
    assert redacted_value(data) == data
    assert set(str(harmless_text(data)).split("\n")) == {"name", "get", "arguments", "q", "n", "result", "error", text}


def test_everything_under_a_name_that_is_surely_secret_is_hidden() -> None:
    data = {"password": "hunter", "api_key": 12345678, "Authorization": f"Bearer {K}", "secrets": ["duck", {"a": K}]}
    kept = redacted_value(data)
    assert kept["password"] == "***"
    assert kept["api_key"] == "***"
    assert kept["Authorization"] == "Bearer ***"
    assert K not in str(kept)
    assert "duck" not in str(kept)


@pytest.mark.parametrize("spelled", [str, quote, lambda text: json.dumps(text)[1:-1], lambda text: repr(text)[1:-1]])
def test_this_process_s_secrets_are_known_by_value(
    monkeypatch: pytest.MonkeyPatch, spelled: Callable[[str], str]
) -> None:
    secret = 'grey "goose" & 7 feathers/é'
    monkeypatch.setenv("MY_SERVICE_TOKEN", secret)
    text = f"it rained on {spelled(secret)} all day"
    assert redacted(text) == "it rained on *** all day"


def test_a_word_that_serves_as_a_key_is_left_in_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "weather")
    assert redacted("the weather is fine") == "the weather is fine"


@given(st.text())
def test_redaction_is_idempotent(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


@given(
    st.lists(
        st.sampled_from(["key", "token", " ", "=", ":", '"', "'", "\\", "://", "@", "/", "%3D", "a1", "Bearer", "-"])
    )
)
def test_redaction_is_idempotent_on_what_it_looks_for(parts: list[str]) -> None:
    once = redacted("".join(parts))
    assert redacted(once) == once


@pytest.mark.parametrize(
    "piece", ["key", "a", "://", "key=", "token: '", "\\", "%41", "-----BEGIN PRIVATE KEY-----", "@", "Bearer "]
)
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    """A hundred thousand characters of anything are looked through in about a second even on a busy machine."""
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    redacted(text)
    assert time.process_time() - start < 2


def test_a_key_that_is_set_changed_or_deleted_meanwhile_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert redacted("the word is brouhaha1234567") == "the word is brouhaha1234567"
    monkeypatch.setenv("MY_API_KEY", "brouhaha1234567")
    assert "brouhaha1234567" not in redacted("the word is brouhaha1234567")
    monkeypatch.setenv("MY_API_KEY", "kerfuffle7654321")
    assert "kerfuffle7654321" not in redacted("the word is kerfuffle7654321")
    assert redacted("the word is brouhaha1234567") == "the word is brouhaha1234567"
    monkeypatch.delenv("MY_API_KEY")
    assert redacted("the word is kerfuffle7654321") == "the word is kerfuffle7654321"


_PIECES = [
    "",
    "It rains.",
    "a\n",
    "Tok",
    "en: abcdefghijkl",
    "password=hunter2hunter2",
    "sk-0123456789abcdef",
    "no key",
]


@pytest.mark.slow
@given(st.lists(st.sampled_from(_PIECES), max_size=60))
def test_many_texts_are_cleaned_as_each_by_itself(texts: list[str]) -> None:
    assert redacted_all(texts) == [redacted(text) for text in texts]
