"""The study that labels all texts, made of a check's study file, and the labels that it gives each field."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any, Final

import polars as pl

from quaver.acceptance.accepted_labels import Acceptance
from quaver.core.label_values import labels_in, single_labels
from quaver.core.number_format import percent, rounded, with_interval
from quaver.core.records import OF_SETS, Numbers
from quaver.core.replaced_file import replace_bytes
from quaver.design.calls.lock_file import write_made
from quaver.design.items.item_data import items_from, written_items
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import QuaverError
from quaver.gold.gold_draw import SPLIT
from quaver.labelling.spreadsheet_edits import Cell
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.field_source import FieldSource
from quaver.study.analysis.study_acceptance import accept
from quaver.study.analysis.text_labels import PERSON, text_labels
from quaver.study.checking.check_design import model_entry
from quaver.study.labelling.prompts_worth_asking import PromptChoice
from quaver.study.session import Study
from quaver.study.sources.study_file_source import asking

_HEAD: Final = "# Labels all texts of {}, made by `quaver label`: change that file, not this one.\n"
_THEN: Final = "# Asks a second model about the doubtful texts of {}, made by `quaver label`.\n"

_LABELS: Final = "labels"
"""What is added to the name of the study file that labels all texts."""

_ID: Final = "quaver_id"
"""The column of ids in a file of doubtful texts."""

_OF_A_SAMPLE: Final = ("sample", "seed")
"""Keys of items that choose some of them."""

_COLUMNS: Final = {
    "label": "label",
    "labelled_by": "labelled by",
    "agreement": "agreement",
    "confidence": "confidence",
    "needs_person": "needs a person",
}
"""The new columns of the copy, and their headings."""


_SHORT: Final = pl.col(pl.Float64).round(3)
"""Shares as a person reads them in the copy; nothing is computed from it."""


class FieldLabels:
    """The labels of one field of the texts, or of a task that has one label set.

    Args:
        name: The field's name; empty without fields.
        study: The study that asked about all texts.
        choice: The prompts whose answers count.
    """

    def __init__(self, name: str, study: Study, choice: PromptChoice) -> None:
        self.name, self.choice = name, choice
        self._counts_all = len(choice.variants) == len(study.experiment.variants)
        self.study = study if not name else Study(_field_of(study, name, choice.variants))

    @cached_property
    def doubtful(self) -> list[str]:
        """The texts that have no label, or on which the first model's answers disagree.

        What people labelled changes nothing here: their labels judge the second model's too.
        """
        split = pl.col("model_label").is_null() | (pl.col("agreement") < SPLIT)
        return text_labels(self.study.source).filter(split)["item"].to_list()

    def again(self, second: Study) -> pl.DataFrame:
        """A second model's labels of the field's doubtful texts, its vote beside the first one's."""
        source = FieldSource(second.source, self.name) if self.name else second.source
        frame = text_labels(source).select("item", pl.col("model_label").alias("label"))
        frame = frame.filter(pl.col("item").is_in(self.doubtful))
        first = self.study.annotations().select(pl.col("item", "label").cast(pl.String))
        votes = (
            first.join(frame, on="item")
            .group_by("item")
            .agg(pl.len().alias("asked"), (pl.col("label") == pl.col("label_right")).sum().alias("same"))
        )
        agreement = (pl.col("same") + 1) / (pl.col("asked") + 1)
        return frame.join(votes, on="item", how="left").select("item", "label", agreement.alias("agreement"))

    def accepted(self, error: float | None, again: pl.DataFrame | None) -> Acceptance | None:
        """Which labels are accepted; None without a promise, and before half of the sample is labelled."""
        if error is None or not self.corrects:
            return None
        keep = again is None and self._counts_all  # what the study alone shows again
        return accept(self.study.source, error=error, again=again, keep=keep)

    def table(self, acceptance: Acceptance | None, again: pl.DataFrame | None) -> pl.DataFrame:
        """A row for each text, as `Study.labels` gives it."""
        return text_labels(
            self.study.source, recommended=self.choice.recommended, acceptance=acceptance, again=again
        )

    @property
    def corrects(self) -> bool:
        """Whether people have labelled most of a sample that was drawn."""
        status = self.study.gold.status()
        return status.drawn > 0 and 2 * status.labelled >= status.drawn

    def cells(self, table: pl.DataFrame) -> tuple[list[str], dict[str, list[Cell]]]:
        """The new columns' headings, and their cells by item: numbers as numbers."""
        numeric = isinstance(self.study.experiment.labels, Numbers)
        confident = table["confidence"].null_count() < table.height
        columns = {name: head for name, head in _COLUMNS.items() if confident or name != "confidence"}
        cells: dict[str, list[Cell]] = {}
        for item, label, *others in table.select("item", *columns).with_columns(_SHORT).iter_rows():
            cells[item] = [_number(label) if numeric and label is not None else label, *others]
        return [f"{self.name} {head}".strip() for head in columns.values()], cells

    def is_alone(self, table: pl.DataFrame) -> bool:
        """Whether no label was compared with another answer, since one prompt was asked once."""
        is_by_hand = (table["labelled_by"] == PERSON).fill_null(False)
        return not is_by_hand.all() and table["agreement"].null_count() == table.height

    def counts(self, table: pl.DataFrame, accepted: Acceptance | None) -> dict[str, Any]:
        """How many texts have a label and how many need a person, as the state of the labelling says it."""
        status, is_alone = self.study.gold.status(), accepted is None and self.is_alone(table)
        needs_person = pl.col("needs_person").is_not_null()
        return {
            "name": self.name,
            "left": status.drawn - status.labelled,
            "accepted": None if accepted is None else accepted.accepted,
            "texts": table.height,
            "given": int(table["label"].is_not_null().sum()),
            "by_hand": int((table["labelled_by"] == PERSON).sum()),
            "people": int(table["needs_person"].is_not_null().sum()),
            "is_alone": is_alone,
            "doubtful": table.filter(needs_person | is_alone)["item"].to_list(),
        }

    def shares(self, table: pl.DataFrame) -> Iterator[str]:
        """Each label's share, or the numbers' mean: corrected by a sample that was drawn, else as counted."""
        labels, given = self.study.experiment.labels, table["label"].drop_nulls().to_list()
        numeric, of_sets = isinstance(labels, Numbers), labels.level in OF_SETS
        if self.corrects and not of_sets:
            for estimate in self.study.measure("corrected_score" if numeric else "corrected_share"):
                what = "mean" if numeric else estimate.cell.get("label")
                shown = with_interval(estimate, rounded if numeric else percent)
                if estimate.value is not None and what:
                    yield f"{what}: {shown}, corrected by the people's labels"
            return
        if numeric:
            yield f"mean: {rounded(mean(map(float, given)))}, not corrected" if given else "no numbers"
            return
        counts = Counter(code for label in given for code in (labels_in(label) if of_sets else [label]))
        what = "texts" if of_sets else "labels"
        for one in single_labels(labels):
            share = counts[one.code] / max(1, len(given))
            yield f"{one.code}: {percent(share)} of the {what}, not corrected"

    def regression(self, *, promised: bool) -> str:
        """How to regress the labels without taking their errors for truth."""
        if not self.corrects:
            errors = "a regression of these labels takes their errors for truth"
            if promised:
                return f"{errors}, until people have labelled the sample, which corrects both"
            return f"{errors}; --error 5% draws a sample for people to label, by which both are corrected"
        labels = self.study.experiment.labels
        outcome = "label" if isinstance(labels, Numbers) else f"share({labels.codes[0]})"
        study = repr(str(self.study.source.positions.path)) + (f", field={self.name!r}" if self.name else "")
        claim = f'formula="{outcome} ~ COLUMN", effect="COLUMN > 0"'
        return f'quaver.Study.open({study}).measure("conclusion", {claim})'


def _number(label: str) -> float:
    """A number as a cell has it: whole ones without a point."""
    number = float(label)
    return int(number) if number.is_integer() else number


def _field_of(study: Study, name: str, variants: Sequence[str]) -> FieldSource:
    """A field with the answers of some prompts."""
    own = pl.col("variant").cast(pl.String).is_in(list(variants))
    return FieldSource(study.source, name, annotations_of(study.source).filter(own))


def asked_before(check: Study) -> list[str]:
    """The prompts that all texts were asked about already."""
    path = _made(_study_file(check), _LABELS)
    return [*read_yaml(path)["sample"]["variants"]] if path.is_file() else []


def label_study(check: Study, variants: Sequence[str], budget: float | None, model: str | None) -> Study:
    """The study of all texts with the chosen prompts, which takes over the check's answers."""
    home = _study_file(check)
    document = read_yaml(home)
    document["name"] = f"{check.spec.name}: labels"
    for key in _OF_A_SAMPLE:
        document["items"].pop(key, None)
    if model and len(check.spec.models) > 1:
        names = [one.name for one in check.spec.models]
        document["models"] = [document["models"][names.index(model)]]
    document["sample"] = {"variants": [*variants]}
    document["repeats"] = 1
    document["reuse"] = [_beside(check.folder, home.parent)]
    functions = asking(check.source).plugins.functions
    return _opened(document, home, _LABELS, _HEAD.format(home.name), budget, functions)


def study_of_doubtful(labelled: Study, doubtful: Sequence[str], model: Any, budget: float | None) -> Study:
    """The study that asks a second model about some texts, with the first prompt."""
    home = _study_file(labelled)
    document = read_yaml(home)
    document["name"] = f"{labelled.spec.name}, asked again"
    wanted = set(doubtful)
    rows = [{_ID: item.id, **item.fields} for item in labelled.experiment.items if item.id in wanted]
    target = home.with_name(f"{home.name.split('.')[0]}.doubtful.jsonl")
    replace_bytes(target, written_items(items_from(rows, where="doubtful texts")))
    for key in ("encoding", "separator", "sheet", "quote", "where", *_OF_A_SAMPLE):
        document["items"].pop(key, None)
    document["items"] |= {"source": target.name, "id": _ID}
    entry, functions = model_entry(model)
    document["models"] = [entry]
    document["sample"] = {"variants": [labelled.experiment.variants[0].id]}
    document.pop("reuse", None)
    return _opened(document, home, "doubtful", _THEN.format(home.name), budget, functions)


def _opened(
    document: Any,
    home: Path,
    name: str,
    head: str,
    budget: float | None,
    functions: Mapping[str, Callable[..., Any]],
) -> Study:
    for key in ("small", "budget"):
        document.pop(key, None)
    for one in document.get("decoding", {}).values():
        if isinstance(one, Mapping):
            one.pop("repeats", None)  # type: ignore[attr-defined]
    if budget is not None:
        document["budget"] = {"money": budget}
    path = write_made(document, _made(home, name), head)
    return Study.open(path, functions=functions)


def _made(home: Path, name: str) -> Path:
    """A study file that is made of a check's."""
    return home.with_name(f"{home.name.split('.')[0]}.{name}.yaml")


def _study_file(study: Study) -> Path:
    path = study.source.positions.path
    if path is None or not isinstance(read_yaml(path).get("items"), Mapping):
        raise QuaverError(
            "this study cannot be gone on from",
            where=str(study.folder),
            expected="a study file whose `items` say where the texts are, as `quaver check` writes it",
            found="a study without such a file",
        )
    return path


def _beside(folder: Path, home: Path) -> str:
    """A folder's path from another one, with its name."""
    path = Path(os.path.relpath(folder.resolve(), home.resolve()))
    return path.as_posix() if path.name else f"../{folder.resolve().name}"
