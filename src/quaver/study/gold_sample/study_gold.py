"""A study's gold sample, ``study.gold``: drawn by design, labelled by people, taken back, adjudicated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from typing_extensions import Unpack

from quaver.core.arguments import guarded, taking
from quaver.core.options import with_defaults
from quaver.errors import QuaverError, StoreError
from quaver.gold.coder_sheet import LABEL, Format, column_of
from quaver.gold.returned_labels import Rule
from quaver.study.analysis.field_source import FieldSource
from quaver.study.gold_sample.coder_sheets import CoderSheets, read_returned, round_sheets, write_sheets
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.gold_sample.gold_rounds import GoldDrawn, RoundAsked, coders_of, draw_round, ruled
from quaver.study.gold_sample.gold_status import (
    GoldStatus,
    GoldTaken,
    checked_labels,
    gold_status,
    joint_status,
    keep_labels,
    take_known,
    taken_of,
)
from quaver.study.gold_sample.sample_plan import GoldForecast
from quaver.study.sources.gold_files import GoldFiles, GoldState, Round
from quaver.study.sources.study_source import StudySource

if TYPE_CHECKING:
    from quaver.acceptance.accepted_labels import Acceptance


class StudyGold:
    """The gold sample of a study.

    ``study.gold.draw(n=200, coders=["ada", "ben"])`` writes sheets, ``study.gold.take("round-1-ada.xlsx")``
    takes one back.

    Of a study with several fields it is one sample for all of them: the items are drawn once, at random, and
    a sheet has a column for each field. Of one field, opened by its name, it is that field's alone.

    Args:
        source: The study's source.
    """

    def __init__(self, source: StudySource) -> None:
        self._source, self._files = source, GoldFiles(source.folder)
        self._fields: Mapping[str, StudySource] = {
            name: FieldSource(source, name) for name in source.spec.task.fields
        } or {"": source}

    def __repr__(self) -> str:
        return str(self.status())

    @property
    def columns(self) -> list[str]:
        """The columns of labels on a sheet."""
        return [column_of(name) if name else LABEL for name in self._fields]

    @property
    def _states(self) -> dict[str, GoldState]:
        """What is kept of each field.

        A sample that several fields share is the one with the most rounds: a process that was killed may
        have left others behind.

        Raises:
            QuaverError: The fields have samples of their own.
        """
        states = {name: GoldFiles(one.folder).state() for name, one in self._fields.items()}
        most = max(states.values(), key=lambda one: len(_rounds(one)))
        for name, one in states.items():
            if _rounds(one) != _rounds(most)[: len(_rounds(one))]:
                raise QuaverError(
                    "fields of this study have gold samples of their own",
                    where=str(self._source.folder),
                    expected="one sample for all fields",
                    found=f"another one of {name!r}",
                    fix="name the field: --field NAME, or study.fields[NAME] in Python",
                )
        return {name: GoldState(most.design, most.draw, one.coded) for name, one in states.items()}

    @property
    def state(self) -> GoldState:
        """What is kept: the design, each item's probability, each label; of several fields, of the first.

        Raises:
            StoreError: A file of it is damaged.
        """
        return next(iter(self._states.values()))

    def status(self) -> GoldStatus:
        """How many items are drawn and labelled, how well coders agree, and what nobody has decided."""
        return joint_status(
            {
                name: gold_status(state, self._fields[name].experiment.labels)
                for name, state in self._states.items()
            }
        )

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
        asked, state = self._asked(options), self.state
        names, shared = asked.shared(state)
        return asked.plan(self._first, state).forecast(asked.wish, len(names), shared)

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
        asked = replace(self._asked(options), seed=seed, form=form, drawn_by=drawn_by)
        asked.wish.check()
        with self._alone() as files:
            states = self._states
            (first, *others) = files
            if _rounds(files[first].state()) != _rounds(states[first]):
                files[first].write(states[first])
            found = draw_round(self._first, files[first], asked)
            drawn = files[first].state()
            for name in others:
                files[name].write(GoldState(drawn.design, drawn.draw, states[name].coded))
            known = [self._take_some_known(name, own) for name, own in files.items()]
            written = self._written(found.round, form)
            return replace(found, known=min(known), files=tuple(written))

    def _take_some_known(self, name: str, files: GoldFiles) -> int:
        """Take the true labels that some of a field's items came with; how many are new."""
        source = self._fields[name]
        known = [item.gold is not None for item in source.experiment.items]
        if all(known) or not any(known):
            return 0
        return take_known(source, files, files.state(), all_of_them=False).new

    def _asked(self, options: GoldOptions) -> RoundAsked:
        """What a round is asked to be: of several fields a simple sample, which serves all of them alike."""
        given = with_defaults(GoldOptions, options)
        several, state = len(self._fields) > 1, self.state
        if several and (given["target"] or given["of"] or given["by"]):
            raise QuaverError(
                "this plans a sample for one field, and the study has several",
                where="target, of, by",
                expected="a size: n, more or budget",
                found=", ".join(name for name in ("target", "of", "by") if given[name]),
                fix="name the field: --field NAME, or study.fields[NAME] in Python",
            )
        if several and state.design is None and given["design"] is None:
            given["design"] = "simple"
        return RoundAsked(given)

    @property
    def _first(self) -> StudySource:
        """The first field."""
        return next(iter(self._fields.values()))

    @contextmanager
    def _alone(self) -> Iterator[dict[str, GoldFiles]]:
        """The files of each field, which nobody else changes meanwhile."""
        with ExitStack() as held:
            files = {name: GoldFiles(one.folder) for name, one in self._fields.items()}
            for own in files.values():
                held.enter_context(own.alone())
            yield files

    def _written(self, number: int, form: Format) -> list[Path]:
        """The sheets of a round, of what is not labelled yet."""
        fields = {name: CoderSheets(self._fields[name], state) for name, state in self._states.items()}
        return write_sheets(self._files, round_sheets(fields, self._source, number), f"round-{number}", form)

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
        design = self.state.design
        rounds = design["rounds"] if design else ()
        return [path for about in rounds for path in self._written(about["round"], form)]

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
        with self._alone() as files:
            states, path = self._states, Path(path)
            checked = {
                name: checked_labels(
                    self._fields[name], states[name], rows, path.name, coder, apart, replace=replace
                )
                for name, rows in zip(files, read_returned(path, self.columns), strict=True)
            }
            return taken_of(
                {
                    name: keep_labels(self._fields[name], own, states[name], checked[name], path)
                    for name, own in files.items()
                }
            )

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
        with self._alone() as files:
            states = self._states
            return taken_of(
                {name: take_known(self._fields[name], own, states[name]) for name, own in files.items()}
            )

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
        with self._alone() as files:
            paths = list[Path]()
            for name, own in files.items():
                state = self._states[name]
                if rule is not None and state.design is not None:
                    state = ruled(state, state.design, rule)
                    own.write(state)
                if adjudicator is None or not state.settled.open:
                    continue
                self._source.require("has_texts")
                sheet = CoderSheets(self._fields[name], state).of_disagreements(coders_of([adjudicator])[0])
                paths += write_sheets(own, [sheet], "adjudication", form)
            return paths

    def _kept(self) -> None:
        """Refuse what takes a sample that was drawn."""
        self._source.require("keeps_results")
        if self.state.draw is None:
            raise StoreError(
                "no gold sample has been drawn",
                where=str(self._source.folder),
                expected="a sample in its folder `gold`",
                found="none",
                fix="draw one: quaver gold STUDY --n 200",
            )

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

        _ = self._source.spec.task.label_set().codes  # of several fields, none was named
        return accept(
            self._source,
            error=error,
            confidence_level=confidence_level,
            score=score,
            by=by,
            evaluator=evaluator,
        )


def _rounds(state: GoldState) -> list[tuple[int, Round]]:
    """A sample's rounds, each with the seed that it was drawn from."""
    return [(state.design["seed"], one) for one in state.design["rounds"]] if state.design else []
