"""Writes ``ppi_python.json``: what ppi-python 0.2.3 gives of small data sets, which the file holds as well.

Run by hand in an environment of its own, which has ``ppi-python``; the project does not depend on it::

    python tests/measures/corrected/ppi_python.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np


def data(seed, gold, others, accuracy):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(gold + others).round(3)
    y = (rng.random(x.size) < 1 / (1 + np.exp(0.5 - 0.8 * x))).astype(float)
    wrong = rng.random(x.size) > accuracy + 0.1 * np.tanh(x)
    return x, y, np.where(wrong, 1 - y, y)


def numbers(seed, gold, others):
    """Numbers of five kinds: normal, lognormal, counts, with a biased prediction, with a useless one."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(gold + others).round(3)
    y = [
        50 + 3 * x + rng.normal(0, 5, x.size),
        np.exp(3 + 0.3 * x + rng.normal(0, 0.4, x.size)),
        rng.poisson(np.exp(0.5 + 0.4 * x)),
        20 + rng.normal(0, 4, x.size),
        100 - 5 * x + rng.normal(0, 20, x.size),
    ][seed]
    f = [
        y,
        y * np.exp(rng.normal(0, 0.2, x.size)),
        y + (rng.random(x.size) < 0.2),
        5 + 0.5 * y,
        y.mean() + 0 * y,
    ]
    return x, np.round(y, 2), np.abs(np.round(f[seed] + rng.normal(0, 0.1 * y.std(), x.size), 2))


def split(gold, *columns):
    return [part for one in columns for part in (one[:gold], one[gold:])]


def means_and_slopes(x1, y1, f1, x2, f2):
    """The mean, and both coefficients of a linear regression: the value and the ends of its interval."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate, ppi_ols_ci, ppi_ols_pointestimate

    found = {}
    for tuning in (None, 1.0, 0.4):
        given = {"lam": tuning}
        mean = float(np.ravel(ppi_mean_pointestimate(y1, f1, f2, **given))[0])
        low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(y1, f1, f2, alpha=0.05, **given))
        found[f"mean {tuning}"] = [mean, low, high]
        for at in (0, 1):
            coord = {"coord": at} if tuning is None else {}
            point = ppi_ols_pointestimate(x1, y1, f1, x2, f2, **given, **coord)[at]
            ends = ppi_ols_ci(x1, y1, f1, x2, f2, alpha=0.05, **given, **coord)
            found[f"linear {at} {tuning}"] = [float(point), *(float(end[at]) for end in ends)]
    return found


def case(gold, x, y, f):
    x1, x2, y1, _, f1, f2 = split(gold, np.stack([np.ones(x.size), x], 1), y, f)
    found = means_and_slopes(x1, y1, f1, x2, f2)
    return {"gold": gold, "x": x.tolist(), "y": y[:gold].tolist(), "f": f.tolist(), "found": found}


def main():
    labels = ((1, 60, 400, 0.8), (2, 200, 300, 0.65), (3, 120, 900, 0.93))
    cases = [case(gold, *data(seed, gold, *more)) for seed, gold, *more in labels]
    given = ((0, 40, 160), (1, 60, 200), (2, 80, 120), (3, 50, 150), (4, 60, 240))
    of_numbers = [case(gold, *numbers(seed, gold, others)) for seed, gold, others in given]
    document = {"made by": f"ppi-python {version('ppi-python')}", "cases": cases, "numbers": of_numbers}
    Path(__file__).with_suffix(".json").write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
