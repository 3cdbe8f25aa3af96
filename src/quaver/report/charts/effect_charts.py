"""What each level of a factor does to compliance, accuracy, F1 and the prompt's length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures, ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, chart, cut, first_and_last, spoken
from quaver.report.charts.forest import Forest, Mark, Reference, draw_forest
from quaver.report.charts.scores import score_chart
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.page_words import in_words, printed

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
    results: Results, name: str, outcomes: list[str], title: str, meaning: str, *, closer: bool = False
) -> Iterator[Figure]:
    kind = "interaction" if name == "interactions" else "difference"
    measures = {f"{_PREFIX}{outcome}_{kind}": outcome for outcome in outcomes}
    estimates = [estimate for measure in measures for estimate in results.known(measure)]
    some = _largest(estimates)
    if not some:
        return
    columns = [column for column in varying(estimates) if column not in ("factor", "level")]
    series = list(dict.fromkeys(cell_name(estimate, columns, results, "") for estimate in some))[
        :_MOST_SERIES
    ]
    marks = [
        Mark.of(
            estimate,
            results,
            row=estimate.cell.get("level", ""),
            group=in_words(estimate.cell.get("factor", "")),
            panel=_OUTCOMES.get(measures[estimate.measure], ""),
            series=cell_name(estimate, columns, results, ""),
        )
        for estimate in some
        if cell_name(estimate, columns, results, "") in series
    ]
    tokens = outcomes == ["length"]
    axis = "difference in tokens" if tokens else "difference"
    yield Figure(
        draw=partial(draw_forest, Forest(marks, axis, percent=not tokens, references=[Reference(0.0, "")])),
        estimates=estimates,
        name=f"factor-{name}",
        measure=f"{_PREFIX}{outcomes[0]}_{kind}",
        title=title,
        subtitle=f"{meaning} Dashed: no difference. {BARS}"
        + cut(len(marks), len(estimates), "effects", "largest"),
        closer=closer,
        covers=tuple(f"{_PREFIX}{outcome}*" for outcome in outcomes),
    )


def _largest(estimates: list[Estimate]) -> list[Estimate]:
    """The estimates of the rows with the largest effects, where there are too many rows; in their order."""
    rows: dict[tuple[str, str], float] = {}
    for estimate in estimates:
        key = (estimate.cell.get("factor", ""), estimate.cell.get("level", ""))
        rows[key] = max(rows.get(key, 0.0), abs(estimate.number))
    kept = set(sorted(rows, key=lambda key: -rows[key])[:_MOST_ROWS])
    return [
        estimate
        for estimate in estimates
        if (estimate.cell.get("factor", ""), estimate.cell.get("level", "")) in kept
    ]


_MEASURE = "mixed_effects"
_SD, _TOGETHER = f"{_MEASURE}_sd", f"{_MEASURE}_interactions"


@chart(
    title="What each term does to the odds of a correct answer: mixed logistic model",
    section="accuracy",
    kinds=("mcq",),
    measures=(_MEASURE, _SD, _TOGETHER),
    place=70,
    trends=False,
)
def mixed_effects(results: Results) -> Iterator[Figure]:
    """A row for each term, a panel for each model, where a model could be fitted."""
    estimates, items, together = (defined(results.of(measure)) for measure in (_MEASURE, _SD, _TOGETHER))
    if not estimates:
        return
    left_out = [estimate for estimate in results.of(_SD) if estimate.value is None]
    deviations = "; ".join(_of(estimate, items, results) + printed(estimate.number) for estimate in items)
    reasons = "; ".join(f"{_of(estimate, left_out, results)}({_why(estimate)})" for estimate in left_out)
    tests = "; ".join(_of(estimate, together, results) + _test(estimate) for estimate in together)
    beside = f" Random effects, standard deviation in log odds: {deviations}." if items else ""
    beside += f" Random effects left out: {reasons}." if reasons else ""
    beside += f" Test of all interactions: {tests}." if together else ""
    yield Figure(
        draw=partial(score_chart, estimates, results),
        estimates=[*estimates, *items, *together],
        subtitle="Log odds against the first level of each factor; to the right of the dashed line, answers "
        f"are more often correct. {BARS}{beside}",
        alternative=f"{beside} {spoken(estimates, results)}".strip(),
    )


def _of(estimate: Estimate, estimates: list[Estimate], results: Results) -> str:
    """The name of an estimate among several."""
    columns = [column for column in estimate.cell if column == "term" or column in varying(estimates)]
    name = cell_name(estimate, columns, results, "")
    return f"{name} " if name else ""


def _why(estimate: Estimate) -> str:
    return (estimate.reason or "").removeprefix("left out of the model: ")


def _test(estimate: Estimate) -> str:
    p, draws = estimate.details.get("p"), estimate.details.get("draws")
    found = f"χ² = {printed(estimate.number)} with {estimate.details.get('df', '?')} df"
    found += f", p = {printed(p)}" if isinstance(p, float) else ""
    return found + (f" from {draws} simulated sets of answers" if draws else "")


MOST_VARIANTS = 90
"""Of more variants than these, the levels of the factors are drawn."""

_MOST_LEVELS = 40
"""Of more levels of one factor than these, half as many of the lowest and of the highest are drawn."""

_MOST_LABELS = 6
_SHIFTS_MOST_SERIES = 3


def shares_shown(results: Results, factor: str | None = None, model: str = "") -> list[Estimate]:
    """The estimates that the chart draws: label shares from the first evaluator.

    Of several decodings, the first three. Labels beyond six are left to the CSV: those that are most frequent
    somewhere are kept.
    """
    model = model or next(iter(results.models), "")
    estimates = [estimate for estimate in defined(results.main("label_shares")) if "variant" in estimate.cell]
    decodings = results.decodings[:_SHIFTS_MOST_SERIES]
    peaks: dict[str, float] = {}
    for estimate in estimates:
        label = estimate.cell.get("label", "")
        peaks[label] = max(peaks.get(label, 0.0), estimate.number)
    kept = sorted(peaks, key=lambda label: -peaks[label])[:_MOST_LABELS]
    places = {name: index for index, name in enumerate(results.order("label"))}
    variants = {name: index for index, name in enumerate(results.order("variant"))}
    levels = {level: index for index, level in enumerate(results.factors.get(factor or "", ()))}

    def order(estimate: Estimate) -> tuple[int, int, int, int]:
        variant = estimate.cell["variant"]
        level = results.factor_levels.get(variant, {}).get(factor or "", "")
        decoding = estimate.cell.get("decoding", "")
        return (
            levels.get(level, 0),
            variants.get(variant, len(variants)),
            places.get(estimate.cell.get("label", ""), len(places)),
            decodings.index(decoding) if decoding in decodings else -1,
        )

    shown = [
        estimate
        for estimate in estimates
        if estimate.cell.get("model", model) == model
        and estimate.cell.get("decoding", "") in ("", *decodings)
        and estimate.cell.get("label", "") in kept
    ]
    return sorted(shown, key=order)


def levels_shown(results: Results, estimates: Sequence[Estimate]) -> list[Estimate]:
    """The level shares that are drawn, over all models and decodings, where there are too many variants.

    Returns:
        Nothing where every variant can be drawn. Of a factor with very many levels those that lie lowest
        and highest in the share that it moves most.
    """
    variants = {estimate.cell["variant"] for estimate in shares_shown(results)}
    if len(variants) <= MOST_VARIANTS:
        return []
    moves = {
        estimate.cell["factor"]: estimate.cell["label"] for estimate in of_measures(estimates, "label_range")
    }
    every = of_measures(defined(estimates), "level_shares")
    shown: list[Estimate] = []
    for factor in results.factors:
        some = [estimate for estimate in every if estimate.cell["factor"] == factor]
        most = ranked(estimate for estimate in some if estimate.cell["label"] == moves.get(factor))
        kept = {estimate.cell["level"] for estimate in first_and_last(most, _MOST_LEVELS)}
        shown += [estimate for estimate in some if estimate.cell["level"] in kept]
    return shown


def not_drawn(results: Results, model: str, levels: Sequence[Estimate]) -> str:
    """What the chart leaves out, in a sentence with a space before it; nothing where it draws all."""
    estimates = [
        estimate for estimate in results.main("label_shares") if estimate.cell.get("model", model) == model
    ]
    labels = {estimate.cell.get("label", "") for estimate in defined(estimates)}
    parts = []
    if levels:
        parts.append(
            f"the factors’ levels over all models and decodings, not {len(results.variants)} variants"
        )
        half = _MOST_LEVELS // 2
        parts += [
            f"of {len(names)} levels of {in_words(factor)} the {half} lowest and the {half} highest"
            for factor, names in results.factors.items()
            if len(names) > _MOST_LEVELS
        ]
    else:
        if len(labels) > _MOST_LABELS:
            parts.append(f"the {_MOST_LABELS} most frequent of {len(labels)} labels")
        if len(results.decodings) > _SHIFTS_MOST_SERIES:
            parts.append(f"the first {_SHIFTS_MOST_SERIES} of {len(results.decodings)} decodings")
    return f" Drawn are {' and '.join(parts)}." if parts else ""


def label_share_chart(
    results: Results,
    levels: Sequence[Estimate] = (),
    *,
    factor: str | None = None,
    model: str = "",
    width: int = 720,
) -> Any:
    """Share of each label by variant, with intervals, beside its share among the gold labels.

    Returns:
        An ``altair`` chart, or None where there are no label shares.
    """
    if levels:
        marks = [_level_mark(results, estimate) for estimate in levels]
    else:
        marks = [_mark(results, estimate, factor) for estimate in shares_shown(results, factor, model)]
    if not marks:
        return None
    order = [*results.order("label"), *(mark.panel for mark in marks)]
    labels = [label for label in dict.fromkeys(order) if any(mark.panel == label for mark in marks)]
    marks.sort(key=lambda mark: labels.index(mark.panel))
    gold = [
        Reference(share, f"gold {printed(share, percent=True)}", label)
        for label, share in results.gold_shares.items()
        if label in labels
    ]
    forest = Forest(
        marks,
        "share of answers",
        percent=True,
        domain=(0.0, 1.0),
        references=gold,
        colour="panel",
        names={label: results.label_name(label) for label in labels},
    )
    return draw_forest(forest, width=width)


def _mark(results: Results, estimate: Estimate, factor: str | None) -> Mark:
    variant = estimate.cell["variant"]
    level = results.factor_levels.get(variant, {}).get(factor or "")
    alone = len(results.factors) < 2
    return Mark.of(
        estimate,
        results,
        row=results.variant_name(variant, without=None if alone else factor),
        group=f"{in_words(factor or '')}: {level}" if level is not None and not alone else "",
        panel=estimate.cell.get("label", NO_LABEL),
        series=estimate.cell.get("decoding", ""),
    )


def _level_mark(results: Results, estimate: Estimate) -> Mark:
    level, factor, label = (estimate.cell[name] for name in ("level", "factor", "label"))
    return Mark.of(estimate, results, row=level, group=in_words(factor), panel=label)
