"""The tables of the most unstable: items with their raw answers, paraphrases with their text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from quaver.core.estimate_frame import Deviations
from quaver.core.variant_display import Change, marked_messages
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.page.figure_data import Behind, Cost, PartCost, RawAnswer
from quaver.report.page.notes import marked
from quaver.report.page_words import between, in_words, interval, number, printed
from quaver.report.table_rows import Column, Table, listed, share, tally, text

_WORST = 20
_LONGEST = 300
_ROWS_AN_ITEM = 60
_AROUND = 30
"""Characters that are shown on either side of a difference."""


def worst_items(deviations: Deviations | None) -> list[str]:
    """The ids of the items with the largest shares of deviations; none if none deviates."""
    if deviations is None:
        return []
    frame = deviations.items.filter(pl.col("deviating") > 0)
    return [str(item) for item in frame["item"].head(_WORST)]


def worst_items_table(results: Results, deviations: Deviations | None, behind: Behind | None) -> Table:
    """The items with the largest shares of deviations, with their text."""
    worst = worst_items(deviations)
    if deviations is None or not worst:
        return Table((), (), name="worst-items")
    texts = behind.texts(worst) if behind else {}
    columns = (
        text("item", "item"),
        text("text", lambda row: _cut(texts.get(row["item"], ""))),
        text("gold", lambda row: _label(results, row["gold"])),
        text("most frequent label", lambda row: _label(results, row["mode"])),
        share("other answers", "share"),
        tally("answers", "answers"),
        tally("without a label", "unlabelled"),
    )
    left = deviations.items.filter(pl.col("deviating") > 0).height - len(worst)
    note = f"{left:,} more items have more than one label." if left else ""
    rows = deviations.items.head(len(worst)).to_dicts()
    return replace(listed(rows, columns, name="worst-items"), note=note)


def worst_answers_table(results: Results, deviations: Deviations | None, behind: Behind | None) -> Table:
    """The answers about those items under each variant, as the model wrote them and as they were parsed."""
    worst = worst_items(deviations)
    raw = behind.answers(worst) if behind and worst else ()
    if deviations is None or not raw:
        return Table((), (), name="worst-answers")
    counted = deviations.answers.filter(pl.col("item").is_in(worst))
    read: dict[tuple[str, ...], list[str]] = {}
    ordered = counted.sort(["len", "label"], descending=[True, False])
    for row in ordered.iter_rows(named=True):
        key = (row["item"], row["model"], row["variant"], row["decoding"])
        times = f" × {row['len']}" if row["len"] > 1 else ""
        read.setdefault(key, []).append(_label(results, row["label"]) + times)
    by_item: dict[str, list[RawAnswer]] = {item: [] for item in worst}
    for answer in raw:
        by_item.setdefault(answer.item, []).append(answer)
    shown = [answer for item in worst for answer in by_item[item][:_ROWS_AN_ITEM]]
    names = (("model", results.models), ("decoding", results.decodings))
    apart = [name for name, known in names if len(known) > 1]
    rows = [
        (
            answer.item,
            *(str(getattr(answer, name)) for name in apart),
            results.variant_name(answer.variant),
            ", ".join(read.get((answer.item, answer.model, answer.variant, answer.decoding), ["—"])),
            _cut(answer.text),
        )
        for answer in shown
    ]
    left = len(raw) - len(shown)
    note = f"{left:,} more answers about these items are in responses.db." if left > 0 else ""
    columns = ("item", *apart, "variant", "label", "raw answer")
    return Table(columns, tuple(rows), frozenset(), note, "worst-answers")


def worst_paraphrases_table(results: Results, found: Deviations | None) -> Table:
    """The variants with the largest shares of deviations, with their text and how it differs."""
    if found is None or found.variants.height < 2 or not found.total:
        return Table((), (), name="worst-variants")
    variants = {str(one["id"]): one for one in results.variants}
    known = {measure: _by_variant(results, measure) for measure in ("accuracy", "paraphrase_stability")}
    extra = [measure for measure, values in known.items() if values]
    ends = {
        estimate.cell["variant"]: interval(estimate)
        for estimate in results.anywhere("deviation_share")
        if [*estimate.cell] == ["variant"]
    }
    rows = []
    for row in found.variants.head(_WORST).iter_rows(named=True):
        variant = variants.get(row["variant"], {})
        more = [known[measure].get(row["variant"], "—") for measure in extra]
        deviations = number(row["share"], percent=True)
        own = (results.variant_name(row["variant"]), deviations, ends.get(row["variant"], ""))
        cells = (*own, f"{row['answers']:,}", *more)
        rows.append((*cells, _cut(_asked(variant)), _differences(results, variant)))
    titles = {"accuracy": "accuracy", "paraphrase_stability": "own stability"}
    columns = (
        "variant",
        "deviations",
        "95% interval",
        "answers",
        *(titles[m] for m in extra),
        "instruction",
        "differs by",
    )
    left = found.variants.height - _WORST
    note = f"{left:,} more variants are in annotations.parquet." if left > 0 else ""
    return Table(columns, tuple(rows), frozenset(range(1, 4 + len(extra))), note, "worst-variants")


_FILLED = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def _asked(variant: Mapping[str, Any]) -> str:
    """A variant's instruction as the first item's prompt has it; without an instruction, the last message.

    The lock has the instruction as a template; its text stands between the same words in the example.
    """
    messages = [str(content) for _, content in variant.get("example", ())]
    instruction = str(variant.get("instruction", "")).strip()
    known = _FILLED.split(instruction)
    if not instruction:
        return messages[-1] if messages else ""
    for content in reversed(messages) if len(known) > 1 else ():
        start = index = content.find(known[0])
        for part in known:
            index = (
                content.find(part, index) + len(part)
                if part in content[max(index, 0) :] and index >= 0
                else -1
            )
        if index >= 0:
            return content[start : index if known[-1] else _next(variant, content, index)].rstrip()
    return instruction


def _next(variant: Mapping[str, Any], content: str, index: int) -> int:
    """Where an instruction ends whose last words were filled in: where the next part begins."""
    _, _, after = str(variant.get("layout", "")).partition("instruction")
    parts_after = (
        _FILLED.split(str(part)) for part in (variant.get("postfix", ""), after.partition("}}")[2])
    )
    first = (next((part.strip() for part in parts if part.strip()), "") for parts in parts_after)
    ends = [content.find(one, index) for one in first if one]
    return min((end for end in ends if end >= 0), default=len(content))


def _by_variant(results: Results, measure: str) -> dict[str, Markup]:
    """A measure's values by variant: one value, or the lowest and the highest."""
    values: dict[str, list[float]] = {}
    for estimate in results.main(measure):
        if estimate.value is not None and "variant" in estimate.cell:
            values.setdefault(estimate.cell["variant"], []).append(estimate.value)
    percent = measure == "accuracy"
    return {
        variant: number(some[0], percent)
        if printed(min(some), percent) == printed(max(some), percent)
        else between(min(some), max(some), percent)
        for variant, some in values.items()
    }


def _differences(results: Results, variant: Mapping[str, object]) -> Markup:
    """What differs from the prompt of the study file, with a few words around it."""
    original, example = results.lock.get("original", ()), variant.get("example", ())
    if not original or not isinstance(example, Sequence):
        return escape("")
    parts = []
    for _, pieces in marked_messages(original, example):
        if any(piece.kind != "same" for piece in pieces):
            parts.append(marked(_around(pieces)))
    return Markup(" / ").join(parts) if parts else escape("nothing")


def _around(pieces: Sequence[Change]) -> list[Change]:
    short = []
    for index, (kind, piece) in enumerate(pieces):
        shown = piece if kind == "same" else _cut(piece)
        if kind == "same":
            first, last = index == 0, index == len(pieces) - 1
            if first and len(piece) > _AROUND:
                shown = "…" + piece[-_AROUND:]
            elif last and len(piece) > _AROUND:
                shown = piece[:_AROUND] + "…"
            elif len(piece) > 2 * _AROUND:
                shown = f"{piece[:_AROUND]} … {piece[-_AROUND:]}"
        short.append(Change(kind, shown))
    return short


def cost_table(costs: Sequence[Cost]) -> Table:
    """What each model's answers cost: calls, tokens, money."""
    reused = [tally("reused", "reused")] if any(one.reused for one in costs) else []
    columns = (
        text("model", "model"),
        tally("calls", "calls"),
        *reused,
        tally("errors", "errors"),
        tally("tokens read", "prompt_tokens"),
        tally("of these cached", "cached_tokens"),
        tally("tokens written", "completion_tokens"),
        _MONEY,
    )
    return listed(
        [one._asdict() | {"model": one.name} for one in costs], columns, most=len(costs), name="cost"
    )


def part_cost_table(costs: Sequence[PartCost]) -> Table:
    """What each level of each factor costs: in all, and for a call."""

    def each(heading: str, tokens: str) -> Column:
        return Column(heading, lambda one: f"{one[tokens] / max(1, one['calls']):,.1f}")

    columns = (
        text("factor", lambda one: in_words(one["factor"])),
        text("level", "level"),
        tally("calls", "calls"),
        each("tokens read per call", "prompt_tokens"),
        each("tokens written per call", "completion_tokens"),
        _MONEY,
    )
    return listed([one._asdict() for one in costs], columns, most=len(costs), name="factor-cost")


def _money(one: Mapping[str, Any]) -> str:
    return "unknown" if one["money"] is None else f"{one['money']:,.4f}" if one["money"] else "0"


_MONEY = Column("US dollars", _money)


def _label(results: Results, code: str | None) -> str:
    return "—" if code is None else code if code == NO_LABEL else results.label_name(code)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
