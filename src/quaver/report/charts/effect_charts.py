"""What each level of a factor does to compliance, accuracy, F1 and the prompt's length."""

from __future__ import annotations

from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.figure import BARS, Figure, cell_name, spoken
from quaver.report.charts.forest import Forest, Mark, Reference, draw
from quaver.report.estimate_index import Results, varying

__all__ = ["effect_figures"]

_OUTCOMES = {"compliance": "valid", "accuracy": "right", "f1": "F1"}
_PREFIX = "factor_effects_"
_MOST_ROWS = 60
_MOST_SERIES = 4


def effect_figures(results: Results) -> list[Figure]:
    """The differences between levels; their interactions; and what the levels cost in tokens."""
    outcomes = "in compliance, accuracy and F1"
    made = [
        _figure(
            results,
            "_difference",
            list(_OUTCOMES),
            "What each level of a factor changes",
            f"Difference {outcomes} (valid: answers that do as they were asked), all else averaged, to the "
            "level that it is compared with (the others’ mean, unless the study names one).",
        ),
        _figure(
            results,
            "_interaction",
            list(_OUTCOMES),
            "What two factors’ levels do together, beyond what each does",
            f"Interactions {outcomes}: 0 where the effects add up.",
            closer=True,
        ),
        _figure(
            results,
            "_difference",
            ["length"],
            "What each level costs in tokens of the prompt",
            "Difference in the mean length of a prompt.",
            closer=True,
        ),
    ]
    return [figure for figure in made if figure is not None]


def _figure(
    results: Results, kind: str, outcomes: list[str], title: str, told: str, *, closer: bool = False
) -> Figure | None:
    measures = {f"{_PREFIX}{outcome}{kind}": outcome for outcome in outcomes}
    every = [
        one for name in measures for one in results.in_order(results.main(name)) if one.value is not None
    ]
    some = _largest(every)
    if not some:
        return None
    columns = [name for name in varying(every) if name not in ("factor", "level")]
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
        )
        for one in some
        if cell_name(one, columns, results, "") in series
    ]
    percent = outcomes != ["length"]
    name = {"_difference": "effects", "_interaction": "interactions"}[kind] if percent else "token-effects"
    cut = f" {len(marks)} of {len(every)} are drawn." if len(marks) < len(every) else ""
    axis = "difference" if percent else "difference in tokens"
    forest = Forest(marks, axis, percent=percent, references=[Reference(0.0, "")])
    ends = ("", "_difference", *(() if percent else ("_interaction",)))
    covered = (f"{_PREFIX}{outcome}{end}" for outcome in outcomes for end in ends)
    return Figure(
        f"factor-{name}",
        f"{_PREFIX}{outcomes[0]}{kind}",
        "factors",
        title,
        f"{told} Dashed: no difference. {BARS}{cut}",
        partial(draw, forest),
        every,
        f"{title}. {spoken(every, results)}",
        also=(*measures, *covered),
        closer=closer,
    )


def _largest(every: list[Estimate]) -> list[Estimate]:
    """Those of the rows that move most, where there are too many rows; in their order."""
    rows: dict[tuple[str, str], float] = {}
    for one in every:
        key = (one.cell.get("factor", ""), one.cell.get("level", ""))
        rows[key] = max(rows.get(key, 0.0), abs(one.value or 0.0))
    kept = set(sorted(rows, key=lambda key: -rows[key])[:_MOST_ROWS])
    return [one for one in every if (one.cell.get("factor", ""), one.cell.get("level", "")) in kept]
