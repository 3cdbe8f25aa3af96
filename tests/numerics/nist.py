"""NIST's Statistical Reference Datasets: the data, the certified values, and Quaver's.

The sets are in the public domain: https://www.itl.nist.gov/div898/strd. Longley, Norris and Filip
are the files ``data/NAME.csv``; the others were made by rules, which stand here.
"""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from quaver.estimation.score_tests import ScoreTest

DATA = Path(__file__).parent / "data"


class Certified(NamedTuple):
    """A certified value, and what there is to compute it from.

    Attributes:
        name: Set and quantity.
        value: As NIST certifies it.
        quaver: As Quaver computes it; None where it says that it cannot.
        by: What of Quaver computes it.
    """

    name: str
    value: float
    quaver: float | None
    by: str


def certified():
    """Every value."""
    yield from _regressions()


# ---- Regressions ----

_DELTA = (759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048)


def polynomials():
    """Sets in which y is a polynomial of x: x, y, the degree, and the certified coefficients."""
    x = [Fraction(k) for k in range(21)]
    error = [*_DELTA, *_DELTA[-2::-1]]
    plain = [sum((k**j for j in range(6)), Fraction(0)) for k in x]
    small = [sum((k**j / Fraction(10) ** j for j in range(6)), Fraction(0)) for k in x]
    ones = [1.0] * 6
    found = {"Wampler1": (x, plain, 5, ones), "Wampler2": (x, small, 5, [1.0, 0.1, 0.01, 0.001, 1e-4, 1e-5])}
    for number, times in ((3, 1), (4, 100), (5, 10000)):
        y = [one + times * e for one, e in zip(plain, error, strict=True)]
        found[f"Wampler{number}"] = (x, y, 5, ones)
    for name, degree, values in (("Norris", 1, NORRIS), ("Filip", 10, FILIP)):
        table = pl.read_csv(DATA / f"{name}.csv", infer_schema=False)
        found[name] = ([Fraction(v) for v in table["x"]], [Fraction(v) for v in table["y"]], degree, values)
    return found


NORRIS = [-0.262323073774029, 1.00211681802045]
FILIP = [
    -1467.48961422980,
    -2772.17959193342,
    -2316.37108160893,
    -1127.97394098372,
    -354.478233703349,
    -75.1242017393757,
    -10.8753180355343,
    -1.06221498588947,
    -0.670191154593408e-01,
    -0.246781078275479e-02,
    -0.402962525080404e-04,
]
LONGLEY = [
    -3482258.63459582,
    15.0618722713733,
    -0.358191792925910e-01,
    -2.02022980381683,
    -1.03322686717359,
    -0.511041056535807e-01,
    1829.15146461355,
]


def designs():
    """Each set's design matrix, y, and certified coefficients."""
    found = {
        name: ([[k**j for j in range(degree + 1)] for k in x], y, values)
        for name, (x, y, degree, values) in polynomials().items()
    }
    table = pl.read_csv(DATA / "Longley.csv", infer_schema=False).rows()
    rows = [[Fraction(1), *map(Fraction, row[1:])] for row in table]
    return found | {"Longley": (rows, [Fraction(row[0]) for row in table], LONGLEY)}


def _regressions():
    for name, (rows, y, values) in sorted(designs().items()):
        matrix, outcome = np.array(rows, float), np.array(y, float)
        for place, value in enumerate(values):
            contrast = np.eye(len(values))[place]
            try:
                quaver = ScoreTest(matrix, outcome, contrast).value
            except ValueError:
                quaver = None
            yield Certified(f"{name} B{place}", value, quaver, "conclusion, least squares")


def exact(rows, y):
    """Least squares in fractions, without any rounding: what the certified values are checked against."""
    size = len(rows[0])
    system = [
        [sum((r[a] * r[b] for r in rows), Fraction(0)) for b in range(size)]
        + [sum((r[a] * v for r, v in zip(rows, y, strict=True)), Fraction(0))]
        for a in range(size)
    ]
    for at in range(size):
        pivot = next(row for row in range(at, size) if system[row][at])
        system[at], system[pivot] = system[pivot], system[at]
        system[at] = [value / system[at][at] for value in system[at]]
        for row in range(size):
            if row != at:
                times = system[row][at]
                system[row] = [v - times * w for v, w in zip(system[row], system[at], strict=True)]
    return [row[-1] for row in system]
