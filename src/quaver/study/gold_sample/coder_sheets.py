"""The sheets of a study's coders: which items, in which order, in which files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from quaver.core.replaced_file import replace_bytes
from quaver.design.items.answer_options import options_of
from quaver.design.prompts.rendering import PromptWriter
from quaver.gold.coder_sheet import Format, Sheet, SheetRow, assigned, written
from quaver.gold.returned_labels import ADJUDICATES, current
from quaver.study.sources.gold_files import GoldFiles, GoldState
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_source import StudySource

_UNFIT = re.compile(r"[^\w-]+")
"""What a file's name has no room for."""


class CoderSheets:
    """Makes sheets for a study's coders. Nothing that a model said is on them.

    Args:
        source: The study.
        state: Its gold sample.
    """

    def __init__(self, source: StudySource, state: GoldState) -> None:
        self._source, self._state = source, state
        self._experiment = source.experiment

    def texts(self) -> dict[str, str]:
        """The text of each item that may be labelled, as the original prompt shows it."""
        drawn = set() if self._state.draw is None else {*self._state.draw.filter("drawn")["item"]}
        writer = PromptWriter(self._experiment.variants[0], self._experiment.labels)
        known = self._source.has_texts
        return {
            item.id: writer.text(item) if known else "" for item in self._experiment.items if item.id in drawn
        }

    def of_round(self, number: int) -> list[Sheet]:
        """A sheet for each coder of a round, of the items that they have not labelled yet."""
        design, draw = self._state.design, self._state.draw
        assert design is not None
        assert draw is not None
        about = design["rounds"][number - 1]
        items = draw.filter(pl.col("drawn") & (pl.col("round") == number))["item"].to_list()
        dealt = assigned(items, about["coders"], about["overlap"], design["seed"])
        done = set(current(self._state.coded).filter(role="coder").select("item", "coder").iter_rows())
        sheets = []
        for coder, own in dealt.items():
            rows = self._rows(item for item in own if (item, coder) not in done)
            sheets.append(Sheet(coder, rows, self._experiment.labels, self._question))
        return [sheet for sheet in sheets if sheet.rows]

    def of_disagreements(self, adjudicator: str) -> Sheet:
        """The items on which coders disagree, with their labels."""
        still_open = self._state.settled.open
        rows = self._rows(sorted(still_open))
        shown = [SheetRow(row.item, row.text, row.options, still_open[row.item]) for row in rows]
        labels = self._experiment.labels
        return Sheet(adjudicator + ADJUDICATES, shown, labels, self._question, adjudicates=True)

    @property
    def _question(self) -> str:
        """What the original prompt asks, where it is plain text and no template."""
        asked = self._experiment.variants[0].instruction.strip()
        return asked if asked and "{" not in asked else "Which label fits the text?"

    def _rows(self, items: Iterable[str]) -> list[SheetRow]:
        by_id = {item.id: item for item in self._experiment.items}
        texts, labels = self.texts(), self._experiment.labels
        rows = []
        for one in items:
            if one not in by_id:
                continue  # it has left the study since
            options = options_of(by_id[one], labels) if labels.options else ()
            shown = dict(zip(labels.codes, options, strict=False))
            rows.append(SheetRow(one, texts[one], shown))
        return rows


def write_sheets(files: GoldFiles, sheets: Sequence[Sheet], stem: str, form: Format) -> list[Path]:
    """Write sheets into the gold sample's folder; a file that is there stays, since it may be filled in.

    Returns:
        The files, those that come back first.

    Raises:
        StoreError: One cannot be written.
        QuaverError: A text holds a key.
    """
    found: list[Path] = []
    for sheet in sheets:
        name = f"{stem}-{_UNFIT.sub('_', sheet.coder.removesuffix(ADJUDICATES))[:60]}"
        again = next(n for n in range(1, 10_000) if not [*files.folder.glob(f"{name}{_number(n)}.*")])
        for file, content in written(sheet, f"{name}{_number(again)}", form).items():
            replace_bytes(files.folder / file, content)
            found.append(files.folder / file)
    check_outgoing(found)
    return found


def _number(again: int) -> str:
    return "" if again == 1 else f"-{again}"
