"""A study's gold sample, ``study.gold``: drawn by design, labelled by people, taken back, adjudicated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from typing_extensions import Unpack

from quaver.core.arguments import guarded, taking
from quaver.core.options import with_defaults
from quaver.core.transaction import Transaction, changing, finish
from quaver.errors import QuaverError, StoreError
from quaver.gold.coder_sheet import LABEL, Format, column_of
from quaver.gold.returned_labels import Rule
from quaver.study.analysis.field_source import FieldSource
from quaver.study.gold_sample.coder_sheets import (
    read_returned,
    sheet_of_disagreements,
    sheets_of_round,
    write_sheets,
)
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.gold_sample.gold_plan import GoldRound, coders_of, declared_sample, next_round
from quaver.study.gold_sample.gold_status import (
    GoldStatus,
    checked_labels,
    gold_status,
    known_labels,
    with_labels,
)
from quaver.study.sources.gold_files import GoldSample
from quaver.study.sources.study_source import StudySource

if TYPE_CHECKING:
    from quaver.acceptance.accepted_labels import Acceptance


class StudyGold:
    """The gold sample of a study.

    ``study.gold.draw(n=200, coders=["ada", "ben"])`` writes sheets, ``study.gold.take("round-1-ada.xlsx")``
    takes one back.

    Of a study with several fields it is one sample for all of them: the items are drawn once, and a sheet has
    a column for each field. Opened by a field's name, it is planned for that field, and its sheets ask about
    that field alone.

    Args:
        source: The study's source.
    """

    def __init__(self, source: StudySource) -> None:
        self._source, self._files = source, source.gold_files
        finish(self._files.home)
        self._fields: Mapping[str, StudySource] = {
            column_of(name): FieldSource(source, name) for name in source.spec.task.fields
        } or {LABEL: source}

    def __repr__(self) -> str:
        return str(self.status())

    @property
    def state(self) -> GoldSample:
        """What is kept: the design, each item's probability, each label; of several fields, of the first.

        Raises:
            StoreError: A file of it is damaged.
        """
        (first, *_) = self._fields.values()
        return first.gold_sample

    def status(self) -> GoldStatus:
        """How many items are drawn and labelled, how well coders agree, and what nobody has decided."""
        return self._status(self._files.sample())

    def _status(self, sample: GoldSample) -> GoldStatus:
        """Where a sample stands: in the field with the fewest labels, and in each of several."""
        fields = {
            field.gold_field: gold_status(sample.of(field.gold_field), field)
            for field in self._fields.values()
        }
        worst = min(fields.values(), key=lambda field: field.labelled)
        return replace(worst, fields=fields) if self._source.spec.task.fields else worst

    @guarded
    @taking(GoldOptions)
    def forecast(self, **options: Unpack[GoldOptions]) -> GoldRound:
        """What a gold sample would cost and bring; nothing is drawn.

        Args:
            **options: Those of `GoldOptions`: ``n``, ``coders`` …

        Returns:
            Its size and the width to expect.

        Raises:
            QuaverError: The sample would be no larger, or a later round differs from the first.
        """
        return self._next(self._files.sample(), options)[1]

    @guarded
    @taking(GoldOptions)
    def draw(
        self,
        *,
        form: Format = "xlsx",
        **options: Unpack[GoldOptions],
    ) -> GoldRound:
        """Draw a gold sample, or let it grow, and write a sheet for each coder.

        Where the table has gold labels of some of its items, those of drawn items are taken, and coders get
        the others.

        Args:
            form: Which files are written.
            **options: Those of `GoldOptions`: ``n``, ``coders`` …

        Returns:
            What was drawn, and the files to send out.

        Raises:
            QuaverError: The sample would be no larger, or a later round differs from the first.
            StoreError: The study is a bundle, its texts are not here, or its folder cannot be written.
        """
        self._source.require("keeps_results")
        self._source.require("has_texts")
        with changing(self._files.home) as change:
            sample, drawn = self._next(self._files.sample(), options)
            known = []
            for field in self._fields.values():
                sample, new, _ = with_labels(sample, known_labels(field, sample))
                known.append(new)
            self._files.put(change, sample)
            written = self._written(change, sample, drawn.round, form)
        return replace(drawn, known=min(known), files=tuple(written))

    def _next(self, sample: GoldSample, options: GoldOptions) -> tuple[GoldSample, GoldRound]:
        """The next round: of several fields a simple sample, which serves all of them alike."""
        given = with_defaults(GoldOptions, options)
        if len(self._fields) > 1 and not sample.design and given["design"] is None:
            given["design"] = "simple"
        declared = set[str]() if sample.design else declared_sample(self._fields.values())
        return next_round(next(iter(self._fields.values())), sample, given, declared)

    def _written(self, change: Transaction, sample: GoldSample, number: int, form: Format) -> list[Path]:
        """The sheets of a round, of what is not labelled yet."""
        sheets = sheets_of_round(self._source, self._fields, sample, number)
        return write_sheets(change, self._files.folder, sheets, f"round-{number}", form)

    @guarded
    def sheets(self, form: Format = "xlsx") -> list[Path]:
        """Write sheets anew, of what each coder has not labelled yet.

        Returns:
            The files; none where everything is labelled.

        Raises:
            StoreError: Nothing was drawn, the texts are not here, or the folder cannot be written.
        """
        self._source.require("has_texts")
        self._kept()
        with changing(self._files.home) as change:
            sample, files = self._files.sample(), list[Path]()
            for number in range(1, len(sample.design["rounds"]) + 1):
                files += self._written(change, sample, number, form)
            return files

    @guarded
    def take(
        self,
        path: str | Path,
        *,
        coder: str | None = None,
        apart: str | None = None,
    ) -> GoldStatus:
        """Take back a file of labels; all of it, or nothing if something in it is wrong.

        Rows may be in any order, and some may be missing. A coder's later label of an item replaces the
        earlier one, which stays on record.

        Args:
            path: A sheet: .xlsx, .csv …
            coder: Who labelled, where the file does not say.
            apart: Why these items were chosen, where they were not drawn: ``"least stable first"``.
                Their labels are kept apart from the sample, and count in the place of the gold labels that
                the items came with; those of drawn items count in it.

        Returns:
            Where the sample stands now, with how many labels are new or changed.

        Raises:
            ItemError: An id, a label or a row is wrong.
            StoreError: Nothing was drawn, or the folder cannot be written.
        """
        if apart is not None and not apart.strip():
            raise QuaverError("say why these items were chosen", where="apart", found="nothing")
        self._source.require("keeps_results")
        if apart is None:
            self._kept()
        path = Path(path)
        with changing(self._files.home) as change:
            sample = self._files.sample()
            rows, checked = read_returned(path, list(self._fields)), list[pl.DataFrame]()
            for column, field in self._fields.items():
                checked.append(checked_labels(field, sample, rows, column, path.name, coder, apart))
            sample, new, changed = with_labels(sample, pl.concat(checked))
            self._files.put(change, sample)
        return replace(self._status(sample), new=new, changed=changed)

    @guarded
    def adjudicate(
        self, adjudicator: str | None = None, *, rule: Rule | None = None, form: Format = "xlsx"
    ) -> list[Path]:
        """Settle the items on which coders disagree.

        Args:
            adjudicator: Who decides. A sheet is written for them, with the coders' labels and without a
                model's; ``take`` takes it back.
            rule: ``majority`` lets the label of more than half of an item's coders hold, from now on;
                ``adjudicator``, the default, lets disagreements wait.
            form: Which files are written.

        Returns:
            The files; none where nothing is open.

        Raises:
            QuaverError: Neither is given.
            StoreError: Nothing was drawn, or the folder cannot be written.
        """
        if adjudicator is None and rule is None:
            raise QuaverError(
                "who decides?", where="adjudicate", expected="a name, or the rule `majority`", found="neither"
            )
        self._kept()
        with changing(self._files.home) as change:
            sample = self._files.sample()
            if rule is not None:
                sample = replace(sample, design={**sample.design, "rule": rule})
                self._files.put(change, sample)
            paths = list[Path]()
            for field in self._fields.values():
                own = sample.of(field.gold_field)
                if adjudicator is None or not own.settled.open:
                    continue
                self._source.require("has_texts")
                sheet = sheet_of_disagreements(field, own, coders_of([adjudicator])[0])
                stem = f"adjudication-{field.gold_field}" if len(self._fields) > 1 else "adjudication"
                paths += write_sheets(change, self._files.folder, [sheet], stem, form)
            return paths

    def _kept(self) -> None:
        """Refuse what takes a sample that was drawn."""
        self._source.require("keeps_results")
        if not self._files.sample().design:
            raise StoreError(
                "no gold sample has been drawn",
                where=str(self._source.folder),
                expected="a sample in its folder `gold`",
                found="none",
                fix="draw one: `quaver gold STUDY --n 200`",
            )

    @guarded
    def accept(
        self,
        *,
        error: float = 0.05,
        confidence_level: float = 0.95,
        by: str | None = None,
        evaluator: str | None = None,
    ) -> Acceptance:
        """Say which labels may be accepted so that few of them are wrong, and which need a person.

        It takes gold labels of items that were drawn with known probabilities. Labels are ordered by
        how sure they are, and accepted from the surest on as long as tests on the checked ones allow it.

        Args:
            error: The share of accepted labels that may be wrong.
            confidence_level: How sure that is: at 0.95, one gold sample in twenty may break the promise.
            by: A group of the items, or ``label``: the promise is made for each of its levels by itself.
            evaluator: The evaluator whose labels are meant; the study's first if left out.

        Returns:
            The items with a decision each, how much could be accepted for other errors, and how each group
            was treated. What was found is kept for the report.

        Raises:
            StoreError: Nothing is stored yet.
            MeasureError: There are no gold labels of a designed sample, or an argument is out of range.
            UnknownName: No group or evaluator has that name.
        """
        from quaver.study.analysis.study_acceptance import accept

        _ = self._source.spec.task.label_set().codes  # of several fields, none was named
        return accept(
            self._source,
            error=error,
            confidence_level=confidence_level,
            by=by,
            evaluator=evaluator,
        )
