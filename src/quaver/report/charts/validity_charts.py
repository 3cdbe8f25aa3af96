"""Charts of scores with something beside them, of criteria, and of conclusions under every prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures, ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, spoken
from quaver.report.charts.forms import curve, grid
from quaver.report.charts.marks import about
from quaver.report.charts.scores import accuracy_chart, score_chart, score_figures
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import (
    in_words,
    interval,
    number,
    percent_measure,
    presentation_of,
    printed,
    slug,
)
from quaver.report.table_rows import Column, corrected_conclusions, in_true_labels, listed, text

Words = Mapping[str, Any]


def stability(words: Words, results: Results) -> Iterator[Figure]:
    """A chart for each score."""
    for measure in words["measures"]:
        yield from score_figures(measure, results)


sensitivity = stability


def accuracy(words: Words, results: Results) -> Iterator[Figure]:
    """Accuracy beside what guessing and the most frequent label give."""
    yield from score_figures("accuracy", results, accuracy_chart)


def valid_rate(words: Words, results: Results) -> Iterator[Figure]:
    """The share of valid answers, a panel an evaluator."""
    estimates = results.of("compliance")
    if not defined(estimates):
        return
    panel = "evaluator" if len({estimate.cell.get("evaluator") for estimate in estimates}) > 1 else None
    look: dict[str, Any] = {"factor": results.grouping_factor, "panel": panel, "domain": (0.0, 1.0)}
    yield Figure(
        draw=partial(score_chart, estimates, results, **look),
        estimates=estimates,
        title="" if panel else presentation_of("compliance").title,
        subtitle=f"Share of valid answers. {BARS}",
    )


def mixed_effects(words: Words, results: Results) -> Iterator[Figure]:
    """A row for each term, a panel for each model, where a model could be fitted."""
    estimates, items, together = (defined(results.of(measure)) for measure in words["measures"])
    if not estimates:
        return
    said = {
        "Random intercept, standard deviation in log odds": [
            _of(one, items, results) + printed(one.number) for one in items
        ],
        "Test of all interactions": [_of(one, together, results) + _test(one) for one in together],
    }
    beside = "".join(f" {name}: {'; '.join(parts)}." for name, parts in said.items() if parts)
    yield Figure(
        draw=partial(score_chart, estimates, results),
        estimates=[*estimates, *items, *together],
        subtitle=f"{words['subtitle']} {BARS}{beside}",
        alternative=f"{beside} {spoken(estimates, results)}".strip(),
    )


def _of(estimate: Estimate, estimates: list[Estimate], results: Results) -> str:
    """The name of an estimate among several."""
    columns = [column for column in estimate.cell if column == "term" or column in varying(estimates)]
    name = cell_name(estimate, columns, results, "")
    return f"{name} " if name else ""


def _test(estimate: Estimate) -> str:
    p = estimate.details.get("p")
    said = f"χ² = {printed(estimate.number)} with {estimate.details.get('df', '?')} df"
    return said + (f", p = {printed(p)}" if isinstance(p, float) else "")


_SHADES = {"met": 0.9, "undecided": 0.4}


def readiness(words: Words, results: Results) -> Iterator[Figure]:
    """A square for each criterion and model."""
    some = [
        one for one in results.estimates if one.measure.startswith("readiness_") and "verdict" in one.details
    ]
    if not some:
        return
    order = list(dict.fromkeys(estimate.measure for estimate in some))
    estimates = sorted(results.in_order(some), key=lambda estimate: order.index(estimate.measure))
    columns = varying(estimates)

    def criterion(estimate: Estimate) -> str:
        name = estimate.measure.removeprefix("readiness_")
        return str(words["names"].get(name, in_words(name)))

    rows = []
    for one in estimates:
        verdict = _verdict(one)
        value = "—" if one.value is None else printed(one.value, percent_measure(one.measure))
        rows.append(
            {
                "row": f"{criterion(one)}: {_limit(one)}",
                "column": cell_name(one, columns, results, "verdict"),
                "value": _SHADES.get(verdict, 0.0),
                "text": f"{value} · {'open' if verdict == 'undecided' else verdict}",
                "marked": verdict == "not met",
                "about": f"{about(one, results)}; {_limit(one)}: {verdict}",
            }
        )
    verdicts = [_verdict(estimate) for estimate in estimates]
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("met", "not met", "undecided"))
    heads = (
        *(text(column, partial(cell_name, columns=[column], results=results)) for column in columns),
        text("criterion", criterion),
        Column("value", _number),
        Column("95% interval", interval),
        text("threshold", _limit),
        text("verdict", lambda one: _verdict(one) + ("" if one.reason is None else f" ({one.reason})")),
    )
    yield Figure(
        draw=partial(grid, rows),
        estimates=[*estimates, *results.of("readiness")],
        measure="readiness",
        subtitle=words["subtitle"],
        alternative=f"Of {len(estimates)} criteria: {counts}. The table has them all.",
        table=listed(estimates, heads, most=len(estimates)),
    )


def _number(estimate: Estimate) -> Markup | str:
    return "—" if estimate.value is None else number(estimate.value, percent_measure(estimate.measure))


def _verdict(estimate: Estimate) -> str:
    return str(estimate.details["verdict"])


def _limit(estimate: Estimate) -> str:
    """``at least 80%``, in the unit of the criterion."""
    least = "at least" if str(estimate.details.get("limit", "")).startswith("at least") else "at most"
    threshold = float(estimate.details.get("threshold", 0.0))
    return f"{least} {printed(threshold, percent_measure(estimate.measure))}"


_VERDICTS = ("holds", "reverses", "not distinguishable")
_TOGETHER = {"conclusion_majority": "the majority"}


def conclusions(words: Words, results: Results) -> Iterator[Figure]:
    """A specification curve for each conclusion."""
    estimates = [estimate for estimate in results.estimates if estimate.measure.startswith("conclusion")]
    for name in dict.fromkeys(estimate.cell.get("conclusion", "") for estimate in estimates):
        some = [estimate for estimate in estimates if estimate.cell.get("conclusion", "") == name]
        single = [estimate for estimate in of_measures(some, "conclusion") if "verdict" in estimate.details]
        if not defined(single):
            continue
        verdicts = [_verdict(estimate) for estimate in single]
        counts = ", ".join(f"{kind} under {verdicts.count(kind)}" for kind in _VERDICTS)
        true = corrected_conclusions(some).get(name)
        said = "" if true is None else f"The claim {in_true_labels(true)}. "
        said += f"Of {len(single)} specifications: {counts}, in these labels. {BARS}"
        gold = " Dashed: the gold labels." if of_measures(some, "conclusion_gold") else ""
        if true is not None and true.low is not None:
            gold += " Band: the corrected estimate’s interval, which is about the true labels."
        yield Figure(
            draw=partial(curve, specifications(some, results), _VERDICTS),
            estimates=some,
            name=f"conclusion-{slug(name)}",
            measure="conclusion",
            title=f"{name}: {single[0].details['effect']}, in these labels under every prompt variant",
            subtitle=f"{said}{gold} Below: the choices behind each estimate.",
            alternative=said,
        )


def specifications(estimates: Sequence[Estimate], results: Results) -> list[Row]:
    """One conclusion's estimates from the least to the largest, what each was made with, and its lines."""
    known = [estimate for estimate in defined(estimates) if "verdict" in estimate.details]
    drawn = ranked(of_measures(known, "conclusion", *_TOGETHER))
    rows: list[Row] = [
        {
            "place": place,
            "value": one.value,
            "low": one.value if one.low is None else one.low,
            "high": one.value if one.high is None else one.high,
            "series": _verdict(one),
            "about": f"{about(one, results)}; {_verdict(one)}",
        }
        for place, one in enumerate(drawn)
    ]
    made = [_choices(estimate, results) for estimate in drawn]
    for column in dict.fromkeys(column for one in made for column in one):
        levels = {one.get(column) for one in made}
        order = [*results.order(column), *sorted(level for level in levels if level is not None)]
        for level in dict.fromkeys(level for level in order if level in levels and len(levels) > 1):
            choice = {"choice": f"{in_words(column)}: {level}"}
            rows += [
                {"place": place, "series": _verdict(drawn[place]), **choice}
                for place, one in enumerate(made)
                if one.get(column) == level
            ]
    rows += [{"level": one.details["threshold"], "wide": 1, "dash": False} for one in drawn[:1]]
    golden = of_measures(known, "conclusion_gold")[:1]
    rows += [{"level": one.value, "wide": 1, "dash": True} for one in golden]
    for true in [one for one in of_measures(known, "conclusion_corrected") if one.low is not None][:1]:
        rows.append(
            {"level": true.value, "wide": 2, "dash": False, "band_low": true.low, "band_high": true.high}
        )
    return rows


def _choices(estimate: Estimate, results: Results) -> dict[str, str]:
    made = {name: estimate.cell[name] for name in ("model", "decoding", "evaluator") if name in estimate.cell}
    if estimate.measure in _TOGETHER:
        return {**made, "labels of": _TOGETHER[estimate.measure]}
    variant = estimate.cell.get("variant", "")
    return {**made, **results.factor_levels.get(variant, {"variant": variant} if variant else {})}
