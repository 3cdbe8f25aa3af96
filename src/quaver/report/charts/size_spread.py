"""Spread over model size: whether larger models depend less on the prompt, task by task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.figure import BARS, Figure
from quaver.report.charts.mark_words import plainly
from quaver.report.charts.plane import Plane, Spot, draw
from quaver.report.page_numbers import printed
from quaver.report.table_rows import Table

_MOST = 12


def size_spread_figure(
    spreads: Sequence[tuple[str, str, Estimate]], sizes: Mapping[str, float], table: Table
) -> Figure | None:
    """Accuracy's spread among prompts over the models' sizes, a panel a study, each model by its name.

    Args:
        spreads: Study, model and the spread there.
        sizes: Of the models.
        table: The numbers behind it.

    Returns:
        The figure; None where no study has two models whose sizes differ.
    """
    known = [
        (study, model, one)
        for study, model, one in spreads
        if one.value is not None and sizes.get(model, 0) > 0
    ]
    shown = [
        study
        for study in dict.fromkeys(study for study, _, _ in known)
        if len({sizes[model] for name, model, _ in known if name == study}) > 1
    ][:_MOST]
    if not shown:
        return None
    spots = [
        Spot(
            math.log10(sizes[model]),
            one.value or 0.0,
            one.low,
            one.high,
            panel=study,
            series=model,
            about=f"{plainly((study, model, 'spread'), one.value or 0.0, True, (one.low, one.high))}, "
            f"size {sizes[model]:g}",
        )
        for study, model, one in known
        if study in shown
    ]
    plane = Plane(
        spots,
        "model size (logarithmic)",
        "spread of accuracy among prompts",
        y_ends=(0.0, 0.1),
        percent="y",
        powers=True,
        named=True,
    )
    values = [spot.y for spot in spots]
    return Figure(
        draw=partial(draw, plane),
        estimates=[one for _, _, one in known],
        name="size-against-spread",
        measure="spread",
        title="Spread among prompts and model size",
        subtitle=f"The highest less the lowest accuracy among a study's prompts, for each model. {BARS}",
        alternative=f"{len(spots)} spreads of {len(shown)} studies, from {printed(min(values), True)} to "
        f"{printed(max(values), True)}.",
        table=table,
    )
