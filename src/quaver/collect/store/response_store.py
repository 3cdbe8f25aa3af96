"""A study's ``responses.db``: one SQLite file that you can read without Quaver, and the spill beside it.

``SELECT * FROM answers`` shows every response with names instead of numbers.
"""

from __future__ import annotations

from pathlib import Path

from quaver.collect.store.merged_stores import MergedStores
from quaver.collect.store.response_tables import COLUMNS
from quaver.collect.store.spill import Receipt, Spill, SpillFile

_FINISH = COLUMNS.split(", ").index("finish")


class Store(MergedStores):
    """A study's stored responses, with what a killed run left in the spill.

    Args:
        path: The file; created if it is missing.

    Raises:
        StoreError: It is not a store, a newer Quaver wrote it, or it cannot be written.
    """

    def spill(self) -> Spill:
        """Open the spill, where answers wait until they are written; what a killed run left comes first."""
        self.take_in()
        sources = self.rows("SELECT id, model, identity, provenance, reused FROM sources")
        with self._translated():
            return Spill(self._spilled, self._reserve, {"study": self.noted("study"), "sources": sources})

    def take_in(self) -> int:
        """Store the answers that a killed run left in the spill.

        Returns:
            How many responses were new.
        """
        with self._translated():
            left = SpillFile(self._spilled)
            new = self._new(left)
            if new:
                known = {number: self.register(*facts) for number, facts in left.sources.items()}
                placed = self.noted("study") == left.study
                new = [one._replace(source=known[one.source]) for one in new]
                self._write_fitting(new, lambda some: self._insert(some, placed=placed))
            self._spilled.unlink(missing_ok=True)
        return sum(len(one.calls) for one in new)

    def waiting(self) -> int:
        """How many responses of a killed run the next run will store."""
        with self._translated():
            return sum(len(one.calls) for one in self._new(SpillFile(self._spilled)))

    @property
    def _spilled(self) -> Path:
        return self._path.with_suffix(".spill")

    def _new(self, left: SpillFile) -> list[Receipt]:
        """The receipts in a spill that the store lacks, at least in part."""
        return [one for one in left.receipts() if self._lacks(one)]

    def _lacks(self, one: Receipt) -> bool:
        known = self.answered([call.key for call in one.calls])
        return any(
            call.key not in known or (known[call.key].finish == "error" != row[_FINISH])
            for call, row in zip(one.calls, one.rows, strict=True)
        )
