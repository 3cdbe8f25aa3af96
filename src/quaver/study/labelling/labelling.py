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
from quaver.core.number_format import count, promised
from quaver.core.options import options_in, with_defaults
from quaver.core.rows import Rows
from quaver.core.transaction import Transaction, changing
from quaver.design.items.table_files import read_rows
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError, StoreError
from quaver.gold.coder_sheet import Sheet, SheetRow
from quaver.labelling.labelled_file import TableFile, free_names, labelled_path, write_labelled
from quaver.labelling.spreadsheet_edits import Cell
from quaver.report.findings.verdict_card import Card, card_of_fields
from quaver.report.page_templates import template
from quaver.study.analysis.field_source import fields_of
from quaver.study.checking.check_design import PreparedCheck, model_entry, prepared_check, run_agreed
from quaver.study.checking.check_options import CheckOptions
from quaver.study.gold_sample.coder_sheets import write_sheets
from quaver.study.labelling.label_options import LabelOptions
from quaver.study.labelling.label_study import (
    FieldLabels,
    PromptChoice,
    chosen_prompts,
    label_study,
    not_to_be_used,
)
from quaver.study.session import Study

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
    while scipy.stats.binom.cdf(int(size * error / 2), size, error) > 1 - _CONFIDENCE:
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
        """Which labels are accepted, of fields those of the one with the fewest; None without any."""
        return min(self.accepted.values(), key=lambda found: found.accepted, default=None)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each text, and field."""
        return self.table.to_dicts()

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
        self.prepared: PreparedCheck | None = None
        folder, model = check_to_go_on_from(data, self.options), self.options["model"]
        if folder is not None:
            self.check = Study.open(folder, functions=model_entry(model)[1] if callable(model) else None)
        else:
            given: Mapping[str, Any] = options
            of_check: Any = {name: given[name] for name in options_in(CheckOptions) if name in given}
            self.prepared = prepared_check(data, replaces=False, **of_check)
            self.check = self.prepared.study
        self.source = _table_of(data, self.check)

    @cached_property
    def _cards(self) -> dict[str, Card]:
        """What the check found of each field."""
        return {name: Study(one).verdict() for name, one in fields_of(self.check.source).items()}

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
        ids = [one.id for one in design.variants]
        found = chosen_prompts(self._cards, ids, self.options["votes"], anyway=self.options["anyway"])
        if not found:
            raise not_to_be_used(self.check, self.verdict)
        return found

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
        budget, chosen = self.options["budget"], [*self.choices.values()]
        if budget is not None:
            budget = max(_NOTHING, budget - (self.check.status().money or 0.0))
        asked = {name for one in chosen for name in one.variants}
        ids = [one.id for one in self.check.experiment.variants if one.id in asked]
        study = label_study(self.check, ids, budget, chosen[0].recommended.model)
        study.run(requests=0)
        return study

    def studies(self) -> Iterator[Study]:
        """What is asked, in its order: the check, and all texts, which it decides about."""
        yield self.check
        yield self.study

    def labelled(self) -> Labelled:
        """Take back what people labelled, say which labels hold, and write the copy of the table."""
        self._take_back()
        accepted = {one.name: found for one in self.fields if (found := one.accepted(self.error)) is not None}
        tables = {one.name: one.table(accepted.get(one.name)) for one in self.fields}
        table = pl.concat(
            one.select("item", pl.lit(name).alias(FIELD), pl.exclude("item")) if name else one
            for name, one in tables.items()
        )
        with changing(self.study.folder) as change:
            sheets = self._sheets(change, table if len(accepted) == len(tables) else None)
            state, step = self._state(tables, accepted, sheets)
            notes = tuple(self._notes(tables, state))
            file = self._written(change, tables, notes)
        return Labelled(table, file, notes, self.study, self.verdict, accepted, tuple(sheets), state, step)

    def _take_back(self) -> None:
        """Take back files of labels, and draw a sample where a promise needs one that is not there yet."""
        gold = self.study.gold
        for path in map(Path, self.options["returned"]):
            gold.take(path, apart=_APART, replace=True)
        if self.error is not None and gold.state.draw is None:
            size = self.options["by_hand"] or sample_for(self.error)
            gold.draw(n=min(size, len(self.study.experiment.items)))

    def _sheets(self, change: Transaction, table: pl.DataFrame | None) -> list[Path]:
        """The sheets that people are still to fill in: of the sample, and of other texts that need a person.

        The latter are those of a table of labels that were accepted, the most doubtful first, in one sheet.
        """
        gold, folder = self.study.gold, self.study.source.gold_files.folder
        is_out = self.error is not None and not gold.status().complete
        sheets = sorted(folder.glob("round-*.xlsx")) if is_out else []
        if table is None:
            return sheets
        drawn = [] if gold.state.draw is None else gold.state.draw.filter("drawn")["item"].to_list()
        doubtful = table.filter(pl.col("needs_person").is_not_null() & ~pl.col("item").is_in(drawn))
        order = doubtful.group_by("item", maintain_order=True).agg(pl.col("agreement").min())
        if order.is_empty():
            return sheets
        if not self.options["returned"] and (out := sorted(folder.glob(f"{_TO_LABEL}*"))):
            return [*sheets, out[-1]]
        design = self.study.experiment
        writer = PromptWriter(design.variants[0], design.labels)
        by_id = {item.id: item for item in design.items}
        order = order.sort("agreement", nulls_last=False, maintain_order=True)
        rows = [SheetRow(item, writer.text(by_id[item])) for item in order["item"]]
        sheet = Sheet("person", rows, design.labels, design.variants[0].instruction)
        return sheets + write_sheets(change, folder, [sheet], _TO_LABEL, "xlsx")

    def _state(
        self,
        tables: Mapping[str, pl.DataFrame],
        accepted: Mapping[str, Acceptance],
        sheets: Sequence[Path],
    ) -> tuple[str, str]:
        """Where the labelling stands, and what to do next."""
        waiting = self.study.gold.status()
        left = waiting.drawn - waiting.labelled
        fields = [one.counts(tables[one.name], accepted.get(one.name)) for one in self.fields]
        error = None if self.error is None else promised(self.error)
        said = {"fields": fields, "left_out": self.left_out, "error": error}
        text = template("terminal/labelled.txt").render(said, confidence=promised(_CONFIDENCE))
        people, votes = len({item for one in fields for item in one["doubtful"]}), self.options["votes"]
        names = [str(self.source.path) if self.source else "FILE", "--check", str(self.check.folder)]
        names += ["--function", self.function] if callable(self.options["model"]) else []
        names += ["--votes", str(votes)] if votes else []
        again, state = f"`quaver label {shlex.join(names)}", " ".join(text.split())
        if error is None:
            way = "says which labels can be accepted with at most 5% wrong among them."
            return state, f"{again} --error 5%` {way}" if people else ""
        again += f" --error {error}"
        if left or (sheets and people):
            files = ", ".join(str(path) for path in sheets) or str(self.study.folder / "gold")
            what = f"{count(left, 'text')} of the sample" if left else f"{count(people, 'text')}"
            return state, f"label {what} by hand ({files}), then {again} --returned FILE`."
        return state, f"{again} --returned FILE`, with more of them labelled." if people else ""

    def _notes(self, tables: Mapping[str, pl.DataFrame], state: str) -> Iterator[tuple[str, str]]:
        """How the labels were made, for whoever opens the file."""
        design = self.study.experiment
        yield "Made", f"{datetime.now(UTC):%Y-%m-%d}, by Quaver {version('quaver')}"
        yield "Model", ", ".join(str(one["identity"]) for one in self.study.source.served.values())
        for name, choice in self.choices.items():
            yield _of("Prompts", name), f"{count(len(choice.variants), 'prompt')}; {choice.reason}"
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
        if any(choice.recommended.kind == "do not use" for choice in self.choices.values()):
            yield "Warning", "The check says “do not use”. These labels were made in spite of it."
        yield "State", state
        for one in self.fields:
            for share in one.shares(tables[one.name]):
                yield _of("Share", one.name), share
            yield _of("Regression", one.name), one.regression(promised=self.error is not None)
        paper = f"`quaver paper {shlex.quote(str(self.study.folder))}` writes a methods paragraph"
        yield "Cite", f"Quaver {version('quaver')}; {paper}"

    def _written(
        self, change: Transaction, tables: Mapping[str, pl.DataFrame], notes: Sequence[tuple[str, str]]
    ) -> Path | None:
        """Write the labelled copy of the table, unless that would undo somebody's edits."""
        if (source := self.source) is None:
            return None
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
        read = (source.path, source.encoding, source.separator)
        rows, spec = read_rows(*read, sheet=source.sheet, quote=source.quote), self.study.spec
        id_column, heads, cells = spec.items.id, list[str](), dict[int, list[Cell]]()
        texts = [name for name, condition in spec.items.where.items() if condition.empty is False]
        for one in self.fields:
            own, filled = one.cells(tables[one.name])
            heads += own
            gold = spec.task.fields[one.name].gold if one.name else spec.items.gold
            column = gold.column if gold and rows and gold.column in rows[0] else None
            # Numbers and truth values of the hand labels are written as they stand there.
            typed = {
                row.text(column): row[column]
                for row in rows
                if column and isinstance(row[column], int | float)
            }
            for index, row in enumerate(rows, 1):
                label, *others = filled.get(
                    row.text(id_column) if id_column else str(index), [None] * len(own)
                )
                if any(not row.text(name) for name in texts):
                    others[0] = _NO_TEXT
                cells.setdefault(row.number, []).extend([typed.get(str(label), label), *others])
        named = free_names(heads, list(rows[0]) if rows else [])
        digest = write_labelled(change, source, target, named, cells, (_NOTES, notes))
        self.study.source.files.write(_WRITTEN, {"file": target.name, "sha256": digest}, change)
        return target


def _of(head: str, field: str) -> str:
    """A heading of a note, of one field or of all."""
    return f"{head}, {field}" if field else head


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
    items, path = check.spec.items, Path(data)
    if not path.is_file() or not os.path.samefile(path, check.source.positions.path_of(items.source)):
        raise QuaverError(
            "these are not the texts of the check",
            where=str(path),
            expected=str(check.source.positions.path_of(items.source)),
            found="another file" if path.exists() else "no such file",
            fix="name the file that the check was made of, or leave out --check",
        )
    return TableFile(path, items.encoding or "utf-8", items.separator, items.sheet, items.quote)


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
