"""The labels of each item in numbers: its most frequent label, how many differ from it and are right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from quaver.view.index_design import IndexDesign
from quaver.view.index_reader import Columns, Index


@dataclass
class ItemStatistics:
    """Numbers of each item over some columns, an array each.

    Attributes:
        modal: The legend code of the most frequent label, of several the first in the alphabet; 0 for none.
        top: How many answers have it.
        valid: How many have a label.
        answered: How many there are.
        labels: How many labels differ.
        right: How many are the gold label.
    """

    modal: Any
    top: Any
    valid: Any
    answered: Any
    labels: Any
    right: Any

    @property
    def agreement(self) -> Any:
        """The share of labels that are the most frequent one; NaN without labels."""
        return _share(self.top, self.valid)

    @property
    def instability(self) -> Any:
        """The flip rate: the share of labels that differ from the most frequent one."""
        return 1 - self.agreement

    @property
    def valid_share(self) -> Any:
        """The share of answers with a label; NaN without answers."""
        return _share(self.valid, self.answered)

    def accuracy(self, gold: Any) -> Any:
        """The share of answers with the gold label; NaN without one."""
        return np.where(gold > 0, _share(self.right, self.answered), np.nan).astype(np.float32)


def statistics_of(index: Index, evaluator: int, columns: Columns) -> ItemStatistics:
    """The statistics of every item."""
    design, plane = index.design, index.labels(evaluator)
    top, valid, answered, right = (np.zeros(design.items, np.uint32) for _ in range(4))
    modal, distinct = np.zeros(design.items, design.cell_type), np.zeros(design.items, np.uint16)
    made = ItemStatistics(modal, top, valid, answered, distinct, right)
    for start, stop in index.blocks():
        codes = chosen(plane.rows(start, stop), columns)
        counts = counts_of(codes, design)
        labels = counts[:, 1 : len(design.codes) + 1]
        made.modal[start:stop], made.top[start:stop] = modal_of(labels, design)
        made.valid[start:stop] = labels.sum(axis=1)
        made.answered[start:stop] = counts[:, 1:].sum(axis=1)
        made.labels[start:stop] = (labels > 0).sum(axis=1)
        gold = index.gold[start:stop]
        rows = np.arange(stop - start)
        made.right[start:stop] = np.where(gold > 0, counts[rows, gold], 0)
    return made


def chosen(cells: Any, columns: Columns) -> Any:
    """The cells in some columns."""
    return cells if columns.every else cells[:, columns.places]


def counts_of(codes: Any, design: IndexDesign) -> Any:
    """How often each legend code occurs in each row."""
    size, rows = len(design.meanings), codes.shape[0]
    places = (np.arange(rows, dtype=np.int32) * size)[:, None] + codes
    return np.bincount(places.ravel(), minlength=rows * size).reshape(rows, size)


def modal_of(labels: Any, design: IndexDesign) -> tuple[Any, Any]:
    """The legend codes of the most frequent labels by counts of labels, and how often they occur."""
    if not labels.shape[1]:
        return np.zeros(len(labels), design.cell_type), np.zeros(len(labels), np.uint32)
    alphabet = np.array(sorted(range(len(design.codes)), key=lambda at: design.codes[at]))
    best = alphabet[labels[:, alphabet].argmax(axis=1)]
    top = labels[np.arange(len(labels)), best]
    return np.where(top > 0, best + 1, 0), top


def folded_codes(codes: Any, starts: Any, design: IndexDesign) -> Any:
    """The most frequent label over the repeats of each condition; without labels, one of the statuses."""
    found = np.zeros((codes.shape[0], len(starts)), codes.dtype)
    best = np.zeros(found.shape, np.uint32)
    for code in _by_rank(design):
        count = np.add.reduceat((codes == code).astype(np.uint32), starts, axis=1)
        better = count > best if code <= len(design.codes) else (found == 0) & (count > 0)
        found[better], best[better] = code, count[better]
    return found


def _by_rank(design: IndexDesign) -> Iterator[int]:
    """Labels in the order of the alphabet, then the statuses."""
    yield from (at + 1 for at in sorted(range(len(design.codes)), key=lambda at: design.codes[at]))
    yield from range(len(design.codes) + 1, len(design.meanings))


def _share(part: Any, whole: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (part / whole).astype(np.float32)
