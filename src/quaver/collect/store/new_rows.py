"""New rows of a database of responses, a group in a few statements.

Most responses have nothing in most columns, and their numbers follow each other: what is empty in a whole
group is not written, and a call is placed by its response's number, without a search for its key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from quaver.collect.store.checksum import checksum_of_new, checksum_of_prompt
from quaver.collect.store.placed_calls import PlacedCalls
from quaver.collect.store.response_tables import INSERT, PLACE, PLACED, STORED
from quaver.collect.store.spill import Receipt
from quaver.collect.store.tallies import count_new
from quaver.core.records import Call

_STORED = STORED.split(", ")


class NewRows(PlacedCalls):
    """A database that takes in new responses with their prompts, terms, calls and totals."""

    def _insert(self, receipts: Sequence[Receipt], *, placed: bool) -> None:
        """Write the responses of receipts, and place their calls if these belong to the study."""
        if not receipts:
            return
        prompts = self._prompt_ids([one.messages for one in receipts])
        terms = self._term_ids({one.terms for one in receipts})
        under = [terms[one.terms] for one in receipts]
        calls = [call for one in receipts for call in one.calls]
        rows = [row for one in receipts for row in one.rows]
        sources, _, seeds, received, *_ = zip(*receipts, strict=True)
        about: list[Sequence[Any]] = [prompts, sources, under, seeds, received]
        if len(calls) > len(receipts):
            of = [at for at, one in enumerate(receipts) for _ in one.calls]
            about = [[values[at] for at in of] for values in about]
            first = [one.seed - one.calls[0].repeat for one in receipts]
            about[3] = [first[at] + call.repeat for at, call in zip(of, calls, strict=True)]
        *others, seeds, received = about
        kept = [checksum_of_new(*one) for one in zip(seeds, received, rows, strict=True)]
        keys = [call.key for call in calls]
        columns = [keys, *others, kept, seeds, received, *zip(*rows, strict=True)]
        self._add(columns, calls if placed else ())

    def _add(self, columns: Sequence[Sequence[Any]], calls: Sequence[Call]) -> None:
        """Write responses and place their calls."""
        rows = len(columns[0])
        used = [at for at, values in enumerate(columns) if values.count(None) < rows]
        names = [_STORED[at] for at in used]
        with self._counting(names) as before:
            sql = INSERT.format(columns=", ".join(names), rows="VALUES {rows}")
            self._insert_columns(sql, [columns[at] for at in used])
        if not calls:
            return
        _, *places, parents = zip(*calls, strict=True)
        if self._last_response() == before + rows and parents.count(None) == rows:
            self._insert_columns(PLACED, [range(before + 1, before + rows + 1), *places])
        else:
            self._insert_many(PLACE, calls)

    @contextmanager
    def _counting(self, columns: Sequence[str] = _STORED) -> Iterator[int]:
        """Add the responses that are written within the block to the totals.

        Yields:
            The number of the last response before them.
        """
        before = self._last_response()
        yield before
        count_new(self._db, before, columns)

    def _last_response(self) -> int:
        return int(self._db.execute("SELECT ifnull(max(id), 0) FROM responses").fetchone()[0])

    def _term_ids(self, terms: Collection[str]) -> dict[str, int]:
        """Write new terms; returns the numbers of all."""
        self._db.executemany("INSERT OR IGNORE INTO terms (asked) VALUES (?)", [(one,) for one in terms])
        find = "SELECT id FROM terms WHERE asked = ?"
        return {one: self._db.execute(find, (one,)).fetchone()[0] for one in terms}

    def _prompt_ids(self, prompts: Sequence[str]) -> list[int]:
        """Write the prompts; consecutive requests with the same prompt share one."""
        before = self._db.execute("SELECT ifnull(max(id), 0) FROM prompts").fetchone()[0]
        ids: list[int] = []
        new: list[str] = []
        last = None
        for messages in prompts:
            if messages != last:
                last = messages
                new.append(messages)
            ids.append(before + len(new))
        numbers, sums = range(before + 1, before + len(new) + 1), list(map(checksum_of_prompt, new))
        self._insert_columns("INSERT INTO prompts VALUES {rows}", [numbers, new, sums])
        return ids
