"""The study of all texts, made of a check's study file, and the labels that it gives each field."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.acceptance.accepted_labels import Acceptance
from quaver.core.records import Estimate
from quaver.design.calls.lock_file import write_made
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import MeasureError, QuaverError
from quaver.estimation.regression import in_formula
from quaver.measures.validity.conclusion_formula import ItemTable, read_formula
from quaver.report.findings.key_results import corrected_conclusions, corrected_totals, in_true_labels
from quaver.report.findings.recommendation import Recommendation
from quaver.report.findings.verdict_card import Card, best_of, card_of_fields
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.field_source import FieldSource
from quaver.study.analysis.study_acceptance import accept
from quaver.study.analysis.text_labels import PERSON, text_labels
from quaver.study.labelling.spreadsheet_edits import Cell
from quaver.study.session import Study
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_file_source import asking

_HEAD: Final = "# Labels all texts of {}, made by `quaver label`: change that file, not this one.\n"

PROMPTS: Final = 5
"""Prompts that are asked about each text, where the check does not recommend one alone."""

_COLUMNS: Final = {
    "label": "label",
    "labelled_by": "labelled by",
    "agreement": "agreement",
    "confidence": "confidence",
    "quote": "quote",
    "needs_person": "needs a person",
}
"""The new columns of the copy, and their headings."""

_MOST_VALUES: Final = 100
"""Values of a column that may explain labels; one with more is a text, a name or an id."""

_WHOLE: Final = re.compile("0|-?[1-9][0-9]{0,14}")
"""A code that stays as it is where a cell holds it as a number, which 07 does not."""

_SHORT: Final = pl.col(pl.Float64).round(3)
"""Shares as a person reads them in the copy; nothing is computed from it."""


@dataclass(frozen=True, slots=True)
class PromptChoice:
    """The prompts whose answers label the texts.

    Attributes:
        variants: Their ids.
        reason: Why these, in a clause.
        recommended: What the check recommends about the labels.
    """

    variants: tuple[str, ...]
    reason: str
    recommended: Recommendation


def chosen_prompts(
    cards: Mapping[str, Card], ids: Sequence[str], votes: int | None, *, anyway: bool
) -> dict[str, PromptChoice]:
    """The prompts that label each field: those that its check recommends.

    One, where it recommends that alone; else the first of those that do not deviate, the same for all fields.

    Args:
        cards: What the check found of each field; of one label set, that without a name.
        ids: The check's prompts.
        votes: How many to ask.
        anyway: Whether to label fields of which the check says “do not use”, which are left out otherwise.
    """
    model = best_of(card_of_fields(cards).recommendations).model
    best = {
        name: best_of(
            [recommendation for recommendation in card.recommendations if recommendation.model == model]
            or card.recommendations
        )
        for name, card in cards.items()
    }
    used = {
        name: recommendation
        for name, recommendation in best.items()
        if anyway or recommendation.kind != "do not use"
    }
    deviating = {prompt for recommendation in used.values() for prompt in recommendation.prompts}
    voting = tuple([name for name in ids if name not in deviating] or ids)[: votes or PROMPTS]
    why = "where their labels differ, a person should check" if len(voting) > 1 else "the only one"
    return {
        name: PromptChoice((recommendation.prompt,), "the check recommends this prompt alone", recommendation)
        if recommendation.prompt and not votes
        else PromptChoice(voting, "as you asked" if votes else why, recommendation)
        for name, recommendation in used.items()
    }


def label_study(check: Study, variants: Sequence[str], budget: float | None, model: str | None) -> Study:
    """The study of all texts with the chosen prompts, which takes over the check's answers."""
    home = check.source.positions.path
    document: Any = {} if home is None else read_yaml(home)
    if home is None or not isinstance(document.get("items"), Mapping):
        raise QuaverError(
            "this study has no study file of its own that could ask about all texts",
            where=str(check.folder),
            expected="the folder of a check, or a study file with items",
        )
    if (split := check.spec.items.split) is not None and split.join == "none":
        raise QuaverError(
            "the items of this check are parts of texts, and a text has no label",
            where=check.source.positions.where("items", "split", "join"),
            expected="join: majority, max, any, {any: LABEL} or model",
            found="none",
            fix="say how a text's label follows from those of its parts, and check again",
        )
    document["name"] = f"{check.spec.name}: labels"
    for part, keys in (("items", ("sample", "seed")), (None, ("small", "budget"))):
        for key in keys:
            (document[part] if part else document).pop(key, None)
    if model and len(check.spec.models) > 1:
        names = [spec.name for spec in check.spec.models]
        document["models"] = [document["models"][names.index(model)]]
    for decoding in document.get("decoding", {}).values():
        if isinstance(decoding, dict):
            decoding.pop("repeats", None)
    document |= {"sample": [*variants], "repeats": 1}
    beside = Path(os.path.relpath(check.folder.resolve(), home.parent.resolve()))
    document["reuse"] = [beside.as_posix() if beside.name else f"../{check.folder.resolve().name}"]
    if budget is not None:
        document["budget"] = {"money": budget}
    path = home.with_name(f"{home.name.split('.')[0]}.labels.yaml")
    write_made(document, path, _HEAD.format(home.name))
    return Study.open(path, functions=asking(check.source).plugins.functions)


class FieldLabels:
    """The labels of one field of the texts, or of a task that has one label set.

    Args:
        name: The field's name; empty without fields.
        study: The study that asked about all texts.
        choice: The prompts whose answers count.
    """

    def __init__(self, name: str, study: Study, choice: PromptChoice) -> None:
        self.name, self.choice, self.study = name, choice, study
        self._counts_all = len(choice.variants) == len(study.experiment.variants)
        if name:
            own = pl.col("variant").cast(pl.String).is_in(list(choice.variants))
            frame = annotations_of(study.source).filter(own)
            self.study = Study(FieldSource(study.source, name, frame))

    def accepted(self, error: float | None) -> Acceptance | None:
        """Which labels are accepted; None without a promise, and before half of the sample is labelled."""
        if error is None or not self.corrects:
            return None
        return accept(self.study.source, error=error, keep=self._counts_all)

    def table(self, acceptance: Acceptance | None) -> pl.DataFrame:
        """A row for each text, as `Study.labels` gives it."""
        return text_labels(self.study.source, recommended=self.choice.recommended, acceptance=acceptance)

    @cached_property
    def corrects(self) -> bool:
        """Whether people have labelled most of a sample that was drawn, by Quaver or by others."""
        return 0 < self._drawn.height <= 2 * self.by_hand

    @property
    def by_hand(self) -> int:
        """How many texts of such a sample people have labelled."""
        return self._drawn["gold"].count()

    @cached_property
    def _drawn(self) -> pl.DataFrame:
        columns = annotations_of(self.study.source).select("item", "gold", "gold_drawn")
        return columns.filter("gold_drawn").unique("item")

    @cached_property
    def _corrected(self) -> list[Estimate]:
        """Each label's share, or the mean of numbers, and the study's conclusions; none without a sample."""
        if not self.corrects:
            return []
        asked = [CONCLUSIONS] if self.study.spec.conclusions else []
        is_scale = self.study.experiment.labels.level in ("interval", "ratio")
        return list(self.study.estimates(["corrected_score" if is_scale else "corrected_share", *asked]))

    @property
    def totals(self) -> list[str]:
        """Each label's share of all texts, or the mean, corrected by the people's labels."""
        return corrected_totals(self._corrected)

    @property
    def claims(self) -> dict[str, str]:
        """The verdict of each conclusion in the true labels, by name."""
        claims = corrected_conclusions(self._corrected)
        return {name: in_true_labels(estimate) for name, estimate in claims.items()}

    def columns(self, table: pl.DataFrame, items: Sequence[str], hand: Mapping[str, Any]) -> pl.DataFrame:
        """The new columns of the copy, for rows of the user's table with these items; numbers as numbers.

        A label that is among the hand labels, of which each cell stands by its text, has the type of those.
        """
        known = [*table.drop("confidence", "quote", strict=False).columns]
        known += [column.name for column in table.select("^(confidence|quote)$") if column.count()]
        heads = {name: head for name, head in _COLUMNS.items() if name in known}
        frame = pl.DataFrame({"item": items}, schema={"item": pl.String})
        frame = frame.join(table, on="item", how="left", maintain_order="left").with_columns(_SHORT)
        labels = self.study.experiment.labels
        are_texts = any(isinstance(cell, str) for cell in hand.values())
        numeric = labels.are_numbers or (not are_texts and all(map(_WHOLE.fullmatch, labels.codes)))
        cells = [label and _typed(label, hand.get(label.casefold()), numeric) for label in frame["label"]]
        frame = frame.select(*heads).with_columns(label=pl.Series(cells, dtype=pl.Object))
        return frame.rename({name: f"{self.name} {head}".strip() for name, head in heads.items()})

    def counts(self, table: pl.DataFrame, accepted: Acceptance | None) -> dict[str, Any]:
        """How many texts have a label and how many need a person, as the state of the labelling says it."""
        status, by_hand = self.study.gold.status(), (table["labelled_by"] == PERSON).fill_null(False)
        is_alone = accepted is None and not by_hand.all() and table["agreement"].null_count() == table.height
        doubtful = table if is_alone else table.filter(pl.col("needs_person").is_not_null())
        return {
            "name": self.name,
            "left": status.drawn - status.labelled,
            "accepted": None if accepted is None else accepted.accepted,
            "texts": table.height,
            "given": int(table["label"].is_not_null().sum()),
            "by_hand": int(by_hand.sum()),
            "people": int(table["needs_person"].is_not_null().sum()),
            "is_alone": is_alone,
            "doubtful": doubtful["item"].to_list(),
        }

    @property
    def outcome(self) -> str:
        """What a regression of the labels explains, as a formula has it."""
        labels = self.study.experiment.labels
        return "label" if labels.are_numbers else f"share({labels.codes[0]})"

    @cached_property
    def regression(self) -> tuple[str, str]:
        """A regression on the first column that can explain the labels, and a claim about it."""
        items, codes = self.study.experiment.items, {*self.study.experiment.labels.codes}
        for name in items[0].fields:
            cells = [str(item.fields.get(name) or "").strip() for item in items]
            values = {*cells} - {""}
            if values <= codes or not 2 <= len(values) < min(len(items), _MOST_VALUES):
                continue
            frame = pl.DataFrame({"item": [item.id for item in items], name: cells})
            formula, level = f"{self.outcome} ~ {in_formula(name)}", max(values)
            for effect in (f"{name} > 0", f"{name}[{level}] > 0"):
                with suppress(MeasureError):
                    ItemTable(frame, read_formula(formula), (), effect)
                    return formula, effect
        return f"{self.outcome} ~ COLUMN", "COLUMN > 0"


def _typed(label: str, hand: Any, numeric: bool) -> Cell:
    """A label as the cell of the hand label of its name, or as a number; a whole one without a point."""
    if isinstance(hand, bool | int | float):
        return hand
    if not numeric:
        return label
    number = float(label)
    return int(number) if number.is_integer() else number
