"""A file of labels taken back into a gold sample: all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import polars as pl

from quaver.core.spreadsheet import plain_cell
from quaver.errors import ItemError, QuaverError
from quaver.gold.returned_labels import ADJUDICATES, CODED_COLUMNS, Returned, ReturnedLabels, current
from quaver.study.gold_sample.coder_sheets import CoderSheets
from quaver.study.gold_sample.gold_rounds import CODER, now
from quaver.study.gold_sample.gold_status import GoldStatus, gold_status
from quaver.study.gold_sample.returned_files import read_returned
from quaver.study.sources.gold_files import DesignFile, GoldFiles, GoldState
from quaver.study.sources.study_source import StudySource


@dataclass(frozen=True, slots=True)
class GoldTaken:
    """Labels that were taken back.

    Attributes:
        new: Labels of items that the coder had not labelled before.
        changed: Labels that replace another one of the same coder; the former one stays on record.
        status: Where the sample stands now.
    """

    new: int
    changed: int
    status: GoldStatus


def take_file(
    source: StudySource, files: GoldFiles, state: GoldState, path: Path, coder: str | None, apart: str | None
) -> GoldTaken:
    """Check a file, keep its labels, and say where the sample stands.

    Args:
        source: The study.
        files: Where its gold sample is kept.
        state: What is kept there.
        path: The file.
        coder: Who labelled, where the file does not say.
        apart: Why these items were chosen, where they were not drawn.

    Raises:
        ItemError: An id, a label or a row is wrong; nothing is kept.
    """
    rows = [_signed(row, coder) for row in read_returned(path)]
    if apart is None:
        read = _of_sample(source, state).read(rows, "coder", path.name, now())
    else:
        texts = dict.fromkeys((item.id for item in source.experiment.items), "")
        read = ReturnedLabels(source.experiment.labels, texts).read(rows, "apart", apart, now())
    return _kept(source, files, state, read, path)


def take_known(source: StudySource, files: GoldFiles, state: GoldState) -> GoldTaken:
    """Take the gold labels that the drawn items came with.

    Raises:
        ItemError: A drawn item came with none: labels that are there for some only were not drawn by design.
    """
    own = source.spec.annotations or source.spec.items
    column = own.gold.column if own.gold and own.gold.column else CODER
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    items = [item for item in source.experiment.items if item.id in drawn]
    lacking = [item.id for item in items if item.gold is None]
    if lacking:
        raise ItemError(
            f"{len(lacking):,} of {len(items):,} drawn items came without a gold label",
            where=source.where,
            expected="a gold label of every drawn item in the study's own table",
            found=f"none of {', '.join(lacking[:5])}" + ", …" * (len(lacking) > 5),
            fix="have people label the sample: its sheets are in the folder `gold`",
        )
    rows = [Returned(item.id, item.gold or "", column) for item in items]
    read = _of_sample(source, state).read(rows, "coder", "the study's own table", now())
    return _kept(source, files, state, read, None)


def _kept(
    source: StudySource, files: GoldFiles, state: GoldState, read: pl.DataFrame, path: Path | None
) -> GoldTaken:
    """Keep labels that were checked; what the same coder said before stays on record."""
    key = ["item", "coder", "role"]
    was = read.join(current(state.coded).select(*key, was="label"), on=key, how="left", maintain_order="left")
    new = was["was"].is_null()
    changed = was.select(pl.col("was") != pl.col("label")).to_series().fill_null(False)
    coded = pl.concat([state.coded, read.filter(new | changed)]).select(list(CODED_COLUMNS))
    after = GoldState(_noted(state.design, path, read.height), state.draw, coded)
    files.write(after)
    return GoldTaken(int(new.sum()), int(changed.sum()), gold_status(after, source.experiment.labels))


def _of_sample(source: StudySource, state: GoldState) -> ReturnedLabels:
    texts = CoderSheets(source, state).texts()
    others = [item.id for item in source.experiment.items if item.id not in texts]
    return ReturnedLabels(source.experiment.labels, texts, others)


def _signed(row: Returned, coder: str | None) -> Returned:
    """A row with the name of who labelled it."""
    named = plain_cell(row.coder).removesuffix(ADJUDICATES)
    if named and coder and named != coder:
        raise QuaverError(
            "this row is another coder's",
            where=row.where,
            expected=coder,
            found=named,
            fix="leave the coder out; the file says who labelled",
        )
    return replace(row, coder=row.coder or coder or CODER)


def _noted(design: DesignFile | None, path: Path | None, labels: int) -> DesignFile | None:
    if design is None or path is None:
        return design
    digest = sha256(path.read_bytes()).hexdigest()
    taken = [*design["taken"]]
    taken.append({"file": path.name, "sha256": digest, "when": now(), "labels": labels})
    return {**design, "taken": taken}
