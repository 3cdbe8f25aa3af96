"""A study's gold sample: labels taken in, how far it is, and how well its coders agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from quaver.agreement import krippendorff_alpha
from quaver.core.input_budget import read_file
from quaver.core.number_format import count
from quaver.core.records import Estimate, LabelSet
from quaver.core.rows import Rows
from quaver.design.items.table_files import Row
from quaver.errors import ItemError
from quaver.gold.coder_sheet import CODER, ITEM, LABEL, assigned
from quaver.gold.returned_labels import CODED_COLUMNS, ReturnedLabels, current, ratings
from quaver.report.page_templates import template
from quaver.study.gold_sample.coder_sheets import OWN_TABLE, drawn_texts
from quaver.study.gold_sample.gold_plan import now
from quaver.study.sources.gold_files import DesignFile, GoldState
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

    @property
    def complete(self) -> bool:
        """Whether every drawn item has a gold label."""
        return self.design is not None and self.labelled == self.drawn

    def rows(self) -> list[dict[str, Any]]:
        """A row for each coder: items given and labelled."""
        return [{"coder": name, "given": a, "labelled": b} for name, (a, b) in self.coders.items()]

    def document(self) -> dict[str, Any]:
        """All of it, as a mapping for JSON."""
        own = {one.name: getattr(self, one.name) for one in fields(self)} | {
            "by": list(self.by),
            "coders": self.rows(),
            "complete": self.complete,
            "agreement": None if self.agreement is None else self.agreement.document(),
        }
        own["fields"] = {name: one.document() for name, one in self.fields.items()}
        return {name: value for name, value in own.items() if value or name != "fields"}

    def __str__(self) -> str:
        """A line for each fact."""
        return template("terminal/gold_status.txt").render(status=self).rstrip("\n")


def gold_status(state: GoldState, labels: LabelSet) -> GoldStatus:
    """Where a gold sample stands."""
    done = Counter(current(state.coded).filter(role="coder")["coder"].to_list())
    given: Counter[str] = Counter()
    known = {*state.coded.filter(source=OWN_TABLE)["item"]}  # which stand on no sheet
    design, drawn, population = state.design, 0, 0
    rounds = design["rounds"] if design else []
    if design is not None and state.draw is not None:
        drawn, population = int(state.draw["drawn"].sum()), state.draw.height
        for about in rounds:
            items = state.draw.filter(round=about["round"])["item"].to_list()
            dealt = assigned(items, about["coders"], about["overlap"], design["seed"])
            given.update({coder: len({*own} - known) for coder, own in dealt.items()})
    twice, agreement = coder_agreement(ratings(state.coded), labels)
    return GoldStatus(
        design=design["design"] if design else None,
        by=tuple(design["by"]) if design else (),
        population=population,
        rounds=len(rounds),
        drawn=drawn,
        labelled=len(state.settled.gold),
        open=state.settled.open,
        coders={name: (given[name], done[name]) for name in {**given, **done}},
        twice=twice,
        agreement=agreement,
        apart=len(state.apart),
        decided=dict(state.settled.decided),
    )


def described(state: GoldState, labels: LabelSet) -> dict[str, Any]:
    """What a report says of a gold sample that was drawn: its status, seed, probabilities and last day."""
    assert state.design is not None
    assert state.draw is not None
    last = datetime.fromisoformat(state.design["rounds"][-1]["when"])
    chances = state.draw["probability"]
    return gold_status(state, labels).document() | {
        "seed": state.design["seed"],
        "probabilities": [chances.min(), chances.max()],
        "date": last.strftime("%-d %B %Y"),
    }


def coder_agreement(table: pl.DataFrame, labels: LabelSet) -> tuple[int, Estimate | None]:
    """How many items several coders labelled, and how well they agree."""
    rows = [[one for one in row if one is not None] for row in table.drop("item").iter_rows()]
    several = [row for row in rows if len(row) > 1]
    if not several:
        return 0, None
    pairs = [one == other for row in several for one, other in combinations(row, 2)]
    alpha = krippendorff_alpha(table.drop("item").rows(), labels.level, labels=labels)
    details = {**alpha.details, "percent": sum(pairs) / len(pairs)}
    return len(several), replace(alpha, details=details)


@dataclass(frozen=True, slots=True)
class GoldTaken:
    """Labels that were taken back.

    Attributes:
        new: Labels of items that the coder had not labelled before.
        changed: Labels that replace another one of the same coder; the former one stays on record.
        left_out: Items that came with another gold label, which stays.
        status: Where the sample stands now.
    """

    new: int
    changed: int
    left_out: tuple[str, ...]
    status: GoldStatus

    def __str__(self) -> str:
        """What was taken, on one line."""
        changed = f", {self.changed:,} changed" if self.changed else ""
        few = ", ".join(self.left_out[:5]) + ", …" * (len(self.left_out) > 5)
        left_out = f"{count(len(self.left_out), 'item')} with another gold label left out ({few})"
        return f"{count(self.new, 'new label')}{changed}" + f"; {left_out}" * bool(self.left_out)


def checked_labels(
    source: StudySource,
    state: GoldState,
    rows: Sequence[Row],
    column: str,
    name: str,
    coder: str | None = None,
    apart: str | None = None,
) -> pl.DataFrame:
    """Check the labels in a column of a file; those of items outside the sample are kept apart.

    Returns:
        The labels (`CODED_COLUMNS`), of which nothing is kept yet.
    """
    drawn = drawn_texts(source, {"": state})
    labels, others = source.experiment.labels, [i.id for i in source.experiment.items if i.id not in drawn]
    if apart is None:
        return ReturnedLabels(labels, drawn, others).read(rows, column, "coder", name, now(), coder)
    texts = drawn | dict.fromkeys(others, "")
    read = ReturnedLabels(labels, texts).read(rows, column, "apart", apart, now(), coder)
    inside = pl.when(pl.col("item").is_in([*drawn]))
    return read.with_columns(
        role=inside.then(pl.lit("coder")).otherwise("role"),
        source=inside.then(pl.lit(name)).otherwise("source"),
    )


def others_gold(source: StudySource, state: GoldState, read: pl.DataFrame) -> list[str]:
    """The items of labels kept apart that came with another gold label, not taken from a file like it."""
    gold = {item.id: item.gold for item in source.experiment.items}
    pairs = read.filter(role="apart").select("item", "label").iter_rows()
    return [i for i, label in pairs if i not in state.apart and gold[i] not in (None, label)]


def known_labels(source: StudySource, state: GoldState, *, all_of_them: bool = True) -> pl.DataFrame:
    """The gold labels that the drawn items came with: of all of them, or of those that have one."""
    own = source.spec.annotations or source.spec.items
    column = own.gold.column if own.gold and own.gold.column else CODER
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    gold = {item.id: item.gold for item in source.experiment.items if item.id in drawn}
    lacking = [item for item, label in gold.items() if label is None]
    if lacking and all_of_them:
        raise ItemError(
            f"{len(lacking):,} of {len(gold):,} drawn items came without a gold label",
            where=source.where,
            expected="a gold label of every drawn item in the study's own table",
            found=f"none of {', '.join(lacking[:5])}" + ", …" * (len(lacking) > 5),
            fix="have people label the sample: its sheets are in the folder `gold`",
        )
    labels = [(item, label) for item, label in gold.items() if label is not None]
    rows = [
        Row([(ITEM, item), (LABEL, label), (CODER, column)], source.where, item) for item, label in labels
    ]
    return checked_labels(source, state, rows, LABEL, OWN_TABLE)


def with_labels(source: StudySource, state: GoldState, read: pl.DataFrame) -> tuple[GoldState, GoldTaken]:
    """A sample with labels that were checked; what the same coder said before stays on record."""
    key = ["item", "coder", "role"]
    before = current(state.coded).select(*key, was="label")
    own = read.join(before, on=key, how="left", maintain_order="left")
    new, changed = own.filter(pl.col("was").is_null()), own.filter(pl.col("was") != pl.col("label"))
    kept = own.filter(pl.col("was").ne_missing(pl.col("label"))).select(list(CODED_COLUMNS))
    after = GoldState(state.design, state.draw, pl.concat([state.coded, kept]).select(list(CODED_COLUMNS)))
    return after, GoldTaken(new.height, changed.height, (), gold_status(after, source.experiment.labels))


def noted(design: DesignFile | None, path: Path, labels: int) -> DesignFile | None:
    """The design with a file that was taken back, unless it has it already."""
    if design is None:
        return None
    about = {"file": path.name, "sha256": sha256(read_file(path)).hexdigest()}
    if any(one["sha256"] == about["sha256"] for one in design["taken"]):
        return design
    return {**design, "taken": [*design["taken"], {**about, "when": now(), "labels": labels}]}
