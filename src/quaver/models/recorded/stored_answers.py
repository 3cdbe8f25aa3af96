"""Another study's stored answers, found by what was asked."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_tables import COLUMNS, response_of, written_prompt
from quaver.core.input_budget import parsed_json, read_file
from quaver.core.records import Condition, Decoding, Request, Response
from quaver.errors import Unavailable, UnknownName

_KNOWN = """
CREATE TEMP TABLE known AS
    SELECT digest(p.messages) AS prompt, c.variant, c.decoding, c.follow_up, i.id AS item, a.repeat,
           r.id AS response
    FROM calls a JOIN responses r ON r.id = a.response JOIN prompts p ON p.id = r.prompt
    JOIN conditions c ON c.position = a.condition JOIN items i ON i.position = a.item
    WHERE c.model = ? AND r.finish != 'error' ORDER BY r.id
"""


class StoredAnswers:
    """The answers of one model of another study, never written.

    Args:
        folder: The study's folder.
        model: The model's name there; None if it has one.

    Raises:
        Unavailable: There is no such study, or it has several models and none is named.
        UnknownName: It has no model of that name.
    """

    def __init__(self, folder: Path, model: str | None) -> None:
        self._path = folder / "responses.db"
        self._open_db: sqlite3.Connection | None = None
        if not os.path.isfile(self._path):
            raise Unavailable(
                "there is no study to take answers from",
                where=str(folder),
                expected="a study's folder, with responses.db in it",
                found="no responses.db" if os.path.exists(folder) else "no such folder",
                fix="check the path; it is relative to the current folder",
            )
        with self._translated():
            names = [row[0] for row in self._rows("SELECT DISTINCT model FROM conditions ORDER BY position")]
        if model is not None and model not in names:
            raise UnknownName("model", model, names, where=str(folder))
        if model is None and len(names) != 1:
            raise Unavailable(
                "this study has several models" if names else "this study has no answers",
                where=str(folder),
                found=", ".join(names) or "no conditions",
                fix="name one: `model: …`" if names else "run it first",
            )
        self._model = model or names[0]

    @cached_property
    def digest(self) -> str:
        """A hash of all calls and answers."""
        state = hashlib.sha256(self._model.encode())
        with self._translated():
            rows = self._db.execute("SELECT key, finish, text FROM responses ORDER BY key")
            for key, finish, text in rows:
                state.update(b"%b\x1f%b\x1f%b\x1e" % (key, finish.encode(), text.encode()))
        return f"sha256:{state.hexdigest()}"

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The study's folder, the model's name there, and its provenance."""
        with self._translated():
            sql = "SELECT provenance FROM sources WHERE model = ? ORDER BY id"
            known = [json.loads(row[0]) for row in self._rows(sql, self._model)]
        return {"study": self._path.parent.name, "model": self._model, "answered_by": known}

    def find(
        self, request: Request, repeat: int, condition: Condition | None, item: str | None
    ) -> Response | str:
        """The answer to a call, or the reason why there is none."""
        follow_up = condition.follow_up if condition else ""
        with self._translated():
            asked = self._rows(
                "SELECT variant, decoding, item, repeat, response FROM known WHERE prompt = ? "
                "AND follow_up = ? ORDER BY response",
                _digest(written_prompt(request.prompt.messages)),
                follow_up,
            )
            if not asked:
                return "this prompt was not asked"
            wanted = _decisive(request.decoding)
            alike = [row for row in asked if follow_up or self._asked(row[0], row[1]) in (None, wanted)]
            if not alike:
                return "this prompt was asked with another decoding"
            same = [row for row in alike if condition and row[0] == condition.variant and row[2] == item]
            variant, decoding, of = (same or alike)[0][:3]
            for row in same or alike:
                if row[:4] == (variant, decoding, of, repeat):
                    sql = f"SELECT {COLUMNS} FROM responses WHERE id = ?"
                    return response_of(self._rows(sql, row[4])[0])
        return f"repeat {repeat} was not asked"

    def close(self) -> None:
        """Close the file."""
        if self._open_db is not None:
            self._open_db.close()
        self._open_db = None

    # ------------------------------------------------------------------ the other study

    def _asked(self, variant: str, decoding: str) -> dict[str, Any] | None:
        """The decoding options with which the other study asked; None without a lock file."""
        known = self._lock.get("decodings", {}).get(decoding)
        if known is None:
            return None
        fields = {name: value for name, value in known.items() if name in Decoding.__dataclass_fields__}
        made = Decoding(**fields | {"stop": tuple(known["stop"])})
        longer = next((one["max_tokens"] for one in self._lock["variants"] if one["id"] == variant), None)
        return _decisive(made if longer is None else replace(made, max_tokens=longer))

    @cached_property
    def _lock(self) -> dict[str, Any]:
        try:
            result: dict[str, Any] = parsed_json(read_file(self._path.parent / "study.lock.json"))
        except (OSError, ValueError):
            return {}
        return result

    @property
    def _db(self) -> sqlite3.Connection:
        if self._open_db is None:
            db = open_to_read(self._path, check_same_thread=False)
            db.create_function("digest", 1, _digest, deterministic=True)
            self._open_db = db
        return self._open_db

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        if " known " in sql and not self._db.execute("SELECT 1 FROM temp.sqlite_master").fetchone():
            self._db.execute(_KNOWN, (self._model,))
            self._db.execute("CREATE INDEX temp.by_prompt ON known (prompt)")
        return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise Unavailable(
                "another study's responses.db cannot be read",
                where=str(self._path),
                found=str(error),
                fix="`quaver repair` on that study recovers what is still intact",
            ) from error


def _digest(messages: str) -> bytes:
    return hashlib.blake2b(messages.encode(), digest_size=16).digest()


def _decisive(decoding: Decoding) -> dict[str, Any]:
    """The options of a decoding that decide an answer, apart from chance."""
    return {n: v for n, v in asdict(decoding).items() if n not in ("name", "seed", "grid")}
