"""Which labels may be accepted: the evidence scored, the tests taken, the groups looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.acceptance.item_scores import ItemEvidence, scored
from quaver.acceptance.selection import (
    Candidates,
    Floats,
    Mask,
    fewest_checked,
    select,
    upper_bound,
)
from quaver.core.number_format import count, percent, promised
from quaver.core.rows import Rows
from quaver.core.spreadsheet import write_csv
from quaver.errors import MeasureError, StoreError, UnknownName


class Accepted(NamedTuple):
    """What is accepted of all labels, or of those of one class or group, for a promise.

    Attributes:
        column: What the group is one of; empty for all.
        level: The class or group that it is about; empty for all.
        promise: The share of wrong labels that is promised at most.
        items: Unchecked labels.
        accepted: How many of them are accepted.
        share: Their share; None where there are no unchecked labels.
        checked: Accepted labels that people checked.
        wrong: How many of these are wrong.
        error: The estimated share of wrong labels among the accepted; None where none was checked.
        at_most: Its upper bound, for this set by itself.
    """

    column: str
    level: str
    promise: float
    items: int
    accepted: int
    share: float | None
    checked: int
    wrong: int
    error: float | None
    at_most: float | None


@dataclass(frozen=True)
class Acceptance(Rows):
    """Which labels may be accepted.

    Attributes:
        promise: The share of wrong labels that is promised at most.
        confidence_level: How sure the promise is, over all gold samples that might be drawn, with some of
            which nothing is accepted.
        by: What each level of was promised by itself; empty where it was promised of all.
        found: What is accepted, one for each level.
        curve: How much could be accepted for other promises, each by itself.
        groups: What is accepted in each class and group, by itself no part of the promise.
        table: The items: ``item``, ``decision`` (``accept``, ``person`` or ``gold``), ``label`` (the one to
            use; empty for a person), ``model_label``, ``score``, ``agreement``, ``confidence``, the groups.
        notes: What a reader must know, a sentence each.
    """

    promise: float
    confidence_level: float
    by: str
    found: tuple[Accepted, ...]
    curve: tuple[Accepted, ...]
    groups: tuple[Accepted, ...]
    table: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def accepted(self) -> int:
        """How many labels are accepted."""
        return sum(accepted.accepted for accepted in self.found)

    @property
    def share(self) -> float:
        """The share of unchecked labels that are accepted."""
        return self.accepted / max(1, sum(accepted.items for accepted in self.found))

    @property
    def headline(self) -> str:
        """How many are accepted, and what is promised of them."""
        sure = promised(self.confidence_level)
        most = f"at most {promised(self.promise)} of them wrong, with {sure} confidence"
        if not self.accepted:
            return f"No label can be accepted with {most}."
        each = f", of each {self.by} by itself" if self.by else ""
        people = int((self.table["decision"] == "person").sum())
        return (
            f"{count(self.accepted, 'label')} ({percent(self.share)}) can be accepted: {most}{each}. "
            f"{count(people, 'item')} need a person."
        )

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
        """The result as a mapping for JSON, with a digest of the items' decisions in place of the items."""
        return {
            "headline": self.headline,
            "promise": self.promise,
            "confidence_level": self.confidence_level,
            "by": self.by,
            "accepted": [level._asdict() for level in self.found],
            "curve": [point._asdict() for point in self.curve],
            "groups": [group._asdict() for group in self.groups],
            "notes": list(self.notes),
            "decisions": self.decisions,
        }

    def __repr__(self) -> str:
        return "\n".join([self.headline, *self.notes])


PROMISES: Final = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
"""The shares of wrong labels for which the curve says how many can be accepted."""

CLASSES: Final = "label"
"""``by="label"`` makes the promise for each class by itself."""


def accepted_labels(
    evidence: ItemEvidence,
    *,
    error: float = 0.05,
    confidence_level: float = 0.95,
    by: str | None = None,
    seed: int = 0,
) -> Acceptance:
    """Which labels may be accepted so that few of them are wrong, and which need a person.

    Items are in the order of `scored`.
    """
    columns = {**({CLASSES: evidence.label} if evidence.has_classes else {}), **evidence.groups}
    for name, value in (("error", error), ("confidence_level", confidence_level)):
        if not 0 < value < 1:
            raise MeasureError(
                "this is not a share", where=name, expected="between 0 and 1", found=str(value)
            )
    if by is not None and by not in columns:
        raise UnknownName("group", by, tuple(columns), where="by")
    risk, scores = 1 - confidence_level, scored(evidence, seed)
    able = evidence.candidates
    every = Candidates(scores, evidence.checked, evidence.wrong, evidence.probability)
    candidates = every.some(able)
    levels = np.full(able.sum(), "") if by is None else columns[by][able]
    accepted = np.zeros(levels.size, bool)
    accepted_of_levels = []
    for name in sorted(set(levels.tolist())) or [""]:
        own = levels == name
        accepted[own] = select(candidates.some(own), error, risk)
        accepted_of_levels.append(
            _accepted(name and (by or ""), name, candidates.some(own), accepted[own], error, risk)
        )
    curve = [
        _accepted("", "", candidates, select(candidates, promise, risk), promise, risk)
        for promise in PROMISES
    ]
    groups = []
    for column, values in columns.items():
        own = values[able]
        names = sorted({*own[own != ""].tolist()})
        for name in names if len(names) > 1 else ():
            group = own == name
            groups.append(_accepted(column, name, candidates.some(group), accepted[group], error, risk))
    whole = np.zeros(able.size, bool)
    whole[able] = accepted
    return Acceptance(
        promise=error,
        confidence_level=confidence_level,
        by=by or "",
        found=tuple(accepted_of_levels),
        curve=tuple(curve),
        groups=tuple(groups),
        table=_table(evidence, scores, whole),
        notes=tuple(_notes(evidence, accepted_of_levels, error, fewest_checked(error, risk))),
    )


def _accepted(
    column: str, level: str, candidates: Candidates, accepted: Mask, error: float, risk: float
) -> Accepted:
    """What is accepted of some labels."""
    open_labels = ~candidates.checked
    items, taken = int(open_labels.sum()), int((accepted & open_labels).sum())
    share = taken / items if items else None
    if not (accepted & candidates.checked).any():
        return Accepted(column, level, error, items, taken, share, 0, 0, None, None)
    check = candidates.some(accepted).together()
    counts = int(check.checked[0]), int(check.wrong[0])
    bound = upper_bound(check, risk)
    return Accepted(column, level, error, items, taken, share, *counts, float(check.share[0]), bound)


def _table(evidence: ItemEvidence, scores: Floats, accepted: NDArray[np.bool_]) -> pl.DataFrame:
    decision = np.where(evidence.checked, "gold", np.where(accepted, "accept", "person"))
    used = np.where(evidence.checked, evidence.gold, np.where(accepted, evidence.label, ""))
    columns = {
        "item": evidence.items,
        "decision": decision,
        "label": used,
        "model_label": evidence.label,
        "score": scores,
        "agreement": evidence.agreement,
        "confidence": evidence.confidence,
        **evidence.groups,
    }
    frame = pl.DataFrame({name: pl.Series(values.tolist()) for name, values in columns.items()})
    text = pl.col("label", "model_label")
    empty = pl.when(text == "").then(None).otherwise(text).name.keep()
    return frame.with_columns(empty, pl.col("confidence").fill_nan(None))


def _notes(evidence: ItemEvidence, accepteds: Sequence[Accepted], error: float, needed: int) -> Iterator[str]:
    checked = int(evidence.checked.sum())
    for rejected in (accepted for accepted in accepteds if not accepted.accepted):
        if checked < needed:
            yield (
                f"A promise of {promised(error)} takes {needed:,} checked labels, none of them wrong; "
                f"there are {checked:,}."
            )
            break
        what = f"Of {rejected.level}, " if rejected.level else ""
        yield f"{what}too many of the surest labels are wrong, or too few of them were checked.".capitalize()
    if waiting := int(evidence.waiting.sum()):
        yield (
            f"{count(waiting, 'drawn item')} {'has' if waiting == 1 else 'have'} no gold label yet. The "
            "promise assumes that they are wrong as often as the others."
        )
    outside = int((~np.isfinite(evidence.probability)).sum())
    if outside:
        yield f"{count(outside, 'item')} outside the sampled items need a person."
