"""The numbers in which promptstability's papers sum up a file: of repeats, and over temperatures.

Each is computed from the annotations, and beside it from the scores that promptstability has written into the
file (``ka_mean`` and so on), where there are any. Source: Barrie, Palaiologou & Törnberg (2024),
arXiv:2407.02039, and its replication material.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.core.column_names import column_among
from quaver.core.records import Estimate
from quaver.design.items.text_lines import Row
from quaver.study.imports.agreement_import import read_table
from quaver.study.session import Study

BAR, NEAR, NARROW = 0.8, 0.01, 0.02
"""An alpha that is often asked for; how near to its last value it has settled; a narrow interval."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One number.

    Attributes:
        name: What it is.
        value: From the annotations; None where it is undefined or not reached.
        published: From the scores in the file.
    """

    name: str
    value: float | None
    published: float | None = None


class Curve(NamedTuple):
    """Scores along repeats or temperatures: places, values and the ends of their intervals."""

    places: Floats
    values: Floats
    lows: Floats
    highs: Floats

    @property
    def widths(self) -> Floats:
        """How wide the intervals are."""
        return self.highs - self.lows


Numbers = dict[str, float | None]


def stability_summary(study: Study) -> list[SummaryRow]:
    """The summary of an imported study; empty where it has neither repeats nor temperatures."""
    frame = study.annotations()
    rows = _rows(study)
    found: list[SummaryRow] = []
    if frame["repeat"].n_unique() > 1:
        curve, steps = (
            _of(study.measure(name, by=[]), "repeats")
            for name in ("intra_pss_cumulative", "intra_pss_adjacent")
        )
        ks = Curve(np.arange(2.0, 2 + curve.values.size), *curve[1:])
        found += _beside(of_repeats(ks), of_repeats(_written(rows, "iteration", ("cumulative_", ""), 1)))
        found += _beside(of_neighbours(steps), of_neighbours(_written(rows, "iteration", ("adjacent_",))))
    heat = column_among("temperature", frame.columns)
    if heat in frame.columns and frame[heat].n_unique() > 1:
        hot = _of(study.measure("inter_pss", by=[heat]), heat)
        found += _beside(of_temperatures(hot), of_temperatures(_written(rows, "temperature", ("",))))
    return found


def of_repeats(curve: Curve) -> Numbers:
    """What the alphas of the first k repeats say.

    >>> ends = np.array([0.1, 0.05, 0.01])
    >>> made = Curve(np.array([2.0, 3.0, 4.0]), np.array([0.7, 0.795, 0.8]), -ends, ends)
    >>> found = of_repeats(made)
    >>> found["repeats until alpha stays within 0.01 of its last value"], found["alpha of all repeats"]
    (3.0, 0.8)
    """
    if curve.values.size < 2:
        return {}
    final, widths = float(curve.values[-1]), curve.widths
    return {
        "alpha of all repeats": final,
        "width of its 95% interval": float(widths[-1]),
        f"repeats until alpha stays within {NEAR} of its last value": _from(
            curve.places, np.abs(curve.values - final) <= NEAR
        ),
        f"repeats until the interval stays no wider than {NARROW}": _from(curve.places, widths <= NARROW),
        "largest distance from alpha of all repeats": float(np.abs(curve.values - final).max()),
    }


def of_neighbours(curve: Curve) -> Numbers:
    """What the alphas of each repeat with the next one say."""
    if curve.values.size < 2:
        return {}
    quarters = np.percentile(curve.values, [25, 75])
    return {
        "neighbouring repeats: mean alpha": float(curve.values.mean()),
        "neighbouring repeats: SD": _sd(curve.values),
        "neighbouring repeats: interquartile range": float(quarters[1] - quarters[0]),
        "neighbouring repeats: lowest alpha": float(curve.values.min()),
        "neighbouring repeats: highest alpha": float(curve.values.max()),
        f"neighbouring repeats: share under {BAR}": float((curve.values < BAR).mean()),
        "neighbouring repeats: mean width of the intervals": float(curve.widths.mean()),
    }


def of_temperatures(curve: Curve) -> Numbers:
    """What the alphas over paraphrases say, of each temperature."""
    if curve.values.size < 2:
        return {}
    lowest = int(curve.values.argmin())
    return {
        "temperatures: mean alpha": float(curve.values.mean()),
        "temperatures: SD": _sd(curve.values),
        "temperatures: lowest alpha": float(curve.values[lowest]),
        "temperature of the lowest alpha": float(curve.places[lowest]),
        "temperatures: highest alpha": float(curve.values.max()),
        "temperatures: range": float(np.ptp(curve.values)),
        f"temperatures: share under {BAR}": float((curve.values < BAR).mean()),
    }


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def _from(places: Floats, holds: NDArray[np.bool_]) -> float | None:
    """The first place from which a condition holds to the end; None where it does not at the end."""
    fails = np.flatnonzero(~holds)
    first = int(fails[-1]) + 1 if fails.size else 0
    return float(places[first]) if first < holds.size else None


def _of(estimates: Sequence[Estimate], column: str) -> Curve:
    """The curve of estimates; those without a value are left out."""
    defined = [estimate for estimate in estimates if estimate.value is not None]
    ends = [(estimate.value, estimate.low, estimate.high) for estimate in defined]
    table = np.array([[np.nan if end is None else end for end in row] for row in ends], np.float64)
    places = np.array([_number(estimate.cell.get(column, "")) for estimate in defined], np.float64)
    return Curve(places, *table.reshape(-1, 3).T)


def _written(rows: Sequence[Row], column: str, kinds: Sequence[str], more: int = 0) -> Curve:
    """The curve of the scores that stand in the file, by the first kind of columns that it has."""
    names = (
        next((found for kind in kinds if set(found := _names(kind)) <= set(rows[0])), None) if rows else None
    )
    scores: dict[float, list[float]] = {}
    if names and column in rows[0]:
        for row in rows:
            numbers = [_number(row.text(name)) for name in (column, *names)]
            if np.isfinite(numbers[:2]).all():
                scores[numbers[0] + more] = numbers[1:]
    table = np.array([scores[score] for score in sorted(scores)], np.float64).reshape(-1, 3)
    return Curve(np.array(sorted(scores)), *table.T)


def _names(kind: str) -> tuple[str, str, str]:
    return f"{kind}ka_mean", f"{kind}ka_lower", f"{kind}ka_upper"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _rows(study: Study) -> Sequence[Row]:
    """The rows of the file that was imported; none of a large text file that has no scores, by its header."""
    spec = study.spec.annotations
    if spec is None:
        return ()
    path = study.folder / spec.source
    if path.suffix.lower() in (".csv", ".tsv"):
        with path.open(encoding=spec.encoding) as file:
            if "ka_mean" not in file.readline():
                return ()
    return read_table(path, spec.encoding, spec.separator, spec.sheet, quote=spec.quote)


def _beside(own: Numbers, published: Numbers) -> list[SummaryRow]:
    return [SummaryRow(name, value, published.get(name)) for name, value in own.items()]
