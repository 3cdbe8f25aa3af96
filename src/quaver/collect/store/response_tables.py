"""The tables of ``responses.db``, the conversion between responses and rows, and a checksum for each row."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any

from pydantic_core import to_json

from quaver._secrets import Keys, without_keys
from quaver.core.calls import Message, Response
from quaver.core.response_validation import utf8, valid_tokens

COLUMNS = ", ".join(name for name in Response._fields if name != "instrument")
SUMMED = f"seed, received, {COLUMNS}"
"""The columns that a checksum covers. A wrong key, prompt or source is noticed when it is looked up."""

WHOLE_NUMBERS = ("seed", "prompt_tokens", "cached_tokens", "completion_tokens", "thinking_tokens")
"""Those of them that are whole numbers."""

WRITTEN = """coalesce(r.completion_tokens, CASE WHEN json_valid(r.raw) THEN
    json_extract(r.raw, '$.completion_tokens_of_request') * 1.0
    / coalesce(json_extract(r.raw, '$.answers_of_request'), 1) END)"""
"""The completion tokens of a response: its share, if the server counts all answers of a request together."""

CHECKED = f"""
UPDATE responses SET checksum = checksum({SUMMED});
UPDATE prompts SET checksum = checksum_of_prompt(messages);
"""
"""Recomputes all checksums."""

BATCH_TABLES = """
CREATE TABLE IF NOT EXISTS batches (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, source INTEGER, service TEXT,
    state TEXT NOT NULL, study TEXT, calls INTEGER, requests INTEGER, expected_prompt REAL,
    expected_completion REAL, written REAL, uploading REAL, upload TEXT, sent REAL, remote TEXT, expires REAL,
    done INTEGER, refused INTEGER, looked REAL, closed REAL, incomplete INTEGER, alone INTEGER,
    cancelling INTEGER, others TEXT, note TEXT);
CREATE TABLE IF NOT EXISTS batch_requests (
    batch INTEGER NOT NULL, id TEXT NOT NULL, position INTEGER, messages TEXT, seed INTEGER, terms TEXT,
    outcome TEXT, PRIMARY KEY (batch, id));
CREATE TABLE IF NOT EXISTS batch_calls (
    batch INTEGER NOT NULL, id TEXT NOT NULL, key BLOB NOT NULL, condition INTEGER, item INTEGER,
    repeat INTEGER, parent BLOB);
CREATE INDEX IF NOT EXISTS batch_call ON batch_calls (batch, id);
CREATE INDEX IF NOT EXISTS batch_key ON batch_calls (key);
"""
"""``batches`` has a row for each batch, with its state; ``batch_requests`` what was put into it, and
``batch_calls`` the calls of each request. The requests of a closed batch lose their texts, since their
answers have them. ``outcome`` is NULL while a request is out, ``answered`` once its answer (or its error) is
stored, and ``tried`` or ``waited`` if it came back without one."""

SCHEMA = (
    """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY, model TEXT, identity TEXT, provenance TEXT, started REAL, reused TEXT);
CREATE TABLE IF NOT EXISTS prompts (id INTEGER PRIMARY KEY, messages TEXT, checksum INTEGER);
CREATE TABLE IF NOT EXISTS responses (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, prompt INTEGER, source INTEGER, seed INTEGER,
    text TEXT NOT NULL, finish TEXT NOT NULL, error TEXT, thinking TEXT, tokens TEXT,
    prompt_tokens INTEGER, cached_tokens INTEGER, completion_tokens INTEGER,
    latency REAL, received REAL, raw TEXT, thinking_tokens INTEGER, served_model TEXT, fingerprint TEXT,
    terms INTEGER, checksum INTEGER);
CREATE TABLE IF NOT EXISTS terms (id INTEGER PRIMARY KEY, asked TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS traffic (
    source INTEGER PRIMARY KEY, sent INTEGER, received INTEGER, discarded INTEGER,
    prompt_tokens REAL, cached_tokens REAL, completion_tokens REAL, estimated_prompt REAL,
    estimated_completion REAL);
CREATE INDEX IF NOT EXISTS errors ON responses (id) WHERE finish = 'error';
CREATE INDEX IF NOT EXISTS withheld ON responses (id) WHERE finish = 'content_filter';
CREATE TABLE IF NOT EXISTS calls (
    response INTEGER PRIMARY KEY, condition INTEGER, item INTEGER, repeat INTEGER, parent INTEGER);
CREATE TABLE IF NOT EXISTS conditions (
    position INTEGER PRIMARY KEY, model TEXT, variant TEXT, decoding TEXT, repeats INTEGER,
    follow_up TEXT, parent INTEGER);
CREATE TABLE IF NOT EXISTS items (position INTEGER PRIMARY KEY, id TEXT);
CREATE VIEW IF NOT EXISTS answers AS
    SELECT c.model, c.variant, c.decoding, c.follow_up, i.id AS item, a.repeat, r.text, r.finish, r.error,
           p.messages, datetime(r.received, 'unixepoch') AS received, hex(r.key) AS key,
           r.thinking, r.served_model, r.fingerprint, s.reused AS reused_from, t.asked AS terms
    FROM calls a JOIN responses r ON r.id = a.response JOIN prompts p ON p.id = r.prompt
    JOIN conditions c ON c.position = a.condition JOIN items i ON i.position = a.item
    LEFT JOIN sources s ON s.id = r.source LEFT JOIN terms t ON t.id = r.terms;
"""
    + BATCH_TABLES
)

VERSION = 9
"""Version of the tables and of the recipe for keys (``call_plan``); any other is refused."""

STORED = f"key, prompt, source, terms, checksum, seed, received, {COLUMNS}"
"""The columns of a new response."""

INSERT = f"""
INSERT INTO responses ({{columns}})
{{rows}}
ON CONFLICT (key) DO UPDATE SET prompt = excluded.prompt, source = excluded.source,
    seed = excluded.seed, received = excluded.received, terms = excluded.terms, checksum = excluded.checksum,
    {", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", "))}
WHERE responses.finish = 'error' AND excluded.finish != 'error'
"""
"""A new response takes the place of an error with the same key, if it is none itself."""

PLACED = "INSERT OR REPLACE INTO calls (response, condition, item, repeat) VALUES {rows}"
"""Places calls whose responses' numbers are known, and that quote no other."""

PLACE = """
INSERT OR REPLACE INTO calls (response, condition, item, repeat, parent)
SELECT r.id, c.condition, c.item, c.repeat, (SELECT id FROM responses WHERE key = c.parent)
FROM (SELECT column1 AS key, column2 AS condition, column3 AS item, column4 AS repeat, column5 AS parent
      FROM (VALUES {rows})) c
CROSS JOIN responses r ON r.key = c.key
"""
"""Places calls; a row's values are in the order of a call's fields."""


_LATENCY = Response._fields.index("latency")
_BESIDE, _BEYOND = slice(2, _LATENCY), slice(_LATENCY + 1, None)
"""What stands beside the text, the ending and the latency of a response."""
_NO_ANSWER: tuple[Any, ...] = Response("")
_NOTHING, _NO_MORE = _NO_ANSWER[_BESIDE], _NO_ANSWER[_BEYOND]
_NONE_STORED = _NO_MORE[:-1]
_EMPTY = (None,) * (_LATENCY - _BESIDE.start)


def written_prompt(messages: Sequence[Message]) -> str:
    """A prompt's messages as JSON: a list of pairs of role and content."""
    if len(messages) == 1:
        role, content = messages[0]
        text = f'[["{role}", {encode_basestring(content)}]]'
        return text if text.isascii() else utf8(text)
    said = [f'["{role}", {encode_basestring(content)}]' for role, content in messages]
    return utf8(f"[{', '.join(said)}]")


def facts_of(text: Any) -> dict[str, Any]:
    """The stored facts about an engine; empty where they are damaged."""
    try:
        facts = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def row_of(response: Response, keys: Keys | None = None) -> tuple[Any, ...]:
    """The values of ``COLUMNS``."""
    own = keys or None
    values: tuple[Any, ...] = response
    if (
        own is None and values[_BESIDE] == _NOTHING and values[_BEYOND] == _NO_MORE
    ):  # as most have nothing more
        text, finish, latency = response.text, response.finish, response.latency
        return (text if text.isascii() else utf8(text), finish, *_EMPTY, latency, *_NONE_STORED)
    text = own.out_of(response.text) if own else response.text
    # The tokens would still spell a key that was removed from the text.
    tokens = json.dumps(response.tokens) if response.tokens and text == response.text else None
    raw = json.dumps(dict(response.raw), default=str) if response.raw else None
    thinking, served, fingerprint = response.thinking, response.served_model, response.fingerprint
    if own:
        raw, thinking = raw and own.out_of(raw), thinking and own.out_of(thinking)
        served, fingerprint = served and own.out_of(served), fingerprint and own.out_of(fingerprint)
    return (
        utf8(text),
        response.finish,
        response.error and utf8(without_keys(response.error)),
        thinking and utf8(thinking),
        tokens,
        response.prompt_tokens,
        response.cached_tokens,
        response.completion_tokens,
        response.latency,
        raw,
        response.thinking_tokens,
        served,
        fingerprint,
    )


def response_of(row: Sequence[Any]) -> Response:
    """The response in the values of ``COLUMNS``."""
    stored = Response(*row)
    tokens = valid_tokens(json.loads(stored.tokens)) if stored.tokens else ()  # type: ignore[arg-type]
    return stored._replace(tokens=tokens, raw=json.loads(stored.raw) if stored.raw else None)  # type: ignore[arg-type]


# Checksums: SQLite does not notice a flipped byte inside a value.

_FLOATS = (float, type(None))
_COUNTS = [index for index, name in enumerate(Response._fields) if name.endswith("_tokens")]
_UNCOUNTED = (None,) * len(_COUNTS)
_counts = itemgetter(*_COUNTS)


def checksum(*values: Any) -> int:
    """CRC-32 of the values of ``SUMMED``, the same before they are stored and after they are read.

    SQLite may return an integer as a float or the reverse, and NaN as NULL.

    >>> checksum(1, 2.0, "yes", None) == checksum(1.0, 2, "yes", float("nan"))
    True
    >>> checksum(1, 2.0, "yes", None) == checksum(1, 2.0, "yes.", None)
    False
    """
    plain = [float(value) if isinstance(value, int) else value for value in values]
    return zlib.crc32(to_json(plain, inf_nan_mode="null", bytes_mode="hex"))


def checksum_of_new(seed: int, received: float, row: Sequence[Any]) -> int:
    """The checksum of a new response; faster where it has no count of tokens.

    >>> row = ("yes", "stop", *[None] * 6, 0.25, *[None] * 4)
    >>> checksum_of_new(7, 0.5, row) == checksum(7, 0.5, *row)
    True
    """
    if _counts(row) != _UNCOUNTED or type(row[_LATENCY]) not in _FLOATS:
        return checksum(seed, received, *row)
    return zlib.crc32(to_json((float(seed), received, *row), inf_nan_mode="null"))


def checksum_of_prompt(messages: str) -> int:
    """CRC-32 of a prompt."""
    return zlib.crc32(messages.encode())


def add_checksums(db: sqlite3.Connection) -> None:
    """Make the checksum functions available in a connection's SQL."""
    db.create_function("checksum", -1, checksum, deterministic=True)
    db.create_function("checksum_of_prompt", 1, checksum_of_prompt, deterministic=True)


def damaged(rows: Sequence[tuple[Any, ...]], kept: int, values: slice) -> list[tuple[Any, ...]]:
    """The rows that have changed since they were stored."""
    crc32 = zlib.crc32
    try:
        return [row for row in rows if row[kept] != crc32(to_json(row[values], inf_nan_mode="null"))]
    except ValueError:  # bytes where a text was stored
        return [row for row in rows if row[kept] != checksum(*row[values])]
