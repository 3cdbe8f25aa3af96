"""The tables of batches in ``responses.db``.

``batches`` has a row for each batch, with its state; ``batch_requests`` what was put into it, and
``batch_calls`` the calls of each request. The requests of a closed batch lose their texts, since their
answers have them.
"""

from __future__ import annotations

BATCH_COLUMNS = (
    "name, model, source, service, state, study, calls, requests, expected_prompt, expected_completion, "
    "written, uploading, upload, sent, remote, expires, done, refused, looked, closed, incomplete, alone, "
    "cancelling, others, note"
)

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
"""``outcome`` is NULL while a request is out, ``answered`` once its answer (or its error) is stored, and
``tried`` or ``waited`` if it came back without one."""
