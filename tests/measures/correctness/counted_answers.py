"""Answers from files that hold their counts: a row an answer, as models take them."""

from pathlib import Path

import polars as pl

FOLDER = Path(__file__).parents[2] / "data"


def answers(name):
    """The answers of a file with the columns ``right`` and ``asked``."""
    counted = pl.read_csv(FOLDER / name)
    each = [
        counted.with_columns(correct=pl.lit(value), count=count)
        for value, count in ((1, pl.col("right")), (0, pl.col("asked") - pl.col("right")))
    ]
    rows = pl.concat(each).filter(pl.col("count") > 0)
    return rows.with_columns(pl.int_ranges("count").alias("k")).explode("k").drop("right", "asked", "count")
