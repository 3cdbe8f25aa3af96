"""The items to look at first, with what was answered; and, after a change, whether it helped them alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from quaver.comparison.alignment import ITEMS_ALIKE, nothing_in_common, strings_of
from quaver.comparison.flipped_items import item_texts
from quaver.comparison.paired_comparison import compare
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.core.replaced_file import replacing
from quaver.core.rows import Rows, defined, html_table, short_lines
from quaver.core.spreadsheet import write_csv
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.bootstrap import Resampling
from quaver.measures.variation.label_shares import item_stability
from quaver.study.analysis.call_export import check_ending, raw_answers
from quaver.study.session import Study
from quaver.study.sources.outgoing_check import check_outgoing

RULE = (
    "Listed is what is sensitive (above 0), inconsistent (consistency below 0.5) or has answers without a "
    "label. The score is the mean over the item’s answers: one without a label counts 1, one with a label "
    "the mean of the item’s sensitivity and 1 − consistency (of one alone where the other is undefined), "
    "each taken over models and decodings. So it goes from 0, labelled alike every time, to 1."
)
"""Which items are listed, and which of them come first."""

_NUMBERS = ("score", "sensitivity", "consistency", "unparsed", "right")
_ANSWER = ("model", "decoding", "variant", "repeat", "label", "status", "reason", "output")
_COMPARED = ("accuracy", "compliance", "sensitivity")
_FORMATS = (".csv", ".json")


@dataclass(frozen=True)
class Worst(Rows):
    """The worst items of a study: a table in a notebook, a few lines elsewhere, a frame on request.

    Attributes:
        items: A row an item, the worst first: ``item``, ``gold``, ``why`` (what is wrong with it, in words),
            ``score`` (see `RULE`), ``sensitivity``, ``consistency``, ``unparsed`` (share of answers without
            a label), ``right`` (share of answers that are the gold label), ``mode`` (the modal label),
            ``text``; with an earlier study its own numbers, and those of now as ``…_after``.
        answers: A row an answer to these items: ``item``, model, decoding, variant, repeat, ``label``,
            ``status``, ``reason``, ``output`` (raw; null where only labels are known).
        before: The earlier study's name; None where there is none.
        differences: After less before, paired: the cell's ``items`` says whether of the worst, of the
            rest, or of all.
        counts: How many items are the worst, the rest, and all of them, as far as both studies have them.
    """

    items: pl.DataFrame
    answers: pl.DataFrame
    before: str | None = None
    differences: Sequence[Estimate] = ()
    counts: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = [f"{row['item']}: {row['why']}" for row in self.items.iter_rows(named=True)]
        return short_lines(lines, "items") if lines else "no item to look at"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each item; ``answers`` is a frame of the answers to them."""
        return self.items.to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """The frame ``items``."""
        return self.items

    def _repr_html_(self) -> str:
        shown = self.items.select(pl.col(name) for name in self.items.columns if name != "text")
        rows = [
            tuple(f"{cell:.2f}" if isinstance(cell, float) else "" if cell is None else cell for cell in row)
            for row in shown.iter_rows()
        ]
        return html_table(shown.columns, rows, RULE)

    def document(self) -> dict[str, Any]:
        """All of it, as a mapping for JSON."""
        return {
            "rule": RULE,
            "before": self.before,
            "items": [
                row | {"answers": self.answers.filter(pl.col("item") == row["item"]).drop("item").to_dicts()}
                for row in self.items.iter_rows(named=True)
            ],
            "counts": dict(self.counts),
            "differences": [estimate.document() for estimate in self.differences],
        }

    def write(self, path: str | Path) -> None:
        """Write the answers with their items, a row each (``.csv``), or everything (``.json``).

        Args:
            path: The file; its ending says which.

        Raises:
            QuaverError: The file's name has another ending.
            StoreError: It cannot be written.
        """
        target = Path(path)
        check_ending(target, _FORMATS, "the worst items")
        with replacing(target) as part:
            if target.suffix == ".json":
                text = json.dumps(self.document(), indent=1, ensure_ascii=False, default=str)
                part.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
            else:
                with part.open("wb") as file:
                    write_csv(
                        self.items.join(self.answers, on="item", how="left", maintain_order="left"), file
                    )
            check_outgoing([part])


@guarded
def worst(
    study: Study,
    *,
    against: Study | None = None,
    n: int = 10,
    evaluator: str | None = None,
    confidence_level: float = 0.95,
    resamples: int = 2000,
) -> Worst:
    """The items that prompts move most, that differ from others of their class, or that have no label.

    Args:
        study: The study as it is now.
        against: It (or its bundle) before a change. The worst items are then those of before, and what the
            change did to them stands beside what it did to the rest.
        n: How many items.
        evaluator: Whose readings; the study's first if left out.
        confidence_level: Level of the intervals.
        resamples: Random draws behind the measures, where these need them.

    Returns:
        The items, the answers to them, and with an earlier study what the change did.

    Raises:
        StoreError: Nothing is stored yet.
        UnknownName: No evaluator of that name.
        MeasureError: The two studies have no items in common.
    """
    if n < 1:
        raise MeasureError("not a number of items", where="n", expected="1 or more", found=str(n))
    now = _readings(study, evaluator)
    if against is None:
        items = _ranked(now, study, n)
        return Worst(_with_texts(items, study), _answers(study, now, items))
    earlier = _readings(against, evaluator)
    both = [*set(now["item"]) & set(earlier["item"])]
    if not both:
        raise nothing_in_common(
            "items", *(sorted(set(frame["item"])) for frame in (earlier, now)), **ITEMS_ALIKE
        )
    items = _ranked(earlier.filter(pl.col("item").is_in(both)), against, n)
    after = _ranked(now.filter(pl.col("item").is_in(both)), study, None)
    after = after.select("item", *(pl.col(name).name.suffix("_after") for name in (*_NUMBERS, "mode")))
    items = items.join(after, on="item", how="left", maintain_order="left")
    chosen = items["item"].to_list()
    parts = {"worst": chosen, "rest": [one for one in both if one not in chosen], "all": both}
    wanted = evaluator or study.spec.evaluators[0].title
    differences = []
    for name, some in parts.items():
        if some:
            differences += _differences(
                against, study, name, some, wanted, Resampling(confidence_level, resamples)
            )
    return Worst(
        _with_texts(items, study),
        _answers(study, now, items),
        against.spec.name,
        differences,
        {name: len(some) for name, some in parts.items()},
    )


def _readings(study: Study, evaluator: str | None) -> pl.DataFrame:
    """The annotations of one evaluator."""
    frame = strings_of(study)
    known = frame["evaluator"].unique(maintain_order=True).to_list()
    wanted = evaluator or next((one.title for one in study.spec.evaluators if one.title in known), known[0])
    if wanted not in known:
        raise UnknownName("evaluator", wanted, known, where="evaluator")
    return frame.filter(pl.col("evaluator") == wanted)


def _ranked(frame: pl.DataFrame, study: Study, n: int | None) -> pl.DataFrame:
    """The items by score; those without any fault are left out where only some are wanted."""
    cells = ("model", "decoding")
    stability = (
        item_stability(frame, labels=study.experiment.labels, by=cells)
        .group_by("item", maintain_order=True)
        .agg(pl.col("gold").first(), pl.col("sensitivity", "consistency").mean())
    )
    answers = frame.group_by("item").agg(
        pl.col("label").is_null().mean().alias("unparsed"),
        pl.when(pl.col("gold").first().is_not_null())
        .then(pl.col("label").eq_missing(pl.col("gold")).mean())
        .alias("right"),
        pl.col("label").drop_nulls().mode().sort().first().alias("mode"),
    )
    expression = pl.mean_horizontal(pl.col("sensitivity"), 1 - pl.col("consistency")).fill_null(0)
    score = pl.col("unparsed") + (1 - pl.col("unparsed")) * expression
    why = [
        pl.when(pl.col("unparsed") > 0).then(pl.lit("unparsed")),
        pl.when(pl.col("sensitivity") > 1e-9).then(pl.lit("sensitive")),
        pl.when(pl.col("consistency") < 0.5).then(pl.lit("inconsistent")),
    ]
    found = (
        stability.join(answers, on="item", how="left", maintain_order="left")
        .with_columns(
            score.alias("score"),
            pl.concat_str(why, separator=", ", ignore_nulls=True).alias("why"),
        )
        .select("item", "gold", "why", *_NUMBERS, "mode")
        .sort("score", "item", descending=[True, False])
    )
    return found if n is None else found.filter(pl.col("why") != "").head(n)


def _with_texts(items: pl.DataFrame, study: Study) -> pl.DataFrame:
    """The items with their texts, as the first variant shows them."""
    texts = item_texts(study, set(items["item"]))
    found = [texts.get(item) for item in items["item"]]
    return items.with_columns(pl.Series("text", found, dtype=pl.String))


def _answers(study: Study, readings: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """The answers to the items, in the items' order."""
    keys = ["model", "variant", "decoding", "item", "repeat"]
    raw = raw_answers(study.source, set(items["item"])).unique(keys, keep="first")
    frame = items.select("item", pl.int_range(pl.len()).alias("place"))
    order = [variant.id for variant in study.experiment.variants]
    turns = pl.DataFrame(
        {"variant": order, "turn": range(len(order))}, schema_overrides={"variant": pl.String}
    )
    return (
        readings.join(raw, on=keys, how="left", maintain_order="left")
        .join(frame, on="item", how="inner", maintain_order="left")
        .join(turns, on="variant", how="left", maintain_order="left")
        .sort("place", "model", "decoding", "turn", "repeat", nulls_last=True)
        .select("item", *_ANSWER)
    )


def _differences(
    before: Study, after: Study, which: str, items: Sequence[str], evaluator: str, resampling: Resampling
) -> list[Estimate]:
    """What changed in some items, by one evaluator's labels."""
    comparison = compare(
        before,
        after,
        measures=_COMPARED,
        confidence_level=resampling.confidence_level,
        resamples=resampling.resamples,
        items=items,
        cells=("model", "decoding"),
    )
    kept = [
        replace(estimate, cell={"items": which, **estimate.cell})
        for estimate in defined(comparison.differences)
        if estimate.cell.get("evaluator", evaluator) == evaluator
    ]
    return sorted(kept, key=lambda estimate: _COMPARED.index(estimate.measure))
