"""How often each label was given, and the labels of each item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from quaver.agreement.stratified_alpha import stray_labels
from quaver.core.records import AND_PROMPT, Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.arrangement import Columns, UnknownColumn
from quaver.estimation.bootstrap import Floats, Ratio
from quaver.estimation.cells import OUTPUT, Frame, Missing, cells, guarded
from quaver.estimation.declaration import measure
from quaver.estimation.gathered import Gathered
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import MeasureInput, arranged
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.consistency import Pairs, spread_evenly
from quaver.measures.variation.item_sensitivity import (
    PAPER,
    STRATA,
    Convention,
    Entropies,
    check_convention,
    mean_defined,
)

ASKING = ("model", "variant", "decoding", "repeat")
"""What tells the answers about one item apart."""


@measure(
    section="factors",
    unit="share",
    missing=("drop", "category"),
    raters=ASKING,
    estimands=("fixed", "population"),
    of_classes=True,
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
    statistic = Statistic(
        method=f"share of {whole}",
        excluded={} if missing == "category" else cell.counted,
        n=cell.units.touched(asked),
        reason="no answer has a label" if cell.items else "no annotations",
    )
    if not asked.any():
        yield statistic
        return
    under = Ratio(counts, given)
    for index, label in enumerate(cell.labels):
        yield replace(
            statistic,
            under=under,
            column=index,
            where={"label": label},
            ends=(0.0, 1.0),
            details={"answers": int(given.sum()), "given": int(counts[:, index].sum())},
        )


@measure(source="Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039", reads_outputs=True)
def distinct_annotations(data: MeasureInput) -> Iterator[Estimate]:
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
    data, is_raw = _of_outputs(data)
    for cell in data.cells(raters=ASKING):
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


def _of_outputs(data: MeasureInput) -> tuple[MeasureInput, bool]:
    """The same with the answers as labels, where there are any; and whether there are."""
    known, roles = data.gathered.columns, dict(data.columns or {})
    output = roles.pop(OUTPUT, OUTPUT)
    if output not in known:
        if OUTPUT in (data.columns or {}):
            raise UnknownColumn(str(output), known, where=f"columns[{OUTPUT!r}]")
        return replace(data, columns=roles), False
    status = roles.pop("status", "status")  # an answer without a label is an annotation, too
    frame = data.frame.drop([one for one in (status,) if one in known])
    return replace(data.of(frame), columns=roles | {"label": output}, labels=None), True


@measure(source=PAPER, estimands=("fixed", "population"))
def output_uncertainty(data: MeasureInput) -> Iterator[Estimate]:
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
    gathered, name = data.gathered, (data.columns or {}).get("probabilities", "probabilities")
    each = gathered.kept(("entropies", str(name)), lambda: _entropies(gathered, name))
    for cell in data.cells(raters=ASKING):
        own = arranged(each, cell)
        known = np.isfinite(own)
        answers = known.sum((1, 2))
        total = np.where(known, own, 0).sum((1, 2))
        lost = int((cell.rows >= 0).sum() - answers.sum())
        statistic = Statistic(
            method="mean entropy of label probabilities over ln C",
            excluded={"no probabilities": lost} if lost else {},
            reason="no label probabilities" if cell.items else "no annotations",
        )
        if answers.any():
            item = total[answers > 0] / answers[answers > 0]
            sd = float(item.std(ddof=1)) if item.size > 1 else None
            counts = cell.counts().sum(1)  # uncertainty differs most by label
            statistic = replace(
                statistic,
                warnings=stray_labels(cell, counts),
                details={"answers": int(answers.sum()), "sd": sd},
            )
        yield cell.estimated(share_of(cell, total, answers, statistic))


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


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Which quantiles of a distribution are given beside its histogram."""

_METHODS = {
    "sensitivity": "median of the items’ sensitivities",
    "consistency": "median consistency of the pairs of one class",
}


@guarded
def distributions(estimates: Sequence[Estimate], *, bins: int = 20, matrix: int = 0) -> list[Estimate]:
    """The distribution of the items' sensitivity, or of the consistency of the pairs of one class.

    The estimates' value is the median. ``details`` has ``quantiles`` (`QUANTILES`, by their share),
    ``counts`` (how many lie in each of the bins of equal width from 0 to 1, the last edge included) and
    ``values``, how many there are. An item's sensitivity, and a pair's consistency, is its mean over the
    repeats (of each model and decoding). A pair is of two different items. Of classes with more than 300
    items the pairs among 300 are taken, evenly spread over the items; ``details["items"]`` says how many.

    Args:
        estimates: Of `sensitivity` or `consistency`, with ``classes=True, keep=["distribution"]``.
        bins: Bins of the histogram.
        matrix: Up to how many of a class's items ``details["matrix"]`` holds the consistency of each pair of,
            the items in order of their modal label; 0: none.

    Returns:
        Of sensitivity, one estimate for each cell over all items; of both, one for each gold label that has
        any, under ``"class"`` in the cell.

    Raises:
        MeasureError: The estimates are of another measure, or did not keep their distribution.

    One item split two to two over four labels (ln 2 / ln 4), another unanimous:

    >>> import polars as pl
    >>> from quaver.measures import sensitivity
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 1, 2, 2, 2, 2], "variant": [1, 2, 3, 4] * 2,
    ...                       "label": list("aabbcccc"), "gold": list("aaaadddd")})
    >>> found = distributions(sensitivity(frame, classes=True, keep=["distribution"]), bins=2)
    >>> [(e.cell, e.value, e.details["counts"]) for e in found]
    [({}, 0.25, [1, 1]), ({'class': 'a'}, 0.5, [0, 1]), ({'class': 'd'}, 0.0, [1, 0])]
    """
    if bins < 1:
        raise MeasureError("not a number of bins", where="bins", expected="1 or more", found=repr(bins))
    return [found for estimate in estimates for found in _distribution(estimate, bins, matrix)]


def _distribution(estimate: Estimate, bins: int, matrix: int) -> Iterator[Estimate]:
    """The distribution behind an estimate; none behind the consistency of all classes together."""
    if estimate.measure not in _METHODS:
        raise MeasureError(
            "no distribution is known of this measure",
            where="estimates",
            expected=" or ".join(_METHODS),
            found=estimate.measure,
        )
    kept, of_class = estimate.distribution, "class" in estimate.cell
    if estimate.value is not None and kept is None:
        raise MeasureError(
            "estimates that did not keep their distribution",
            where="estimates",
            expected=f"{estimate.measure}(…, keep=['distribution'])",
        )
    if estimate.measure == "consistency":
        if of_class and kept is not None and len(kept) > 1:
            yield _of_pairs(estimate, kept, bins, matrix)
    elif kept is not None:
        known = kept[np.isfinite(kept)]
        yield _estimate(estimate, known, bins, n=known.size)
    elif not of_class:
        yield _estimate(estimate, np.empty(0), bins, n=0)


def _of_pairs(estimate: Estimate, kept: Floats, bins: int, matrix: int) -> Estimate:
    details: dict[str, Any] = {"items": len(kept)}
    if matrix:
        shown = spread_evenly(np.arange(len(kept)), matrix)
        details["matrix"] = kept[np.ix_(shown, shown)].tolist()
    beyond = estimate.n - len(kept) if estimate.unit.removesuffix(AND_PROMPT) == "item" else 0
    excluded = {"item beyond the sample": beyond} if beyond > 0 else {}
    return _estimate(estimate, kept[np.triu_indices(len(kept), 1)], bins, len(kept), details, excluded)


def _estimate(
    estimate: Estimate,
    values: Floats,
    bins: int,
    n: int,
    details: dict[str, Any] | None = None,
    excluded: dict[str, int] | None = None,
) -> Estimate:
    said: dict[str, Any] = {
        "measure": f"{estimate.measure}_distribution",
        "n": n,
        "cell": estimate.cell,
        "method": _METHODS[estimate.measure],
        "reference": estimate.reference,
    }
    if not values.size:
        return Estimate(value=None, reason=estimate.reason or "no item with two predictions", **said)
    at = np.quantile(values, QUANTILES)
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=bins, range=(0.0, 1.0))
    known = {
        "quantiles": {f"{share:g}": float(value) for share, value in zip(QUANTILES, at, strict=True)},
        "counts": counts.tolist(),
        "values": int(values.size),
        **(details or {}),
    }
    return Estimate(value=float(np.median(values)), details=known, excluded=excluded or {}, **said)


_NUMBERS = ("sensitivity", "corrected", "consistency", "predictions")


@guarded
def item_stability(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    convention: Convention = "recommended",
    missing: Missing | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """Each item's sensitivity and consistency.

    Args:
        annotations: A row an annotation, as a measure takes them.
        labels: The label set.
        by: Columns that make the cells.
        convention: As in `quaver.measures.variation.item_sensitivity`.
        missing: As there.
        columns: Other names for the frame's columns.

    Returns:
        A row an item and cell: the columns of ``by``, ``item``, ``gold``, ``sensitivity``, ``corrected``
        (jackknifed), ``consistency`` (the mean over the other items of its class), ``predictions`` (the mean
        number over repeats), ``mode`` (the modal label). Null where a number is undefined.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> item_stability(frame).select("item", "sensitivity", "consistency", "mode").rows()
    [('1', 0.0, 0.5, 'a'), ('2', 1.0, 0.5, 'a')]
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    missing = check_convention(convention, missing)
    schema = dict.fromkeys((*by, "item", "gold"), pl.String)
    parts = [pl.DataFrame(schema={**schema, **dict.fromkeys(_NUMBERS, pl.Float64), "mode": pl.String})]
    for cell in cells(
        annotations,
        raters=("variant",),
        within=STRATA,
        by=by,
        labels=labels,
        columns=columns,
        missing=missing,
        gold=True,
    ):
        parts.append(_of_cell(cell, schema, self_pairs=convention == "paper"))
    return pl.concat(parts)


def _of_cell(cell: Cell, schema: Mapping[str, type[pl.String]], *, self_pairs: bool) -> pl.DataFrame:
    """The rows of one cell's items."""
    counts = cell.counts()
    gold = cell.gold_codes
    strata = range(counts.shape[1])
    alike = [Pairs(counts[:, s], gold, self_pairs=self_pairs).per_item() for s in strata]
    entropies = Entropies.of(counts)
    none = np.full((len(cell.items), 1), np.nan)
    values = {
        "sensitivity": entropies.items,
        "corrected": mean_defined(entropies.corrected),
        "consistency": mean_defined(np.stack(alike, 1) if alike else none),
        "predictions": counts.sum(2).mean(1) if counts.size else none[:, 0],
    }
    modes = [cell.labels[row.argmax()] if row.any() else None for row in counts.sum(1)]
    where = {name: [value] * len(cell.items) for name, value in cell.where.items()}
    truths = [cell.labels[code] if code >= 0 else None for code in gold]
    frame = pl.DataFrame(
        {**where, "item": list(cell.items), "gold": truths, **values}, schema_overrides=schema
    )
    return frame.with_columns(pl.col(_NUMBERS).fill_nan(None), pl.Series("mode", modes, dtype=pl.String))
