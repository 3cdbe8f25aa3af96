"""Writes ``pingouin_values.json``: small tables of numbers, and what pingouin gives of them.

Run by hand in an environment of its own, which has ``pingouin``; the project does not depend on it::

    python tests/agreement/pingouin_values.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np


def tables():
    rng = np.random.default_rng(7)
    for items, raters, noise, apart in ((6, 4, 1.0, 2.0), (20, 2, 0.5, 0.0), (40, 3, 5.0, 1.0)):
        true = rng.normal(50, 10, items)
        yield true[:, None] + rng.normal(0, noise, (items, raters)) + apart * np.arange(raters)
    yield np.round(np.exp(rng.normal(3, 1, (30, 2))), 1)


def of(table):
    import matplotlib as mpl
    import pandas as pd
    import pingouin

    mpl.use("Agg")
    rows = [(item, rater, one) for item, row in enumerate(table) for rater, one in enumerate(row)]
    frame = pd.DataFrame(rows, columns=["item", "rater", "number"])
    found = pingouin.intraclass_corr(frame, targets="item", raters="rater", ratings="number")
    kinds = found.set_index("Type")["ICC"]
    ax = pingouin.plot_blandaltman(table[:, 0], table[:, 1], confidence=None)
    lines = sorted({round(float(line.get_ydata()[0]), 12) for line in ax.lines} - {0.0})  # 0 is an axis
    ax.figure.clf()
    return {
        "table": table.tolist(),
        "icc": float(kinds["ICC(A,1)"] if "ICC(A,1)" in kinds.index else kinds["ICC2"]),
        "limits": lines,
        "correlation": float(pingouin.corr(table[:, 0], table[:, 1])["r"].iloc[0]),
    }


if __name__ == "__main__":
    found = {"pingouin": version("pingouin"), "tables": [of(table.round(4)) for table in tables()]}
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
