"""What is shown of the grid: which rows in which order, which columns, and what fits the query."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quaver.estimation.bootstrap import one_thread
from quaver.view.asked import Asked
from quaver.view.query_language import QueryError
from quaver.view.query_scope import Block, Coded, Condition, Scope, folded_codes
from quaver.view.study_index import Column

SORTS = {
    "item": "in the study's order",
    "id": "by id",
    "instability": "least stable first",
    "agreement": "most stable first",
    "cluster": "alike rows together",
    "gold": "by gold label",
    "accuracy": "least accurate first",
    "confidence": "least confident first",
    "unlabelled": "most answers without a label first",
    "marked": "marked items first",
}
"""The orders of rows and what they are for."""

BY = ("design", "agreement", "prompt", "model", "repeat")
"""The orders of columns."""


_ROWS_AT_ONCE = 2_000


class Margins(NamedTuple):
    """Counts over the rows that are shown, for each column."""

    answered: Any
    valid: Any
    agreeing: Any
    right: Any
    with_gold: Any
    matched: Any


@dataclass
class GridView:
    """A view of the grid, computed once for all windows onto it.

    Attributes:
        scope: Where it was asked.
        condition: What must hold.
        rows: The numbers of the items, in order.
        order: The places of the shown columns among those of the scope, in order.
        groups: For each column that is shown, the columns of the scope that share it.
        margins: Counts for each column of the scope.
        counts: How many matching answers have each legend code.
        clusters: The clusters, where rows are sorted by these.
    """

    scope: Scope
    condition: Condition
    rows: Any
    order: Any
    groups: list[Any]
    margins: Margins
    counts: Any
    clusters: Clusters | None = None

    @property
    def matched(self) -> int:
        """How many answers match."""
        return int(self.margins.matched.sum())

    def columns(self) -> list[Column]:
        """The columns that are shown; of those that share one, the first."""
        design = self.scope.index.design
        return [design.columns[int(self.scope.columns[group[0]])] for group in self.groups]

    def matches(self, *, whole: bool = False) -> Iterator[Any]:
        """The matching answers by row and column, some at a time: the row, item and column of each.

        Args:
            whole: All answers of the rows that are shown instead.
        """
        columns = self.scope.columns[self.order]
        for first in range(0, len(self.rows), _ROWS_AT_ONCE):
            rows = self.rows[first : first + _ROWS_AT_ONCE]
            block = Block(self.scope, rows)
            held = block.codes > 0 if whole else matching(self.condition, block)
            shown = np.broadcast_to(held, block.codes.shape)[:, self.order]
            places, across = np.nonzero(shown)
            yield np.stack([first + places, rows[places], columns[across]], axis=1)

    def counted(self, coded: Coded) -> list[int]:
        """How many matching answers, or items, have each value of a field; first those that have none."""
        codes, weights = coded.codes, None
        if coded.level == "cell":
            weights = self.counts
        elif coded.level == "column":
            codes, weights = codes[self.scope.columns], self.margins.matched
        else:
            codes = codes[self.rows]
        counts = np.bincount(codes, weights, minlength=len(coded.names) + 1)
        return [int(n) for n in counts]

    def place_of(self, row: int | None) -> int | None:
        """The place of an item among the rows; None where it is not shown."""
        places: Any = np.flatnonzero(self.rows == row) if row is not None else ()
        return int(places[0]) if len(places) else None

    def cells(self, rows: Any, left: int, width: int) -> tuple[Any, Any, Any]:
        """A window: legend codes, which cells match, and how confident the answers are (0 for unknown)."""
        block, groups = Block(self.scope, rows), self.groups[left : left + width]
        if not len(rows) or not groups:
            empty = np.zeros((len(rows), len(groups)), self.scope.index.design.cell_type)
            return empty, empty.astype(np.uint8), empty.astype(np.uint8)
        found = np.broadcast_to(matching(self.condition, block), block.codes.shape)
        places = np.concatenate(groups)
        starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
        codes, sure = block.codes[:, places], block.plane(f"confidence-{self.scope.evaluator}", "float32")
        if len(places) > len(groups):
            codes = folded_codes(codes, starts, self.scope.index.design)
        match = np.maximum.reduceat(found[:, places].astype(np.uint8), starts, axis=1)
        sure = np.maximum.reduceat(sure[:, places], starts, axis=1)
        scaled = np.where(sure > 0, 1 + np.round(254 * np.clip(sure - 1, 0, 1)), 0).astype(np.uint8)
        return codes, match, scaled


def matching(condition: Condition, block: Block) -> Any:
    """The answers of some rows that match; calls without an answer only where the query is about these."""
    held = condition.holds(block)
    return held if condition.of_missing else held & (block.codes > 0)


def grid_view(scope: Scope, condition: Condition, asked: Asked) -> GridView:
    """A view."""
    sort = asked.sort.removeprefix("-")
    if sort not in SORTS or asked.by not in BY:
        name = asked.sort if sort not in SORTS else asked.by
        raise QueryError("there is no such order", (0, 0), expected=", ".join((*SORTS, *BY)), found=name)
    rows, margins, counts = _selected(scope, condition)
    clusters = None
    if sort == "cluster":
        clusters = clustered(scope, rows)
        rows = rows[clusters.order]
    else:
        rows = rows[_ordered(scope, rows, sort)]
    if asked.sort.startswith("-"):
        rows = rows[::-1]
        clusters = None if clusters is None else clusters.reversed()
    order = _ordered_columns(scope, margins, asked)
    groups = _grouped(scope, order) if asked.fold == "repeat" else [np.array([one]) for one in order]
    return GridView(scope, condition, rows, order, groups, margins, counts, clusters)


def _selected(scope: Scope, condition: Condition) -> tuple[Any, Margins, Any]:
    """The rows with a match, in the study's order, and what there is in them."""
    design, width = scope.index.design, len(scope.columns)
    rows: list[Any] = []
    sums = np.zeros((6, width), np.int64)
    counts = np.zeros(len(design.meanings), np.int64)
    for start, stop in scope.index.blocks():
        block = Block(scope, slice(start, stop))
        shape = (stop - start, width)
        if condition.level == "item":
            match: Any = None
            chosen: Any = np.broadcast_to(condition.holds(block), (stop - start, 1))[:, 0]
        else:
            match = np.broadcast_to(matching(condition, block), shape)
            chosen = match.any(axis=1)
        if not chosen.any():
            continue
        rows.append(start + np.flatnonzero(chosen))
        _count(block, chosen, match, sums, counts, len(design.codes))
    kinds = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return kinds.astype(np.uint32), Margins(*sums), counts


def _count(block: Block, chosen: Any, match: Any, sums: Any, counts: Any, labels: int) -> None:
    """Add what some rows hold to the sums of the columns and to the counts of codes."""
    whole = bool(chosen.all())
    codes, modal, gold = (one if whole else one[chosen] for one in (block.codes, block.modal, block.gold))
    answered = codes > 0
    match = answered if match is None else match if whole else match[chosen]
    parts = (
        answered,
        answered & (codes <= labels),
        (codes == modal) & (modal > 0),
        (codes == gold) & (gold > 0),
        answered & (gold > 0),
        match,
    )
    for total, part in zip(sums, parts, strict=True):
        total += np.count_nonzero(part, axis=0)
    counts += np.bincount(codes[match], minlength=len(counts))


def _ordered(scope: Scope, rows: Any, sort: str) -> Any:
    """The order of rows; equal ones stay in the study's order."""
    statistics, index = scope.statistics, scope.index
    if sort == "item":
        return np.arange(len(rows))
    if sort == "id":
        ranks = np.zeros(index.design.items, np.int64)
        ranks[index.ids.in_order()] = np.arange(len(ranks))
        return np.argsort(ranks[rows])
    unlabelled = statistics.answered[rows] - statistics.valid[rows]
    keys: dict[str, Any] = {
        "instability": (-unlabelled.astype(np.int64), -np.nan_to_num(statistics.instability[rows], nan=0.0)),
        "agreement": (-np.nan_to_num(statistics.agreement[rows], nan=-1.0),),
        "gold": (statistics.modal[rows], _last(index.gold[rows])),
        "accuracy": (np.nan_to_num(statistics.accuracy(index.gold)[rows], nan=2.0),),
        "unlabelled": (-unlabelled.astype(np.int64),),
    }
    if sort == "confidence":
        keys[sort] = (_confidence(scope, rows),)
    if sort == "marked":
        marked = np.zeros(index.design.items, np.int8)
        marked[list(scope.marks.get("mark", {}))] = 1
        keys[sort] = (-marked[rows],)
    return np.lexsort(keys[sort])


def _last(codes: Any) -> Any:
    """Codes with those without a meaning after all others."""
    return np.where(codes == 0, np.iinfo(codes.dtype).max, codes)


def _confidence(scope: Scope, rows: Any) -> Any:
    """The mean confidence of items; 2 where none is known."""
    found = np.full(scope.index.design.items, np.float32(2))
    for start, stop in scope.index.blocks():
        known = Block(scope, slice(start, stop)).plane(f"confidence-{scope.evaluator}", "float32")
        count = np.count_nonzero(known, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = known.sum(axis=1) / count - 1
        found[start:stop] = np.where(count > 0, mean, 2)
    return found[rows]


def _ordered_columns(scope: Scope, margins: Margins, asked: Asked) -> Any:
    """The places of the columns that are shown, in order; equal ones stay in the design's order."""
    columns = [scope.index.design.columns[int(column)] for column in scope.columns]
    shown = [index for index in range(len(columns)) if asked.columns != "matching" or margins.matched[index]]
    keys: Any = np.zeros(len(columns))
    if asked.by == "agreement":
        keys = -margins.agreeing / np.maximum(margins.valid, 1)
        if asked.fold == "repeat":  # the repeats of a condition stay together
            conditions = np.array([column.condition for column in columns])
            sums, counts = np.bincount(conditions, keys), np.bincount(conditions)
            keys = sums[conditions] / counts[conditions]
    elif asked.by == "repeat" and asked.fold != "repeat":
        keys = [column.repeat for column in columns]
    elif asked.by in ("prompt", "model"):
        names = [getattr(column, asked.by) for column in columns]
        keys = [names.index(name) for name in names]
    return np.array(sorted(shown, key=lambda at: keys[at]), np.int64)


def _grouped(scope: Scope, order: Any) -> list[Any]:
    """The columns of each condition, in the order of the first of each."""
    conditions = np.array([scope.index.design.columns[int(at)].condition for at in scope.columns[order]])
    return [order[conditions == one] for one in dict.fromkeys(conditions.tolist())]


_SAMPLE = 4_000
_MOST_CLUSTERS = 12
_MOST_COLUMNS = 200
_ROUNDS = 20
_AT_ONCE = 4_000


@dataclass
class Clusters:
    """Clusters of rows.

    Attributes:
        order: The rows' places, cluster by cluster.
        numbers: The number of each row's cluster, in that order, from 1.
        sizes: How many rows each has.
        labels: The legend code of the label that is most frequent in each; 0 for none.
    """

    order: Any
    numbers: Any
    sizes: list[int]
    labels: list[int]

    def reversed(self) -> Clusters:
        """The same the other way round."""
        return Clusters(self.order[::-1], self.numbers[::-1], self.sizes[::-1], self.labels[::-1])


@one_thread()
def clustered(scope: Scope, rows: Any) -> Clusters:
    """Cluster rows: k-means of their labels, one indicator a label and column, on a sample that places all.

    The result is the same each time. Of very many columns, some that are spread evenly are looked at.
    """
    from scipy.cluster.vq import vq  # most people never sort by clusters

    count, width = len(rows), len(scope.columns)
    if not count or not width:
        sizes = [count] if count else []
        return Clusters(np.arange(count), np.ones(count, np.int64), sizes, [0] * len(sizes))
    some = np.unique(np.linspace(0, width - 1, min(width, _MOST_COLUMNS)).astype(np.int64))
    sample = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(np.int64))]
    centres = _centres(_indicators(scope, np.asarray(sample), some))
    positions, far = np.zeros(len(rows), np.int16), np.zeros(len(rows), np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        positions[part], far[part] = vq(_indicators(scope, rows[part], some), centres)
    return _arranged(scope, rows, positions, far)


def _indicators(scope: Scope, rows: Any, some: Any) -> Any:
    """One number a label (or no label) and column: 1 where it is the row's."""
    labels = len(scope.index.design.codes)
    codes = Block(scope, rows).codes[:, some]
    codes = np.minimum(codes, labels + 1)
    return (
        (codes[:, :, None] == np.arange(1, labels + 2, dtype=codes.dtype))
        .reshape(len(rows), -1)
        .astype(np.float32)
    )


def _centres(points: Any) -> Any:
    """The centres of k-means, which begin far from each other."""
    from scipy.cluster.vq import kmeans2

    distinct = len(np.unique(points, axis=0))
    wanted = min(_MOST_CLUSTERS, distinct, max(2, int(np.sqrt(len(points) / 2))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster that has lost its points keeps its centre
        centres, _ = kmeans2(points, wanted, iter=_ROUNDS, minit="++", seed=0)
    return centres


def _arranged(scope: Scope, rows: Any, place: Any, far: Any) -> Clusters:
    """Clusters by their most frequent label, the largest first; in each, the most typical rows first."""
    modal, size = scope.statistics.modal[rows], int(place.max()) + 1
    sizes = np.bincount(place, minlength=size)
    counts = np.zeros((size, len(scope.index.design.meanings)), np.int64)
    np.add.at(counts, (place, modal), 1)
    labels = counts.argmax(axis=1)
    ranked = [int(one) for one in np.lexsort((-sizes, np.where(labels == 0, 1 << 30, labels))) if sizes[one]]
    rank = np.zeros(size, np.int64)
    rank[ranked] = np.arange(len(ranked))
    order = np.lexsort((far, rank[place]))
    return Clusters(
        order,
        rank[place][order] + 1,
        [int(sizes[one]) for one in ranked],
        [int(labels[one]) for one in ranked],
    )
