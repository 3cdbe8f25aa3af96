"""A checked prompt as a function: for those whose texts keep coming."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quaver.acceptance.item_scores import mean_confidence, most_frequent
from quaver.core.annotations import Row
from quaver.core.arguments import excerpt
from quaver.core.records import Item
from quaver.design.calls.call_plan import Plan
from quaver.design.prompts.templates import names_in
from quaver.errors import ItemError, MeasureError, QuaverError
from quaver.gold.gold_draw import SPLIT
from quaver.study.analysis.annotation_frame import annotator_of
from quaver.study.analysis.study_acceptance import FILE, accept
from quaver.study.analysis.text_labels import text_labels
from quaver.study.sources.study_file_source import StudyFile


class LabelledText(NamedTuple):
    """What a labeller says of one text.

    Attributes:
        label: The most frequent label of the prompts; None where none gave one.
        agreement: The share of the answers that give it.
        confidence: The mean probability of that label, where an evaluator reads probabilities.
        accepted: Whether the study's rule of acceptance takes it; without such a rule, whether it has a label
            that three quarters of the answers give. If not, a person should look.
    """

    label: str | None
    agreement: float
    confidence: float | None
    accepted: bool


class Labeller:
    """Labels texts with a study's prompts, decoding, model and evaluator (see `Study.labeller`).

    Args:
        study: The study.
        variants: The prompts to ask, by their ids; all if left out.
    """

    def __init__(self, study: StudyFile, variants: Sequence[str] | None = None) -> None:
        if study.experiment.follow_ups:
            raise QuaverError(
                "a study with follow-ups has no labeller",
                where=study.where,
                expected="labels that are read from the answers themselves",
                found=", ".join(study.experiment.follow_ups),
            )
        text_labels(study, variants=variants)  # says so where nothing has been checked
        self._study = study
        design = study.experiment
        wanted = {variant.id for variant in design.variants} if variants is None else {*variants}
        conditions = [condition for condition in design.conditions if condition.variant in wanted]
        self._design = replace(design, conditions=conditions)
        self._evaluator = study.spec.evaluators[0].title
        self._columns = {name for variant in design.variants for name in names_in(variant.text)} - {"item"}
        self.promise, self.least = _rule(study) if variants is None else (None, SPLIT)
        self._lock, self._closed = threading.Lock(), False

    def __call__(self, texts: Sequence[str | Mapping[str, Any]]) -> list[LabelledText]:
        """Label texts.

        Args:
            texts: Texts, or rows with the columns that the study's text is made of.

        Returns:
            A label for each, in their order.

        Raises:
            ItemError: A text is empty, or a row lacks a column.
            ModelError: The model cannot be asked.
        """
        rows = [self._fields(text, index) for index, text in enumerate(texts)]
        with self._lock:
            if self._closed:
                raise QuaverError("this labeller is closed", where=self._study.where, fix="make another one")
            return self._labelled(rows) if rows else []

    async def label(self, texts: Sequence[str | Mapping[str, Any]]) -> list[LabelledText]:
        """The same, without holding up the event loop."""
        return await asyncio.to_thread(self, texts)

    def __enter__(self) -> Labeller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the model's weights and connections."""
        with self._lock:
            self._closed = True
            for model in self._study.models.values():
                model.close()

    def _fields(self, text: str | Mapping[str, Any], index: int) -> Mapping[str, Any]:
        """The columns of a text."""
        row = f"a row with {', '.join(sorted(self._columns))}"
        if isinstance(text, Mapping) and self._columns <= text.keys():
            return text
        if isinstance(text, str) and text.strip() and len(self._columns) == 1:
            return dict.fromkeys(self._columns, text)
        expected = row if len(self._columns) > 1 else f"a text, or {row}"
        where = f"texts[{index}]"
        raise ItemError("this is no text to label", where=where, expected=expected, found=excerpt(text))

    def _labelled(self, rows: Sequence[Mapping[str, Any]]) -> list[LabelledText]:
        """Ask about texts, read the answers, and take the most frequent labels."""
        study, items = self._study, [Item(str(index), row) for index, row in enumerate(rows)]
        design = replace(self._design, items=items)
        plan = Plan(design, {name: str(facts["identity"]) for name, facts in study.served.items()})
        answers: list[Row] = []
        for name, model in study.models.items():
            model.prepare(1)
            for request, responses in model.answer(plan.requests(name)):
                for call, response in zip(request.calls, responses, strict=True):
                    answers.append((call.condition, call.item, call.repeat, response, None))
        annotator = annotator_of(study, study.plugins.evaluators([self._evaluator]), design=design)
        frame, codes = annotator.frame(answers), design.labels.codes
        modal = most_frequent(frame.select(pl.col("item", "label").cast(pl.String)), codes)
        sure = mean_confidence(frame, modal, codes)
        share = pl.col("times").fill_null(0) / sum(condition.repeats for condition in design.conditions)
        labelled = (
            pl.DataFrame({"item": [item.id for item in items]})
            .join(modal, on="item", how="left", maintain_order="left")
            .join(sure, on="item", how="left", maintain_order="left")
            .select(
                "label",
                share.alias("agreement"),
                "confidence",
                (pl.col("label").is_not_null() & (share >= self.least)).alias("accepted"),
            )
        )
        return [LabelledText(*row) for row in labelled.iter_rows()]


def _rule(study: StudyFile) -> tuple[float | None, float]:
    """The promise that labels were accepted for, and the share of answers that must agree for it.

    New texts can be ordered by agreement as the study's were, and by nothing that was learned from these.
    """
    asked = study.files.read(FILE).get("asked")
    if asked is None or asked["by"]:
        return None, SPLIT
    try:
        found = accept(study, error=asked["error"], learned=False, keep=False)
    except MeasureError:
        return None, SPLIT
    scores = found.table.filter(decision="accept")["score"]
    return asked["error"], float(scores.min()) if scores.len() else np.inf  # type: ignore[arg-type]
