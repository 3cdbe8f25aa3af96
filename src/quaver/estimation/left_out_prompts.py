"""The prompts of a reading's cells, and the cells in which some of them are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import ColumnReader, Columns
from quaver.estimation.encoding import Codes, combine, encode
from quaver.estimation.reading import Reading

_PARTS = 40
"""Of more prompts than this, random groups are left out."""
_GROUPS = 40
"""Of more units than this, random groups are taken together: they show an interaction as well."""


def prompt_columns(frame: pl.DataFrame, columns: Columns | None) -> tuple[str, ...]:
    """The columns whose combinations are the prompts: those in the role ``prompt``, else ``variant``."""
    named = dict(columns or {})
    return ColumnReader(frame, named).of("prompt" if "prompt" in named else "variant")


class Prompts:
    """The prompts of each cell of a reading, in the parts that are left out in turn."""

    def __init__(self, reading: Reading) -> None:
        self._columns, self._by = reading.columns, tuple(reading.by)
        self._seed = reading.resampling.seed
        self.columns = prompt_columns(reading.frame, reading.columns)
        self._known: dict[int, tuple[pl.DataFrame, Codes]] = {}
        self._parts: dict[tuple[str, ...], dict[str, int]] = {}
        frame = reading.frame
        cells = combine([(name, encode(frame[name], name)) for name in self._by], frame.height)
        asked = self._of(frame)
        if not self.columns or not frame.height:
            return
        pairs = np.unique(cells.codes * len(asked.values) + asked.codes)
        for place in np.unique(pairs // len(asked.values)).tolist():
            own = pairs[pairs // len(asked.values) == place] % len(asked.values)
            names = [_name(asked.values[index]) for index in own.tolist()]
            key = tuple(cells.values[place].values())
            self._parts[key] = dict(zip(names, _parted(len(names), reading.resampling.seed), strict=True))

    def key(self, of: Estimate | Cell) -> tuple[str, ...] | None:
        """The cell that an estimate belongs to; None where it belongs to no single one."""
        where: Mapping[str, str] = of.where if isinstance(of, Cell) else of.cell
        return tuple(where[name] for name in self._by) if set(self._by) <= set(where) else None

    def names(self, of: Estimate) -> Mapping[str, int]:
        """The prompts behind an estimate, each with the part that it is left out in."""
        key = self.key(of)
        if key is None or not self.columns:
            return {}
        found = self._parts.get(key, {})
        if set(self.columns) <= set(of.cell):  # it is about one of them
            return {name: 0 for name in [_name({n: of.cell[n] for n in self.columns})] if name in found}
        return found

    def counted(self, one: Estimate) -> Estimate:
        """The estimate with the number of its prompts in the details."""
        count = len(self.names(one))
        return replace(one, details={**one.details, "prompts": count}) if count else one

    def parts(self) -> int:
        """How many parts there are, in the cell that has most."""
        return max((max(of.values()) + 1 for of in self._parts.values() if len(of) > 1), default=0)

    def without(self, part: int, cell: Cell, frame: pl.DataFrame) -> Cell | None:
        """A cell without some of its prompts; None where it has no such part, or none would be left.

        Its units are few random groups of the cell's: enough to see how items and prompts interact.
        """
        known = self._parts.get(self.key(cell) or (), {})
        if len(known) < 2 or part not in known.values():
            return None
        codes = self._of(frame)
        leaves = np.array([known.get(_name(value), -1) == part for value in codes.values] + [False])
        of = np.append(codes.codes, -1)  # a place without an annotation is of row -1
        return _coarse(_lacking(cell, leaves[of[cell.rows]]), self._seed)

    def whole(self, cell: Cell, frame: pl.DataFrame) -> Cell:
        """A cell with all its prompts, its units in the random groups that `without` takes."""
        return _coarse(cell, self._seed)

    def _of(self, frame: pl.DataFrame) -> Codes:
        """Each row's prompt."""
        if id(frame) not in self._known:
            encoded = [(name, encode(frame[name], name)) for name in self.columns]
            self._known[id(frame)] = frame, combine(encoded, frame.height)
        return self._known[id(frame)][1]


def _name(value: Mapping[str, str]) -> str:
    return "\x1f".join(value.values())


def _parted(prompts: int, seed: int) -> list[int]:
    """The part of each prompt: its own, or where there are many, one of as many random ones."""
    if prompts <= _PARTS:
        return list(range(prompts))
    order = np.random.default_rng(derive(seed, "prompts")).permutation(prompts)
    return [int(place) * _PARTS // prompts for place in np.argsort(order)]


def _coarse(cell: Cell, seed: int) -> Cell:
    """A cell whose units are taken together in random groups, where they are many."""
    count = cell.units.count
    if count <= _GROUPS:
        return cell
    rng = np.random.default_rng(derive(seed, "interaction", str(count)))
    group = rng.permutation(np.arange(count) * _GROUPS // count)
    return replace(cell, clusters=group if cell.clusters is None else group[cell.clusters])


def _lacking(cell: Cell, gone: NDArray[np.bool_]) -> Cell:
    """A cell without the annotations that are marked; strata and raters that have none left go too."""
    rows = np.where(gone, -1, cell.rows).astype(np.int32)
    there = rows >= 0
    strata, raters = np.flatnonzero(there.any((0, 2))), np.flatnonzero(there.any((0, 1)))

    def kept(values: NDArray[Any], nothing: Any) -> NDArray[Any]:
        return np.where(gone, nothing, values)[:, strata][:, :, raters].astype(values.dtype)

    return replace(
        cell,
        codes=kept(cell.codes, -1),
        unanswered=kept(cell.unanswered, False),
        undecided=kept(cell.undecided, False),
        rows=rows[:, strata][:, :, raters],
        numbers={role: kept(values, np.nan) for role, values in cell.numbers.items()},
        strata=tuple(cell.strata[index] for index in strata),
        raters=tuple(cell.raters[index] for index in raters),
    )
