"""New rows of a database of responses, a group in a few statements.

Most responses have nothing in most columns, and their numbers follow each other: what is empty in a whole
group is not written, and a call is placed by its response's number, without a search for its key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from quaver.collect.store.checksum import checksum_of_new, checksum_of_prompt
from quaver.collect.store.placed_calls import PlacedCalls
from quaver.collect.store.receipt import Receipt
from quaver.collect.store.response_tables import INSERT, PLACE, PLACED, STORED
from quaver.collect.store.tallies import count_new
from quaver.core.records import Call

_STORED = STORED.split(", ")


class NewRows(PlacedCalls):
    """A database that takes in new responses with their prompts, terms, calls and totals."""

    def _insert(self, receipts: Sequence[Receipt], *, placed: bool) -> None:
        """Write the responses of receipts, and place their calls if these belong to the study."""
        prompts = self._prompt_ids(one.messages for one in receipts)
        terms = self._term_ids({one.terms for one in receipts})
        rows: list[tuple[Any, ...]] = []
        for one, prompt in zip(receipts, prompts, strict=True):
            source, received, under = one.source, one.received, terms[one.terms]
            first = one.seed - one.calls[0].repeat
            for call, row in zip(one.calls, one.rows, strict=True):
                seed = first + call.repeat
                kept = checksum_of_new(seed, received, row)
                rows.append((call.key, prompt, source, under, kept, seed, received, *row))
        self._add(rows, [call for one in receipts for call in one.calls] if placed else ())

    def _add(self, rows: Sequence[tuple[Any, ...]], calls: Sequence[Call]) -> None:
        """Write responses and place their calls.

        Args:
            rows: The values of ``STORED`` for each response.
            calls: A call for each; none if they belong to no call of the study.
        """
        by_column = list(zip(*rows, strict=True))
        used = [at for at, values in enumerate(by_column) if values.count(None) < len(rows)]
        names = ", ".join(_STORED[at] for at in used)
        with self._counting() as before:
            sql = INSERT.format(columns=names, rows="VALUES {rows}")
            self._insert_many(sql, list(zip(*(by_column[at] for at in used), strict=True)))
        if not calls:
            return
        are_new = self._last_response() == before + len(rows)
        if are_new and not any(call.parent for call in calls):
            places = [(before + at, *call[1:4]) for at, call in enumerate(calls, 1)]
            self._insert_many(PLACED, places)
        else:
            self._insert_many(PLACE, calls)

    @contextmanager
    def _counting(self) -> Iterator[int]:
        """Add the responses that are written within the block to the totals.

        Yields:
            The number of the last response before them.
        """
        before = self._last_response()
        yield before
        count_new(self._db, before)

    def _last_response(self) -> int:
        return int(self._db.execute("SELECT ifnull(max(id), 0) FROM responses").fetchone()[0])

    def _term_ids(self, terms: Collection[str]) -> dict[str, int]:
        """Write new terms; returns the numbers of all."""
        self._db.executemany("INSERT OR IGNORE INTO terms (asked) VALUES (?)", [(one,) for one in terms])
        find = "SELECT id FROM terms WHERE asked = ?"
        return {one: self._db.execute(find, (one,)).fetchone()[0] for one in terms}

    def _prompt_ids(self, prompts: Iterable[str]) -> list[int]:
        """Write the prompts; consecutive requests with the same prompt share one."""
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
