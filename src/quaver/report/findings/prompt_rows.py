"""The prompts of a study as rows: their words, how often they are right, which labels they give.

Every first screen shows them: the report's, the viewer's, that of ``quaver start``, and a notebook's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import floor
from typing import Any, Final

from quaver.core.number_format import alike, percent, rounded, span
from quaver.core.records import Estimate
from quaver.core.rows import at_levels, by_level, defined, of_measures
from quaver.core.variant_display import changes, marked_messages
from quaver.report.estimate_index import Results
from quaver.report.findings.judged_model import OF_PROMPTS

_MOST_APART: Final = 8
"""As many prompts that surely do worse than the others have rows of their own."""

_APART: Final = 0.1, 0.2, 0.4, 1.0
"""How far apart prompts of one row may be: the first of these with which `_MOST_ROWS` rows are enough."""

_MOST_ROWS: Final = 8

_MOST_ALIKE: Final = 60
"""Of as many prompts that are alike the words are there on a click."""

_MOST_LABELS: Final = 7
"""So many labels have a colour; the others share the last one."""

_OTHERS: Final = ""

_KINDS: Final = {"prompt_right": "right", "prompt_agreement": "agreement", "prompt_usual": "modal label"}
"""The measures of a prompt, the first of which that is known is shown, with what their column is called."""


def prompt_rows(results: Results, model: str, named: str = "") -> dict[str, Any]:
    """The prompts of one model, those that surely do worse than the others first.

    The variant that the verdict has ``named`` follows. Of the others, those that give nearly the same shares
    of labels are one row, which shows the study's first of them, and the rest on a click.

    Returns:
        ``rows``, each with ``words`` (pieces of its first line, as `Change` has them), ``apart`` (levels that
        the words do not show), ``messages`` (all of the prompt), ``value``, ``ends`` and ``dot`` (on the
        axis, in percent of its width), ``labels``, ``unlabelled``, ``tone``, and ``alike``, the ``many`` rows
        that say the same.
        ``kind``: of what the values are (`_KINDS`); ``texts``: of how many texts;
        ``axis``: its ends; ``legend``: the labels' names.
    """
    own = at_levels(results.audit, model=model)
    shown = by_level(of_measures(own, "prompt_unlabelled"), "variant")
    values, kind = dict[str, Estimate](), "modal label"
    for measure, column in _KINDS.items():
        if values := by_level(defined(of_measures(own, measure)), "variant"):
            kind = column
            break
    written = rounded if kind == "agreement" else percent
    lows = [estimate.number if estimate.low is None else estimate.low for estimate in values.values()]
    least = max(0.0, min(5, floor(10 * min(lows, default=0.0))) / 10)
    gaps = by_level(of_measures(own, *OF_PROMPTS), "variant")
    legend = _legend(results, shown.values())
    groups: dict[str, list[dict[str, Any]]] = {"bad": [], "named": [], "": [], "good": []}
    for variant in results.variants:
        name = variant["id"]
        if name in shown:
            row = _row(results, variant, shown[name], values.get(name), legend, (least, written))
            tone = _tone(gaps.get(name))
            groups["named" if name == named else tone].append(row | {"tone": tone})
    worst = sorted(groups["bad"], key=lambda row: row["number"])[:_MOST_APART]
    rest = [row for row in groups[""] + groups["bad"] + groups["good"] if row not in worst]
    rows = [*worst, *groups["named"]]
    for first, *others in _say_the_same(rest):
        rows.append(first | _alike(others, written))
    return {
        "model": model,
        "rows": rows,
        "kind": kind,
        "texts": max((estimate.n for estimate in values.values()), default=0),
        "item": results.word,
        "axis": (written(least), written(1.0)),
        "legend": [{"name": name, "place": place} for place, name in enumerate(legend.values())],
    }


def _tone(gap: Estimate | None) -> str:
    """Whether a prompt surely does worse than the others, or better."""
    if gap is None or gap.low is None or gap.high is None:
        return ""
    return "bad" if gap.low > 0 else "good" if gap.high < 0 else ""


def _say_the_same(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows in groups with nearly the same accuracy and nearly the same shares of labels."""
    groups: list[list[dict[str, Any]]] = []
    for distance in _APART:
        groups = []
        for row in rows:
            group = next((group for group in groups if _distance(group[0], row) <= distance), None)
            if group is None:
                groups.append([row])
            else:
                group.append(row)
        if len(groups) <= _MOST_ROWS:
            break
    return groups


def _distance(row: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far two prompts are apart: in accuracy, or in their shares of labels, whichever is more.

    Of the shares, those without a label among them, the total variation distance: half the sum of the
    absolute differences.
    """
    shares = zip(row["shares"], other["shares"], strict=True)
    return float(max(abs(row["number"] - other["number"]), sum(abs(a - b) for a, b in shares) / 2))


def _alike(others: Sequence[dict[str, Any]], written: Callable[[float], str]) -> dict[str, Any]:
    """The fields of a row about the rows that are grouped under it."""
    numbers = [row["number"] for row in others if row["value"]]
    ends = dict.fromkeys(map(written, (min(numbers), max(numbers)))) if numbers else ()
    between = span(min(numbers), max(numbers), written) if len(ends) > 1 else "".join(ends)
    return {"alike": list(others[:_MOST_ALIKE]), "many": len(others), "between": between}


def _row(
    results: Results,
    variant: Mapping[str, Any],
    shown: Estimate,
    value: Estimate | None,
    legend: Mapping[str, str],
    axis: tuple[float, Callable[[float], str]],
) -> dict[str, Any]:
    first = results.variants[0]
    line = _first_line(variant)
    before = line if variant is first else _first_line(first)
    words = [
        (kind if any(map(str.isalnum, text)) else "same", text)
        for kind, text in changes(before, line)
        if kind != "gone"
    ]
    example = variant.get("example", ())
    original = results.lock.get("original") or first.get("example", ())
    unknown = results.imported and not results.has_prompts
    bars, labelled = _bars(shown.details["labels"], legend), 1 - shown.number
    shares = [bar["wide"] / 100 * labelled for bar in bars] or [0.0] * len(legend)
    levels = results.levels_unseen(variant["id"]) if line else ""
    if variant is first and levels:  # it differs from no other
        words, levels = [*words, ("same", f" {levels}")], ""
    return {
        "name": results.prompt_words(variant["id"]),
        "words": words or [("same", results.variant_name(variant["id"]))],
        "apart": levels,
        "messages": [] if unknown else marked_messages(original, example),
        "number": -1.0 if value is None else value.number,
        **dotted(value, *axis),
        "labels": bars,
        "shares": [*shares, shown.number],
        "unlabelled": percent(shown.number),
        "tone": "",
        "alike": [],
        "many": 0,
        "between": "",
    }


def _first_line(variant: Mapping[str, Any]) -> str:
    return next(iter(str(variant.get("instruction", "")).strip().splitlines()), "")


def _legend(results: Results, shown: Iterable[Estimate]) -> dict[str, str]:
    """The names of the labels that are given by their codes, in the label set's order; others are one."""
    given = set[str]()
    for estimate in shown:
        given |= {code for code, share in estimate.details["labels"].items() if share > 0}
    names = {code: name for code, name in results.label_names.items() if code in given}
    if len(names) <= _MOST_LABELS:
        return names
    return dict([*names.items()][: _MOST_LABELS - 1]) | {_OTHERS: f"{len(names) - _MOST_LABELS + 1} others"}


def _bars(shares: Mapping[str, float], legend: Mapping[str, str]) -> list[dict[str, Any]]:
    """The shares of the labels one beside the other, in percent of the width."""
    at, bars, known = 0.0, list[dict[str, Any]](), sum(shares.get(code, 0.0) for code in legend)
    total = sum(shares.values())
    for place, (code, name) in enumerate(legend.items() if total else ()):
        share = (total - known if code == _OTHERS else shares.get(code, 0.0)) / total
        bars.append(bar(place, name, at, share))
        at += share
    return bars


def bar(place: int, name: str, at: float, share: float) -> dict[str, Any]:
    """A part of a bar: what it is, with its colour's place, and where it lies in percent of the width."""
    ends = {"at": round(100 * at, 2), "wide": round(100 * share, 2)}
    return {"place": place, "name": name, "share": percent(share), **ends}


def dotted(
    estimate: Estimate | None, least: float = 0.0, written: Callable[[float], str] = percent
) -> dict[str, Any]:
    """A share or an agreement with its interval, as words and on an axis from the least to 1."""
    if estimate is None or estimate.value is None:
        return {"value": "", "ends": "", "dot": []}
    low, high = estimate.interval or (estimate.value, estimate.value)
    places = (100 * (min(1.0, max(least, end)) - least) / (1 - least) for end in (estimate.value, low, high))
    written = alike(estimate, written)
    return {
        "value": written(estimate.value),
        "ends": span(estimate.low, estimate.high, written),
        "dot": [round(place, 1) for place in places],
    }
