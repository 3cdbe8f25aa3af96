"""One estimate as a sentence, for whoever points at its mark."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from quaver.core.records import NO_LABEL, Estimate
from quaver.report.estimate_index import Results
from quaver.report.measure_words import ALL, presentation_of
from quaver.report.page_numbers import percent_measure, printed

_SAID: Mapping[str, str] = {
    "accuracy": "{} correct",
    "compliance": "{} of the answers have a label",
    "deviation_share": "{} of the answers differ from their item’s most frequent label",
}


def sentence(one: Estimate, results: Results, without: Collection[str] = ()) -> str:
    """What it is of, its value, its interval and what it rests on.

    Args:
        one: The estimate.
        results: The study that it is of.
        without: Columns of its cell that need not be named.

    >>> import polars as pl
    >>> one = Estimate("accuracy", 0.82, 0.74, 0.88, n=120, cell={"variant": "v", "paraphrase": "third"})
    >>> sentence(one, Results({"labels": {"labels": []}}, pl.DataFrame(), [one]))
    'v, third: 82% correct, 95% interval 74% to 88%, 120 items'
    """
    subject = ", ".join(_names(one, results, without))
    return f"{subject}: {value_in_words(one, results)}" if subject else value_in_words(one, results)


def value_in_words(one: Estimate, results: Results) -> str:
    """The same without what it is of."""
    if one.value is None:
        return f"{presentation_of(one.measure).axis}: not defined ({one.reason or 'no reason given'})"
    percent = percent_measure(one.measure)
    parts = [_value(one, printed(one.value, percent), results)]
    if one.low is not None and one.high is not None:
        ends = f"{printed(one.low, percent)} to {printed(one.high, percent)}"
        parts.append(f"{100 * one.confidence_level:g}% interval {ends}")
    if one.n:
        unit = one.unit.partition(" and ")[0]
        parts.append(f"{one.n:,} {unit}{'s' * (one.n != 1)}")
    return ", ".join(parts)


def _value(one: Estimate, value: str, results: Results) -> str:
    label = one.cell.get("label", "")
    if one.measure in ("label_shares", "level_shares") and label:
        name = "no label" if label in (NO_LABEL, "no_label") else f"the label “{results.label_name(label)}”"
        return f"{value} of the answers have {name}"
    said = _SAID.get(one.measure)
    return said.format(value) if said else f"{presentation_of(one.measure).axis} {value}"


def _names(one: Estimate, results: Results, without: Collection[str]) -> list[str]:
    """What an estimate is of, but for what all of the study has in common and what its value says."""
    found = []
    for column, value in sorted(one.cell.items(), key=lambda pair: pair[0] != "variant"):
        if column in without:
            continue
        known = results.order(column)
        if column in ("model", "decoding", "evaluator") and len(known) < 2:
            continue
        if column == "evaluator" and value == known[0]:
            continue
        if column == "variant":
            found.append(results.variant_name(value))
        elif column == "label" and one.measure in ("label_shares", "level_shares"):
            continue
        elif column in ("label", "class") or (column == "level" and one.cell.get("factor") == "gold"):
            found.append(results.label_name(value))
        else:
            found.append(ALL.get(column, value) if value == "" else value)
    return found
