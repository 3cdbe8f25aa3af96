"""The tables of parsing, acceptance, coders and gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from quaver.core.number_format import promised
from quaver.core.records import Estimate
from quaver.core.rows import defined
from quaver.report.estimate_index import Results, varying
from quaver.report.findings.key_results import coder_gaps
from quaver.report.page_words import between, in_words, interval, number
from quaver.report.table_rows import Column, Table, both_ends, listed, part_of_cell, plain, share, tally, text

_PAIR = ("first", "second")
_FLIPS = ("same", "gained", "lost", "changed")


def flips_table(results: Results) -> Table:
    """For each two evaluators, a row a cell: the labels that differ, and accuracy by each."""
    rows: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for estimate in results.in_order(_of(results, "evaluator_flips")):
        kind = estimate.measure.removeprefix("evaluator_flips")
        rows.setdefault(tuple(estimate.cell.values()), {})[kind] = estimate
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
    estimates = defined(_of(results, "recovered_share"))
    estimates = [
        estimate for estimate in results.in_order(estimates) if estimate.value or estimate.low is not None
    ]
    names = list(dict.fromkeys((*_PAIR, "variant", *_columns(estimates))))
    columns = (
        *(part_of_cell(name, results) for name in names),
        Column("gap", _gap),  # a share of a tiny gap can be any number, so the gap is shown, too
        plain("share recovered", "value"),
        both_ends(),
    )
    return listed(estimates, columns)


def _gap(estimate: Estimate) -> Markup | str:
    others, first = estimate.details.get("others"), estimate.details.get("first")
    return "" if others is None or first is None else number(others - first, percent=True)


def compliance_table(results: Results) -> Table:
    """The share of valid answers, by variant and by factor level, and why the others are not valid."""
    estimates = results.in_order(
        estimate for estimate in _of(results, "compliance") if estimate.value is not None
    )
    shared = [
        c
        for c in ("evaluator", "model", "decoding")
        if len({estimate.cell.get(c) for estimate in estimates}) > 1
    ]
    asked: Counter[tuple[str, ...]] = Counter()
    for estimate in estimates:
        if "variant" in estimate.cell:
            asked[_condition(estimate)] += estimate.details.get("answers", 0)
    estimates = [
        estimate
        for estimate in estimates
        if "variant" in estimate.cell or estimate.details.get("answers") != asked[_condition(estimate)]
    ]

    def named(name: str) -> Column:
        return text(name, lambda one: one.cell.get(name, ""))

    columns = (
        *map(named, shared),
        text("by", lambda one: ", ".join(map(in_words, _about(one)))),
        text("level", lambda one: _level(one, results)),
        share("valid", "value"),
        both_ends(percent=True),
        tally("answers", "answers"),
        text("why not (times)", _failures),
    )
    return listed(estimates, columns)


def _condition(estimate: Estimate) -> tuple[str, ...]:
    return tuple(estimate.cell.get(column, "") for column in ("evaluator", "model", "decoding"))


def _about(estimate: Estimate) -> list[str]:
    return [column for column in estimate.cell if column not in ("evaluator", "model", "decoding")]


def _level(estimate: Estimate, results: Results) -> str:
    named = (
        results.variant_name(estimate.cell[c]) if c == "variant" else estimate.cell[c]
        for c in _about(estimate)
    )
    return ", ".join(named)


def _failures(estimate: Estimate) -> str:
    """Why answers have no label, with their status in words, and how often."""
    found = []
    for reason, count in estimate.details.get("failures", {}).items():
        status, colon, why = reason.partition(": ")
        found.append(f"{status.replace('_', ' ')}{colon}{why} ({count:,})")
    return "; ".join(found)


def missing_table(results: Results) -> Table:
    """The bounds of accuracy, label shares and agreement, whatever the missing labels would have been."""
    most: dict[tuple[str, ...], Estimate] = {}
    least: dict[tuple[str, ...], Estimate] = {}
    for estimate in _of(results, "missing_bounds"):
        kind, _, end = estimate.measure.removeprefix("missing_bounds_").rpartition("_")
        if estimate.value is not None and estimate.details.get("missing"):
            (least if end == "least" else most)[kind, *map("=".join, estimate.cell.items())] = estimate
    kinds = {id(estimate): (key[0], most[key]) for key, estimate in least.items() if key in most}
    estimates = results.in_order(estimate for estimate in least.values() if id(estimate) in kinds)

    def bounded(estimate: Estimate) -> str:
        label = estimate.cell.get("label")
        return kinds[id(estimate)][0] if label is None else f"share of {results.label_name(label)}"

    def bound(estimate: Estimate, end: Estimate) -> Markup:
        return number(end.number, kinds[id(estimate)][0] != "alpha")

    columns = (
        *(column for column in _cells(estimates, results) if column.heading != "label"),
        text("what", bounded),
        Column("missing", lambda one: f"{one.details['missing']:,} of {one.details['answers']:,}"),
        Column("at least", lambda one: bound(one, one)),
        Column("at most", lambda one: bound(one, kinds[id(one)][1])),
    )
    return listed(estimates, columns)


def parse_rates_table(results: Results) -> Table:
    """Where stated confidence was found often enough to be measured."""
    estimates = results.in_order(_of(results, "verbal_calibration_parse_rate"))
    some = defined(estimates)

    def verdict(estimate: Estimate) -> str:
        threshold = float(estimate.details.get("threshold", 0.8))
        enough = estimate.number >= threshold - 1e-12
        return "measured" if enough else f"left out: below {threshold:.2f}"

    columns = (
        share("parse rate", "value"),
        both_ends(percent=True),
        text("calibration", verdict),
    )
    return listed(some, (*_cells(some, results), *columns))


def _of(results: Results, measure: str) -> list[Estimate]:
    return [estimate for estimate in results.audit if estimate.measure.startswith(measure)]


def _columns(estimates: Sequence[Estimate]) -> list[str]:
    """The columns in which rows differ; the evaluators of a pair always."""
    always = [c for c in _PAIR if any(c in estimate.cell for estimate in estimates)]
    return [*always, *(c for c in varying(estimates) if c not in always)]


def _cells(estimates: Sequence[Estimate], results: Results) -> list[Column]:
    return [part_of_cell(name, results) for name in _columns(estimates)]


def _known_share(estimate: Estimate | None) -> Markup | str:
    return "—" if estimate is None or estimate.value is None else number(estimate.value, percent=True)


def _with_ends(estimate: Estimate | None) -> Markup | str:
    if estimate is None or estimate.interval is None:
        return _known_share(estimate)
    return Markup("{} [{}]").format(_known_share(estimate), between(*estimate.interval, percent=True))


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

    def model(estimate: Estimate) -> str:
        """The model, with its decoding where there are several."""
        decoding = estimate.cell.get("decoding") if several else None
        return f"{estimate.cell.get('model', 'the model')}{f' ({decoding})' if decoding else ''}"

    rows: list[tuple[str, str, Estimate]] = []
    # People with each other, which is the same beside every model: each pair once.
    pairs = {
        estimate.cell["coder"]: estimate for estimate in reversed(results.known("coder_agreement_coders"))
    }
    for pair, estimate in reversed(pairs.items()):
        rows.append(("all people" if pair == _ALL else " and ".join(pair.split(", ")), "alpha", estimate))
    for estimate in _over_prompts(results, "coder_agreement_model"):
        rows.append((f"{model(estimate)} and {estimate.cell['coder']}", "alpha", estimate))
    for estimate in coder_gaps(results):
        coder, variant = estimate.cell["coder"], estimate.cell.get("variant")
        who = "people with each other" if coder == _ALL else f"{coder} with other people"
        prompt = f" (prompt “{results.variant_name(variant)}”)" if variant else ""
        if coder == _ALL or not prompt:
            rows.append((f"{who}, less with {model(estimate)}{prompt}", "difference", estimate))
    for estimate in _over_prompts(results, "alternative_annotator"):
        coder, won = estimate.cell["coder"], estimate.details.get("won")
        how = f"{coder}: {'does as well' if won else 'not shown to do as well'}"
        whose = "each person, on average" if coder == _ALL else how
        rows.append((f"{model(estimate)} in the place of {whose}", "as good as a person", estimate))
    columns = (
        text("who", lambda row: row[0]),
        text("what", lambda row: row[1]),
        Column("value", lambda row: number(row[2].number)),
        Column("interval", lambda row: interval(row[2])),
        share("same label", lambda row: row[2].details.get("percent")),
        tally("items", lambda row: row[2].n or 0),
    )
    return listed(rows, columns)


def _over_prompts(results: Results, measure: str) -> list[Estimate]:
    return [estimate for estimate in results.known(measure) if "variant" not in estimate.cell]
