"""``quaver.label``: from a table of texts to the same table with a label for each text."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import polars as pl
import scipy
from typing_extensions import Unpack

from quaver.acceptance.accepted_labels import Acceptance
from quaver.core.arguments import guarded, taking
from quaver.core.label_values import Codebook
from quaver.core.number_format import count, percent, promised, with_interval
from quaver.core.options import options_in, with_defaults
from quaver.core.rows import Rows
from quaver.design.items.table_files import read_rows
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError, StoreError
from quaver.gold.coder_sheet import Sheet, SheetRow
from quaver.gold.gold_draw import SPLIT
from quaver.labelling.labelled_file import TableFile, free_names, labelled_path, write_labelled
from quaver.labelling.spreadsheet_edits import Cell
from quaver.report.findings.verdict_card import Card
from quaver.study.analysis.study_acceptance import accept
from quaver.study.analysis.text_labels import PERSON, text_labels
from quaver.study.checking.check_design import (
    PreparedCheck,
    left_to_ask,
    model_entry,
    prepared_check,
    run_agreed,
)
from quaver.study.checking.check_options import CheckOptions
from quaver.study.forecasts.forecast import Range
from quaver.study.gold_sample.coder_sheets import read_returned, write_sheets
from quaver.study.labelling.label_options import LabelOptions
from quaver.study.labelling.label_study import PromptChoice, chosen_prompts, label_study, study_of_doubtful
from quaver.study.session import Study
from quaver.study.sources.gold_files import GoldFiles
from quaver.study.sources.study_file_source import asking

_WRITTEN: Final = "labelled.json"
"""What is kept of the labelled file, so that nobody's edits of it are written over."""

_APART: Final = "texts that needed a person"
_TO_LABEL: Final = "to-label"
"""The beginning of the names of sheets of texts that need a person."""

_ENDS: Final = {"money": "the budget is spent", "batches": "calls are out in batches, answered within a day"}
"""What may end a run before all texts have been asked about."""

_CONFIDENCE: Final = 0.95
_TO_DISAGREE: Final = 5
"""Prompts that are asked at least where their disagreement says which texts are doubtful."""

_NOTHING: Final = 1e-9
"""US dollars: what is left of a budget that is spent."""

_NOTES: Final = "How labelled"
"""The sheet that says how the labels were made."""

_COLUMNS: Final = {
    "label": "label",
    "labelled_by": "labelled by",
    "agreement": "agreement",
    "confidence": "confidence",
    "needs_person": "needs a person",
}
"""The new columns of the copy, and their headings."""


def sample_for(error: float) -> int:
    """How many texts people label so that a promise is likely kept where half as many labels are wrong.

    >>> sample_for(0.05)
    153
    """
    size = 1
    while scipy.stats.binom.cdf(int(size * error / 2), size, error) > 1 - _CONFIDENCE:
        size += 1
    return size


@dataclass(frozen=True)
class Labelled(Rows):
    """Labelled texts.

    Attributes:
        table: A row for each text, as `Study.labels` gives it.
        file: The labelled copy of the table; None where the texts came without a file.
        notes: How the labels were made, each line as its heading and its text.
        study: The study that labelled them.
        verdict: What the check found.
        acceptance: Which labels are accepted; None where no promise was asked for, or none can be made yet.
        sheets: Files for people to label.
        state: Where the labelling stands, in a sentence.
        step: What to do next, in a sentence; empty where nothing is left to do.
    """

    table: pl.DataFrame
    file: Path | None
    notes: tuple[tuple[str, str], ...]
    study: Study
    verdict: Card
    acceptance: Acceptance | None
    sheets: tuple[Path, ...]
    state: str
    step: str

    def rows(self) -> list[dict[str, Any]]:
        """A row for each text."""
        return self.table.to_dicts()

    def __str__(self) -> str:
        return " ".join(part for part in (self.state, self.step) if part)

    __repr__ = __str__


class Labelling:
    """The way from a check to a labelled table, step by step.

    Args:
        data: The texts: a table's path, a data frame, or a list.
        options: Those of `LabelOptions`.
    """

    def __init__(self, data: Any, options: LabelOptions) -> None:
        self.options: LabelOptions = with_defaults(LabelOptions, options)
        self.error = _share(self.options["error"])
        if self.options["then"]:
            model_entry(self.options["then"])
        self.prepared: PreparedCheck | None = None
        folder, model = check_to_go_on_from(data, self.options), self.options["model"]
        if folder is not None:
            self.check = Study.open(folder, functions=model_entry(model)[1] if callable(model) else None)
        else:
            given: Mapping[str, Any] = options
            of_check: Any = {name: given[name] for name in options_in(CheckOptions) if name in given}
            self.prepared = prepared_check(data, replaces=False, **of_check)
            self.check = self.prepared.study
        if isinstance(self.check.experiment.labels, Codebook):
            raise QuaverError(
                "this labels texts with one variable, and the check has several",
                where=str(self.check.folder),
                expected="a check of one variable: --gold COLUMN, or --labels",
                found=", ".join(self.check.spec.task.fields),
                fix="run the study on all texts instead: take `sample` out of its file, `quaver run`, then "
                "`quaver export` has a row for each text and field",
            )
        self.source = _table_of(data, self.check)

    @cached_property
    def verdict(self) -> Card:
        """What the check found."""
        return self.check.verdict()

    @cached_property
    def choice(self) -> PromptChoice:
        """The prompts that are asked about each text."""
        least = _TO_DISAGREE if self.options["then"] or self.error else 1
        return chosen_prompts(
            self.check, self.verdict, self.options["votes"], least, anyway=self.options["anyway"]
        )

    @cached_property
    def study(self) -> Study:
        """The study of all texts, with the check's answers taken over."""
        model = self.choice.recommended.model
        study = label_study(self.check, self.choice, self._left_of_budget(self.check), model)
        study.run(requests=0)
        return study

    def _left_of_budget(self, *studies: Study) -> float | None:
        """What may be spent once some studies have been asked; None without a budget."""
        budget = self.options["budget"]
        if budget is None:
            return None
        return max(_NOTHING, budget - sum(study.status().money or 0.0 for study in studies))

    def price(self, prompts: int) -> tuple[int, Range | None]:
        """The calls of all texts with so many prompts, and their price; None where it is not known."""
        (forecast, *_), price = left_to_ask(self.study).models, asking(self.study.source).prices
        own, share = price.get(forecast.model), prompts / len(self.choice.variants)
        cost = None if own is None else Range(*(end * share for end in forecast.whole.cost(own)))
        return round(forecast.calls * share), cost

    def doubtful(self) -> list[str]:
        """The texts that have no label, or on which the first model's answers disagree.

        What people labelled changes nothing here: their labels judge the second model's too.
        """
        split = pl.col("model_label").is_null() | (pl.col("agreement") < SPLIT)
        return text_labels(self.study.source).filter(split)["item"].to_list()

    @cached_property
    def second(self) -> Study | None:
        """The study that asks the second model about the doubtful texts; None where nobody is to be asked."""
        model = self.options["then"]
        doubtful = self.doubtful() if model else []
        left = self._left_of_budget(self.check, self.study)
        return study_of_doubtful(self.study, doubtful, model, left) if doubtful else None

    def labelled(self) -> Labelled:
        """Take back what people labelled, say which labels hold, and write the copy of the table."""
        sheets = self._take_back()
        acceptance = self._acceptance()
        recommended = self.choice.recommended
        table = text_labels(
            self.study.source, recommended=recommended, acceptance=acceptance, again=self._again
        )
        unlabelled = table.filter(pl.col("needs_person").is_not_null())
        if acceptance is not None and not unlabelled.is_empty():
            sheets += self._sheet_of(acceptance, unlabelled)
        state, step = self._state(table, acceptance, sheets)
        notes = tuple(self._notes(table, state))
        file = self._written(table, notes)
        return Labelled(table, file, notes, self.study, self.verdict, acceptance, tuple(sheets), state, step)

    # ---------------------------------------------------------------- people's labels

    def _take_back(self) -> list[Path]:
        """Take back files of labels, and draw a sample where a promise needs one that is not there yet."""
        gold = self.study.gold
        for path in map(Path, self.options["returned"]):
            state = gold.state
            drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
            of_sample = all(row.item in drawn for row in read_returned(path))
            gold.take(path, apart=None if of_sample else _APART, replace=not of_sample)
        if self.error is None or gold.state.draw is not None:
            return []
        size = self.options["by_hand"] or sample_for(self.error)
        return list(gold.draw(n=min(size, len(self.study.experiment.items))).files)

    def _acceptance(self) -> Acceptance | None:
        """Which labels are accepted; None before half of the sample is labelled."""
        error, gold = self.error, self.study.gold
        if error is None or not self._corrects:
            return None
        if self.second is None:
            return gold.accept(error=error)
        return accept(self.study.source, error=error, again=self._again, keep=False)

    @cached_property
    def _again(self) -> pl.DataFrame | None:
        """The second model's labels of the texts that it was asked about, its vote beside the first one's."""
        if self.second is None:
            return None
        frame = text_labels(self.second.source).select("item", pl.col("model_label").alias("label"))
        first = self.study.annotations().select(pl.col("item", "label").cast(pl.String))
        votes = (
            first.join(frame, on="item")
            .group_by("item")
            .agg(pl.len().alias("asked"), (pl.col("label") == pl.col("label_right")).sum().alias("same"))
        )
        agreement = (pl.col("same") + 1) / (pl.col("asked") + 1)
        return frame.join(votes, on="item", how="left").select("item", "label", agreement.alias("agreement"))

    def _sheet_of(self, acceptance: Acceptance, unlabelled: pl.DataFrame) -> list[Path]:
        """A sheet of the texts that still need a person, the most doubtful first; none where one is out.

        The texts of the sample have sheets of their own.
        """
        files, draw = GoldFiles(self.study.folder), self.study.gold.state.draw
        assert draw is not None
        others = unlabelled.filter(~pl.col("item").is_in(draw.filter("drawn")["item"].to_list()))
        is_out = not self.options["returned"] and any(files.folder.glob(f"{_TO_LABEL}*"))
        if others.is_empty() or is_out:
            return []
        order = others.join(acceptance.table.select("item", "score"), on="item", how="left").sort("score")
        design = self.study.experiment
        writer, by_id = (
            PromptWriter(design.variants[0], design.labels),
            {item.id: item for item in design.items},
        )
        rows = [SheetRow(item, writer.text(by_id[item])) for item in order["item"]]
        sheet = Sheet("person", rows, design.labels, design.variants[0].instruction)
        return write_sheets(files, [sheet], _TO_LABEL, "xlsx")

    # ------------------------------------------------------------------------ words

    def _state(
        self, table: pl.DataFrame, acceptance: Acceptance | None, sheets: Sequence[Path]
    ) -> tuple[str, str]:
        """Where the labelling stands, and what to do next."""
        people = int(table["needs_person"].is_not_null().sum())
        by_hand = int((table["labelled_by"] == PERSON).sum())
        given = int(table["label"].is_not_null().sum())
        state = f"{given:,} of {count(table.height, 'text')} have a label, {by_hand:,} of them from a person"
        waiting = self.study.gold.status()
        left = waiting.drawn - waiting.labelled
        if people or not left:
            needs = "1 needs" if people == 1 else f"{people:,} need" if people else "none needs"
            state += f"; {needs} a person{'' if people else ' any more'}."
        else:
            state += f"; {count(left, 'text')} of the sample still to be labelled by a person."
        error, then = self.error, self.options["then"]
        names = [str(self.source.path) if self.source else "FILE", "--check", str(self.check.folder)]
        names += ["--then", then] if isinstance(then, str) else []
        again = f"`quaver label {shlex.join(names)}"
        if error is None:
            way = "says which labels can be accepted with at most 5% wrong among them"
            return state, f"{again} --error 5%` {way}." if people else ""
        again += f" --error {promised(error)}"
        if acceptance is not None:
            most = f"at most {promised(error)} wrong among them, with {promised(_CONFIDENCE)} confidence"
            state = f"{count(acceptance.accepted, 'label')} can be accepted, {most}. {state}"
        if left or (sheets and people):
            files = ", ".join(str(path) for path in sheets) or str(self.study.folder / "gold")
            what = f"{count(left, 'text')} of the sample" if left else f"{count(people, 'text')}"
            return state, f"label {what} by hand ({files}), then {again} --returned FILE`."
        return state, f"{again} --returned FILE`, with more of them labelled." if people else ""

    def _notes(self, table: pl.DataFrame, state: str) -> Iterator[tuple[str, str]]:
        """How the labels were made, for whoever opens the file."""
        design, choice = self.study.experiment, self.choice
        yield "Made", f"{datetime.now(UTC):%Y-%m-%d}, by Quaver {version('quaver')}"
        yield "Model", ", ".join(str(one["identity"]) for one in self.study.source.served.values())
        if self.second is not None:
            asked = len(self.second.experiment.items)
            yield "Second model", f"{self.options['then']}, asked about {count(asked, 'doubtful text')}"
        yield "Prompts", f"{count(len(design.variants), 'prompt')}; {choice.reason}"
        for instruction in dict.fromkeys(variant.instruction for variant in design.variants):
            yield "", instruction
        if shown := design.variants[0].examples:
            yield (
                "Examples",
                f"{count(len(shown), 'text')} with their hand labels, in each prompt: not labelled",
            )
        how = "the most frequent label of the prompts" if len(design.variants) > 1 else "the answer's label"
        yield "Label", f"{how}; where a person labelled the text, that person's label"
        yield "Verdict", " ".join(self.verdict.lines[:2])
        if choice.recommended.kind == "do not use":
            yield "Warning", "The check says “do not use”. These labels were made in spite of it."
        yield "State", state
        for one in self._shares(table):
            yield "Share", one
        yield "Regression", self._regression()
        yield (
            "Cite",
            f"Quaver {version('quaver')}; `quaver paper {self.study.folder}` writes a methods paragraph",
        )

    def _shares(self, table: pl.DataFrame) -> Iterator[str]:
        """Each label's share: corrected by a sample that was drawn, else as it was counted."""
        if self._corrects:
            for estimate in self.study.measure("corrected_share"):
                if estimate.value is not None and estimate.cell.get("label"):
                    yield (
                        f"{estimate.cell['label']}: {with_interval(estimate)}, corrected by the "
                        "people's labels"
                    )
            return
        counts = Counter(table["label"].drop_nulls().to_list())
        for code in self.study.experiment.labels.codes:
            yield f"{code}: {percent(counts[code] / max(1, counts.total()))} of the labels, not corrected"

    def _regression(self) -> str:
        """How to regress the labels without taking their errors for truth."""
        if not self._corrects:
            errors = "a regression of these labels takes their errors for truth"
            if self.error is not None:
                return f"{errors}, until people have labelled the sample, which corrects both"
            return f"{errors}; --error 5% draws a sample for people to label, by which both are corrected"
        study, label = str(self.study.source.positions.path), self.study.experiment.labels.codes[0]
        claim = f'formula="share({label}) ~ COLUMN", effect="COLUMN > 0"'
        return f'quaver.Study.open({study!r}).measure("conclusion", {claim})'

    @property
    def _corrects(self) -> bool:
        """Whether people have labelled most of a sample that was drawn."""
        status = self.study.gold.status()
        return status.drawn > 0 and 2 * status.labelled >= status.drawn

    # ------------------------------------------------------------------------- file

    def _written(self, table: pl.DataFrame, notes: Sequence[tuple[str, str]]) -> Path | None:
        """Write the labelled copy of the table, unless that would undo somebody's edits."""
        if self.source is None:
            return None
        source = self.source
        target = Path(self.options["out"] or labelled_path(source.path))
        if target.exists():
            kept = self.study.source.files.read(_WRITTEN)
            if target.samefile(source.path) or kept.get("sha256") != _digest(target):
                raise QuaverError(
                    "this file would be written over",
                    where=str(target),
                    expected="a labelled copy as it was written last, or no file",
                    found="a file that was changed since, or that something else wrote",
                    fix="move it away, or name another one with --out",
                )
        rows = read_rows(source.path, source.encoding, source.separator, sheet=source.sheet)
        column = self.study.spec.items.id
        numbers = {
            row.text(column) if column else str(index): row.number for index, row in enumerate(rows, 1)
        }
        confident = table["confidence"].null_count() < table.height
        columns = {name: head for name, head in _COLUMNS.items() if confident or name != "confidence"}
        cells: dict[int, Sequence[Cell]] = {
            numbers[item]: values
            for item, *values in table.select("item", *columns).iter_rows()
            if item in numbers
        }
        existing = list(rows[0]) if rows else []
        write_labelled(source, target, free_names(list(columns.values()), existing), cells, (_NOTES, notes))
        self.study.source.files.write(_WRITTEN, {"file": target.name, "sha256": _digest(target)})
        return target


def _share(given: Any) -> float | None:
    """A share of wrong labels: ``0.05``, or ``5%``."""
    if given is None:
        return None
    text = str(given).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise QuaverError(
            "this is no share of wrong labels", where="error", expected="such as 5% or 0.05", found=text
        )
    return share


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def check_to_go_on_from(data: Any, options: LabelOptions) -> str | Path | None:
    """The check that is named, or that of these texts where no option asks for another one."""
    if options["check"] or not isinstance(data, str | Path):
        return options["check"]
    kept = ("to", "budget", *(["model"] if callable(options["model"]) else []))
    for name, (_, option) in options_in(CheckOptions).items():
        if name not in kept and options[name] != option.default:  # type: ignore[literal-required]
            return None
    folder = Path(options["to"] or Path(data).parent / f"{Path(data).stem}-check")
    return folder if (folder / "study.yaml").is_file() else None


def _table_of(data: Any, check: Study) -> TableFile | None:
    """The file of the texts, as the study reads it; None where they came without one."""
    if not isinstance(data, str | Path):
        return None
    items = check.spec.items
    path = Path(data)
    if not path.is_file() or not os.path.samefile(path, check.source.positions.path_of(items.source)):
        raise QuaverError(
            "these are not the texts of the check",
            where=str(path),
            expected=str(check.source.positions.path_of(items.source)),
            found="another file" if path.exists() else "no such file",
            fix="name the file that the check was made of, or leave out --check",
        )
    return TableFile(path, items.encoding or "utf-8", items.separator, items.sheet)


@guarded
@taking(LabelOptions)
def label(data: Any, *, yes: bool = False, **options: Unpack[LabelOptions]) -> Labelled:
    """Label all texts of a table, as a check recommends, and write the labels into a copy of it.

    Goes on from a check, or makes one first. Asks what is left to ask: whatever was asked is kept and not
    asked again. Each text gets the most frequent label of as many prompts as the check shows to be worth it;
    where a person labelled it, that person's label. With ``error``, a sample is drawn for people to label,
    and the labels that can be accepted are those of which at most that share is wrong.

    Args:
        data: The texts: a table's path, a data frame, or a list.
        yes: Whether to ask a model that costs money.
        **options: Those of `LabelOptions`: ``check``, ``error``, ``returned`` …, and of `CheckOptions`.

    Returns:
        The labels, where they were written, and what to do next.

    Raises:
        QuaverError: The check says that these labels should not be used, a column, a label or a model is not
            there, or the model costs money and neither ``yes`` nor ``budget`` agrees to it.
    """
    work = Labelling(data, options)
    agreed = yes or bool(work.options["budget"])
    for study in studies_of(work):
        ended = run_agreed(study, agreed=agreed, batch=work.options["batch"])
        if ended != "finished":
            raise StoreError(
                "not all texts have been asked about",
                where=str(study.folder),
                expected="a run that goes to its end",
                found=_ENDS.get(ended, f"a run that ended: {ended}"),
                fix=f"call it again{', with a larger budget' * (ended == 'money')}; what was asked is kept",
            )
    return work.labelled()


def studies_of(work: Labelling) -> Iterator[Study]:
    """What is asked, in its order: the check, all texts, the doubtful ones. Each decides what comes next."""
    yield work.check
    yield work.study
    if work.second is not None:
        yield work.second
