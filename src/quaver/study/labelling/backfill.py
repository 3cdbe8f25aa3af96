"""A second model for the texts to which the first gives no label."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from quaver.core.annotations import FIELD, GOLD_COLUMNS
from quaver.core.number_format import count, enumeration
from quaver.core.replaced_file import replace_bytes
from quaver.design.calls.lock_file import write_made
from quaver.design.items.item_data import items_from, name_of_items, written_items
from quaver.design.items.text_parts import PART, PARTS
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import QuaverError
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.text_labels import MODEL
from quaver.study.checking.check_design import model_entry
from quaver.study.session import Study
from quaver.study.sources.study_file_source import asking

_HEAD: Final = (
    "# Asks a second model about texts without a label, made by `quaver label`: change {}, not this one.\n"
)

_ID: Final = "quaver id"
"""The column of the texts' ids, beside the columns of the user's table."""

_UNJUDGED: Final = "labelled by {}, which the check has not judged"
"""Why a person should look at a text that the second model labelled."""


class Backfill:
    """The texts to which no answer gave a label, and a second model's labels for them.

    Args:
        study: The study of all texts, which has been asked.
        model: The second model, as `LabelOptions` has it; None for that of the study file.

    Attributes:
        gaps: A row for each of these texts (and field), with the most frequent status of its answers.
    """

    def __init__(self, study: Study, model: Any) -> None:
        self._first, self._model = study, model
        self._frame = annotations_of(study.source)
        self._keys = ["item", *([FIELD] if FIELD in self._frame.columns else [])]
        status = pl.when(pl.col("truncated").mean() >= 0.5).then(pl.lit("cut off"))
        without = self._frame.group_by(self._keys).agg(
            pl.col("label").count().alias("labels"),
            status.otherwise(pl.col("status").cast(pl.String).mode().sort().first()).alias("status"),
        )
        self.gaps = without.filter(pl.col("labels") == 0).drop("labels")

    def study(self, budget: float | None) -> Study:
        """A study that asks the second model about these texts, with the same prompts.

        Raises:
            QuaverError: The prompts show examples, which were drawn among all texts.
        """
        first, home = self._first, self._first.source.positions.path
        assert home is not None  # the study of all texts is made as a file
        if any(variant.examples for variant in first.experiment.variants):
            raise QuaverError(
                "a second model cannot be asked with prompts that show examples",
                where="--backfill",
                expected="prompts without examples",
                found="texts with their gold labels in each prompt",
                fix="leave --backfill out, or check prompts without examples",
            )
        wanted = {*self.gaps["item"].cast(pl.String)}
        document: Any = read_yaml(home)
        asked, media = first.spec.items, {**first.spec.items.media}
        if asked.reads_pages:  # the text of a PDF file stands in the rows
            del media["pdf"]
        kept = [name for name in ("split", *media) if name in document["items"]]
        about = {"text": asked.text} | {name: document["items"][name] for name in kept}
        added = (PART, PARTS) if "split" in about else ()
        rows = []
        for item in first.experiment.items:
            if item.id in wanted:
                row = {name: cell for name, cell in item.fields.items() if name not in added}
                for kind, column in media.items():  # the table is elsewhere, so the files are in it
                    files = [medium for medium in item.media if medium.kind in (kind, "")]
                    row[column] = [medium.uri() if medium.type else medium.name for medium in files]
                rows.append({_ID: item.id, **row})
        content = written_items(items_from(rows, where="items.source"))
        path = home.with_name(f"{home.name.removesuffix('.yaml')}.backfill.yaml")
        name = f"{path.stem}/{name_of_items(content)}"
        path.with_suffix("").mkdir(exist_ok=True)
        replace_bytes(path.with_name(path.stem) / name_of_items(content), content)
        own, model = document.pop("backfill", None), self._model
        entry, functions = (own, {}) if model is None else model_entry(model)
        document["name"] = f"{document['name']}, second model"
        document["models"] = [entry]
        document["items"] = {"source": name, "id": _ID, **about}
        for key in ("reuse", "budget", "conclusions", "measures"):
            document.pop(key, None)
        if budget is not None:
            document["budget"] = {"money": budget}
        write_made(document, path, _HEAD.format(home.name))
        return Study.open(path, functions=functions)

    def take(self, second: Study) -> None:
        """Give the texts the second model's labels: in the study of all texts they stand in place of none."""
        frame, (model,) = self._frame, self._frame["model"].unique()
        gaps, answers = self.gaps.select(self._keys), annotations_of(second.source)
        of_items = [name for name in frame.columns if name in GOLD_COLUMNS or name not in answers.columns]
        answers = answers.drop(GOLD_COLUMNS, strict=False).with_columns(model=pl.lit(model))
        answers = answers.cast(
            {name: frame.schema[name] for name in answers.columns if name in frame.columns}
        )
        own = frame.join(gaps, on=self._keys).unique(self._keys).select(*self._keys, *of_items)
        answers = answers.join(own, on=self._keys).select(frame.columns)
        rest = frame.join(gaps, on=self._keys, how="anti")
        asking(self._first.source).filled = pl.concat([rest, answers])
        self.model = second.spec.models[0].name

    def marked(self, field: str, table: pl.DataFrame) -> pl.DataFrame:
        """The labels of a field, with the second model's marked as its own: nothing vouches for them."""
        gaps = self.gaps.filter(pl.col(FIELD) == field) if field else self.gaps
        its = pl.col("item").is_in(gaps["item"].cast(pl.String).to_list()) & (pl.col("labelled_by") == MODEL)
        return table.with_columns(
            pl.when(its).then(pl.lit(self.model)).otherwise("labelled_by").alias("labelled_by"),
            pl.when(its)
            .then(pl.lit(_UNJUDGED.format(self.model)))
            .otherwise("needs_person")
            .alias("needs_person"),
        )

    def __str__(self) -> str:
        """What the second model was asked, for the notes."""
        why = self.gaps.group_by("status").len().sort("len", "status", descending=[True, False])
        reasons = enumeration(f"{n:,} {status.replace('_', ' ')}" for status, n in why.iter_rows())
        texts = count(self.gaps["item"].n_unique(), "text")
        return f"{self.model} was asked about {texts} without a label: {reasons}"
