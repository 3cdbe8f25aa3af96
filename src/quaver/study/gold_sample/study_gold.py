"""A study's gold sample, ``study.gold``: drawn by design, labelled by people, taken back, adjudicated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from typing_extensions import Unpack

from quaver.core.arguments import guarded, taking
from quaver.core.options import with_defaults
from quaver.errors import QuaverError, StoreError
from quaver.gold.coder_sheet import Format
from quaver.gold.returned_labels import Rule
from quaver.study.gold_sample.coder_sheets import CoderSheets, write_sheets
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.gold_sample.gold_rounds import GoldDrawn, RoundAsked, coders_of, draw_round, ruled
from quaver.study.gold_sample.gold_status import GoldStatus, GoldTaken, gold_status, take_file, take_known
from quaver.study.gold_sample.sample_plan import GoldForecast
from quaver.study.sources.gold_files import GoldFiles, GoldState
from quaver.study.sources.study_source import StudySource

if TYPE_CHECKING:
    from quaver.acceptance.accepted_labels import Acceptance


class StudyGold:
    """The gold sample of a study.

    ``study.gold.draw(n=200, coders=["ada", "ben"])`` writes sheets, ``study.gold.take("round-1-ada.xlsx")``
    takes one back.

    Args:
        source: The study's source.
    """

    def __init__(self, source: StudySource) -> None:
        self._source = source
        _ = (
            source.spec.task.label_set().codes
        )  # a sample is of one label set: of several fields, none was named
        self._files = GoldFiles(source.folder)

    def __repr__(self) -> str:
        return str(self.status())

    @property
    def state(self) -> GoldState:
        """What is kept: the design, each item's probability, each label.

        Raises:
            StoreError: A file of it is damaged.
        """
        return self._files.state()

    def status(self) -> GoldStatus:
        """How many items are drawn and labelled, how well coders agree, and what nobody has decided."""
        return gold_status(self.state, self._source.experiment.labels)

    @guarded
    @taking(GoldOptions)
    def forecast(self, **options: Unpack[GoldOptions]) -> GoldForecast:
        """What a gold sample would cost and bring; nothing is drawn.

        Args:
            **options: Those of `GoldOptions`: ``n``, ``target``, ``coders`` …

        Returns:
            Its size, the width to expect, and how many labels simple sampling and gold alone would need.

        Raises:
            QuaverError: The sample would be no larger, or a later round differs from the first.
        """
        asked = RoundAsked(with_defaults(GoldOptions, options))
        state = self.state
        names, shared = asked.shared(state)
        return asked.plan(self._source, state).forecast(asked.wish, len(names), shared)

    @guarded
    @taking(GoldOptions)
    def draw(
        self,
        *,
        seed: Annotated[int, Field(ge=0)] | None = None,
        form: Format = "xlsx",
        drawn_by: str | None = None,
        **options: Unpack[GoldOptions],
    ) -> GoldDrawn:
        """Draw a gold sample, or let it grow, and write a sheet for each coder.

        Where the table has true labels of some of its items, those of drawn items are taken, and coders get
        the others.

        Args:
            seed: What is drawn from; derived from the study's seed by default.
            form: Which files are written.
            drawn_by: Who draws, for the record; the name of your account if left out.
            **options: Those of `GoldOptions`: ``n``, ``target``, ``coders`` …

        Returns:
            What was drawn, and the files to send out.

        Raises:
            QuaverError: The sample would be no larger, or a later round differs from the first.
            StoreError: The study is a bundle, its texts are not here, or its folder cannot be written.
        """
        self._source.require("keeps_results")
        self._source.require("has_texts")
        asked = RoundAsked(with_defaults(GoldOptions, options), seed, form, drawn_by)
        asked.wish.check()
        with self._files.alone():
            found = draw_round(self._source, self._files, asked)
            known = [item.gold is not None for item in self._source.experiment.items]
            taken = 0
            if any(known) and not all(known):
                taken = take_known(self._source, self._files, self.state, all_of_them=False).new
            sheets = CoderSheets(self._source, self.state).of_round(found.round)
            written = write_sheets(self._files, sheets, f"round-{found.round}", form)
            return replace(found, known=taken, files=tuple(written))

    @guarded
    def sheets(self, form: Format = "xlsx") -> list[Path]:
        """Write sheets anew, of what each coder has not labelled yet.

        Returns:
            The files; none where everything is labelled.

        Raises:
            StoreError: Nothing was drawn, the texts are not here, or the folder cannot be written.
        """
        self._source.require("has_texts")
        state = self._kept()
        paths: list[Path] = []
        for about in state.design["rounds"] if state.design else ():
            sheets = CoderSheets(self._source, state).of_round(about["round"])
            paths += write_sheets(self._files, sheets, f"round-{about['round']}", form)
        return paths

    @guarded
    def take(
        self, path: str | Path, *, coder: str | None = None, apart: str | None = None, replace: bool = False
    ) -> GoldTaken:
        """Take back a file of labels; all of it, or nothing if something in it is wrong.

        Rows may be in any order, and some may be missing. A coder's later label of an item replaces the
        earlier one, which stays on record.

        Args:
            path: A sheet (.xlsx, .csv, …), or an export of Label Studio or Argilla (.json).
            coder: Who labelled, where the file does not say.
            apart: Why these items were chosen, where they were not drawn: ``"the hardest by quaver worst"``.
                Their labels are kept apart from the sample.
            replace: Whether these labels take the place of the gold labels that their items came with. Items
                that came with another gold label are left out by default.

        Returns:
            How many labels are new or changed, which items were left out, and where the sample stands.

        Raises:
            ItemError: An id, a label or a row is wrong.
            StoreError: Nothing was drawn, or the folder cannot be written.
        """
        if apart is not None and not apart.strip():
            raise QuaverError("say why these items were chosen", where="apart", found="nothing")
        self._source.require("keeps_results")
        if apart is None:
            self._kept()
        with self._files.alone():
            return take_file(self._source, self._files, self.state, Path(path), coder, apart, replace=replace)

    def take_known(self) -> GoldTaken:
        """Take the gold labels that the drawn items came with, where the study's table has them all.

        So you can see what a sample of 200 would have brought, on data that are labelled already.

        Returns:
            How many labels are new or changed, and where the sample stands.

        Raises:
            ItemError: A drawn item came without one.
            StoreError: Nothing was drawn, or the folder cannot be written.
        """
        self._kept()
        with self._files.alone():
            return take_known(self._source, self._files, self.state)

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
        with self._files.alone():
            state = self.state
            if rule is not None and state.design is not None:
                state = ruled(state, state.design, rule)
                self._files.write(state)
            if adjudicator is None or not state.settled.open:
                return []
            self._source.require("has_texts")
            sheet = CoderSheets(self._source, state).of_disagreements(coders_of([adjudicator])[0])
            return write_sheets(self._files, [sheet], "adjudication", form)

    def _kept(self) -> GoldState:
        """What is kept of a sample that was drawn."""
        self._source.require("keeps_results")
        state = self.state
        if state.draw is None:
            raise StoreError(
                "no gold sample has been drawn",
                where=str(self._source.folder),
                expected="a sample in its folder `gold`",
                found="none",
                fix="draw one: quaver gold STUDY --n 200",
            )
        return state

    @guarded
    def accept(
        self,
        *,
        error: float = 0.05,
        confidence_level: float = 0.95,
        score: Literal["both", "agreement", "confidence", "learned"] | None = None,
        by: str | None = None,
        evaluator: str | None = None,
    ) -> Acceptance:
        """Say which labels may be accepted so that few of them are wrong, and which need a person.

        It takes gold labels of items that were drawn with known probabilities. Labels are ordered by
        how sure they are, and accepted from the surest on as long as tests on the checked ones allow it.

        Args:
            error: The share of accepted labels that may be wrong.
            confidence_level: How sure that is: at 0.95, one gold sample in twenty may break the promise.
            score: What orders the labels: ``agreement`` between prompts, models and repeats; the model's
                ``confidence``; ``both``; or, if left out, ``learned``: both, moved by what the gold labels of
                other items show of classes and groups that are wrong more often.
            by: A group of the items, or ``label``: the promise is made for each of its levels by itself.
            evaluator: The evaluator whose labels are meant; the study's first if left out.

        Returns:
            The items with a decision each, how much could be accepted for other errors, and how each group
            was treated. What was found is kept for the report.

        Raises:
            StoreError: Nothing is stored yet.
            MeasureError: There are no gold labels of a designed sample, or an argument is out of range.
            UnknownName: No group, score or evaluator has that name.
        """
        from quaver.study.analysis.study_acceptance import accept

        return accept(
            self._source,
            error=error,
            confidence_level=confidence_level,
            score=score,
            by=by,
            evaluator=evaluator,
        )
