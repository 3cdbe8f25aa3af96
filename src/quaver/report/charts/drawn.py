"""A study's charts as Altair objects, for notebooks and for figures of your own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from quaver.core.records import Estimate
from quaver.errors import QuaverError
from quaver.report.charts.figures import gallery, in_words
from quaver.report.estimate_index import Results

__all__ = ["charts"]


def charts(
    *,
    lock: Mapping[str, Any],
    annotations: pl.DataFrame,
    estimates: Sequence[Estimate],
    further: Sequence[Estimate] = (),
    width: int = 720,
) -> dict[str, Any]:
    """The report's charts by name.

    Args:
        lock: The document of ``study.lock.json``.
        annotations: The annotation frame.
        estimates: Of any measures.
        further: Estimates that only charts show.
        width: In pixels.

    Returns:
        ``altair`` charts, each with its title; they can be changed, saved and combined.

    Raises:
        QuaverError: The width is below 1.
    """
    if width < 1:
        raise QuaverError(
            "not a width of a chart", where="width", expected="1 pixel or more", found=str(width)
        )
    shown = gallery(Results(lock, annotations, estimates, audit=further))
    made = {}
    for one in shown.figures:
        try:
            made[one.name] = one.chart(width, titled=True)
        except Exception as error:  # whatever another package's chart raises
            shown.broken[one.name] = in_words(error)
    for name, reason in shown.broken.items():
        warnings.warn(f"the chart {name!r} is not drawn: {reason}", stacklevel=2)
    return made
