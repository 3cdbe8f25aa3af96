"""A study's ``responses.db``: one SQLite file that you can read without Quaver, and the spill beside it.

Responses are appended and never changed, except that an answer replaces an error. ``SELECT * FROM answers``
shows every response with names instead of numbers.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from quaver._secrets import without_keys
from quaver.collect.store.database import UNFIT, Database
from quaver.collect.store.placed_calls import Calls, has_quoting_follow_ups
from quaver.collect.store.response_tables import (
    COLUMNS,
    INSERT,
    PLACE,
    PLACED,
    STORED,
    SUMMED,
    WHOLE_NUMBERS,
    checksum_of_new,
    checksum_of_prompt,
    damaged,
    response_of,
    row_of,
)
from quaver.collect.store.spill import Receipt, Spill, SpillFile
from quaver.collect.store.store_lock import REPAIR
from quaver.core.annotations import SHOWN, AnswerRows, Row, Values
from quaver.core.calls import Call, Response
from quaver.core.instrument import record_in
from quaver.core.meter import Traffic
from quaver.core.response_validation import error_line, error_response
from quaver.errors import StoreError

_PLACED = 6
_WHOLE = _PLACED + len(SUMMED.split(", "))
"""Where an answer's values begin and end in a row that was read."""

_SAID = _WHOLE - len(COLUMNS.split(", "))
"""Where what a model said begins: text, finish, error, thinking, tokens."""

_SERVED = [_SAID + COLUMNS.split(", ").index(name) for name in ("served_model", "fingerprint")]
"""Where the server's names for the model and its configuration are."""

_COUNTS = [_PLACED + index for index, name in enumerate(SUMMED.split(", ")) if name in WHOLE_NUMBERS]
"""Where the values are whole numbers, which are read as floats."""

CHUNK = 20_000
"""How many answers are read at a time."""

_PART = 500
"""How many requests' answers are written together when the disk is full."""

_STORED_COLUMNS = STORED.split(", ")
_LAST = 2**63 - 1
_STATE = """SELECT (SELECT count(*) FROM responses WHERE finish = 'error'),
    (SELECT id || ' ' || received || ' ' || checksum FROM responses ORDER BY id DESC LIMIT 1),
    (SELECT total(sent + received + prompt_tokens + completion_tokens) FROM traffic)"""
_FINISH = COLUMNS.split(", ").index("finish")


class Store(Database):
    """A study's stored responses, with what a killed run left in the spill.

    Args:
        path: The file; created if it is missing.
        only_read: Whether to leave the file as it is, even though it may be written. Another process may
            write it meanwhile.

    Attributes:
        calls: The study's calls, and which response answers which.

    Raises:
        StoreError: It is not a store, a newer Quaver wrote it, or it cannot be written.
    """

    def __init__(self, path: Path, *, only_read: bool = False) -> None:
        super().__init__(path, only_read=only_read)
        self.calls = Calls(self)

    def register(
        self, model: str, identity: str, provenance: Mapping[str, Any], reused: str | None = None
    ) -> int:
        """Note which engine answers from now on.

        Returns:
            The number under which to write its responses.
        """
        known = json.dumps(dict(provenance), sort_keys=True, default=str)
        row = (model, identity, without_keys(known), reused)
        with self.translated(), self.transaction():
            kept_row = self.db.execute(
                "SELECT id FROM sources WHERE model = ? AND identity = ? AND provenance = ? AND reused IS ?",
                row,
            ).fetchone()
            if kept_row:
                return int(kept_row[0])
            inserted = self.db.execute(
                "INSERT INTO sources (model, identity, provenance, reused, started) VALUES (?, ?, ?, ?, ?)",
                (*row, time.time()),
            )
            return int(inserted.lastrowid or 0)

    def write(self, receipts: Sequence[Receipt]) -> dict[bytes, Response]:
        """Write responses, all or none, and wait until they are on the disk.

        Returns:
            By key, the errors that were written in place of responses that do not fit into a row.
        """
        return self.write_fitting(receipts, lambda some: self.insert(some, placed=True))

    def write_fitting(
        self, receipts: Sequence[Receipt], write: Callable[[Sequence[Receipt]], None]
    ) -> dict[bytes, Response]:
        """Write receipts by a function, with an error in place of each response that does not fit."""
        try:
            self.write_at_once(lambda: write(receipts))
        except UNFIT:  # row by row, so that one bad response does not lose the others
            errors: dict[bytes, Response] = {}
            fitting = [self._fitted(receipt, errors) for receipt in receipts]
            self.write_at_once(lambda: write(fitting))
            return errors
        return {}

    def _fitted(self, receipt: Receipt, errors: dict[bytes, Response]) -> Receipt:
        """A receipt with an error in place of each row that SQLite rejects."""
        rows = []
        for call, row in zip(receipt.calls, receipt.rows, strict=True):
            try:
                self.db.execute(f"SELECT {','.join('?' * len(row))}", row)
                rows.append(row)
            except UNFIT as error:
                why = f"the answer cannot be stored: {error_line(error)}"
                errors[call.key] = error_response(why)
                rows.append(row_of(errors[call.key]))
        return receipt._replace(rows=rows)

    def insert(self, receipts: Sequence[Receipt], *, placed: bool) -> None:
        """Write the responses of receipts, and place their calls if these belong to the study.

        Most have nothing in most columns, and their numbers follow each other: what is empty in all of them
        is not written, and a call is placed by its response's number, without a search for its key.
        """
        if not receipts:
            return
        prompts = self.prompt_ids([receipt.messages for receipt in receipts])
        terms = self._term_ids({receipt.terms for receipt in receipts})
        under = [terms[receipt.terms] for receipt in receipts]
        calls = [call for receipt in receipts for call in receipt.calls]
        rows = [row for receipt in receipts for row in receipt.rows]
        sources, _, seeds, received, *_ = zip(*receipts, strict=True)
        about: list[Sequence[Any]] = [prompts, sources, under, seeds, received]
        if len(calls) > len(receipts):
            of = [index for index, receipt in enumerate(receipts) for _ in receipt.calls]
            about = [[values[index] for index in of] for values in about]
            first = [receipt.seed - receipt.calls[0].repeat for receipt in receipts]
            about[3] = [first[index] + call.repeat for index, call in zip(of, calls, strict=True)]
        *others, seeds, received = about
        kept = [checksum_of_new(*row) for row in zip(seeds, received, rows, strict=True)]
        keys = [call.key for call in calls]
        columns = [keys, *others, kept, seeds, received, *zip(*rows, strict=True)]
        self._add(columns, calls, placed=placed)

    def _add(self, columns: Sequence[Sequence[Any]], calls: Sequence[Call], *, placed: bool) -> None:
        """Write responses and place their calls."""
        rows = len(calls)
        used = [index for index, values in enumerate(columns) if values.count(None) < rows]
        names = [_STORED_COLUMNS[index] for index in used]
        before = self._last_response()
        sql = INSERT.format(columns=", ".join(names), rows="VALUES {rows}")
        self.insert_columns(sql, [columns[index] for index in used])
        if not placed:  # the study has changed since: its calls find their answers by key
            self.db.execute("DELETE FROM meta WHERE name = 'study'")
            return
        _, *places, parents = zip(*calls, strict=True)
        if self._last_response() == before + rows and parents.count(None) == rows:
            self.insert_columns(PLACED, [range(before + 1, before + rows + 1), *places])
        else:
            self.insert_many(PLACE, calls)

    def _last_response(self) -> int:
        return int(self.db.execute("SELECT ifnull(max(id), 0) FROM responses").fetchone()[0])

    def _term_ids(self, terms: Collection[str]) -> dict[str, int]:
        """Write new terms; returns the numbers of all."""
        self.db.executemany("INSERT OR IGNORE INTO terms (asked) VALUES (?)", [(term,) for term in terms])
        find = "SELECT id FROM terms WHERE asked = ?"
        return {term: self.db.execute(find, (term,)).fetchone()[0] for term in terms}

    def prompt_ids(self, prompts: Sequence[str]) -> list[int]:
        """Write the prompts; consecutive requests with the same prompt share one."""
        before = self.db.execute("SELECT ifnull(max(id), 0) FROM prompts").fetchone()[0]
        ids: list[int] = []
        new: list[str] = []
        last = None
        for messages in prompts:
            if messages != last:
                last = messages
                new.append(messages)
            ids.append(before + len(new))
        numbers, sums = range(before + 1, before + len(new) + 1), list(map(checksum_of_prompt, new))
        self.insert_columns("INSERT INTO prompts VALUES {rows}", [numbers, new, sums])
        return ids

    def add_traffic(self, source: int, traffic: Traffic) -> None:
        """Add the traffic that became no answer."""
        names = Traffic._fields
        sql = f"""INSERT INTO traffic (source, {", ".join(names)})
            VALUES (?, {", ".join("?" * len(names))}) ON CONFLICT (source) DO UPDATE SET
            {", ".join(f"{name} = {name} + excluded.{name}" for name in names)}"""
        self.write_at_once(lambda: self.db.execute(sql, (source, *traffic)))

    def answered(self, keys: Sequence[bytes], *, errors: bool = True) -> dict[bytes, Response]:
        """Look up which keys have a response; thread-safe.

        Returns:
            By key, a response with text, finish and error alone.
        """
        result: dict[bytes, Response] = {}
        but = "" if errors else " AND finish != 'error'"
        with self._reading, self.translated():
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                marks = ",".join("?" * len(part))
                sql = f"SELECT key, text, finish, error FROM responses WHERE key IN ({marks}){but}"
                for key, text, finish, error in self._look_up.execute(sql, part):
                    result[key] = Response(text, finish, error)
        return result

    def read(self, after: int = 0, last: int | None = None, chunk: int = CHUNK) -> Iterator[AnswerRows]:
        """The study's responses, in the order of arrival, some thousands at a time."""
        # A separate connection, because the annotation frame is written from another thread.
        with self.translated(), closing(self._connect(check_same_thread=False)) as reader:
            if not after:
                self._check_pages(reader)
            hosts = _hosts(reader)
            some = "WHERE c.response > ? AND c.response <= ? ORDER BY c.response"
            rows = reader.execute(
                f"{_placed_answers(reader)} {some}", (after, _LAST if last is None else last)
            )
            while part := rows.fetchmany(chunk):
                yield self._answers(part, hosts)

    def _check_pages(self, reader: sqlite3.Connection) -> None:
        """Find damaged pages, whose rows SQLite would leave out without a word.

        Of a million answers this takes 0.4 s, where reading them takes 4.6 s.
        """
        answer = reader.execute("PRAGMA quick_check(1)").fetchone()[0]
        if answer != "ok":
            raise StoreError(
                "the file of the stored answers is damaged",
                where=str(self._path),
                expected="what SQLite wrote",
                found=str(answer)[:200],
                fix=REPAIR,
            )

    def read_after(self, last: int, most: int, also: Sequence[int] = ()) -> list[tuple[int, Row]]:
        """Some of the responses that arrived later, each with its number; no snapshot stays open."""
        with self.translated():
            select = _placed_answers(self.db)
            rows = self.db.execute(f"{select} WHERE c.response > ? ORDER BY c.response LIMIT ?", (last, most))
            stored = rows.fetchall()
            if also:
                some = f"{select} WHERE c.response IN (SELECT value FROM json_each(?))"
                stored += self.db.execute(some, (json.dumps(list(also)),)).fetchall()
            answers = self._answers(stored, _hosts(self.db)) if stored else ()
        return list(zip([row[4] for row in stored], answers, strict=True))

    def _answers(self, rows: Sequence[tuple[Any, ...]], hosts: Mapping[int, str]) -> AnswerRows:
        """The answers in rows of place, id, checksum, values, and the values of the quoted answer."""
        for row in damaged(rows, _PLACED - 1, slice(_PLACED, _WHOLE)):
            raise StoreError(
                "a stored answer has changed",
                where=str(self._path),
                expected=f"checksum {row[_PLACED - 1]}",
                found=f"another checksum in row {row[_PLACED - 2]} of responses",
                fix=REPAIR,
            )
        columns = list(zip(*rows, strict=True))
        for name, places in zip(("condition", "item", "repeat"), columns[:3], strict=True):
            if {*map(type, places)} != {int} or min(places) < 0 or max(places) >= 2**31:
                raise StoreError(
                    "the place of a stored answer is damaged",
                    where=str(self._path),
                    expected=f"a whole number as calls.{name}",
                    found="another value",
                    fix=REPAIR,
                )
        about: list[Values | None] | None = None
        if any(columns[_WHOLE]):
            about = [None if row[_WHOLE] is None else row[_WHOLE + 1 :] for row in rows]
        return AnswerRows(
            columns[:3],
            columns[_SAID : _SAID + SHOWN],
            about,
            lambda index: response_of(_with_whole_numbers(rows[index])[_SAID:_WHOLE]),
            lambda index: response_of(rows[index][_WHOLE + 1 :]),
            _served(columns, hosts),
        )

    def names_servers(self) -> bool:
        """Whether any answer names the model, the configuration or the host that gave it."""
        named = "SELECT 1 FROM responses WHERE served_model IS NOT NULL OR fingerprint IS NOT NULL LIMIT 1"
        with self.translated():
            return self.value(named) is not None or bool(_hosts(self.db))

    def sources(self) -> list[dict[str, Any]]:
        """Every engine that answered, with its provenance and number of responses."""
        sql = """SELECT s.model, s.identity, s.provenance, s.started, s.reused, count(r.id)
            FROM sources s LEFT JOIN responses r ON r.source = s.id GROUP BY s.id ORDER BY s.id"""
        return [
            {**json.loads(p), "model": m, "identity": i, "started": t, "reused": reused, "responses": n}
            for m, i, p, t, reused, n in self.rows(sql)
        ]

    def state(self) -> str:
        """A text that changes with every response and with what was spent; another store has another one."""
        return " ".join(map(str, self.rows(_STATE)[0]))

    def spill(self) -> Spill:
        """Open the spill, where answers wait until they are written; what a killed run left comes first."""
        self.take_in()
        sources = self.rows("SELECT id, model, identity, provenance, reused FROM sources")
        with self.translated():
            return Spill(self._spilled, {"study": self.noted("study"), "sources": sources})

    def take_in(self) -> int:
        """Store the answers that a killed run left in the spill.

        Returns:
            How many responses were new.
        """
        with self.translated():
            left = SpillFile(self._spilled)
            new = self._new(left)
            if new:
                known = {number: self.register(*facts) for number, facts in left.sources.items()}
                placed = self.noted("study") == left.study
                new = [receipt._replace(source=known[receipt.source]) for receipt in new]
                self.write_fitting(new, lambda receipts: self.insert(receipts, placed=placed))
            self._spilled.unlink(missing_ok=True)
        return sum(len(receipt.calls) for receipt in new)

    def waiting(self) -> int:
        """How many responses of a killed run the next run will store."""
        with self.translated():
            return sum(len(receipt.calls) for receipt in self._new(SpillFile(self._spilled)))

    @property
    def _spilled(self) -> Path:
        return self._path.with_suffix(".spill")

    def _new(self, left: SpillFile) -> list[Receipt]:
        """The receipts in a spill that the store lacks, at least in part."""
        return [receipt for receipt in left.receipts() if self._lacks(receipt)]

    def _lacks(self, receipt: Receipt) -> bool:
        known = self.answered([call.key for call in receipt.calls])
        return any(
            call.key not in known or (known[call.key].finish == "error" != row[_FINISH])
            for call, row in zip(receipt.calls, receipt.rows, strict=True)
        )


def _with_whole_numbers(row: tuple[Any, ...]) -> list[Any]:
    """A row with whole numbers where they are read as floats."""
    values = list(row)
    for index in _COUNTS:
        if isinstance(values[index], float) and values[index].is_integer():
            values[index] = int(values[index])
    return values


def _placed_answers(db: sqlite3.Connection) -> str:
    """The query for the study's calls with their responses, and the responses that follow-ups quote."""
    names = [f"r.{name}{' + 0.0' * (name in WHOLE_NUMBERS)}" for name in SUMMED.split(", ")]
    some = ", ".join(("r.id", "r.checksum", *names))
    place, rest = "SELECT c.condition, c.item, c.repeat, r.terms", "JOIN responses r ON r.id = c.response"
    if not has_quoting_follow_ups(db):
        return f"{place}, {some}, NULL FROM calls c {rest}"
    about = ", ".join(f"p.{name}" for name in COLUMNS.split(", "))
    quoted = "LEFT JOIN responses p ON p.id = c.parent"
    return f"{place}, {some}, c.parent, {about} FROM calls c {quoted} {rest}"


def _hosts(db: sqlite3.Connection) -> dict[int, str]:
    """The hosts that answered for a router, by the terms of their answers."""
    rows = db.execute("SELECT id, asked FROM terms WHERE asked LIKE '%\"host\": %'")
    return {number: host for number, asked in rows if (host := record_in(asked).get("host"))}


def _served(columns: Sequence[Sequence[Any]], hosts: Mapping[int, str]) -> list[list[str | None]]:
    """The hosts and snapshots of answers in columns; nothing where no server names either."""
    models, prints = (columns[place] for place in _SERVED)
    if not (hosts or any(models) or any(prints)):
        return []
    snapshots = [
        " ".join(map(str, filter(None, served))) or None for served in zip(models, prints, strict=True)
    ]
    return [list(map(hosts.get, columns[3])), snapshots]
