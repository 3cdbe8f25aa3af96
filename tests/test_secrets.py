"""What is taken for a key, and what is left alone."""

import base64
import html
import json
from urllib.parse import quote

import pytest

from quaver._secrets import Keys, is_key_shaped, texts_in, without_key_values
from quaver.errors import QuaverError

VALUE = 'zq7/"key"+<one>=ü'


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        json.dumps(json.dumps(VALUE)),
        html.escape(VALUE),
        html.escape(VALUE).replace("&quot;", "&#34;"),
        VALUE.replace('"', '""'),
        quote(VALUE),
        quote(VALUE, safe="").lower(),
        VALUE.encode().hex(),
        *(base64.b64encode(("x" * n + VALUE + "yz").encode()).decode() for n in range(4)),
        base64.urlsafe_b64encode(f"user:{VALUE}".encode()).decode(),
    ],
)
def test_a_value_is_found_however_it_is_written(written):
    keys = Keys({"OPENAI_API_KEY": VALUE})
    text = f"before {written} after"
    assert keys.within(text) == "OPENAI_API_KEY"
    assert keys.within(text.encode()) == "OPENAI_API_KEY"
    assert keys.within(keys.out_of(text)) is None
    assert keys.within(keys.out_of_bytes(text.encode())) is None
    assert keys.within(text.encode("utf-16-le")) in ("OPENAI_API_KEY", None)


def test_values_that_any_text_may_hold_stop_nothing():
    common = {"POSTGRES_PASSWORD": "postgres", "LM_API_TOKEN": "lm-studio", "VLLM_API_KEY": "EMPTY"}
    text = "postgres lm-studio EMPTY"
    assert Keys(common).within(text) is None
    assert Keys({"DB_PASSWORD": "a-long-enough-passw0rd"}).within("a-long-enough-passw0rd") == "DB_PASSWORD"
    assert without_key_values(text, common) == "[POSTGRES_PASSWORD] lm-studio EMPTY"


def test_a_short_value_of_a_provider_is_a_key_unless_it_is_a_word():
    keys = Keys({"OPENAI_API_KEY": "zq7+4xW", "VLLM_API_KEY": "testing", "DB_PASSWORD": "zq7+4xV"})
    assert keys.within("a zq7+4xW b") == "OPENAI_API_KEY"
    assert keys.within("testing zq7+4xV") is None
    assert Keys.of("zq7+4xW").out_of_bytes(b"a zq7+4xW") == b"a [key]"
    assert not Keys.of("EMPTY")


@pytest.mark.parametrize(
    "line",
    [
        "# export OPENAI_API_KEY=sk-proj-abc123DEF456",
        "# OPENAI_API_KEY: 'sk-abcdefghij'",
        "# AZURE_OPENAI_API_KEY = 0123456789abcdef0123456789abcdef",
        "Authorization: Bearer abcdefgh12345678",
        "gsk_4bX9qqqqqqqqqqqqqqqq",
        "AIza" + "Sy7x" * 9,
        "ghp_" + "a1B2" * 9,
    ],
)
def test_what_nobody_writes_for_anything_else(line):
    assert is_key_shaped(line)


@pytest.mark.parametrize(
    "line",
    [
        "key: OPENAI_API_KEY",
        "# export OPENAI_API_KEY=…",
        "# export OPENAI_API_KEY=$(cat ~/.key)",
        "# export OPENAI_API_KEY=your-key-here",
        "export OPENAI_API_KEY=AZURE_OPENAI_API_KEY",
        "name: sk-learn-text-classification",
        "which key-performance-indicators matter?",
        "- or-something-else-entirely: pk_item_number",
        "# OPENAI_API_KEY: see https://example.org",
    ],
)
def test_what_only_sounds_like_one(line):
    assert not is_key_shaped(line)


def test_an_error_says_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", VALUE)
    error = QuaverError(f"no {VALUE}", expected=VALUE, found="x" * 995 + VALUE, fix=quote(VALUE))
    error.where = f"http://me:hunter2@host/{VALUE}"
    shown = str(error) + repr(error) + f"{error.problem} {error.expected} {error.found} {error.fix}"
    assert "zq7" not in shown
    assert "hunter2" not in shown


def test_a_document_that_holds_itself_is_read_once():
    document = {"a": ["b"]}
    document["c"] = document
    assert list(texts_in(document)) == [(("a",), "a"), (("c",), "c"), (("a", 0), "b")]
