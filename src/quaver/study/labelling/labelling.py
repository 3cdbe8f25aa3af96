"""``quaver.label``: from a table of texts to the same table with a label for each text."""

from __future__ import annotations

import os
import shlex
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
from quaver.core.annotations import FIELD
from quaver.core.arguments import guarded, taking
from quaver.core.media import item_word
from quaver.core.number_format import percent, promised
from quaver.core.options import options_in, with_defaults
from quaver.core.rows import Rows
from quaver.core.transaction import Transaction, changing
from quaver.design.items.table_files import read_rows
from quaver.design.spec.study_spec import BudgetSpec
from quaver.errors import QuaverError, StoreError
from quaver.report.findings.verdict_card import Card, card_of_fields
from quaver.report.page_templates import paragraph, template
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_acceptance import forecast
from quaver.study.checking.check_design import Check, model_entry, prepared_check, run_agreed
from quaver.study.checking.check_options import CheckOptions
from quaver.study.gold_sample.coder_sheets import sheet_of, write_sheets
from quaver.study.labelling.backfill import Backfill
from quaver.study.labelling.label_options import LabelOptions
from quaver.study.labelling.label_study import (
    FieldLabels,
    PromptChoice,
    chosen_prompts,
    label_study,
)
from quaver.study.labelling.labelled_file import free_names, hand_labels, labelled_path, write_labelled
from quaver.study.labelling.spreadsheet_edits import Cell
from quaver.study.session import Study
from quaver.study.sources.study_file_source import asking

_WRITTEN: Final = "labelled.json"
"""What is kept of the labelled file, so that nobody's edits of it are written over."""

_APART: Final = "texts that needed a person"
_TO_LABEL: Final = "to-label"
"""The beginning of the names of sheets of texts that need a person."""

_ENDS: Final = {"money": "the budget is spent", "batches": "calls are out in batches, answered within a day"}
"""What may end a run before all texts have been asked about."""

_CONFIDENCE: Final = 0.95
_NOTHING: Final = 1e-9
"""US dollars: what is left of a budget that is spent."""

_NOTES: Final = "How labelled"
"""The sheet that says how the labels were made."""

_NO_TEXT: Final = "no text"
"""Who labelled a row that has no text."""


def sample_for(error: float) -> int:
    """How many texts people label so that a promise is likely kept where half as many labels are wrong.

    >>> sample_for(0.05)
    153
    """
    size = 1
    while scipy.special.bdtr(int(size * error / 2), size, error) > 1 - _CONFIDENCE:
        size += 1
    return size


@dataclass(frozen=True)
class Labelled(Rows):
    """Labelled texts.

    Attributes:
        table: A row for each text, as `Study.labels` gives it; of several fields, for each text and field.
        file: The labelled copy of the table; None where the texts came without a file.
        notes: How the labels were made, each line as its heading and its text.
        study: The study that labelled them.
        verdict: What the check found.
        accepted: Which labels of each field are accepted, by its name, of a task with one label set by an
            empty one; without those of which no promise was asked for, or none can be made yet.
        sheets: Files for people to label.
        state: Where the labelling stands, in a sentence.
        step: What to do next, in a sentence; empty where nothing is left to do.
    """

    table: pl.DataFrame
    file: Path | None
    notes: tuple[tuple[str, str], ...]
    study: Study
    verdict: Card
    accepted: Mapping[str, Acceptance]
    sheets: tuple[Path, ...]
    state: str
    step: str

    @property
    def acceptance(self) -> Acceptance | None:
        """The accepted labels; with fields, those of the field with the fewest; None without any."""
        return min(self.accepted.values(), key=lambda acceptance: acceptance.accepted, default=None)

    def __str__(self) -> str:
        return " ".join(part for part in (self.state, self.step) if part)

    __repr__ = __str__


class Labelling:
    """The way from a check to a labelled table, step by step.

    Args:
        data: The texts: a table's path, a data frame, or a list.
        options: Those of `LabelOptions`.
        function: How the command line names the function that is asked.
    """

    def __init__(self, data: Any, options: LabelOptions, function: str = "MODULE:FUNCTION") -> None:
        self.options: LabelOptions = with_defaults(LabelOptions, options)
        self.error, self.function = _share(self.options["error"]), function
        self.prepared: Check | None = None
        folder, model = check_to_go_on_from(data, self.options), self.options["model"]
        if folder is not None:
            self.check = Study.open(folder, functions=model_entry(model)[1] if callable(model) else None)
            if (most := self.options["budget"]) is not None:
                source = asking(self.check.source)
                source.spec = source.spec.model_copy(update={"budget": BudgetSpec(money=most)})
        else:
            given: Mapping[str, Any] = options
            of_check: Any = {name: given[name] for name in options_in(CheckOptions) if name in given}
            self.prepared = prepared_check(data, replaces=False, **of_check)
            self.check = self.prepared.study
        self.source = _file_of(data, self.check)

    @cached_property
    def _cards(self) -> dict[str, Card]:
        """What the check found of each field."""
        return {name: Study(field).verdict() for name, field in fields_of(self.check.source).items()}

    @cached_property
    def verdict(self) -> Card:
        """What the check found."""
        return card_of_fields(self._cards)

    @cached_property
    def choices(self) -> dict[str, PromptChoice]:
        """The prompts whose answers label each field; none of a field whose labels should not be used.

        Raises:
            QuaverError: The check says that no labels should be used, and nobody insists.
        """
        design = self.check.experiment
        ids = [variant.id for variant in design.variants]
        choices = chosen_prompts(self._cards, ids, self.options["votes"], anyway=self.options["anyway"])
        if not choices:
            raise QuaverError(
                "these labels should not be used",
                where=str(self.check.folder),
                expected="a check that finds the labels fit to use",
                found=self.verdict.verdict,
                fix=f"{self.verdict.next_step} Or label with --anyway, which the labelled file will say",
            )
        if self.error is not None and not self.options["anyway"]:
            self._see_that_it_can_be_kept(self.error, choices)
        return choices

    def _see_that_it_can_be_kept(self, error: float, choices: Mapping[str, PromptChoice]) -> None:
        """Refuse a promise that the check's gold labels show to be out of reach, before people are asked."""
        labels = self.options["by_hand"] or sample_for(error)
        for name, source in fields_of(self.check.source).items():
            if name not in choices or choices[name].recommended.judged.are_chosen:
                continue
            if (known := forecast(source, choices[name].variants, error, labels)) is None:
                continue
            checked, wrong, least, possible = known
            most = f"at most {promised(error)} wrong among a quarter of the labels, the surest"
            seen = f"{wrong:,} wrong of {checked:,} with a gold label, among the surest"
            instead = f"{promised(possible)} can be reached, with about {labels:,} gold labels"
            raise QuaverError(
                f"with what is known, {promised(error)} cannot be reached",
                where="--error",
                expected=f"{most}{name and f', of {name}'}",
                found=f"{seen}: surely more than {percent(least)}",
                fix=f"{instead}; or improve the prompt first, or label with --anyway",
            )

    @cached_property
    def fields(self) -> list[FieldLabels]:
        """The fields that are labelled; of a task with one label set, that alone."""
        return [FieldLabels(name, self.study, choice) for name, choice in self.choices.items()]

    @property
    def left_out(self) -> list[str]:
        """The fields that are not labelled, since the check says “do not use”."""
        return [name for name in self._cards if name not in self.choices]

    @cached_property
    def study(self) -> Study:
        """The study of all texts, with the check's answers taken over."""
        budget, chosen = self._left_of_budget(self.check), [*self.choices.values()]
        asked = {name for choice in chosen for name in choice.variants}
        ids = [variant.id for variant in self.check.experiment.variants if variant.id in asked]
        study = label_study(self.check, ids, budget, chosen[0].recommended.model)
        study.run(requests=0)
        return study

    @cached_property
    def backfill(self) -> Backfill:
        """The texts to which no answer gives a label, for a second model; the study must have been run."""
        return Backfill(self.study, self.options["backfill"])

    @cached_property
    def second(self) -> Study | None:
        """The study that asks a second model; None without one, or where every text has a label."""
        asked = self.options["backfill"] or self.study.spec.backfill
        if not asked or self.backfill.gaps.is_empty():
            return None
        return self.backfill.study(self._left_of_budget(self.check, self.study))

    def _left_of_budget(self, *before: Study) -> float | None:
        """US dollars that are left for the next study; None without a budget."""
        budget = self.options["budget"]
        spent = sum(study.status().money or 0.0 for study in before)
        return None if budget is None else max(_NOTHING, budget - spent)

    def studies(self) -> Iterator[Study]:
        """What is asked, in order: the check, all texts, which it decides about, those without a label."""
        yield self.check
        yield self.study
        if (second := self.second) is not None:
            yield second

    def labelled(self) -> Labelled:
        """Take back what people labelled, say which labels hold, and write the copy of the table."""
        if self.second is not None:
            self.backfill.take(self.second)
        self._take_back()
        accepted = {
            field.name: acceptance
            for field in self.fields
            if (acceptance := field.accepted(self.error)) is not None
        }
        tables = {field.name: field.table(accepted.get(field.name)) for field in self.fields}
        if self.second is not None:
            tables = {name: self.backfill.marked(name, table) for name, table in tables.items()}
        table = pl.concat(
            table.select("item", pl.lit(name).alias(FIELD), pl.exclude("item")) if name else table
            for name, table in tables.items()
        )
        with changing(self.study.folder) as change:
            sheets = self._sheets(change, table if len(accepted) == len(tables) else None)
            state, step = self._state(tables, accepted, sheets)
            notes = self._notes(state)
            file = self._written(change, tables, notes)
        return Labelled(table, file, notes, self.study, self.verdict, accepted, tuple(sheets), state, step)

    def _take_back(self) -> None:
        """Take back files of labels, and draw a sample where a promise needs one that is not there yet."""
        gold = self.study.gold
        for path in map(Path, self.options["returned"]):
            gold.take(path, apart=_APART)
        if self.error is None or gold.state.drawn:
            return
        size = min(self.options["by_hand"] or sample_for(self.error), len(self.study.experiment.items))
        if any(2 * field.by_hand < size for field in self.fields):  # others may have drawn one
            gold.draw(n=size)
            del self.fields

    def _sheets(self, change: Transaction, table: pl.DataFrame | None) -> list[Path]:
        """The sheets that people are still to fill in: of the sample, and of other texts that need a person.

        The latter are those of a table of labels that were accepted, the most doubtful first, in one sheet.
        """
        gold, folder = self.study.gold, self.study.source.gold_files.folder
        is_out = self.error is not None and not gold.status().complete
        sheets = sorted(folder.glob("round-*.xlsx")) if is_out else []
        if table is None:
            return sheets
        doubtful = table.filter(
            pl.col("needs_person").is_not_null() & ~pl.col("item").is_in(gold.state.drawn)
        )
        order = doubtful.group_by("item", maintain_order=True).agg(pl.col("agreement").min())
        if order.is_empty():
            return sheets
        if not self.options["returned"] and (out := sorted(folder.glob(f"{_TO_LABEL}*"))):
            return [*sheets, out[-1]]
        order = order.sort("agreement", nulls_last=False, maintain_order=True)
        sheet = sheet_of(self.study.source, "person", {item: {} for item in order["item"]})
        return sheets + write_sheets(change, folder, [sheet], _TO_LABEL, "xlsx")

    def _state(
        self,
        tables: Mapping[str, pl.DataFrame],
        accepted: Mapping[str, Acceptance],
        sheets: Sequence[Path],
    ) -> tuple[str, str]:
        """Where the labelling stands, and what to do next."""
        waiting = self.study.gold.status()
        fields = [field.counts(tables[field.name], accepted.get(field.name)) for field in self.fields]
        error = None if self.error is None else promised(self.error)
        state = paragraph(
            "terminal/labelled.txt",
            self._word,
            fields=fields,
            left_out=self.left_out,
            error=error,
            confidence=promised(_CONFIDENCE),
        )
        again = ["quaver", "label", str(self.source or "FILE"), "--check", str(self.check.folder)]
        if callable(self.options["model"]):
            again += ["--function", self.function]
        if isinstance(second := self.options["backfill"], str):
            again += ["--backfill", second]
        if votes := self.options["votes"]:
            again += ["--votes", str(votes)]
        step = paragraph(
            "terminal/labelled_step.txt",
            self._word,
            again=shlex.join(again),
            error=error,
            left=waiting.drawn - waiting.labelled,
            people=len({item for field in fields for item in field["doubtful"]}),
            sheets=sheets or [self.study.folder / "gold"],
            returned=shlex.quote(str(sheets[0])) if len(sheets) == 1 else "FILE",
        )
        return state, step

    @property
    def _word(self) -> str:
        """What is labelled: texts, pictures."""
        return item_word(self.study.spec.items.model_dump())

    def _notes(self, state: str) -> tuple[tuple[str, str], ...]:
        """How the labels were made, for whoever opens the file: a line's heading and its text."""
        design = self.study.experiment
        text = template("terminal/labelled_notes.txt").render(
            word=self._word,
            day=f"{datetime.now(UTC):%Y-%m-%d}",
            version=version("quaver"),
            models=[served["identity"] for served in self.study.source.served.values()],
            choices=self.choices,
            instructions=list(dict.fromkeys(variant.instruction for variant in design.variants)),
            examples=design.variants[0].examples,
            prompts=len(design.variants),
            verdict=" ".join(self.verdict.lines[:2]),
            in_spite=any(choice.recommended.kind == "do not use" for choice in self.choices.values()),
            state=state,
            second=self.second and str(self.backfill),
            fields=self.fields,
            promised=self.error is not None,
            file=str(self.study.source.positions.path),
            folder=shlex.quote(str(self.study.folder)),
        )
        pairs = (line.partition(": ") for line in text.splitlines())
        return tuple((head.removeprefix(":"), said) for head, _, said in pairs)

    def _written(
        self, change: Transaction, tables: Mapping[str, pl.DataFrame], notes: Sequence[tuple[str, str]]
    ) -> Path | None:
        """Write the labelled copy of the table and the notes, unless that would undo somebody's edits."""
        if (source := self.source) is None:
            return None
        target = Path(self.options["out"] or labelled_path(source))
        if target.exists():
            kept = self.study.source.files.read(_WRITTEN)
            if target.samefile(source) or kept.get("sha256") != sha256(target.read_bytes()).hexdigest():
                raise QuaverError(
                    "this file would be overwritten",
                    where=str(target),
                    expected="a labelled copy that has not changed since it was written, or no file",
                    found="a file that was changed since, or that something else wrote",
                    fix="move it away, or name another one with --out",
                )
        about = self.study.spec.items
        written: dict[str, Any] = {"encoding": about.encoding or "utf-8", "separator": about.separator}
        written |= {"sheet": about.sheet, "quote": about.quote}
        rows = read_rows(source, **written)
        items = [row.text(about.id) if about.id else str(number) for number, row in enumerate(rows, 1)]
        texts = [name for name, condition in about.where.items() if condition.empty is False]
        heads, cells = list[str](), dict[int, list[Cell]]()
        for field in self.fields:
            gold = self.study.spec.task.fields[field.name].gold if field.name else about.gold
            hand = hand_labels(rows, gold.sources if gold else (), source, about.sheet)
            new = field.columns(tables[field.name], items, hand)
            heads += new.columns
            for row, own in zip(rows, new.iter_rows(), strict=True):
                label, by, *others = own
                if not all(map(row.text, texts)):
                    by = "no picture" if about.images else _NO_TEXT
                cells.setdefault(row.number, []).extend([label, by, *others])
        named = free_names(heads, list(rows[0]) if rows else [])
        digest = write_labelled(change, source, written, target, named, cells)
        lines = [f"{head}: {text}\n" for head, text in notes]
        change.write(target.with_suffix(".txt"), f"{_NOTES}\n\n{''.join(lines)}".encode())
        self.study.source.files.write(_WRITTEN, {"file": target.name, "sha256": digest}, change)
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
            "this is not a share of wrong labels", where="--error", expected="such as 5% or 0.05", found=text
        )
    return share


def check_to_go_on_from(data: Any, options: LabelOptions) -> str | Path | None:
    """The named check, or the check of these texts where no option calls for a new one."""
    if options["check"] or not isinstance(data, str | Path):
        return options["check"]
    kept = ("to", "budget", *(["model"] if callable(options["model"]) else []))
    for name, (_, option) in options_in(CheckOptions).items():
        if name not in kept and options[name] != option.default:  # type: ignore[literal-required]
            return None
    folder = Path(options["to"] or Path(data).parent / f"{Path(data).stem}-check")
    return folder if (folder / "study.yaml").is_file() else None


def _file_of(data: Any, check: Study) -> Path | None:
    """The file of the texts; None where they came without one."""
    if not isinstance(data, str | Path):
        return None
    path, source = Path(data), check.source.positions.path_of(check.spec.items.source)
    if not path.is_file() or not os.path.samefile(path, source):
        raise QuaverError(
            "these are not the texts of the check",
            where=str(path),
            expected=str(source),
            found="another file" if path.exists() else "no such file",
            fix="name the file that the check was made of, or leave out --check",
        )
    return path


@guarded
@taking(LabelOptions)
def label(data: Any, *, yes: bool = False, **options: Unpack[LabelOptions]) -> Labelled:
    """Label all texts of a table, as a check recommends, and write the labels into a copy of it.

    Goes on from a check, or makes one first. Asks what is left to ask: whatever was asked is kept and not
    asked again. Each text gets the most frequent label of the prompts that the check recommends; where a
    person labelled it, that person's label. With ``error``, a sample is drawn for people to label,
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
    for study in work.studies():
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
