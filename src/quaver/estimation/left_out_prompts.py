"""The prompts of a reading's cells, and the cells in which some of them are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.annotations import rows_with
from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.arrangement import ColumnReader
from quaver.estimation.encoding import Grid
from quaver.estimation.gathered import Gathered
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell

ORIGINAL = "original"
FLAGGED = "flagged"


def in_every_group(annotations: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The annotations with the original's counted in each combination of ``by`` that has paraphrases.

    A paraphraser's paraphrases have a temperature, the original has none: it is the same at all of them,
    and one of the set at each. So are its rows here, once for every value that it lacks.

    >>> rows = {"original": [True, False, False], "heat": [None, 0.5, 1.0], "label": list("abc")}
    >>> frame = pl.DataFrame(rows)
    >>> in_every_group(frame, ["heat"]).rows()
    [(False, 0.5, 'b'), (False, 1.0, 'c'), (True, 0.5, 'a'), (True, 1.0, 'a')]
    """
    if ORIGINAL not in annotations.columns or annotations[ORIGINAL].dtype != pl.Boolean:
        return annotations
    expression = pl.col(ORIGINAL).fill_null(value=False)
    originals = annotations.filter(expression)
    lacking = []
    for name in by:
        if name in annotations.columns and originals.height and originals[name].is_null().all():
            lacking.append(name)
    groups = annotations.filter(~expression).select(lacking).drop_nulls().unique(maintain_order=True)
    if not lacking or groups.is_empty():
        return annotations
    shared = originals.drop(lacking).join(groups, how="cross").select(annotations.columns)
    return pl.concat([annotations.filter(~expression), shared])


def without_flagged(annotations: pl.DataFrame) -> pl.DataFrame:
    """The annotations of paraphrases whose meaning is not in doubt."""
    if FLAGGED not in annotations.columns:
        return annotations
    return annotations.filter(~pl.col(FLAGGED).fill_null(value=False))


def left_out(annotations: pl.DataFrame, cell: Mapping[str, str]) -> int:
    """How many of the annotations in a cell are of flagged paraphrases."""
    if FLAGGED not in annotations.columns:
        return 0
    mine = annotations.filter(pl.col(FLAGGED).fill_null(value=False))
    for column, value in cell.items():
        if column in mine.columns:
            mine = rows_with(mine, column, value)
    return mine.height


_PARTS = 40
"""Of more prompts than this, random groups are left out."""
_GROUPS = 40
"""Of more units than this, random groups are taken together: they show an interaction as well."""


class Prompts:
    """The prompts of each cell of a reading, in the parts that are left out in turn."""

    def __init__(self, data: MeasureInput) -> None:
        self._columns, self._by = data.columns, tuple(data.by)
        self._seed = data.resampling.seed
        gathered = data.gathered
        named = dict(data.columns or {})
        self.columns = ColumnReader(gathered, named).of("prompt" if "prompt" in named else "variant")
        self._parts: dict[tuple[str, ...], dict[str, int]] = {}
        self._left: dict[int, tuple[Grid, _LeftOut]] = {}
        cells, codes = gathered.together(*self._by), gathered.together(*self.columns)
        if not self.columns or not gathered.height:
            return
        there = np.zeros((len(cells.values), len(codes.values)), bool)
        there[cells.codes, codes.codes] = True
        pairs = np.flatnonzero(there)
        for place in np.unique(pairs // len(codes.values)).tolist():
            own = pairs[pairs // len(codes.values) == place] % len(codes.values)
            names = [_name(codes.values[index]) for index in own.tolist()]
            parts = np.arange(len(names))
            if len(names) > _PARTS:  # random ones
                order = np.random.default_rng(derive(self._seed, "prompts")).permutation(len(names))
                parts = np.argsort(order) * _PARTS // len(names)
            key = tuple(cells.values[place].values())
            self._parts[key] = dict(zip(names, parts.tolist(), strict=True))

    def key(self, of: Estimate | Cell) -> tuple[str, ...] | None:
        """The cell that an estimate belongs to; None where it belongs to no single one."""
        where: Mapping[str, str] = of.where if isinstance(of, Cell) else of.cell
        return tuple(where[name] for name in self._by) if set(self._by) <= set(where) else None

    def names(self, of: Estimate) -> Mapping[str, int]:
        """The prompts behind an estimate, each with the part that it is left out in."""
        key = self.key(of)
        if key is None or not self.columns:
            return {}
        result = self._parts.get(key, {})
        if set(self.columns) <= set(of.cell):  # it is about one of them
            return {name: 0 for name in [_name({n: of.cell[n] for n in self.columns})] if name in result}
        return result

    def counted(self, estimate: Estimate) -> Estimate:
        """The estimate with the number of its prompts in the details."""
        count = len(self.names(estimate))
        return replace(estimate, details={**estimate.details, "prompts": count}) if count else estimate

    def parts(self) -> int:
        """How many parts there are, in the cell that has most."""
        return max((max(of.values()) + 1 for of in self._parts.values() if len(of) > 1), default=0)

    def without(self, part: int, cell: Cell, gathered: Gathered) -> Cell | None:
        """A cell without some of its prompts; None where it has no such part, or none would be left.

        Its units are few random groups of the cell's: enough to see how items and prompts interact.
        """
        known = self._parts.get(self.key(cell) or (), {})
        if len(known) < 2 or part not in known.values():
            return None
        if id(cell.grid) not in self._left:
            codes = gathered.together(*self.columns)
            of = np.array([known.get(_name(value), -1) for value in codes.values] + [-1], np.int16)
            self._left[id(cell.grid)] = cell.grid, _LeftOut.of(cell, of, codes.codes)
        return _coarse(self._left[id(cell.grid)][1].lacking(part, cell), self._seed)

    def whole(self, cell: Cell, gathered: Gathered) -> Cell:
        """A cell with all its prompts, its units in the random groups that `without` takes."""
        return _coarse(cell, self._seed)


def _name(value: Mapping[str, str]) -> str:
    return "\x1f".join(value.values())


def _coarse(cell: Cell, seed: int) -> Cell:
    """A cell whose units are taken together in random groups, where they are many."""
    count = cell.units.count
    if count <= _GROUPS:
        return cell
    rng = np.random.default_rng(derive(seed, "interaction", str(count)))
    group = rng.permutation(np.arange(count) * _GROUPS // count)
    return replace(cell, clusters=group if cell.clusters is None else group[cell.clusters])


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Which answers of a cell are of which part of the prompts.

    Attributes:
        axis: 1 where each stratum is of one part, 2 where each rater is; 0 where neither is.
        parts: The part of each stratum or rater; of each place, shape as ``codes``, where neither has one.
            -1 is none.
    """

    axis: int
    parts: NDArray[np.int16]

    @classmethod
    def of(cls, cell: Cell, part: NDArray[np.int16], asked: NDArray[Any]) -> _LeftOut:
        """Of a cell, the part of each prompt, and each row's prompt."""
        rows = cell.rows
        there = rows >= 0
        places = np.where(there, part[asked[rows]], -1)
        for axis, others in ((2, (0, 1)), (1, (0, 2))):
            most = places.max(others, initial=-1)
            if not (there & (places != np.expand_dims(most, others))).any():
                return cls(axis, most)
        return cls(0, places)

    def lacking(self, part: int, cell: Cell) -> Cell:
        """The cell without a part; strata and raters that have no answers left go too."""
        taken = cell.grid.taken
        if self.axis == 2:
            raters = np.flatnonzero(self.parts != part)
            strata = np.flatnonzero(taken[:, raters].any(1))
        elif self.axis == 1:
            strata = np.flatnonzero(self.parts != part)
            raters = np.flatnonzero(taken[strata].any(0))
        else:
            gone = self.parts == part
            grid = cell.grid.emptied(gone)
            strata, raters = np.flatnonzero(grid.taken.any(1)), np.flatnonzero(grid.taken.any(0))
            numbers = {role: np.where(gone, np.nan, values) for role, values in cell.numbers.items()}
            cell = replace(cell, grid=grid, numbers=numbers)
        return replace(
            cell,
            grid=cell.grid.part(strata, raters),
            numbers={role: values[:, strata][:, :, raters] for role, values in cell.numbers.items()},
            strata=tuple(cell.strata[index] for index in strata),
            raters=tuple(cell.raters[index] for index in raters),
        )
