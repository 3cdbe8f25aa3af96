"""How the labels move: prompt by prompt, label by label, factor by factor, and as whole distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import Section, defined, of_measures, ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, cut, first_and_last, largest, names, spoken
from quaver.report.charts.forms import Reference, bars, forest, mark
from quaver.report.charts.marks import place_of
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import NO_LABEL, Results, varying, without
from quaver.report.page_words import in_words, printed, slug
from quaver.report.table_rows import ENDS, Column, Table, listed, plain, share, text

Words = Mapping[str, Any]
_MOST_PROMPTS = 20
"""Of more prompts, those stand in one row that share a level of a factor, or only the ends are drawn."""
_MOST_VARIANTS = 90
"""Of more variants than these, the levels of the factors are drawn."""
_MOST_LEVELS, _MOST_LABELS, _MOST_DECODINGS, _MOST_MODELS, _MOST_CELLS = 40, 6, 3, 8, 40
_SHOWN_LEVELS = 12
"""Of more levels of one factor than these, half as many of the lowest and of the highest are drawn."""


def prompts(words: Words, results: Results) -> Iterator[Figure]:
    """A row a prompt; where there are too many, a row a level of a factor, with a dot a prompt."""
    estimates = prompts_drawn(results)
    if not estimates:
        return
    variants = list(dict.fromkeys(estimate.cell["variant"] for estimate in estimates))
    several = {name: levels for name, levels in results.factors.items() if len(levels) <= _MOST_PROMPTS}
    factor = max(several, key=lambda name: len(several[name]), default=None)
    factor = factor if len(variants) > _MOST_PROMPTS else None
    kept = variants if factor else first_and_last(variants, _MOST_PROMPTS)
    shown = [estimate for estimate in estimates if estimate.cell["variant"] in kept]
    rows = []
    for estimate in shown:
        variant = estimate.cell["variant"]
        row = mark(estimate, results, row=results.variant_name(variant), panel=estimate.cell.get("model", ""))
        if factor:
            level = results.factor_levels.get(variant, {}).get(factor, "")
            row |= {"row": level, "group": in_words(factor), "low": None, "high": None}
        rows.append(row)
    if factor:
        rows.sort(key=lambda row: several[factor].index(row["row"]) if row["row"] in several[factor] else -1)
    step = max(23.0, min(46.0, 280 / len({row["row"] for row in rows})))
    look: dict[str, Any] = {"percent": True, "domain": (0.0, 1.0), "order": results.models, "step": step}
    ends = f"the {_MOST_PROMPTS // 2} lowest and {_MOST_PROMPTS // 2} highest"
    yield Figure(
        draw=partial(forest, rows, "answers with another label", **look),
        estimates=estimates,
        subtitle=f"{words['subtitle']} {'Each dot is a prompt.' if factor else BARS}"
        + cut(len(kept), len(variants), "prompts", ends),
    )


def prompts_drawn(results: Results) -> list[Estimate]:
    """Each model's estimates of single prompts, the lowest first; none where there is nothing to compare."""
    of = ["model", "variant"] if len(results.models) > 1 else ["variant"]
    estimates = [one for one in defined(results.anywhere("deviation_share")) if [*one.cell] == of]
    return ranked(estimates) if len(estimates) > 1 else []


def label_shares(words: Words, results: Results) -> Iterator[Figure]:
    """The shares of a model's labels, a figure a model, and what each factor does to one of them.

    They stand among what moves the labels; the first, where no two prompts can be compared, opens the report.
    """
    sections: list[Section] = ["factors"] if prompts_drawn(results) else ["finding"]
    levels = levels_shown(results)  # over all models
    for model in [""] if levels else results.models[:_MOST_MODELS] or [""]:
        shown = levels or shares_shown(results, results.grouping_factor, model)
        if shown:
            first = len(sections) == 1
            name = "finding" if first else f"label-shares-{slug(model)}"
            yield _shares(results, shown, model, words["title"], name, sections[-1], levels=bool(levels))
            sections.append("factors")
    yield from _factors(results, sections[-1])


def shares_shown(results: Results, factor: str | None = None, model: str = "") -> list[Estimate]:
    """The label shares of each variant that are drawn, from the first evaluator's labels.

    Of several decodings, the first three. Labels beyond six are left to the CSV: those that are most frequent
    somewhere are kept.
    """
    model = model or next(iter(results.models), "")
    every = [estimate for estimate in defined(results.main("label_shares")) if "variant" in estimate.cell]
    peaks = {one.cell.get("label", ""): one.number for one in ranked(every)}
    kept = sorted(peaks, key=lambda label: -peaks[label])[:_MOST_LABELS]
    shown = [
        estimate
        for estimate in results.in_order(every)
        if estimate.cell.get("model", model) == model
        and estimate.cell.get("decoding", "") in ("", *results.decodings[:_MOST_DECODINGS])
        and estimate.cell.get("label", "") in kept
    ]
    levels = results.factors.get(factor or "", [])
    places = {name: levels.index(of[factor]) for name, of in results.factor_levels.items() if factor in of}
    return sorted(shown, key=lambda estimate: places.get(estimate.cell["variant"], 0))


def levels_shown(results: Results) -> list[Estimate]:
    """The level shares that are drawn, over all models and decodings, where there are too many variants.

    Returns:
        Nothing where every variant can be drawn. Of a factor with very many levels those that lie lowest
        and highest in the share that it moves most.
    """
    if len({estimate.cell["variant"] for estimate in shares_shown(results)}) <= _MOST_VARIANTS:
        return []
    moves = {one.cell["factor"]: one.cell["label"] for one in of_measures(results.moved, "label_range")}
    every = of_measures(defined(results.moved), "level_shares")
    shown: list[Estimate] = []
    for factor in results.factors:
        some = [estimate for estimate in every if estimate.cell["factor"] == factor]
        most = ranked(estimate for estimate in some if estimate.cell["label"] == moves.get(factor))
        kept = {estimate.cell["level"] for estimate in first_and_last(most, _MOST_LEVELS)}
        shown += [estimate for estimate in some if estimate.cell["level"] in kept]
    return shown


def _shares(
    results: Results,
    shown: Sequence[Estimate],
    model: str,
    title: str,
    name: str,
    section: Section,
    *,
    levels: bool,
) -> Figure:
    """The figure of one model, or of the levels of all."""
    factor = results.grouping_factor
    if factor and (levels or len({estimate.cell["variant"] for estimate in shown}) > 1):
        title += f", by {in_words(factor)}"
    title += f" (model {model})" if len(results.models) > 1 and not levels else ""
    every = any(estimate.cell.get("label") == NO_LABEL for estimate in shown)
    whole = "all answers" if every else "the answers with a label"
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    return Figure(
        draw=partial(share_forest, results, shown, factor),
        estimates=shown,
        name=name,
        section=section,
        title=title,
        subtitle=f"Share of each label among {whole} to a prompt. {BARS}{gold}"
        + _not_drawn(results, model, levels),
        covers=("label_shares",),
    )


def share_forest(
    results: Results, shown: Sequence[Estimate], factor: str | None = None, *, width: int = 720
) -> Any:
    """The share of each label by variant or level, a panel a label, beside its share of the gold labels."""
    alone = factor is None or len(results.factors) < 2
    rows: list[Row] = []
    for estimate in shown:
        cell, where = estimate.cell, {"panel": estimate.cell.get("label", NO_LABEL)}
        level = results.factor_levels.get(cell.get("variant", ""), {}).get(factor or "")
        if "level" in cell:
            where |= {"row": cell["level"], "group": in_words(cell["factor"])}
        else:
            group = "" if alone or level is None else f"{in_words(factor or '')}: {level}"
            row = results.variant_name(cell["variant"], without=None if alone else factor)
            where |= {"row": row, "group": group, "series": cell.get("decoding", "")}
        rows.append(mark(estimate, results, **where))
    order = dict.fromkeys([*results.order("label"), *(row["panel"] for row in rows)])
    references = [
        Reference(value, f"gold {printed(value, percent=True)}", label)
        for label, value in results.gold_shares.items()
        if any(row["panel"] == label for row in rows)
    ]
    names = {label: results.label_name(label) for label in order}
    look: dict[str, Any] = {
        "percent": True,
        "domain": (0.0, 1.0),
        "references": references,
        "order": [*order],
        "names": names,
    }
    return forest(rows, "share of answers", **look, width=width)


def _not_drawn(results: Results, model: str, levels: bool) -> str:
    """What the chart leaves out, in a sentence with a space before it; nothing where it draws all."""
    parts = []
    if levels:
        every = len(results.variants)
        parts.append(f"the factors’ levels over all models and decodings, not {every} variants")
        half = _MOST_LEVELS // 2
        parts += [
            f"of {len(names)} levels of {in_words(factor)} the {half} lowest and the {half} highest"
            for factor, names in results.factors.items()
            if len(names) > _MOST_LEVELS
        ]
    else:
        estimates = defined(results.main("label_shares"))
        labels = {one.cell.get("label", "") for one in estimates if one.cell.get("model", model) == model}
        if len(labels) > _MOST_LABELS:
            parts.append(f"the {_MOST_LABELS} most frequent of {len(labels)} labels")
        if len(results.decodings) > _MOST_DECODINGS:
            parts.append(f"the first {_MOST_DECODINGS} of {len(results.decodings)} decodings")
    return f" Drawn are {' and '.join(parts)}." if parts else ""


def _factors(results: Results, section: Section) -> Iterator[Figure]:
    """What each factor does to the share of one label."""
    spans = of_measures(defined(results.moved), "label_range")
    spans = [estimate for estimate in spans if estimate.cell["factor"] != "gold"] or spans
    if not spans:
        return
    label = ranked(spans)[-1].cell["label"]
    name = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    every = of_measures(results.moved, "level_shares")
    shown = [estimate for estimate in every if estimate.cell["label"] == label]
    yield Figure(
        draw=partial(level_forest, results, shown),
        estimates=[*shown, *of_measures(results.moved, "label_range")],
        name="factors",
        section=section,
        measure="level_shares",
        title=f"How far each factor moves the share of {name}",
        subtitle="The share of all answers, with or without a label, at each level, averaged over everything "
        f"else. {BARS}" + (" Of many levels, the lowest and the highest are drawn." if _many(shown) else ""),
        alternative="; ".join(
            f"{in_words(one.cell['factor'])}, by {printed(one.number, percent=True)}" for one in spans
        )
        + ".",
        covers=("level_shares", "label_range"),
    )


def _many(shown: Sequence[Estimate]) -> bool:
    return any(len(some) > _SHOWN_LEVELS for some in _by_factor(shown).values())


def _by_factor(shown: Sequence[Estimate]) -> dict[str, list[Estimate]]:
    """Each factor's levels from the lowest to the highest; the factor that moves most first, gold last."""
    result: dict[str, list[Estimate]] = {}
    for estimate in ranked(shown):
        result.setdefault(estimate.cell["factor"], []).append(estimate)
    far = {factor: some[0].number - some[-1].number for factor, some in result.items()}
    return {factor: result[factor] for factor in sorted(result, key=lambda one: (one == "gold", far[one]))}


def level_forest(results: Results, shown: Sequence[Estimate], *, width: int = 720) -> Any:
    """The share of a label at each level of each factor, and by gold label."""
    rows = []
    for factor, some in _by_factor(shown).items():
        gold = factor == "gold"
        group = "items, by gold label" if gold else in_words(factor)
        for estimate in first_and_last(some, _SHOWN_LEVELS):
            level = estimate.cell["level"]
            rows.append(
                mark(estimate, results, row=results.label_name(level) if gold else level, group=group)
            )
    return forest(rows, "share of answers", percent=True, domain=(0.0, 1.0), width=width)


def _bar(row: str, shares: Mapping[str, float], order: Sequence[str], **where: Any) -> list[Row]:
    return [{"row": row, "part": part, "share": shares.get(part, 0.0), **where} for part in order]


def _gold(results: Results, order: Sequence[str]) -> list[Row]:
    """The distribution of the gold labels, if there are any."""
    return _bar("gold labels", results.gold_shares, order) if results.gold_shares else []


def label_distributions(words: Words, results: Results) -> Iterator[Figure]:
    """A bar for each cell that is more than one variant, below the gold labels."""
    every = results.known("label_shares")
    estimates = [one for one in every if "variant" not in one.cell and "label" in one.cell]
    columns = [column for column in varying(estimates) if column != "label"]
    cells = without(estimates, "label")
    if not estimates or (len(cells) == 1 and not results.gold_shares):
        return
    codes = [*results.label_names, *(estimate.cell["label"] for estimate in estimates)]
    order = [code for code in dict.fromkeys(codes) if code != NO_LABEL] + [NO_LABEL]
    shown = list(cells.values())[:_MOST_CELLS]
    rows = _gold(results, order)
    for some in shown:
        shares = {estimate.cell["label"]: estimate.number for estimate in some}
        rows += _bar(cell_name(some[0], columns, results), shares, order, at=place_of(some[0], results))
    whole = (
        "all answers" if any(one.cell["label"] == NO_LABEL for one in estimates) else "answers with a label"
    )
    yield Figure(
        draw=partial(bars, rows, "share of answers", names=results.label_names),
        estimates=estimates,
        measure="label_distributions",
        title=words["title"] + (" beside the gold labels" if results.gold_shares else ""),
        subtitle=f"Shares of {whole}. The table has their 95% intervals."
        + cut(len(shown), len(cells), "cells"),
    )


def distribution_shift(words: Words, results: Results) -> Iterator[Figure]:
    """The distribution under each condition, beside the gold labels."""
    every = results.known("distribution_shift_tv")
    estimates = [estimate for estimate in every if estimate.details.get("shares")]
    if not estimates:
        return
    columns = varying(estimates)
    drawn = largest(estimates, _MOST_CELLS)
    codes = [*results.label_names, *(name for estimate in estimates for name in estimate.details["shares"])]
    order = list(dict.fromkeys(codes))
    rows = _gold(results, order)
    for estimate in (one for one in estimates if one in drawn):
        where = {"number": printed(estimate.number), "at": place_of(estimate, results)}
        rows += _bar(_condition(estimate, columns, results), estimate.details["shares"], order, **where)
    yield Figure(
        draw=partial(bars, rows, "share of labels", names=results.label_names),
        estimates=estimates,
        title=words["title"] + (", beside the gold labels" if results.gold_shares else ""),
        subtitle=words["subtitle"] + cut(len(drawn), len(estimates), "shifts", "largest"),
        alternative=f"Distances: {spoken(estimates, results)}",
        table=_shift_table(estimates, order, results),
    )


def _condition(estimate: Estimate, columns: list[str], results: Results) -> str:
    """Its cell; each level with its factor if the cells are of different factors."""
    if all(column in estimate.cell for column in columns):
        return cell_name(estimate, columns, results)
    own = [column for column in columns if column in estimate.cell]
    parts = [f"{in_words(column)}: {' '.join(names(estimate, [column], results))}" for column in own]
    return " · ".join(parts) or "all answers"


def _shift_table(estimates: list[Estimate], order: list[str], results: Results) -> Table:
    columns = varying(estimates)

    def of_label(code: str) -> Column:
        return share(results.label_name(code), lambda one: float(one.details["shares"].get(code, 0.0)))

    heads = (
        text("of", lambda one: _condition(one, columns, results)),
        *map(of_label, order),
        plain("distance", "value"),
        *ENDS,
        plain("95% of noise", "floor_high"),
        plain("p (Holm)", "p_holm"),
    )
    return listed(estimates, heads)
