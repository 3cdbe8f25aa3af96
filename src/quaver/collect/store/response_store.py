"""The stored responses of a study: one SQLite file, readable without Quaver.

Responses are appended and never changed (an error alone gives way to an answer). Which response
belongs to which call of the study as it stands now is kept beside them, in ``calls``, and made
anew when the study changes: an answer that fits the new study is found there by its key.

``SELECT * FROM answers`` shows everything with names instead of numbers.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from quaver._secrets import without_keys
from quaver.collect.store.checksum import checksum, checksum_of_prompt, is_damaged
from quaver.collect.store.database import UNFIT, Database
from quaver.collect.store.disk_faults import REPAIR
from quaver.collect.store.receipt import Receipt
from quaver.collect.store.response_tables import (
    COLUMNS,
    INSERT,
    PLACE,
    SUMMED,
    WRITTEN,
    response_of,
    row_of,
    written_prompt,
)
from quaver.collect.store.spill import Spill, SpillFile
from quaver.core.call_terms import request_terms
from quaver.core.meter import Traffic
from quaver.core.records import UNFOLLOWED, Call, Condition, Request, Response
from quaver.core.response_validation import told
from quaver.errors import StoreError

__all__ = ["Adopted", "Counts", "Store"]

_PLACED = 5
_WHOLE = _PLACED + len(SUMMED.split(", "))
"""Where an answer's values begin in a row that is read, and where they end."""

Stored = tuple[int, int, int, Response, Response | None]

_SOURCE = "model, identity, provenance, reused"


class Counts(NamedTuple):
    """What is stored.

    Attributes:
        answered: Calls of the study as it stands that have a response.
        errors: How many of these are errors.
        unplaced: Responses that belong to no call of the study as it stands.
    """

    answered: int
    errors: int
    unplaced: int


class Adopted(NamedTuple):
    """A response that was asked for by another study.

    Attributes:
        request: The request of this study that it answers.
        call: Which of its calls.
        source: The number that ``register`` gave for what answered.
        seed: The seed that was sent.
        received: When it came, in seconds since 1970.
        row: The values of ``tables.COLUMNS``.
    """

    request: Request
    call: Call
    source: int
    seed: int
    received: float
    row: tuple[Any, ...]


class Store(Database):
    """A study's ``responses.db``.

    Args:
        path: The file; made where it is missing.

    Raises:
        StoreError: It is no store, or one of a newer Quaver, or cannot be written.
    """

    # ------------------------------------------------------------------- writing

    def register(
        self, model: str, identity: str, provenance: Mapping[str, Any], reused: str | None = None
    ) -> int:
        """Note which engine answers from now on.

        Args:
            model: Its name in the study.
            identity: What is served.
            provenance: What is known of it.
            reused: The study that its answers are taken from; None where it is asked.

        Returns:
            The number under which its responses are to be written.
        """
        known = json.dumps(dict(provenance), sort_keys=True, default=str)
        row = (model, identity, without_keys(known), reused)
        with self._translated(), self._transaction():
            found = self._db.execute(
                "SELECT id FROM sources WHERE model = ? AND identity = ? AND provenance = ? AND reused IS ?",
                row,
            ).fetchone()
            if found:
                return int(found[0])
            inserted = self._db.execute(
                "INSERT INTO sources (model, identity, provenance, reused, started) VALUES (?, ?, ?, ?, ?)",
                (*row, time.time()),
            )
            return int(inserted.lastrowid or 0)

    def write(self, receipts: Sequence[Receipt]) -> dict[bytes, Response]:
        """Write responses, all or none, and wait until they are on the disk.

        Returns:
            By key, the errors that were written in the place of responses that no row takes.

        Raises:
            StoreError: They could not be written. Where the disk is full they go into the space that
                was set aside, and ``full`` says so.
        """
        return self._write_fitting(receipts, lambda some: self._insert(some, placed=True))

    def _write_fitting(
        self, receipts: Sequence[Receipt], write: Callable[[Sequence[Receipt]], None]
    ) -> dict[bytes, Response]:
        try:
            self._write_whatever_happens(lambda: write(receipts))
        except UNFIT:  # row by row: one that does not fit must not take the others with it
            errors: dict[bytes, Response] = {}
            fitting = [self._fitted(one, errors) for one in receipts]
            self._write_whatever_happens(lambda: write(fitting))
            return errors
        return {}

    def _fitted(self, one: Receipt, errors: dict[bytes, Response]) -> Receipt:
        """A receipt with an error in the place of each row that SQLite does not take."""
        rows = []
        for call, row in zip(one.calls, one.rows, strict=True):
            try:
                self._db.execute(f"SELECT {','.join('?' * len(row))}", row)
                rows.append(row)
            except UNFIT as error:
                why = f"the answer cannot be stored: {told(error)}"
                errors[call.key] = Response("", finish="error", error=why)
                rows.append(row_of(errors[call.key]))
        return one._replace(rows=rows)

    def _insert(self, receipts: Sequence[Receipt], *, placed: bool) -> None:
        rows, places, prompts = [], [], self._prompt_ids(one.messages for one in receipts)
        terms = self._term_ids({one.terms for one in receipts})
        for one, prompt in zip(receipts, prompts, strict=True):
            first = one.calls[0].repeat
            for call, row in zip(one.calls, one.rows, strict=True):
                seed = one.seed + call.repeat - first
                sent = (call.key, prompt, one.source, terms[one.terms])
                rows.append((*sent, *_with_checksum(seed, one.received, row)))
                places.append(tuple(call))
        self._insert_many(INSERT, rows)
        if placed:
            self._insert_many(PLACE, places)

    def spill(self) -> Spill:
        """Where answers are kept until they are written; what a killed run left there is taken in first.

        Raises:
            StoreError: It cannot be written.
        """
        self.take_in()
        facts = {"study": self.noted("study"), "sources": self.rows(f"SELECT id, {_SOURCE} FROM sources")}
        with self._translated():
            return Spill(self._spilled, self._reserve, facts)

    @property
    def _spilled(self) -> Path:
        return self._path.with_suffix(".spill")

    def take_in(self) -> int:
        """Write down what a run that was killed had been answered and had not written.

        Returns:
            How many responses were not stored already.

        Raises:
            StoreError: They could not be written.
        """
        with self._translated():
            left = SpillFile(self._spilled)
            new = [one for one in left.receipts() if self._lacks(one)]
            if new:
                known = {number: self.register(*facts) for number, facts in left.sources.items()}
                placed = self.noted("study") == left.study
                new = [one._replace(source=known[one.source]) for one in new]
                self._write_fitting(new, lambda some: self._take_in(some, placed=placed))
            self._spilled.unlink(missing_ok=True)
        return sum(len(one.calls) for one in new)

    def _take_in(self, receipts: Sequence[Receipt], *, placed: bool) -> None:
        self._insert(receipts, placed=placed)
        if not placed:  # the study has changed since: its calls find their answers by key
            self._db.execute("DELETE FROM meta WHERE name = 'study'")

    def waiting(self) -> int:
        """How many responses of a run that was killed the next run will take in."""
        with self._translated():
            return sum(len(one.calls) for one in SpillFile(self._spilled).receipts() if self._lacks(one))

    def _lacks(self, one: Receipt) -> bool:
        """Whether something of a receipt would be new to the store."""
        known = self.answered([call.key for call in one.calls])
        finish = COLUMNS.split(", ").index("finish")
        return any(
            call.key not in known or (known[call.key].finish == "error" != row[finish])
            for call, row in zip(one.calls, one.rows, strict=True)
        )

    def add_traffic(self, source: int, traffic: Traffic) -> None:
        """Add up what passed beside the answers.

        Args:
            source: The number that ``register`` gave for the model.
            traffic: What passed since the last time.

        Raises:
            StoreError: It could not be written.
        """
        names = Traffic._fields
        sql = f"""INSERT INTO traffic (source, {", ".join(names)})
            VALUES (?, {", ".join("?" * len(names))}) ON CONFLICT (source) DO UPDATE SET
            {", ".join(f"{name} = {name} + excluded.{name}" for name in names)}"""

        def write() -> None:
            self._db.execute(sql, (source, *traffic))

        self._write_whatever_happens(write)

    def adopt(self, adopted: Sequence[Adopted]) -> None:
        """Write responses that were asked for elsewhere, all or none.

        Raises:
            StoreError: They could not be written.
        """
        with self._translated(), self._transaction():
            prompts = self._prompt_ids(written_prompt(one.request.prompt.messages) for one in adopted)
            asked = [request_terms(one.request) for one in adopted]
            terms = self._term_ids(set(asked))
            rows = [
                (
                    *(one.call.key, prompt, one.source, terms[under]),
                    *_with_checksum(one.seed, one.received, one.row),
                )
                for one, prompt, under in zip(adopted, prompts, asked, strict=True)
            ]
            self._insert_many(INSERT, rows)
            self._insert_many(PLACE, [tuple(one.call) for one in adopted])

    def _term_ids(self, terms: Collection[str]) -> dict[str, int]:
        """Write terms down where they are new; their numbers."""
        self._db.executemany("INSERT OR IGNORE INTO terms (asked) VALUES (?)", [(one,) for one in terms])
        find = "SELECT id FROM terms WHERE asked = ?"
        return {one: self._db.execute(find, (one,)).fetchone()[0] for one in terms}

    def _prompt_ids(self, prompts: Iterable[str]) -> list[int]:
        """Write the prompts down; requests of the same prompt come one after the other and share it."""
        last_id = self._db.execute("SELECT ifnull(max(id), 0) FROM prompts").fetchone()[0]
        ids, rows, last = [], [], None
        for messages in prompts:
            if messages != last:
                last = messages
                last_id += 1
                rows.append((last_id, messages, checksum_of_prompt(messages)))
            ids.append(last_id)
        self._insert_many("INSERT INTO prompts VALUES {rows}", rows)
        return ids

    # ---------------------------------------------------------------- the study's calls

    def placed(self, fingerprint: str) -> bool:
        """Whether the calls are those of the study with this fingerprint."""
        return self.noted("study") == fingerprint

    def place(
        self,
        fingerprint: str,
        conditions: Sequence[Condition],
        items: Sequence[str],
        calls: Iterable[Call],
    ) -> None:
        """Find the responses that belong to the study as it stands now.

        Args:
            fingerprint: Of the study; ``placed`` compares it.
            conditions: The study's, in order.
            items: Ids of its items, in order.
            calls: All of its calls.
        """
        with self._translated(), self._transaction():
            for table in ("calls", "conditions", "items"):
                self._db.execute(f"DELETE FROM {table}")
            self._db.executemany(
                "INSERT INTO conditions VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (index, c.model, c.variant, c.decoding, c.repeats, c.follow_up, c.parent)
                    for index, c in enumerate(conditions)
                ),
            )
            self._db.executemany("INSERT INTO items VALUES (?, ?)", enumerate(items))
            self._insert_many(PLACE, calls)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('study', ?)", (fingerprint,))

    @property
    def recipe(self) -> int:
        """The number of the recipe by which its keys were made; the first one was not noted."""
        return int(self.noted("recipe") or 1)

    def rekey(self, keys: Iterable[tuple[bytes, bytes]], recipe: int) -> int:
        """Put answers under the keys of another recipe, all or none.

        Args:
            keys: The old key and the new one of each call that may be answered.
            recipe: The number of the new recipe.

        Returns:
            How many answers fit none of the old keys, and keep theirs.
        """
        with self._translated(), self._transaction():
            before = self._db.total_changes
            sql = "UPDATE responses SET key = ? WHERE key = ?"
            self._db.executemany(sql, ((new, old) for old, new in keys))
            changed = self._db.total_changes - before
            left = (
                int(self._db.execute("SELECT count(*) FROM responses WHERE length(key) = 16").fetchone()[0])
                - changed
            )
            facts = {"recipe": recipe, "left_behind": left}
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
        return left

    def set_aside(self, rows: Sequence[int]) -> None:
        """Have the calls of some answers, and of the follow-ups that quote these, asked again.

        The answers stay; but their keys go on with a point and the row's number, and fit no call.

        Args:
            rows: The ids of the answers.
        """
        some = "SELECT value FROM json_each(?1)"
        quoting = f"SELECT response FROM calls WHERE response IN ({some}) OR parent IN ({some})"
        with self._translated(), self._transaction():
            found = self._db.execute(quoting, (json.dumps(list(rows)),)).fetchall()
            these = (json.dumps([row for (row,) in found]),)
            keys = self._db.execute(f"SELECT id, key FROM responses WHERE id IN ({some})", these).fetchall()
            self._db.executemany(
                "UPDATE responses SET key = ? WHERE id = ?", [(key + b".%d" % row, row) for row, key in keys]
            )
            self._db.execute(f"DELETE FROM calls WHERE response IN ({some})", these)
            self._db.execute("DELETE FROM meta WHERE name = 'annotations'")

    def answered(self, keys: Sequence[bytes], *, errors: bool = True) -> dict[bytes, Response]:
        """Those of these keys that have a response; may be called from any thread.

        Args:
            keys: The keys.
            errors: Whether an error counts as one.

        Returns:
            By key, the response's text and how it ended.
        """
        found: dict[bytes, Response] = {}
        but = "" if errors else " AND finish != 'error'"
        with self._reading, self._translated():
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                marks = ",".join("?" * len(part))
                sql = f"SELECT key, text, finish FROM responses WHERE key IN ({marks}){but}"
                for key, text, finish in self._look_up.execute(sql, part):
                    found[key] = Response(text, finish)
        return found

    def unfollowed(self, *, errors: bool = True) -> int:
        """How many follow-ups cannot be asked, for there is no answer that they could quote.

        Args:
            errors: Whether errors count, or only what a filter withheld.
        """
        return self._unfollowed(errors).total()

    def _unfollowed(self, errors: bool) -> Counter[str]:
        """The same by model."""
        finishes = [finish for finish in UNFOLLOWED if errors or finish != "error"]
        # Written out, since SQLite looks into an index of a part of the rows for a text that it sees alone.
        ended = " UNION ALL ".join(f"SELECT id FROM responses WHERE finish = '{one}'" for one in finishes)
        sql = f"""
            SELECT f.model, sum(f.n) FROM ({ended}) r JOIN calls a ON a.response = r.id JOIN (
                SELECT parent, model, count(*) AS n FROM conditions WHERE parent IS NOT NULL GROUP BY parent
            ) f ON f.parent = a.condition GROUP BY f.model"""
        with self._translated():
            return Counter(dict(self._db.execute(sql).fetchall() if _quotes(self._db) else ()))

    def unfinished(self, *, errors: bool = True) -> set[str]:
        """The models of whose calls some can be asked and have no response yet.

        Args:
            errors: Whether an error counts as a response.
        """
        but = "" if errors else "JOIN responses r ON r.id = a.response AND r.finish != 'error'"
        placed = f"calls a JOIN conditions c ON c.position = a.condition {but}"
        answered = f"SELECT c.model, count(*) FROM {placed}"
        wanted = "SELECT model, sum(repeats) * (SELECT count(*) FROM items) FROM conditions"
        with self._translated():
            left = Counter(dict(self._db.execute(f"{wanted} GROUP BY model").fetchall()))
            left.subtract(dict(self._db.execute(f"{answered} GROUP BY c.model").fetchall()))
        left.subtract(self._unfollowed(errors))
        return {model for model, calls in left.items() if calls > 0}

    def counts(self) -> Counts:
        """How much of the study is answered."""
        with self._translated():
            answered = self._db.execute("SELECT count(*) FROM calls").fetchone()[0]
            errors = self._db.execute(
                "SELECT count(*) FROM responses r JOIN calls a ON a.response = r.id WHERE r.finish = 'error'"
            ).fetchone()[0]
            stored = int(self._db.execute("SELECT total(calls) FROM tallies").fetchone()[0])
        return Counts(answered, errors, stored - answered)

    # ------------------------------------------------------------------- reading

    def read(self, chunk: int = 20_000) -> Iterator[list[Stored]]:
        """The study's responses, in the order in which they came.

        Args:
            chunk: How many at a time.

        Yields:
            Lists of (position of condition, position of item, repeat, response, and for a follow-up that
            quotes an answer the response that it quotes).
        """
        some = ", ".join(f"r.{name}" for name in ("id", "checksum", *SUMMED.split(", ")))
        about = ", ".join(f"p.{name}" for name in COLUMNS.split(", "))
        plain = f"SELECT c.condition, c.item, c.repeat, {some}, NULL FROM calls c"
        quoting = f"SELECT c.condition, c.item, c.repeat, {some}, c.parent, {about} FROM calls c"
        quoting += " LEFT JOIN responses p ON p.id = c.parent"
        rest = " JOIN responses r ON r.id = c.response ORDER BY c.response"
        # A connection of its own: whoever writes the frame draws from another thread.
        with self._translated(), closing(self._connect(check_same_thread=False)) as reader:
            rows = reader.execute((quoting if _quotes(reader) else plain) + rest)
            while part := list(islice(rows, chunk)):
                yield [self._stored(row) for row in part]

    def _stored(self, row: Sequence[Any]) -> Stored:
        """What is in a row of an answer's place, number, checksum and values, and of the answer it quotes.

        Raises:
            StoreError: It is not as it was stored.
        """
        condition, item, repeat, number, kept = row[:_PLACED]
        if is_damaged(kept, row[_PLACED:_WHOLE]):
            raise StoreError(
                "a stored answer is not as it was stored",
                where=str(self._path),
                expected=f"checksum {kept}",
                found=f"row {number} of responses has another",
                fix=REPAIR,
            )
        quoted = None if row[_WHOLE] is None else response_of(row[_WHOLE + 1 :])
        return condition, item, repeat, response_of(row[_WHOLE - len(COLUMNS.split(", ")) : _WHOLE]), quoted

    def usage(self) -> dict[str, dict[str, float]]:
        """By model: calls, tokens and seconds of the study's stored responses.

        ``counted`` is how many of the calls say what they took; the squares are of these one by one.
        """
        sql = f"""
            SELECT c.model, count(*), count({WRITTEN}), total(r.prompt_tokens),
                   total(r.prompt_tokens - r.cached_tokens), total(r.cached_tokens),
                   total({WRITTEN}), total(r.prompt_tokens * r.prompt_tokens),
                   total({WRITTEN} * {WRITTEN}), total(r.latency)
            FROM calls a JOIN responses r ON r.id = a.response JOIN conditions c ON c.position = a.condition
            GROUP BY c.model"""
        names = (
            "calls",
            "counted",
            "prompt_tokens",
            "new_prompt_tokens",
            "cached_tokens",
            "completion_tokens",
            "prompt_squares",
            "completion_squares",
            "seconds",
        )
        with self._translated():
            return {model: dict(zip(names, row, strict=True)) for model, *row in self._db.execute(sql)}

    def sources(self) -> list[dict[str, Any]]:
        """Every engine that answered, with its provenance and the number of its responses."""
        sql = """SELECT s.model, s.identity, s.provenance, s.started, s.reused, count(r.id)
            FROM sources s LEFT JOIN responses r ON r.source = s.id GROUP BY s.id ORDER BY s.id"""
        with self._translated():
            return [
                {**json.loads(p), "model": m, "identity": i, "started": t, "reused": reused, "responses": n}
                for m, i, p, t, reused, n in self._db.execute(sql)
            ]

    def state(self) -> str:
        """Changes whenever a response comes in."""
        with self._translated():
            last = self._db.execute("SELECT max(id) FROM responses").fetchone()[0]
            errors = self._db.execute("SELECT count(*) FROM responses WHERE finish = 'error'").fetchone()[0]
        return f"{last} {errors}"

    def note(self, name: str, value: str) -> None:
        """Keep a short text under a name; not where nothing may be written."""
        if self.read_only and not self.on_copy:
            return
        with self._translated():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def noted(self, name: str) -> str | None:
        """What was kept under a name."""
        with self._translated():
            found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None


def _quotes(db: sqlite3.Connection) -> bool:
    """Whether the study has follow-ups that quote answers."""
    return db.execute("SELECT 1 FROM conditions WHERE parent IS NOT NULL LIMIT 1").fetchone() is not None


def _with_checksum(seed: int, received: float, row: Sequence[Any]) -> tuple[Any, ...]:
    """The values of ``checksum`` and ``SUMMED``."""
    return checksum(seed, received, *row), seed, received, *row
