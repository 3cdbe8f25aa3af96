"""A study's gold sample: labels taken in, how far it is, and how well its coders agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from itertools import combinations
from typing import Any

import polars as pl

from quaver.agreement import krippendorff_alpha
from quaver.core.label_values import NO_LABELS
from quaver.core.records import Estimate, Item
from quaver.core.rows import Rows
from quaver.design.items.answer_options import place_of
from quaver.design.items.table_files import Row
from quaver.gold.coder_sheet import CODER, assigned
from quaver.gold.gold_draw import STRATA
from quaver.gold.returned_labels import CODED_COLUMNS, ReturnedLabels, current, ratings
from quaver.measures.stability.span_stability import span_alpha
from quaver.report.page_templates import template
from quaver.study.gold_sample.coder_sheets import OWN_TABLE, item_texts, spans_on
from quaver.study.gold_sample.gold_plan import now
from quaver.study.sources.gold_files import GoldSample
from quaver.study.sources.study_source import StudySource


@dataclass(frozen=True, slots=True)
class GoldStatus(Rows):
    """Where a gold sample stands.

    Attributes:
        design: How items are drawn; None where nothing was drawn.
        by: What tells strata apart.
        population: How many items it was drawn from.
        rounds: How many rounds there were.
        drawn: How many items are in it.
        labelled: How many of them have a gold label.
        open: The items on which coders disagree and nobody has decided, with each coder's label.
        coders: For each coder, how many items were given to them and how many they have labelled.
        twice: How many items several coders have labelled.
        agreement: The coders' agreement: Krippendorff's alpha, with the share of pairs that agree in
            ``details["percent"]``; None where no item has two labels.
        apart: How many items have a label that is kept apart, since they were chosen in another way.
        decided: Why items on which coders disagree have a label: ``adjudicator`` or ``majority``.
        fields: Of a sample for several fields, where it stands in each; all else is then of the field with
            the fewest labels.
        new: How many labels the file that was just taken back has of items that its coder had not labelled.
        changed: How many of its labels replace another one of the same coder, which stays on record.
    """

    design: str | None
    by: tuple[str, ...]
    population: int
    rounds: int
    drawn: int
    labelled: int
    open: dict[str, dict[str, str]]
    coders: dict[str, tuple[int, int]]
    twice: int
    agreement: Estimate | None
    apart: int = 0
    decided: dict[str, str] = field(default_factory=dict)
    fields: Mapping[str, GoldStatus] = field(default_factory=dict)
    new: int = 0
    changed: int = 0

    @property
    def complete(self) -> bool:
        """Whether every drawn item has a gold label."""
        return self.design is not None and self.labelled == self.drawn

    def rows(self) -> list[dict[str, Any]]:
        """A row for each coder: items given and labelled."""
        return [{"coder": name, "given": a, "labelled": b} for name, (a, b) in self.coders.items()]

    def document(self) -> dict[str, Any]:
        """All of it, as a mapping for JSON."""
        own = {field.name: getattr(self, field.name) for field in fields(self)} | {
            "by": list(self.by),
            "coders": self.rows(),
            "complete": self.complete,
            "agreement": None if self.agreement is None else self.agreement.document(),
        }
        own["fields"] = {name: status.document() for name, status in self.fields.items()}
        return {
            name: value for name, value in own.items() if value or name not in ("fields", "new", "changed")
        }

    def __str__(self) -> str:
        """A line for each fact."""
        return template("terminal/gold_status.txt").render(status=self).rstrip("\n")


def gold_status(sample: GoldSample, source: StudySource) -> GoldStatus:
    """Where a gold sample stands in one field."""
    done = Counter(current(sample.coded).filter(role="coder")["coder"].to_list())
    given: Counter[str] = Counter()
    known = {*sample.coded.filter(source=OWN_TABLE)["item"]}  # which stand on no sheet
    design, rounds = sample.design.get("design"), sample.design.get("rounds", [])
    for number, about in enumerate(rounds, 1):
        items = sample.draw.filter(round=number)["item"].to_list()
        dealt = assigned(items, about["coders"], about["overlap"], sample.design["seed"])
        given.update({coder: len({*own} - known) for coder, own in dealt.items()})
    twice, agreement = coder_agreement(ratings(sample.coded), source)
    return GoldStatus(
        design=design,
        by=tuple(STRATA[design]) if design else (),
        population=sample.draw.height,
        rounds=len(rounds),
        drawn=len(sample.drawn),
        labelled=len(sample.settled.gold),
        open=sample.settled.open,
        coders={name: (given[name], done[name]) for name in {**given, **done}},
        twice=twice,
        agreement=agreement,
        apart=len(sample.apart),
        decided=dict(sample.settled.decided),
    )


def described(sample: GoldSample, source: StudySource) -> dict[str, Any]:
    """The description of a drawn gold sample for a report: status, seed, probabilities and last day."""
    last = datetime.fromisoformat(sample.design["rounds"][-1]["when"])
    chances = sample.draw["probability"]
    return gold_status(sample, source).document() | {
        "seed": sample.design["seed"],
        "probabilities": [chances.min(), chances.max()],
        "date": last.strftime("%-d %B %Y"),
    }


def coder_agreement(table: pl.DataFrame, source: StudySource) -> tuple[int, Estimate | None]:
    """How many items several coders labelled, and how well they agree; of spans αU."""
    rows = [[label for label in row if label is not None] for row in table.drop("item").iter_rows()]
    several = [row for row in rows if len(row) > 1]
    if not several:
        return 0, None
    pairs = [first == other for row in several for first, other in combinations(row, 2)]
    labels, texts = source.experiment.labels, item_texts(source, table["item"])
    if source.has_spans and all(texts.values()):
        given = table.unpivot(index="item", variable_name="variant", value_name="label").drop_nulls("label")
        length = pl.col("item").replace_strict(list(texts), list(map(len, texts.values())))
        spans = pl.col("label").replace(NO_LABELS, "")
        (alpha,) = span_alpha(given.with_columns(spans=spans, text_length=length))
    else:
        sets = [[cell and source.labels_of([cell])[0] for cell in row] for row in table.drop("item").rows()]
        alpha = krippendorff_alpha(sets, labels.level, labels=labels)
    details = {**alpha.details, "percent": sum(pairs) / len(pairs)}
    return len(several), replace(alpha, details=details)


def checked_labels(
    source: StudySource,
    sample: GoldSample,
    rows: Sequence[Row],
    column: str,
    name: str,
    coder: str | None = None,
    apart: str | None = None,
) -> pl.DataFrame:
    """Check a field's labels in a column of a file; those of items outside the sample are kept apart.

    Args:
        source: The field's.
        sample: The gold sample now.
        rows: The rows of the file.
        column: The column of labels.
        name: The file's name.
        coder: Who labelled, where the file does not say.
        apart: Why items that were not drawn were chosen; None where they may not be labelled.

    Returns:
        The labels (`CODED_COLUMNS`), of which nothing is kept yet.
    """
    texts = item_texts(source, sample.drawn)
    others = [item.id for item in source.experiment.items if item.id not in texts]
    spans = partial(spans_on, source) if source.has_spans else None
    sheet = ReturnedLabels(source.experiment.labels, texts, others, apart=apart is not None, spans=spans)
    read = sheet.read(rows, column, coder)
    return read.select(
        pl.lit(source.gold_field).alias("field"),
        *read.columns,
        pl.when(role="apart").then(pl.lit(apart)).otherwise(pl.lit(name)).alias("source"),
        pl.lit(now()).alias("when"),
    )


def known_labels(source: StudySource, sample: GoldSample) -> pl.DataFrame:
    """The gold labels of a field that drawn items came with, which nobody has to give again."""
    own = source.spec.annotations or source.spec.items
    column = own.gold.column if own.gold and own.gold.column else CODER
    drawn, when = {*sample.drawn}, now()
    items = [item for item in source.experiment.items if item.id in drawn and item.gold is not None]
    rows = [
        (source.gold_field, item.id, column, "coder", _own_label(source, item), None, OWN_TABLE, when)
        for item in items
    ]
    return pl.DataFrame(rows, CODED_COLUMNS, orient="row")


def _own_label(source: StudySource, item: Item) -> str | None:
    """The gold label that an item came with; of spans those."""
    if source.field is None or not source.field.spans:
        return item.gold
    return spans_on(source, item.id, item.fields.get(source.field.marked), place_of(item))


def with_labels(sample: GoldSample, read: pl.DataFrame) -> tuple[GoldSample, int, int]:
    """A sample with labels that were checked; what the same coder said before stays on record.

    Returns:
        The sample, and how many labels are new, and how many replace another one of the same coder.
    """
    key = ["field", "item", "coder", "role"]
    before = current(sample.coded).select(*key, was="label")
    own = read.join(before, on=key, how="left", maintain_order="left")
    added = own.filter(pl.col("was").ne_missing(pl.col("label")))
    new = added["was"].null_count()
    return sample.with_labels(added), new, added.height - new
