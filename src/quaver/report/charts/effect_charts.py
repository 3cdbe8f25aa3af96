"""What each level of a factor does to compliance, accuracy, F1 and the prompt's length."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, cell_name, cut
from quaver.report.charts.forest import Forest, Mark, Reference, draw
from quaver.report.charts.mark_words import about as in_words
from quaver.report.estimate_index import Results, varying

_OUTCOMES = {"compliance": "valid", "accuracy": "correct", "f1": "F1"}
_PREFIX = "factor_effects_"
_MOST_ROWS = 60
_MOST_SERIES = 4


@chart(
    title="What each level of a factor changes",
    section="factors",
    kinds=("factorial",),
    measures=("factor_effects_*",),
    place=40,
)
def factor_effects(results: Results) -> Iterator[Figure]:
    """The differences between levels; their interactions; and what the levels cost in tokens."""
    outcomes = "in compliance, accuracy and F1"
    yield from _figure(
        results,
        "effects",
        list(_OUTCOMES),
        "What each level of a factor changes",
        f"Difference {outcomes} (valid: answers that follow the instructions), averaged over everything "
        "else, from the level that it is compared with (the others’ mean, unless the study names one).",
    )
    yield from _figure(
        results,
        "interactions",
        list(_OUTCOMES),
        "What the levels of two factors do together, beyond what each does",
        f"Interactions {outcomes}: 0 where the effects add up.",
        closer=True,
    )
    yield from _figure(
        results,
        "token-effects",
        ["length"],
        "What each level costs in tokens of the prompt",
        "Difference in the mean length of a prompt.",
        closer=True,
    )


def _figure(
    results: Results, name: str, outcomes: list[str], title: str, about: str, *, closer: bool = False
) -> Iterator[Figure]:
    kind = "interaction" if name == "interactions" else "difference"
    measures = {f"{_PREFIX}{outcome}_{kind}": outcome for outcome in outcomes}
    every = [one for measure in measures for one in results.known(measure)]
    some = _largest(every)
    if not some:
        return
    columns = [column for column in varying(every) if column not in ("factor", "level")]
    series = list(dict.fromkeys(cell_name(one, columns, results, "") for one in some))[:_MOST_SERIES]
    marks = [
        Mark(
            one.value or 0.0,
            one.low,
            one.high,
            row=one.cell.get("level", ""),
            group=one.cell.get("factor", ""),
            panel=_OUTCOMES.get(measures[one.measure], ""),
            series=cell_name(one, columns, results, ""),
            about=in_words(one, results),
        )
        for one in some
        if cell_name(one, columns, results, "") in series
    ]
    tokens = outcomes == ["length"]
    axis = "difference in tokens" if tokens else "difference"
    yield Figure(
        draw=partial(draw, Forest(marks, axis, percent=not tokens, references=[Reference(0.0, "")])),
        estimates=every,
        name=f"factor-{name}",
        measure=f"{_PREFIX}{outcomes[0]}_{kind}",
        title=title,
        subtitle=f"{about} Dashed: no difference. {BARS}{cut(len(marks), len(every), 'effects', 'largest')}",
        closer=closer,
        covers=tuple(f"{_PREFIX}{outcome}*" for outcome in outcomes),
    )


def _largest(every: list[Estimate]) -> list[Estimate]:
    """The estimates of the rows with the largest effects, where there are too many rows; in their order."""
    rows: dict[tuple[str, str], float] = {}
    for one in every:
        key = (one.cell.get("factor", ""), one.cell.get("level", ""))
        rows[key] = max(rows.get(key, 0.0), abs(one.value or 0.0))
    kept = set(sorted(rows, key=lambda key: -rows[key])[:_MOST_ROWS])
    return [one for one in every if (one.cell.get("factor", ""), one.cell.get("level", "")) in kept]
