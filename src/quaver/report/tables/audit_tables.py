"""The tables of parsing, acceptance, coders, gold and the frozen design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from quaver.core.number_format import promised
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results, varying
from quaver.report.findings.key_results import coder_gaps
from quaver.report.page_words import in_words, interval, number
from quaver.report.table_rows import Column, Table, both_ends, listed, part_of_cell, plain, share, tally, text

_PAIR = ("first", "second")
_FLIPS = ("same", "gained", "lost", "changed")


def flips_table(results: Results) -> Table:
    """For each two evaluators, a row a cell: the labels that differ, and accuracy by each."""
    rows: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for one in results.in_order(_of(results, "evaluator_flips")):
        kind = one.measure.removeprefix("evaluator_flips")
        rows.setdefault(tuple(one.cell.values()), {})[kind] = one
    whole = [of[""] for of in rows.values() if "" in of and "second" in of[""].cell]
    beside = {id(of[""]): of for of in rows.values() if "" in of}

    def accuracy(heading: str, kind: str) -> Column:
        return Column(heading, lambda one: _known_share(beside[id(one)].get(f"_accuracy_{kind}")))

    def counted(kind: str) -> Column:
        return tally(kind, lambda one: one.details.get(kind, 0))

    columns = (
        *_cells(whole, results),
        Column("different labels", _known_share),
        *map(counted, _FLIPS),
        accuracy("correct by the first", "first"),
        accuracy("by the second", "second"),
        Column("gain", lambda one: _with_ends(beside[id(one)].get("_accuracy_gain"))),
        Column("correct, now wrong", lambda one: _known_share(beside[id(one)].get("_newly_wrong"))),
    )
    return listed(whole, columns)


def recovered_table(results: Results) -> Table:
    """How much of a variant's gap in accuracy the second evaluator closes."""
    some = [one for one in _of(results, "recovered_share") if one.value is not None]
    some = [one for one in results.in_order(some) if one.value or one.low is not None]
    names = list(dict.fromkeys((*_PAIR, "variant", *_columns(some))))
    columns = (
        *(part_of_cell(name, results) for name in names),
        text("of", _recovered),
        Column("gap", _gap),  # a share of a tiny gap can be any number, so the gap is shown, too
        plain("share recovered", "value"),
        both_ends("interval"),
    )
    return listed(some, columns)


def _recovered(one: Estimate) -> str:
    kind = one.measure.removeprefix("recovered_share").removeprefix("_")
    return kind.replace("_", " ") or "one model"


def _gap(one: Estimate) -> Markup | str:
    others, first = one.details.get("others"), one.details.get("first")
    return "" if others is None or first is None else number(others - first, percent=True)


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

    def named(name: str) -> Column:
        return text(name, lambda one: one.cell.get(name, ""))

    columns = (
        *map(named, shared),
        text("by", lambda one: ", ".join(map(in_words, _about(one)))),
        text("level", lambda one: _level(one, results)),
        share("valid", "value"),
        both_ends("interval", percent=True),
        tally("answers", "answers"),
        text("why not (times)", _failures),
    )
    return listed(some, columns)


def _condition(one: Estimate) -> tuple[str, ...]:
    return tuple(one.cell.get(column, "") for column in ("evaluator", "model", "decoding"))


def _about(one: Estimate) -> list[str]:
    return [column for column in one.cell if column not in ("evaluator", "model", "decoding")]


def _level(one: Estimate, results: Results) -> str:
    named = (results.variant_name(one.cell[c]) if c == "variant" else one.cell[c] for c in _about(one))
    return ", ".join(named)


def _failures(one: Estimate) -> str:
    """Why answers have no label, with their status in words, and how often."""
    found = []
    for reason, count in one.details.get("failures", {}).items():
        status, colon, why = reason.partition(": ")
        found.append(f"{status.replace('_', ' ')}{colon}{why} ({count:,})")
    return "; ".join(found)


def missing_table(results: Results) -> Table:
    """The bounds of accuracy, label shares and agreement, whatever the missing labels would have been."""
    most: dict[tuple[str, ...], Estimate] = {}
    least: dict[tuple[str, ...], Estimate] = {}
    for one in _of(results, "missing_bounds"):
        kind, _, end = one.measure.removeprefix("missing_bounds_").rpartition("_")
        if one.value is not None and one.details.get("missing"):
            (least if end == "least" else most)[kind, *map("=".join, one.cell.items())] = one
    kinds = {id(one): (key[0], most[key]) for key, one in least.items() if key in most}
    some = results.in_order(one for one in least.values() if id(one) in kinds)

    def bounded(one: Estimate) -> str:
        label = one.cell.get("label")
        return kinds[id(one)][0] if label is None else f"share of {results.label_name(label)}"

    def bound(one: Estimate, end: Estimate) -> Markup:
        return number(end.value or 0.0, kinds[id(one)][0] != "alpha")

    columns = (
        *(column for column in _cells(some, results) if column.heading != "label"),
        text("what", bounded),
        Column("missing", lambda one: f"{one.details['missing']:,} of {one.details['answers']:,}"),
        Column("at least", lambda one: bound(one, one)),
        Column("at most", lambda one: bound(one, kinds[id(one)][1])),
    )
    return listed(some, columns)


def parse_rates_table(results: Results) -> Table:
    """Where stated confidence was found often enough to be measured."""
    every = results.in_order(_of(results, "verbal_calibration_parse_rate"))
    some = [one for one in every if one.value is not None]

    def verdict(one: Estimate) -> str:
        threshold = float(one.details.get("threshold", 0.8))
        enough = (one.value or 0.0) >= threshold - 1e-12
        return "measured" if enough else f"left out: below {threshold:.2f}"

    columns = (
        share("parse rate", "value"),
        both_ends("interval", percent=True),
        text("calibration", verdict),
    )
    return listed(some, (*_cells(some, results), *columns))


def _of(results: Results, measure: str) -> list[Estimate]:
    return [one for one in results.audit if one.measure.startswith(measure)]


def _columns(some: Sequence[Estimate]) -> list[str]:
    """The columns in which rows differ; the evaluators of a pair always."""
    always = [c for c in _PAIR if any(c in one.cell for one in some)]
    return [*always, *(c for c in varying(some) if c not in always)]


def _cells(some: Sequence[Estimate], results: Results) -> list[Column]:
    return [part_of_cell(name, results) for name in _columns(some)]


def _known_share(one: Estimate | None) -> Markup | str:
    return "—" if one is None or one.value is None else number(one.value, percent=True)


def _with_ends(one: Estimate | None) -> Markup | str:
    if one is None or one.low is None or one.high is None:
        return _known_share(one)
    ends = (number(end, percent=True) for end in (one.low, one.high))
    return Markup("{} [{} to {}]").format(_known_share(one), *ends)


_CHECKED = (tally("checked", "checked"), tally("of these wrong", "wrong"))


def accepted_table(results: Results) -> Table:
    """How many labels can be accepted for each promise; no rows without a gold sample."""
    shown = results.lock.get("accepted", {})
    own = [one for one in shown.get("accepted", ()) if one["level"]]

    def promise_of(one: Mapping[str, Any]) -> str:
        return ", ".join([*filter(None, [one["level"]]), promised(one["promise"])])

    columns = (
        text("at most wrong", promise_of),
        tally("accepted", "accepted"),
        share("of open items", "share"),
        *_CHECKED,
        share("wrong, estimated", "error"),
    )
    return listed([*own, *({**one, "level": ""} for one in shown.get("curve", ()))], columns, name="accepted")


def treatment_table(results: Results) -> Table:
    """How each class and group is treated: accepted labels, and the wrong ones among them."""
    columns = (
        text("group", "column"),
        text("level", "level"),
        tally("open items", "items"),
        share("accepted", "accepted"),
        *_CHECKED,
        share("at most wrong", "at_most"),
        plain("p", "p"),
        text("verdict", "verdict"),
    )
    return listed(results.lock.get("accepted", {}).get("groups", ()), columns, name="treatment")


_ALL = "all"


def coders_table(results: Results) -> Table:
    """A row for each two people, for each model with each of them, and for each prompt's distance."""
    several = len(results.decodings) > 1

    def model(one: Estimate) -> str:
        """The model, with its decoding where there are several."""
        decoding = one.cell.get("decoding") if several else None
        return f"{one.cell.get('model', 'the model')}{f' ({decoding})' if decoding else ''}"

    rows: list[tuple[str, str, Estimate]] = []
    # People with each other, which is the same beside every model: each pair once.
    pairs = {one.cell["coder"]: one for one in reversed(results.known("coder_agreement_coders"))}
    for pair, one in reversed(pairs.items()):
        rows.append(("all people" if pair == _ALL else " and ".join(pair.split(", ")), "alpha", one))
    for one in _over_prompts(results, "coder_agreement_model"):
        rows.append((f"{model(one)} and {one.cell['coder']}", "alpha", one))
    for one in coder_gaps(results):
        coder, variant = one.cell["coder"], one.cell.get("variant")
        who = "people with each other" if coder == _ALL else f"{coder} with other people"
        prompt = f" (prompt “{results.variant_name(variant)}”)" if variant else ""
        if coder == _ALL or not prompt:
            rows.append((f"{who}, less with {model(one)}{prompt}", "difference", one))
    for one in _over_prompts(results, "alternative_annotator"):
        coder, won = one.cell["coder"], one.details.get("won")
        how = f"{coder}: {'does as well' if won else 'not shown to do as well'}"
        whose = "each person, on average" if coder == _ALL else how
        rows.append((f"{model(one)} in the place of {whose}", "as good as a person", one))
    columns = (
        text("who", lambda row: row[0]),
        text("what", lambda row: row[1]),
        Column("value", lambda row: number(row[2].value or 0.0)),
        Column("interval", lambda row: interval(row[2])),
        share("same label", lambda row: row[2].details.get("percent")),
        tally("items", lambda row: row[2].n or 0),
    )
    return listed(rows, columns)


def _over_prompts(results: Results, measure: str) -> list[Estimate]:
    return [one for one in results.known(measure) if "variant" not in one.cell]


def gold_power_table(results: Results) -> Table:
    """A row for each conclusion that gold labels correct; no rows where none does."""
    known = [one for one in results.estimates if one.measure == "conclusion_corrected"]

    def concluded(one: Estimate) -> str:
        where = ", ".join(value for name, value in one.cell.items() if name != "conclusion")
        return one.cell.get("conclusion", "") + (f" ({where})" if where else "")

    def width(one: Estimate) -> float | None:
        return None if one.low is None or one.high is None else one.high - one.low

    def needed(one: Estimate) -> str:
        labels = one.details.get("gold_needed")
        return "more than there are items" if labels is None else f"{labels:,}"

    columns = (
        text("conclusion", concluded),
        tally("gold labels", "gold"),
        tally("like", "effective_gold"),
        plain("width now", width),
        plain("with 20 more", lambda one: one.details["more_gold"]["width"]),
        share("decided then", lambda one: one.details["more_gold"]["decided"]),
        Column("labels for 80% power", needed),
    )
    some = [one for one in known if one.value is not None and "more_gold" in one.details]
    return listed(some, columns, name="gold-power")


def frozen_table(results: Results) -> Table:
    """A row for each part of the frozen design; no rows where nothing was frozen."""
    columns = (
        text("part", "part"),
        tally("how many", "size"),
        text("state", "state"),
        text("what changed", "what"),
    )
    return listed(results.lock.get("frozen", {}).get("parts", ()), columns, name="frozen")
