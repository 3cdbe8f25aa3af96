"""How often each label was given, and how many different ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from quaver.agreement.stratified_alpha import rarest_labels, stray_labels
from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.gathered import Gathered
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import differing, none_goes_far, ratio, share_of
from quaver.estimation.reading import Reading, arranged
from quaver.estimation.signature import OUTPUT
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.item_sensitivity import PAPER

ASKING = ("model", "variant", "decoding", "repeat")
"""What tells the answers about one item apart."""


@measure(
    section="factors",
    unit="share",
    missing=("drop", "category"),
    raters=ASKING,
    estimands=("fixed", "population", "next"),
)
def label_shares(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """The share of each label among a cell's answers.

    Share of label v = Σ_u n_uv / Σ_u m_u over items u: answers, not items, have equal weight. Labels of the
    label set have a share of 0 where nobody gave them. Undefined where no answer has a label.

    Args:
        missing: ``"drop"``: shares of the answers with a label; ``"category"``: shares of all answers,
            those without a label among them as ``no label``.

    Returns:
        An estimate for each cell and label; the cell holds the label under ``"label"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "a", "a", "b"]})
    >>> [(e.cell["label"], e.value) for e in label_shares(frame)]
    [('a', 0.75), ('b', 0.25)]
    """
    counts = cell.counts()[:, 0] if cell.codes.size else np.zeros((0, len(cell.labels)))
    given = counts.sum(1, keepdims=True)
    asked = given[:, 0] > 0
    whole = "all answers" if missing == "category" else "the answers with a label"
    said = Statistic(
        method=f"share of {whole}",
        excluded={} if missing == "category" else cell.counted,
        n=cell.units.touched(asked),
        reason="no answer has a label" if cell.items else "no annotations",
    )
    if not asked.any():
        yield said
        return
    under = ratio(counts, given)
    own = np.where(asked[:, None], counts / np.maximum(given, 1), np.nan)
    level = cell.resampling.confidence_level
    for index, label in enumerate(cell.labels):
        yield replace(
            said,
            under=under,
            column=index,
            where={"label": label},
            differing=differing(own[:, index], cell.units),
            ends=(0.0, 1.0),
            spread=mean_within,
            warnings=(
                *said.warnings,
                *none_goes_far(own[:, index], "item", level),
            ),
            details={"answers": int(given.sum()), "given": int(counts[:, index].sum())},
        )


@measure(source="Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039", reads_outputs=True)
def distinct_annotations(reading: Reading) -> Iterator[Estimate]:
    """The number of distinct annotations among a cell's answers, as they were written.

    Two answers are one annotation where they are the same, character for character, whatever an evaluator
    reads in them. By repeat or by the paraphrases' temperature it shows where a model leaves its label set.
    It reads the frame's column ``output`` (a role that ``columns`` can name), which a study with stored
    answers gives it; labels of the label set, where there is none, and the method says so. A count of what
    is there, without an interval: nothing is resampled. Undefined where nothing was answered.

    Returns:
        An estimate for each cell. Where labels are counted, ``details["given"]`` has each label's count; the
        answers themselves are in no estimate, since they may quote an item.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 1, 2], "repeat": [0, 0, 1, 1], "label": list("aaab"),
    ...                       "output": ["a", "a", "A", "b!"]})
    >>> [(e.cell["repeat"], e.value) for e in distinct_annotations(frame, by=["repeat"])]
    [('0', 1.0), ('1', 2.0)]
    >>> [distinct_annotations(one)[0].value for one in (frame, frame.drop("output"))]
    [3.0, 2.0]
    """
    reading, is_raw = _of_outputs(reading)
    for cell in reading.cells(raters=ASKING):
        tally = np.bincount(cell.codes[cell.codes >= 0], minlength=len(cell.labels))
        given = {cell.labels[code]: int(tally[code]) for code in np.flatnonzero(tally)}
        nothing = "there is no answer" if is_raw else "no answer has a label"
        counted = cell.estimated(
            Statistic(
                method="number of distinct answers, as they were written"
                if is_raw
                else "number of distinct labels",
                excluded={} if is_raw else cell.counted,
                details={"answers": sum(given.values())} if is_raw else {"given": given},
                reason=nothing if cell.items else "no annotations",
            )
        )
        yield replace(counted, value=float(len(given)), reason=None) if given else counted


def _of_outputs(reading: Reading) -> tuple[Reading, bool]:
    """The same with the answers as labels, where there are any; and whether there are."""
    known, roles = reading.gathered.columns, dict(reading.columns or {})
    output = roles.pop(OUTPUT, OUTPUT)
    if output not in known:
        if OUTPUT in (reading.columns or {}):
            raise UnknownColumn(str(output), known, where=f"columns[{OUTPUT!r}]")
        return replace(reading, columns=roles), False
    status = roles.pop("status", "status")  # an answer without a label is an annotation, too
    frame = reading.frame.drop([one for one in (status,) if one in known])
    return replace(reading.of(frame), columns=roles | {"label": output}, labels=None), True


@measure(source=PAPER, estimands=("fixed", "population", "next"))
def output_uncertainty(reading: Reading) -> Iterator[Estimate]:
    """Output uncertainty: the mean entropy of the label probabilities, over ln C.

    −Σ_v p(v) ln p(v) / ln C for each answer with C label probabilities, averaged over answers; with
    ``by=["variant"]``, at each paraphrase. It reads the column ``probabilities``, a list for each row.
    Undefined where no answer has probabilities.

    Raises:
        MeasureError: Probabilities do not sum to 1.

    >>> frame = pl.DataFrame({"item": [1, 2], "label": ["a", "a"], "probabilities": [[0.5, 0.5], [1.0, 0.0]]})
    >>> output_uncertainty(frame)[0].value
    0.5
    """
    gathered, name = reading.gathered, (reading.columns or {}).get("probabilities", "probabilities")
    each = gathered.kept(("entropies", str(name)), lambda: _entropies(gathered, name))
    for cell in reading.cells(raters=ASKING):
        own = arranged(each, cell)
        known = np.isfinite(own)
        answers = known.sum((1, 2))
        total = np.where(known, own, 0).sum((1, 2))
        lost = int((cell.rows >= 0).sum() - answers.sum())
        found = Statistic(
            method="mean entropy of label probabilities over ln C",
            excluded={"no probabilities": lost} if lost else {},
            reason="no label probabilities" if cell.items else "no annotations",
        )
        if answers.any():
            item = total[answers > 0] / answers[answers > 0]
            sd = float(item.std(ddof=1)) if item.size > 1 else None
            counts = cell.counts().sum(1)  # uncertainty differs most by label
            found = replace(
                found,
                rarest=rarest_labels(counts, cell.units),
                warnings=stray_labels(cell, counts),
                details={"answers": int(answers.sum()), "sd": sd},
            )
        yield cell.estimated(share_of(cell, total, answers, found))


def _entropies(gathered: Gathered, name: str | Sequence[str]) -> Floats:
    """The normalised entropy of each row's probabilities; NaN where it has none."""
    if not isinstance(name, str) or name not in gathered.columns:
        return np.full(gathered.height, np.nan)
    found, row = [np.empty(0)], 0
    for column in gathered.pieces(name):
        found.append(_normalised(column, row))
        row += column.len()
    return np.concatenate(found)


def _normalised(column: pl.Series, before: int) -> Floats:
    """The normalised entropies of some rows, so many before them."""
    kind, height = column.dtype, column.len()
    if column.null_count() == height:
        return np.full(height, np.nan)
    if not isinstance(kind, (pl.List, pl.Array)) or not kind.inner.is_numeric():
        raise MeasureError(
            "no lists of probabilities",
            where="probabilities",
            expected="a list of numbers",
            found=str(kind),
        )
    lists = column.cast(pl.List(pl.Float64)) if isinstance(kind, pl.Array) else column
    sizes = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = lists.explode().drop_nulls().to_numpy().astype(np.float64) if sizes.sum() else np.zeros(0)
    owner = np.repeat(np.arange(height), sizes)
    if flat.size != owner.size or not np.isfinite(flat).all() or (flat < 0).any():
        raise MeasureError(
            "a value that is not a probability", where="probabilities", expected="finite numbers from 0 to 1"
        )
    total = np.bincount(owner, flat, height)
    wrong = (sizes > 0) & (np.abs(total - 1) > 1e-6)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise MeasureError(
            "probabilities that do not sum to 1",
            where="probabilities",
            expected="1 in every row",
            found=f"{total[row]:.6g} in row {before + row}",
        )
    inner = flat * np.log(np.where(flat > 0, flat, 1))
    spread = -np.bincount(owner, inner, height)
    return np.asarray(np.where(sizes > 1, np.abs(spread) / np.log(np.maximum(sizes, 2)), np.nan))
