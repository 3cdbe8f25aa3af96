"""How often each label was given, and how many different ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells, frame_of
from quaver.estimation.column_roles import Columns, UnknownColumn
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import OUTPUT, Frame, of_outputs

__all__ = ["ASKING", "distinct_annotations", "label_shares"]

ASKING = ("model", "variant", "decoding", "repeat")
"""What tells the answers about one item apart."""


def label_shares(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    missing: Missing = "drop",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """The share of each label among a cell's answers.

    Share of label v = Σ_u n_uv / Σ_u m_u over items u: answers, not items, have equal weight. Undefined
    where no answer has a label. The interval resamples items.

    Source: the definition.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set: its labels appear with a share of 0 where nobody gave them.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        missing: ``"drop"``: shares of the answers with a label; ``"category"``: shares of all answers,
            those without a label among them as ``no label``.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and label; the cell holds the label under ``"label"``.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "a", "a", "b"]})
    >>> [(e.cell["label"], e.value) for e in label_shares(frame)]
    [('a', 0.75), ('b', 0.25)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    found: list[Estimate] = []
    for cell in cells(
        annotations,
        raters=ASKING,
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        missing=missing,
    ):
        counts = cell.counts()[:, 0] if cell.codes.size else np.zeros((0, len(cell.labels)))
        excluded = {} if missing == "category" else cell.counted
        whole = "all answers" if missing == "category" else "the answers with a label"
        claim = Claim("label_shares", f"share of {whole}", excluded=excluded, cell=cell.where)
        found += _shares(claim, cell, counts, resampling)
    return found


def _shares(claim: Claim, cell: Cell, counts: Floats, resampling: Resampling) -> list[Estimate]:
    given = counts.sum(1, keepdims=True)
    asked = given[:, 0] > 0
    units, n = cell.units, cell.units.touched(asked)
    if not n:
        why = "no annotations" if not cell.items else "no answer has a label"
        return [undefined(replace(claim, n=0), units, resampling, why)]
    draws = bootstrap(ratio(counts, given), units, resampling)
    own = np.where(asked[:, None], counts / np.maximum(given, 1), np.nan)
    found = []
    for index, label in enumerate(cell.labels):
        value = float(draws.point[index])
        one = replace(
            claim,
            cell={**cell.where, "label": label},
            n=n,
            differing=differing(own[:, index], units),
            spread=partial(mean_within, value),
            details={"answers": int(given.sum()), "given": int(counts[:, index].sum())},
        )
        found.append(estimate(one, draws, units, resampling, index))
    return found


@of_outputs
def distinct_annotations(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
) -> list[Estimate]:
    """The number of distinct annotations among a cell's answers: of answers as they were written.

    Two answers are one annotation where they are the same, character for character, whatever an evaluator
    reads in them. By repeat or by the paraphrases' temperature it shows where a model leaves its label set.
    It takes the frame's column ``output``, which a study with stored answers gives it; labels, where
    there is none, and the method says so. A count of what is there, without an interval. Undefined where
    nothing was answered. Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: Where labels are counted, the label set: those outside it do not count.
        by: Columns that make the cells, for instance ``["repeat"]``.
        confidence: Of no effect.
        resamples: Of no effect.
        seed: Of no effect.
        columns: Other names for the frame's columns; ``output`` is one of the roles here.
        group: The column whose groups of items are counted as the units.

    Returns:
        An estimate for each cell. Where labels are counted, ``details["given"]`` has each label's count; the
        answers themselves are in no estimate, since they may quote an item.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 1, 2], "repeat": [0, 0, 1, 1], "label": list("aaab"),
    ...                       "output": ["a", "a", "A", "b!"]})
    >>> [(e.cell["repeat"], e.value) for e in distinct_annotations(frame, by=["repeat"])]
    [('0', 1.0), ('1', 2.0)]
    >>> [distinct_annotations(one)[0].value for one in (frame, frame.drop("output"))]
    [3.0, 2.0]
    """
    resampling = Resampling(confidence, resamples, seed)
    frame, roles = frame_of(annotations), dict(columns or {})
    output = roles.pop("output", OUTPUT)
    is_raw = output in frame.columns
    if is_raw:  # an answer without a label is an annotation, too
        told = roles.pop("status", "status")
        frame = frame.drop([one for one in (told,) if one in frame.columns])
        roles["label"], labels = output, None
    elif columns and OUTPUT in columns:
        raise UnknownColumn(str(output), frame.columns, where="columns['output']")
    found = []
    for cell in cells(frame, raters=ASKING, by=by, labels=labels, columns=roles, group=group):
        tally = np.bincount(cell.codes[cell.codes >= 0], minlength=len(cell.labels))
        given = {cell.labels[code]: int(tally[code]) for code in np.flatnonzero(tally)}
        claim = Claim(
            "distinct_annotations",
            "number of distinct answers, as they were written" if is_raw else "number of distinct labels",
            "Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039",
            cell=cell.where,
            excluded={} if is_raw else cell.counted,
            details={"answers": sum(given.values())} if is_raw else {"given": given},
        )
        if not given:
            nothing = "there is no answer" if is_raw else "no answer has a label"
            why = nothing if cell.items else "no annotations"
            found.append(undefined(claim, cell.units, resampling, why))
            continue
        found.append(replace(undefined(claim, cell.units, resampling), value=float(len(given)), reason=None))
    return found
