"""Every table of the page, by the name of its files in ``tables/``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import polars as pl
from markupsafe import Markup

from quaver.core.estimate_frame import Deviations
from quaver.core.number_format import promised
from quaver.core.records import NO_LABEL, Estimate
from quaver.core.rows import cell_columns, defined, grouped
from quaver.report.estimate_index import Results
from quaver.report.page_words import beginning
from quaver.report.tables.table import Column, Table, estimates_table, listed, share, tally, text

_STATUSES = ("valid", "no_label", "ambiguous", "refused", "empty", "error")
_WORST, _LONGEST = 20, 300


class Behind(Protocol):
    """Where a report looks up texts and costs."""

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The texts of some items by id, as far as they are known."""
        ...

    def media(self, items: Sequence[str]) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The pictures and recordings of some items by id, each with its kind and as a ``data:`` URI."""
        ...

    def picture(self, noted: str) -> str:
        """The ``data:`` URI of a picture that a prompt's record notes; empty of what is not shown."""
        ...

    def costs(self) -> pl.DataFrame:
        """What each model's answers cost, a row a model; no rows if no calls were made.

        Columns: model, paraphrases (whether the calls made paraphrases), calls, reused (answers of other
        studies), errors, prompt_tokens, cached_tokens, completion_tokens, money (US dollars; null where the
        price is not known).
        """
        ...


_SHOWN: Final = {
    "images": Markup('<img src="{}" alt="" width="160"> '),
    "audio": Markup('<audio controls preload="none" src="{}"></audio> '),
}
"""How a table shows a picture and a recording."""

_CODERS = ("coder_agreement_coders", "coder_agreement_model", "coder_agreement_gap", "alternative_annotator")
_CHECKED = (tally("checked", "checked"), tally("of these wrong", "wrong"))


def page_tables(results: Results, deviations: Deviations | None, behind: Behind | None) -> dict[str, Table]:
    """The tables by name, those without rows among them."""
    accepted = results.lock.get("accepted", {})
    flips = tuple(tally(kind, kind) for kind in ("same", "gained", "lost", "changed"))
    unmeasured = grouped(results.undefined, lambda estimate: (estimate.measure, estimate.reason))
    columns = (
        text("measure", lambda some: some[0].measure),
        text("reason", lambda some: some[0].reason or "no reason given"),
        tally("estimates", len),
        text("where", _where),
    )
    readiness = [estimate for estimate in results.estimates if estimate.measure.startswith("readiness_")]
    judged = [estimate for estimate in readiness if "verdict" in estimate.details]
    tables = {
        "readiness": estimates_table(results.in_order(judged), (text("threshold", "limit"),)),
        "statuses": statuses(results),
        "compliance": estimates_table(
            results.in_order(defined(_audited(results, "compliance"))), (text("reasons (times)", _failures),)
        ),
        "evaluators": estimates_table(results.in_order(_audited(results, "evaluator_flips")), flips),
        "coders": estimates_table(
            [estimate for measure in _CODERS for estimate in results.known(measure)],
            (share("same label", "percent"),),
        ),
        "worst-items": worst_items_table(results, deviations, behind),
        "spans": spans_table(results, behind),
        "cost": cost_table(behind.costs() if behind else pl.DataFrame()),
        "unmeasured": listed(unmeasured.values(), columns),
        "left-out": left_out_table(results),
        "accepted": accepted_table(accepted),
        "treatment": listed(
            accepted.get("groups", ()),
            (
                *(text("group", "column"), text("level", "level"), tally("open items", "items")),
                *(share("accepted", "share"), *_CHECKED, share("at most wrong", "at_most")),
            ),
        ),
    }
    return {name: replace(table, name=name) for name, table in tables.items()}


def _audited(results: Results, measure: str) -> list[Estimate]:
    """What the audit of the answers measured, and what the study's file asked for of it."""
    return [estimate for estimate in results.audit if estimate.measure.startswith(measure)]


def _failures(estimate: Estimate) -> str:
    """Why answers have no label, with their status in words, and how often."""
    lines = []
    for reason, count in estimate.details.get("failures", {}).items():
        status, colon, why = reason.partition(": ")
        lines.append(f"{status.replace('_', ' ')}{colon}{why} ({count:,})")
    return "; ".join(lines)


def statuses(results: Results) -> Table:
    """How many answers have which status, by evaluator."""
    frame = results.annotations
    if frame.is_empty() or not {"evaluator", "status"} <= set(frame.columns):
        return Table((), ())
    counted = frame.select(pl.col("evaluator", "status").cast(pl.String)).pivot(
        "status", index="evaluator", values="status", aggregate_function="len"
    )
    seen = [status for status in _STATUSES if status in counted.columns]
    every = pl.DataFrame({"evaluator": results.evaluators}, schema={"evaluator": pl.String})
    rows = every.join(counted, on="evaluator", how="left", maintain_order="left").fill_null(0)
    known = [tally(status.replace("_", " "), status) for status in seen]
    answers = rows.with_columns(answers=pl.sum_horizontal(seen)).to_dicts()
    return listed(answers, (text("evaluator", "evaluator"), tally("answers", "answers"), *known))


def worst_items_table(results: Results, deviations: Deviations | None, behind: Behind | None) -> Table:
    """The items with the largest shares of deviations, with their text; none if none deviates."""
    if deviations is None:
        return Table((), ())

    def label(code: str | None) -> str:
        return "—" if code is None else code if code == NO_LABEL else results.label_name(code)

    columns = (
        text("gold", lambda row: label(row["gold"])),
        text("most frequent label", lambda row: label(row["mode"])),
        *(share("other answers", "share"), tally("answers", "answers")),
        tally("without a label", "unlabelled"),
    )
    moved = deviations.items.filter(pl.col("deviating") > 0)
    return _items_table(results, moved, behind, columns, "{:,} more items have more than one label.")


def _items_table(
    results: Results, rows: pl.DataFrame, behind: Behind | None, columns: Sequence[Column], note: str
) -> Table:
    """The first of some items with their texts and media, and a note of how many more there are."""
    shown, left = rows.head(_WORST).to_dicts(), rows.height - _WORST
    if not shown:
        return Table((), ())
    names = [str(row["item"]) for row in shown]
    texts = behind.texts(names) if behind else {}
    media = behind.media(names) if behind else {}

    def in_short(row: Any) -> str | Markup:
        words = beginning(texts.get(row["item"], ""), _LONGEST)
        files = [_SHOWN[kind].format(uri) for kind, uri in media.get(row["item"], ())]
        return Markup().join([*files, words]) if files else words

    table = listed(shown, (text("item", "item"), text(results.word, in_short), *columns))
    return replace(table, note=note.format(left) if left > 0 else "")


def spans_table(results: Results, behind: Behind | None) -> Table:
    """The items in which most answers differ from the most frequent marks, and what both mark."""
    if "spans" not in results.annotations.columns:
        return Table((), ())
    invented = pl.col("quote_status").cast(pl.String) == "invented"
    frame = results.annotations.drop_nulls("spans").with_columns(
        pl.col("item").cast(pl.String), lost=invented
    )
    kinds = frame.sort("lost", maintain_order=True).group_by("item", "spans", maintain_order=True)
    counted = kinds.agg(pl.col("quote", "lost").first(), answers=pl.len())
    words = pl.when(spans="").then(pl.lit("nothing")).otherwise(pl.col("quote"))
    found = pl.when("lost").then(words + " (not all of it is in the text)").otherwise(words)
    ranked = counted.sort("answers", descending=True, maintain_order=True).with_columns(words=found)
    items = ranked.group_by("item", maintain_order=True).agg("words", "answers", whole=pl.sum("answers"))
    differing = items.filter(pl.col("answers").list.len() > 1).with_columns(
        share=1 - pl.col("answers").list.first() / pl.col("whole")
    )
    columns = (
        text("most frequent marks", lambda row: beginning(row["words"][0], _LONGEST)),
        text("other marks", lambda row: beginning(" | ".join(row["words"][1:]), _LONGEST)),
        *(share("other answers", "share"), tally("answers", "whole")),
    )
    worst = differing.sort("share", descending=True, maintain_order=True)
    return _items_table(results, worst, behind, columns, "Answers mark {:,} more items differently.")


def cost_table(costs: pl.DataFrame) -> Table:
    """What each model's answers cost: calls, tokens, money."""
    rows = costs.to_dicts()
    reused = [tally("reused", "reused")] if any(row["reused"] for row in rows) else []
    columns = (
        *(text("model", paid_model), tally("calls", "calls"), *reused, tally("errors", "errors")),
        *(tally("tokens read", "prompt_tokens"), tally("of these cached", "cached_tokens")),
        *(tally("tokens written", "completion_tokens"), ("US dollars", _money, True)),
    )
    return listed(rows, columns, name="cost")


def paid_model(cost: Mapping[str, Any]) -> str:
    """What a table of costs calls a row's model."""
    return f"{cost['model']} (paraphrases)" if cost["paraphrases"] else str(cost["model"])


def _money(cost: Mapping[str, Any]) -> str:
    money = cost["money"]
    return "unknown" if money is None else f"{money:,.4f}" if money else "0"


def _where(estimates: Sequence[Estimate]) -> str:
    """What the cells of some estimates share, and how many values there are of the rest."""
    parts = []
    for column in cell_columns(estimates):
        values = list(dict.fromkeys(estimate.cell.get(column, "all") for estimate in estimates))
        parts.append(f"{column} {values[0]}" if len(values) == 1 else f"{len(values)} values of {column}")
    return ", ".join(parts) or "the whole study"


def left_out_table(results: Results) -> Table:
    """What estimates exclude: measure, kind, in how many estimates, and how many in all of them."""
    total, times = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for estimate in results.estimates:
        for kind, count in estimate.excluded.items():
            total[estimate.measure, str(kind)] += int(count)
            times[estimate.measure, str(kind)] += 1
    columns = (
        *(text("measure", lambda pair: pair[0]), text("what", lambda pair: pair[1].replace("_", " "))),
        *(tally("estimates", times.__getitem__), tally("times", total.__getitem__)),
    )
    return listed(total, columns)


def accepted_table(accepted: Mapping[str, Any]) -> Table:
    """How many labels can be accepted for each promise; no rows without a gold sample."""
    rows = [row for row in accepted.get("accepted", ()) if row["level"]]
    rows += [{**row, "level": ""} for row in accepted.get("curve", ())]

    def promise_of(row: Mapping[str, Any]) -> str:
        return ", ".join(filter(None, (row["level"], promised(row["promise"]))))

    columns = (
        *(text("at most wrong", promise_of), tally("accepted", "accepted"), share("of open items", "share")),
        *(*_CHECKED, share("wrong, estimated", "error")),
    )
    return listed(rows, columns)
