"""The tables of parsing, acceptance, coders, gold and the frozen design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from quaver.core.number_format import percent
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results, varying
from quaver.report.findings.key_results import coder_gaps
from quaver.report.page_words import interval, number
from quaver.report.table_rows import Table, shortened_table

_MOST_ROWS = 400
_PAIR = ("first", "second")
_FLIPS = ("same", "gained", "lost", "changed")
Row = tuple[str | Markup, ...]


def flips_table(results: Results) -> Table:
    """For each two evaluators, a row a cell: the labels that differ, and accuracy by each."""
    rows: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for one in results.in_order(_of(results, "evaluator_flips")):
        kind = one.measure.removeprefix("evaluator_flips")
        rows.setdefault(tuple(one.cell.values()), {})[kind] = one
    whole = [of[""] for of in rows.values() if "" in of and "second" in of[""].cell]
    columns = _columns(whole)
    kinds = ("_accuracy_first", "_accuracy_second", "_accuracy_gain", "_newly_wrong")
    made: list[Row] = []
    for of in rows.values():
        flips = of.get("")
        if flips is None or "second" not in flips.cell:
            continue
        counts = [f"{flips.details.get(kind, 0):,}" for kind in _FLIPS]
        accuracy = [_share(of.get(kind), ends=kind == "_accuracy_gain") for kind in kinds]
        made.append((*_cells(flips, columns, results), _share(flips), *counts, *accuracy))
    headings = (
        "different labels",
        *_FLIPS,
        "correct by the first",
        "by the second",
        "gain",
        "correct, now wrong",
    )
    return _table(columns, headings, made)


def recovered_table(results: Results) -> Table:
    """How much of a variant's gap in accuracy the second evaluator closes."""
    some = [one for one in _of(results, "recovered_share") if one.value is not None]
    some = [one for one in results.in_order(some) if one.value or one.low is not None]
    columns = list(dict.fromkeys((*_PAIR, "variant", *_columns(some))))
    means = {"recovered_share": "one model"}
    made: list[Row] = []
    for one in some:
        kind = one.measure.removeprefix("recovered_share_").replace("_", " ")
        value = number(one.value or 0.0)
        # A share of a tiny gap can be any number, so the gap is shown, too.
        known = [one.details.get(name) for name in ("others", "first")]
        gap = "" if None in known else number(known[0] - known[1], percent=True)  # type: ignore[operator]
        of = means.get(one.measure, kind)
        made.append((*_cells(one, columns, results), of, gap, value, _ends(one, False)))
    return _table(columns, ("of", "gap", "share recovered", "interval"), made, words=1)


def compliance_table(results: Results) -> Table:
    """The share of valid answers, by variant and by factor level, and why the others are not valid."""
    some = results.in_order(one for one in _of(results, "compliance") if one.value is not None)
    shared = [c for c in ("evaluator", "model", "decoding") if len({one.cell.get(c) for one in some}) > 1]
    asked: Counter[tuple[str, ...]] = Counter()
    for one in some:
        if "variant" in one.cell:
            asked[_condition(one)] += one.details.get("answers", 0)
    some = [
        one for one in some if "variant" in one.cell or one.details.get("answers") != asked[_condition(one)]
    ]
    made: list[Row] = []
    for one in some:
        about = [c for c in one.cell if c not in ("evaluator", "model", "decoding")] or [""]
        level = ", ".join(
            results.variant_name(one.cell[c]) if c == "variant" else one.cell[c] for c in about if c
        )
        failures = one.details.get("failures", {})
        why = "; ".join(f"{_reason(reason)} ({count:,})" for reason, count in failures.items())
        cells = (*(one.cell.get(c, "") for c in shared), ", ".join(about), level)
        made.append((*cells, _share(one), _ends(one, True), f"{one.details.get('answers', 0):,}", why))
    headings = ("by", "level", "valid", "interval", "answers", "why not (times)")
    table = _table(shared, headings, made, words=2)
    return Table(table.columns, table.rows, table.numeric - {len(table.columns) - 1}, table.note)


def _condition(one: Estimate) -> tuple[str, ...]:
    return tuple(one.cell.get(column, "") for column in ("evaluator", "model", "decoding"))


def _reason(reason: str) -> str:
    """Why an answer has no label, with its status in words."""
    status, colon, why = reason.partition(": ")
    return f"{status.replace('_', ' ')}{colon}{why}"


def missing_table(results: Results) -> Table:
    """The bounds of accuracy, label shares and agreement, whatever the missing labels would have been."""
    pairs: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for one in _of(results, "missing_bounds"):
        kind, _, end = one.measure.removeprefix("missing_bounds_").rpartition("_")
        if one.value is not None and one.details.get("missing"):
            pairs.setdefault((kind, *map("=".join, one.cell.items())), {})[end] = one
    some = [ends["least"] for ends in pairs.values() if len(ends) == 2]
    columns = [c for c in _columns(some) if c != "label"]
    made: list[Row] = []
    places = {id(one): at for at, one in enumerate(results.in_order(some))}
    both = (kind for kind, ends in pairs.items() if len(ends) == 2)
    for kind, *rest in sorted(both, key=lambda key: places[id(pairs[key]["least"])]):
        ends = pairs[kind, *rest]
        least, most = ends["least"], ends["most"]
        what = f"share of {results.label_name(least.cell['label'])}" if "label" in least.cell else kind
        gone = f"{least.details['missing']:,} of {least.details['answers']:,}"
        percent = kind != "alpha"
        values = (number(end.value or 0.0, percent) for end in (least, most))
        made.append((*_cells(least, columns, results), what, gone, *values))
    return _table(columns, ("what", "missing", "at least", "at most"), made, words=1)


def parse_rates_table(results: Results) -> Table:
    """Where stated confidence was found often enough to be measured."""
    every = results.in_order(_of(results, "verbal_calibration_parse_rate"))
    some = [one for one in every if one.value is not None]
    columns = _columns(some)
    made: list[Row] = []
    for one in some:
        threshold = float(one.details.get("threshold", 0.8))
        enough = (one.value or 0.0) >= threshold - 1e-12
        verdict = "measured" if enough else f"left out: below {threshold:.2f}"
        made.append((*_cells(one, columns, results), _share(one), _ends(one, True), verdict))
    table = _table(columns, ("parse rate", "interval", "calibration"), made)
    return Table(table.columns, table.rows, table.numeric - {len(table.columns) - 1}, table.note)


def _of(results: Results, measure: str) -> list[Estimate]:
    return [one for one in results.audit if one.measure.startswith(measure)]


def _columns(some: Sequence[Estimate]) -> list[str]:
    """The columns in which rows differ; the evaluators of a pair always."""
    always = [c for c in _PAIR if any(c in one.cell for one in some)]
    return [*always, *(c for c in varying(some) if c not in always)]


def _cells(one: Estimate, columns: Iterable[str], results: Results) -> list[str]:
    return [
        results.variant_name(one.cell[c]) if c == "variant" and c in one.cell else one.cell.get(c, "all")
        for c in columns
    ]


def _share(one: Estimate | None, ends: bool = False) -> Markup | str:
    if one is None or one.value is None:
        return "—"
    value = number(one.value, percent=True)
    return Markup("{} [{}]").format(value, _ends(one, True)) if ends and one.low is not None else value


def _ends(one: Estimate, percent: bool) -> Markup | str:
    if one.low is None or one.high is None:
        return ""
    return Markup("{} to {}").format(number(one.low, percent), number(one.high, percent))


def _table(columns: Sequence[str], headings: Sequence[str], rows: Sequence[Row], words: int = 0) -> Table:
    """A table whose last columns are numbers, except the first ``words`` of them."""
    heads = (*columns, *headings)
    return shortened_table(heads, rows, range(len(columns) + words, len(heads)), _MOST_ROWS)


def accepted_table(results: Results) -> Table:
    """How many labels can be accepted for each promise; no rows without a gold sample."""
    shown = results.lock.get("accepted", {})
    own = [one for one in shown.get("accepted", ()) if one["level"]]
    rows = [(f"{one['level']}, {percent(one['promise'])}", *_tables_cells(one)) for one in own]
    rows += [(percent(one["promise"]), *_tables_cells(one)) for one in shown.get("curve", ())]
    heads = ("at most wrong", "accepted", "of open items", "checked", "of these wrong", "wrong, estimated")
    return Table(heads, tuple(rows), frozenset(range(1, 6)), name="accepted")


def _tables_cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    known = one["error"] is not None
    return (
        f"{one['accepted']:,}",
        number(one["share"], percent=True),
        f"{one['checked']:,}",
        f"{one['wrong']:,}",
        number(one["error"], percent=True) if known else "",
    )


def treatment_table(results: Results) -> Table:
    """How each class and group is treated: accepted labels, and the wrong ones among them."""
    groups = results.lock.get("accepted", {}).get("groups", ())
    rows = tuple(
        (
            str(one["column"]),
            str(one["level"]),
            f"{one['items']:,}",
            _tables_share(one["accepted"]),
            f"{one['checked']:,}",
            f"{one['wrong']:,}",
            _tables_share(one["at_most"]),
            "" if one["p"] is None else number(one["p"]),
            str(one["verdict"]),
        )
        for one in groups
    )
    heads = (
        "group",
        "level",
        "open items",
        "accepted",
        "checked",
        "of these wrong",
        "at most wrong",
        "p",
        "verdict",
    )
    return Table(heads, rows, frozenset(range(2, 8)), name="treatment")


def _tables_share(value: float | None) -> str:
    return "" if value is None else number(value, percent=True)


_ALL = "all"


def coders_table(results: Results) -> Table:
    """A row for each two people, for each model with each of them, and for each prompt's distance."""
    people = _once(results.known("coder_agreement_coders"))
    beside = [one for one in results.known("coder_agreement_model") if "variant" not in one.cell]
    rows = [_row(_of_people(one), "alpha", one) for one in people]
    several = len(results.decodings) > 1
    rows += [_row(f"{_model(one, several)} and {one.cell['coder']}", "alpha", one) for one in beside]
    for one in coder_gaps(results):
        coder, variant = one.cell["coder"], one.cell.get("variant")
        who = "people with each other" if coder == _ALL else f"{coder} with other people"
        prompt = f" (prompt “{results.variant_name(variant)}”)" if variant else ""
        if coder == _ALL or not prompt:
            rows.append(_row(f"{who}, less with {_model(one, several)}{prompt}", "difference", one))
    rows += [_row(_replaced(one, several), "as good as a person", one) for one in _advantages(results)]
    return shortened_table(("who", "what", "value", "interval", "same label", "items"), rows, {2, 3, 4, 5})


def _row(who: str, what: str, one: Estimate) -> tuple[str | Markup, ...]:
    same = one.details.get("percent")
    share = "" if same is None else number(float(same), percent=True)
    return who, what, number(one.value or 0.0), interval(one), share, f"{one.n or 0:,}"


def _advantages(results: Results) -> list[Estimate]:
    """How often each model agrees with people as well as each person does."""
    return [one for one in results.known("alternative_annotator") if "variant" not in one.cell]


def _replaced(one: Estimate, several: bool) -> str:
    """Whose place the model took; where it was tested, whether it does as well."""
    coder = one.cell["coder"]
    if coder == _ALL:
        return f"{_model(one, several)} in the place of each person, on average"
    won = "does as well" if one.details.get("won") else "not shown to do as well"
    return f"{_model(one, several)} in the place of {coder}: {won}"


def _of_people(one: Estimate) -> str:
    pair = one.cell["coder"]
    return "all people" if pair == _ALL else " and ".join(pair.split(", "))


def _model(one: Estimate, several: bool) -> str:
    """The model, with its decoding where there are several."""
    decoding = one.cell.get("decoding") if several else None
    return f"{one.cell.get('model', 'the model')}{f' ({decoding})' if decoding else ''}"


def _once(some: list[Estimate]) -> list[Estimate]:
    """People with each other, which is the same beside every model: each pair once."""
    return list({one.cell["coder"]: one for one in reversed(some)}.values())[::-1]


def gold_power_table(results: Results) -> Table:
    """A row for each conclusion that gold labels correct; no rows where none does."""
    known = [one for one in results.estimates if one.measure == "conclusion_corrected"]
    rows = tuple(_table_row(one) for one in known if one.value is not None and "more_gold" in one.details)
    heads = (
        *("conclusion", "gold labels", "like", "width now", "with 20 more", "decided then"),
        "labels for 80% power",
    )
    return Table(heads, rows, frozenset(range(1, 7)), name="gold-power")


def _table_row(one: Estimate) -> tuple[str, ...]:
    more, needed = one.details["more_gold"], one.details.get("gold_needed")
    where = ", ".join(value for name, value in one.cell.items() if name != "conclusion")
    width = "" if one.low is None or one.high is None else number(one.high - one.low)
    like = one.details.get("effective_gold")
    return (
        str(one.cell.get("conclusion", "")) + (f" ({where})" if where else ""),
        f"{one.details['gold']:,}",
        "" if like is None else f"{like:,.0f}",
        width,
        number(more["width"]),
        number(more["decided"], percent=True),
        "more than there are items" if needed is None else f"{needed:,}",
    )


def frozen_table(results: Results) -> Table:
    """A row for each part of the frozen design; no rows where nothing was frozen."""
    parts = results.lock.get("frozen", {}).get("parts", ())
    rows = tuple((str(p["part"]), f"{p['size']:,}", str(p["state"]), str(p["what"])) for p in parts)
    return Table(("part", "how many", "state", "what changed"), rows, frozenset({1}), name="frozen")
