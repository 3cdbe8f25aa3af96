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

from quaver.acceptance.item_scores import ItemEvidence, Score, scored
from quaver.acceptance.selection import Candidates, Floats, Selection, Treated, select, treated, upper_bound
from quaver.core.number_format import count, percent, promised
from quaver.core.rows import Rows
from quaver.core.spreadsheet import write_csv
from quaver.errors import MeasureError, StoreError, UnknownName


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
        confidence_level: How sure the promise is, over all gold samples that might be drawn, with some of
            which nothing is accepted.
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
            "groups": [group._asdict() for group in self.groups],
            "notes": list(self.notes),
            "decisions": self.decisions,
        }

    def __repr__(self) -> str:
        return "\n".join([self.headline, *self.notes])


PROMISES: Final = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
"""The shares of wrong labels for which the curve says how many can be accepted."""

_ALIKE: Final = 0.8
"""A group is noted whose share of accepted labels is below this part of another group's."""

CLASSES: Final = "label"
"""``by="label"`` makes the promise for each class by itself."""


def accepted_labels(
    evidence: ItemEvidence,
    *,
    error: float = 0.05,
    confidence_level: float = 0.95,
    score: Score = "learned",
    by: str | None = None,
    seed: int = 0,
) -> Acceptance:
    """Which labels may be accepted so that few of them are wrong, and which need a person."""
    _check(evidence, error, confidence_level, by)
    risk = 1 - confidence_level
    scores = scored(evidence, score, seed)
    open_to = np.flatnonzero(evidence.candidates)
    candidates = Candidates(
        scores[open_to], evidence.checked[open_to], evidence.wrong[open_to], evidence.probability[open_to]
    )
    levels = _levels(evidence, by)[open_to]
    found, accepted = [], np.zeros(open_to.size, bool)
    for name in sorted(set(levels.tolist())) or [""]:
        own = levels == name
        selection = select(candidates.some(own), error, risk)
        accepted[own] = selection.accepted
        found.append(_accepted(name, error, candidates.some(own), selection, risk))
    curve = [_accepted("", one, candidates, select(candidates, one, risk), risk) for one in PROMISES]
    whole = np.zeros(evidence.items.size, bool)
    whole[open_to] = accepted
    groups = tuple(_groups(evidence, open_to, candidates, accepted, error, risk))
    return Acceptance(
        promise=error,
        confidence_level=confidence_level,
        score=score,
        by=by or "",
        found=tuple(found),
        curve=tuple(curve),
        groups=groups,
        table=_table(evidence, scores, whole),
        notes=(*_notes(evidence, found, error), *_unequal(groups)),
    )


def _check(evidence: ItemEvidence, error: float, level: float, by: str | None) -> None:
    for name, value in (("error", error), ("confidence_level", level)):
        if not 0 < value < 1:
            raise MeasureError("this is no share", where=name, expected="between 0 and 1", found=str(value))
    levels = (*((CLASSES,) if evidence.has_classes else ()), *evidence.groups)
    if by is not None and by not in levels:
        raise UnknownName("group", by, levels, where="by")


def _levels(evidence: ItemEvidence, by: str | None) -> NDArray[np.str_]:
    if by is None:
        return np.full(evidence.items.size, "")
    return evidence.label if by == CLASSES else evidence.groups[by]


def _accepted(
    level: str, error: float, candidates: Candidates, selection: Selection, risk: float
) -> Accepted:
    open_items = ~candidates.checked
    taken, items = int((selection.accepted & open_items).sum()), int(open_items.sum())
    check = selection.found
    return Accepted(
        level,
        error,
        items,
        taken,
        taken / items if items else 0.0,
        selection.threshold,
        int(check.checked[0]) if check else 0,
        int(check.wrong[0]) if check else 0,
        float(check.share[0]) if check else None,
        float(upper_bound(check, risk)[0]) if check else None,
        selection.needed,
    )


def _groups(
    evidence: ItemEvidence,
    open_to: NDArray[np.int64],
    candidates: Candidates,
    accepted: NDArray[np.bool_],
    error: float,
    risk: float,
) -> Iterator[Treated]:
    """How each class and each group was treated."""
    classes = {CLASSES: evidence.label} if evidence.has_classes else {}
    columns = {**classes, **evidence.groups}
    for column, levels in columns.items():
        own = levels[open_to]
        if len(set(own.tolist())) > 1:
            yield from treated(column, own, candidates, accepted, error=error, risk=risk)


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


def _notes(evidence: ItemEvidence, found: list[Accepted], error: float) -> Iterator[str]:
    checked = int(evidence.checked.sum())
    for one in (one for one in found if not one.accepted):
        if checked < one.needed:
            yield (
                f"A promise of {promised(error)} takes {one.needed:,} checked labels, none of them wrong; "
                f"there are {checked:,}."
            )
            break
        what = f"Of {one.level}, " if one.level else ""
        yield f"{what}too many of the surest labels are wrong, or too few of them were checked.".capitalize()
    if waiting := int(evidence.waiting.sum()):
        yield (
            f"{count(waiting, 'drawn item')} {'has' if waiting == 1 else 'have'} no gold label yet. The "
            "promise takes them for as often wrong as the others."
        )
    outside = int((~np.isfinite(evidence.probability)).sum())
    if outside:
        yield f"{count(outside, 'item')} outside the sampled items need a person."


def _unequal(groups: Sequence[Treated]) -> Iterator[str]:
    """A note on each column of groups whose labels are accepted much less often in one than in another."""
    for column in dict.fromkeys(group.column for group in groups if group.column != CLASSES):
        shares = [
            (group.accepted, group.level)
            for group in groups
            if group.column == column and group.accepted is not None
        ]
        (low, fewest), (high, most) = min(shares), max(shares)
        if low < _ALIKE * high:
            yield (
                f"Of the labels of {column} {fewest}, {percent(low)} are accepted; of {most}, "
                f"{percent(high)}: people read more of the former."
            )
