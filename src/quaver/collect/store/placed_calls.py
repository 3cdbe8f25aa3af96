"""The study's calls in a store: which response answers which call, and what is still open.

The table ``calls`` says which response belongs to which call of the current study. It is rebuilt when the
study changes: a response that fits the new study is found by its key.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quaver.collect.store.database import Database
from quaver.collect.store.response_tables import PLACE, WRITTEN
from quaver.core.calls import UNFOLLOWED, Call, Response
from quaver.core.records import Condition


class Calls:
    """The calls of a study in a database.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def placed(self, fingerprint: str) -> bool:
        """Whether the placed calls are those of the study with this fingerprint."""
        return self._database.noted("study") == fingerprint

    def place(
        self,
        fingerprint: str,
        conditions: Sequence[Condition],
        items: Sequence[str],
        calls: Iterable[Call],
    ) -> None:
        """Find the responses that belong to the current study."""
        with self._database.translated(), self._database.transaction():
            for table in ("calls", "conditions", "items"):
                self._database.db.execute(f"DELETE FROM {table}")
            self._database.db.executemany(
                "INSERT INTO conditions VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (index, c.model, c.variant, c.decoding, c.repeats, c.follow_up, c.parent)
                    for index, c in enumerate(conditions)
                ),
            )
            self._database.db.executemany("INSERT INTO items VALUES (?, ?)", enumerate(items))
            self._database.insert_many(PLACE, calls)
            self._database.db.execute("INSERT OR REPLACE INTO meta VALUES ('study', ?)", (fingerprint,))

    def unfollowed(self, *, errors: bool = True) -> Counter[str]:
        """How many follow-ups of each model cannot be asked, as no answer can be quoted."""
        finishes = [finish for finish in UNFOLLOWED if errors or finish != "error"]
        # Written out, because SQLite uses a partial index only for a literal.
        ended = " UNION ALL ".join(
            f"SELECT id FROM responses WHERE finish = '{finish}'" for finish in finishes
        )
        sql = f"""
            SELECT f.model, sum(f.n) FROM ({ended}) r JOIN calls a ON a.response = r.id JOIN (
                SELECT f.parent, f.model, count(*) AS n FROM conditions f
                JOIN conditions p ON p.position = f.parent AND p.variant = f.variant GROUP BY f.parent
            ) f ON f.parent = a.condition GROUP BY f.model"""
        return Counter(dict(self._database.rows(sql) if has_quoting_follow_ups(self._database.db) else ()))

    def said(self, *, errors: bool = True) -> Iterator[tuple[int, Response, int]]:
        """What the answers say: each condition and answer once, and how often it came."""
        but = "" if errors else "WHERE r.finish != 'error'"
        sql = f"""SELECT a.condition, r.text, r.finish, r.error, nullif(r.thinking, '') IS NOT NULL, count(*)
            FROM calls a JOIN responses r ON r.id = a.response {but} GROUP BY 1, 2, 3, 4, 5"""
        for condition, text, finish, error, thought, n in self._database.rows(sql):
            yield condition, Response(text, finish, error, "…" if thought else None), n

    def answered(self, *, errors: bool = True) -> int:
        """How many calls of the current study have a response."""
        every = int(self._database.value("SELECT count(*) FROM calls"))
        return every if errors else every - self.errors()

    def errors(self) -> int:
        """How many of these responses are errors."""
        sql = "SELECT count(*) FROM responses r JOIN calls a ON a.response = r.id WHERE r.finish = 'error'"
        return int(self._database.value(sql))

    def unjoined(self) -> list[tuple[Any, ...]]:
        """The model, the condition, the repeat and the item of each error that a call would rest on."""
        sql = """SELECT f.model, a.condition, a.repeat, a.item FROM responses r
            JOIN calls a ON a.response = r.id JOIN conditions f ON f.parent = a.condition
            WHERE r.finish = 'error'"""
        return self._database.rows(sql)

    def unplaced(self) -> int:
        """How many responses belong to no call of the current study."""
        return self.stored() - self.answered()

    def stored(self) -> int:
        """How many responses there are."""
        return int(self._database.value("SELECT count(*) FROM responses"))

    def usage(self) -> dict[str, dict[str, float]]:
        """Calls, tokens and seconds of the study's stored responses, by model.

        ``counted`` is the number of calls that report their tokens; the squares are sums over these calls.
        """
        sql = f"""
            SELECT c.model, count(*), count({WRITTEN}), total(r.prompt_tokens),
                   total(r.prompt_tokens - r.cached_tokens), total(r.cached_tokens),
                   total({WRITTEN}), total(r.prompt_tokens * r.prompt_tokens),
                   total({WRITTEN} * {WRITTEN}), total(r.latency)
            FROM calls a JOIN responses r ON r.id = a.response JOIN conditions c ON c.position = a.condition
            GROUP BY c.model"""
        names = "calls counted prompt_tokens new_prompt_tokens cached_tokens completion_tokens prompt_squares"
        names += " completion_squares seconds"
        return {model: dict(zip(names.split(), row, strict=True)) for model, *row in self._database.rows(sql)}


def has_quoting_follow_ups(db: sqlite3.Connection) -> bool:
    """Whether the study has follow-ups that quote answers."""
    return db.execute("SELECT 1 FROM conditions WHERE parent IS NOT NULL LIMIT 1").fetchone() is not None
