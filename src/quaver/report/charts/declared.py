"""Quaver's own charts: what ``charts.toml`` declares, and how estimates become the rows of its marks.

A chart with a ``form`` is declared alone. Of the estimates that it takes (``take``: how), those count that
have what it ``needs``; of more than ``most``, the first or the largest are drawn. Each gives a row for
each of the ``marks``, whose keys are those of the form (`quaver.report.charts.forms`) and whose values say
where a number or a name comes from: a field or a detail of the estimate (``floor``, ``quantiles/0.25``),
``cell/`` and a column, a word of `_WORDS`, or, behind a ``=``, the text itself. ``each`` goes through a
list among the details. A ``table`` has headings, where their numbers come from, and their kind.
``figures`` are several figures that differ in some keys.

A chart without a form has a function of its name among the families beside this module.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from quaver.core.number_format import span
from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures
from quaver.report.charts import forms, movement_charts, paired_charts, validity_charts
from quaver.report.charts.chart import BARS, Chart, Figure, cell_name, chart, cut, largest, spoken
from quaver.report.charts.marks import about
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import in_words, printed
from quaver.report.table_rows import Table, listed, plain, share, tally, text

Words = Mapping[str, Any]
_OUTCOMES = {"compliance": "valid", "accuracy": "correct", "f1": "F1"}
_FIELDS = frozenset({"value", "low", "high", "n"})
_DECLARATION = ("title", "section", "kinds", "measures", "covers", "place", "trends")
_FAMILIES = (movement_charts, paired_charts, validity_charts)
_TABLES = {"plain": plain, "share": share, "tally": tally, "text": text}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is looked up: an estimate among others, and one part of a list among its details."""

    estimate: Estimate
    columns: tuple[str, ...]
    results: Results
    part: Mapping[str, Any]

    def at(self, path: str) -> Any:
        """The value; None where there is none."""
        if path.startswith("="):
            return path[1:]
        first, *rest = path.split("/")
        value: Any = self.part.get(first)
        if value is None and first in _WORDS:
            return _WORDS[first](self, *rest)
        if value is None:
            value = getattr(self.estimate, first) if first in _FIELDS else self.estimate.details.get(first)
        for key in rest:
            if isinstance(value, (list, tuple)):
                value = value[int(key)] if int(key) < len(value) else None
            else:
                value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def name(self, *without: str) -> str:
        """What tells the estimate apart from the others."""
        columns = [column for column in self.columns if column not in without]
        return cell_name(self.estimate, columns, self.results, "" if without else "all answers")


def _prompt(place: _Place, key: str) -> str:
    return place.results.variant_name(str(place.estimate.details.get(key, "")))


def _heading(place: _Place) -> str:
    name = cell_name(place.estimate, place.columns, place.results, "")
    return f"{name} · ECE {printed(place.estimate.number)}".removeprefix(" · ")


def _size(place: _Place) -> float:
    most = max(float(one["n"]) for one in place.estimate.details["curve"])
    return round(14 + 70 * float(place.part["n"]) / most, 1)


def _class(place: _Place) -> str:
    code = place.estimate.cell.get("class")
    return "all items" if code is None else place.results.label_name(code)


def _outcome(place: _Place) -> str:
    outcome = place.estimate.measure.removeprefix("factor_effects_").rpartition("_")[0]
    return _OUTCOMES.get(outcome, "")


_WORDS: Mapping[str, Callable[..., Any]] = {
    "name": lambda place: place.name(),
    "rest": lambda place: place.name("factor", "level"),
    "group": lambda place: place.name("class", "model", "evaluator"),
    "about": lambda place: about(place.estimate, place.results),
    "cell": lambda place, column: place.estimate.cell.get(column, ""),
    "model": lambda place: place.estimate.cell.get("model", "") if "model" in place.columns else "",
    "factor": lambda place: in_words(place.estimate.cell.get("factor", "")),
    "edges": lambda place: span(place.part["low"], place.part["high"]),
    "several": lambda place: int(place.estimate.details.get("values", 0)) > 1 or None,
    "class": _class,
    "heading": _heading,
    "outcome": _outcome,
    "prompt": _prompt,
    "size": _size,
}
"""What a path may begin with beside the estimate's own fields and details."""


def _parts(estimate: Estimate, each: str) -> list[Mapping[str, Any]]:
    """The parts of an estimate that have a row each: itself, or a list among its details."""
    return list(estimate.details[each]) if each else [{}]


def _effects(results: Results, words: Words) -> list[Estimate]:
    names = [f"factor_effects_{outcome}_{words['kind']}" for outcome in words["outcomes"]]
    estimates = [estimate for name in names for estimate in results.known(name)]
    rows: dict[tuple[str, str], float] = {}
    for estimate in estimates:
        key = (estimate.cell.get("factor", ""), estimate.cell.get("level", ""))
        rows[key] = max(rows.get(key, 0.0), abs(estimate.number))
    kept = set(sorted(rows, key=lambda key: -rows[key])[:60])
    return [one for one in estimates if (one.cell.get("factor", ""), one.cell.get("level", "")) in kept]


def _calibrations(results: Results, words: Words) -> list[Estimate]:
    estimates = defined(results.in_order(results.of("ece")))
    if sum(bool(estimate.details.get("curve")) for estimate in estimates) > words["most"]:
        return defined(results.in_order(of_measures(results.audit, "ece"))) or estimates
    return estimates


_TAKEN: Mapping[str, Callable[[Results, Words], list[Estimate]]] = {
    "effects": _effects,
    "calibrations": _calibrations,
    "known": lambda results, words: [one for name in words["measures"] for one in results.known(name)],
}


def _figures(words: Words, results: Results) -> Iterator[Figure]:
    """The figures of a chart that is declared alone."""
    for part in words.get("figures", [{}]):
        figure = _figure(
            {**words, **part, "look": {**words.get("look", {}), **part.get("look", {})}}, results
        )
        if figure is not None:
            yield figure


def _figure(words: Words, results: Results) -> Figure | None:
    every = _TAKEN[words.get("take", "known")](results, words)
    places = [_Place(estimate, (), results, {}) for estimate in every]
    estimates = [place.estimate for place in places if all(place.at(need) for need in words.get("needs", ()))]
    if not estimates:
        return None
    most, columns = words.get("most", 1000), tuple(varying(estimates))
    shown = largest(estimates, most) if words.get("which") else estimates[:most]
    rows: list[Row] = []
    for estimate in shown:
        place = _Place(estimate, columns, results, {})
        for part in _parts(estimate, words.get("each", "")):
            inner = replace(place, part=part)
            made = ({key: inner.at(path) for key, path in mark.items()} for mark in words["marks"])
            rows += [row for row in made if row.get("value", row.get("y")) is not None]
    said = {
        "bars": BARS,
        "spoken": spoken(estimates, results),
        "meaning": words.get("meaning", ""),
        "of": words.get("of", ""),
    }
    left = cut(len(shown), len(estimates), words.get("noun", "estimates"), words.get("which", "first"))
    covers = [f"factor_effects_{outcome}*" for outcome in words.get("outcomes", ())]
    measure = words.get("measure", estimates[0].measure)
    by_class = " by class" if words["form"] == "forest" and any("class" in one.cell for one in shown) else ""
    return Figure(
        draw=partial(getattr(forms, words["form"]), rows, **_look(words, rows)),
        estimates=estimates,
        subtitle=words["subtitle"].format(**said) + left,
        title=words["title"] + (f",{by_class}" if by_class else ""),
        name=words.get("name", ""),
        measure=measure,
        alternative=words.get("alternative", "").format(**said),
        table=_table(words, estimates, columns, results),
        closer=words.get("closer", False),
        covers=tuple(covers) or ((measure,) if "measure" in words and words.get("figures") else None),
    )


def _look(words: Words, rows: list[Row]) -> dict[str, Any]:
    """The options of the form."""
    look = dict(words["look"])
    if look.get("domain") == "rounded":
        top = forms.rounded_up(end for row in rows for end in (row["value"], row.get("high") or 0.0))
        look["domain"] = (0.0, top)
    if "references" in look:
        look["references"] = [
            forms.Reference(value if value != "" else None, said) for value, said in look["references"]
        ]
    return look


def _table(
    words: Words, estimates: list[Estimate], columns: tuple[str, ...], results: Results
) -> Table | None:
    if "table" not in words:
        return None
    heads = [
        _TABLES[(kind or ["plain"])[0]](head, partial(_held, path=path))
        for head, path, *kind in words["table"]
    ]
    things = [
        _Place(estimate, columns, results, part)
        for estimate in estimates
        for part in _parts(estimate, words.get("each", ""))
    ]
    return replace(listed(things, heads, most=600), note=words.get("note", ""))


def _held(place: _Place, path: str) -> Any:
    return place.at(path)


def _chart(name: str, words: Words) -> Chart:
    own = (vars(family)[name] for family in _FAMILIES if name in vars(family))
    function = partial(_figures, words) if "form" in words else partial(next(own), words)
    given = {key: words[key] for key in _DECLARATION if key in words}
    lists = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    return chart(name=name, **{**given, **lists})(function)


CHARTS: Mapping[str, Chart] = {
    name: _chart(name, words)
    for name, words in tomllib.loads(Path(__file__).with_name("charts.toml").read_text("utf-8")).items()
}
globals().update(CHARTS)
