"""Labels with a guarantee: which are accepted, which go to a person, and what was shown of them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from quaver.acceptance.equal_treatment import Treated
from quaver.core.number_format import count, percent
from quaver.core.rows import Rows
from quaver.core.spreadsheet import write_csv
from quaver.errors import StoreError


class Accepted(NamedTuple):
    """How many labels can be accepted for a promise.

    Attributes:
        level: The class or group that the promise is about; empty for all.
        promise: The share of wrong labels that is promised at most.
        items: Unchecked labels.
        accepted: How many of them are accepted.
        share: Their share.
        threshold: The smallest score of these; None where none is accepted.
        checked: Checked labels above it.
        wrong: How many of these are wrong.
        error: The estimated share of wrong labels above it.
        at_most: Its upper bound, for this set by itself.
        needed: How many labels must be checked before anything can be promised.
    """

    level: str
    promise: float
    items: int
    accepted: int
    share: float
    threshold: float | None
    checked: int
    wrong: int
    error: float | None
    at_most: float | None
    needed: int


@dataclass(frozen=True)
class Acceptance(Rows):
    """Which labels may be accepted.

    Attributes:
        promise: The share of wrong labels that is promised at most.
        confidence_level: How sure the promise is.
        score: By what the labels were ordered.
        by: What each level of was promised by itself; empty where it was promised of all.
        found: What is accepted, one for each level.
        curve: How much could be accepted for other promises, each by itself.
        groups: How the groups were treated.
        table: The items: ``item``, ``decision`` (``accept``, ``person`` or ``gold``), ``label`` (the one to
            use; empty for a person), ``model_label``, ``score``, ``agreement``, ``confidence``, the groups.
        notes: What a reader must know, a sentence each.
    """

    promise: float
    confidence_level: float
    score: str
    by: str
    found: tuple[Accepted, ...]
    curve: tuple[Accepted, ...]
    groups: tuple[Treated, ...]
    table: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def accepted(self) -> int:
        """How many labels are accepted."""
        return sum(one.accepted for one in self.found)

    @property
    def share(self) -> float:
        """The share of unchecked labels that are accepted."""
        return self.accepted / max(1, sum(one.items for one in self.found))

    @property
    def headline(self) -> str:
        """How many are accepted, and what is promised of them."""
        promised = (
            f"at most {percent(self.promise)} of them wrong, with {percent(self.confidence_level)} confidence"
        )
        if not self.accepted:
            return f"No label can be accepted with {promised}."
        each = f", of each {self.by} by itself" if self.by else ""
        people = int((self.table["decision"] == "person").sum())
        return (
            f"{count(self.accepted, 'label')} ({percent(self.share)}) can be accepted: {promised}{each}. "
            f"{count(people, 'item')} need a person."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The items, a row each."""
        return self.table.to_dicts()

    def csv(self) -> str:
        """The items as CSV, safe to open in a spreadsheet."""
        file = BytesIO()
        write_csv(self.table, file)
        return file.getvalue().decode()

    def write(self, path: str | Path) -> None:
        """Write the items as CSV.

        Raises:
            StoreError: It cannot be written.
        """
        try:
            Path(path).write_text(self.csv(), encoding="utf-8")
        except OSError as error:
            raise StoreError("the table cannot be written", where=str(path), found=str(error)) from None

    @property
    def decisions(self) -> str:
        """The SHA-256 of the items' decisions: a line each of item, decision and label, with tabs between."""
        rows = self.table.select("item", "decision", pl.col("label").fill_null("")).iter_rows()
        return sha256("".join("\t".join(row) + "\n" for row in rows).encode("utf-8", "replace")).hexdigest()

    def document(self) -> dict[str, Any]:
        """All of it for JSON; of the items, the digest of their decisions."""
        return {
            "headline": self.headline,
            "promise": self.promise,
            "confidence_level": self.confidence_level,
            "score": self.score,
            "by": self.by,
            "accepted": [one._asdict() for one in self.found],
            "curve": [one._asdict() for one in self.curve],
            "groups": [one._asdict() for one in self.groups],
            "notes": list(self.notes),
            "decisions": self.decisions,
        }

    def __repr__(self) -> str:
        return "\n".join([self.headline, *self.notes])
