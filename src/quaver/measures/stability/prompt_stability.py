"""Prompt stability scores: how far the same question, or the same question reworded, gets the same label.

Source: Barrie, Palaiologou & Törnberg (2024), Prompt Stability Scoring for Text Annotation with Large
Language Models, arXiv:2407.02039, sections 3.1 (intra) and 3.2 (inter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl
from typing_extensions import Unpack

from quaver.agreement.stratified_alpha import (
    alpha_over_strata,
    mean_alpha,
    over_rows,
    said_of_alpha,
    scaled,
)
from quaver.core.records import Estimate, Level
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import Unmeasurable
from quaver.estimation.declaration import Arithmetic, Declaration, Measure, measure
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic

Resample = Literal["items", "rows"]
"""What an interval resamples: items, or single labels as the promptstability package does."""

PAPER = "Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039"

_ALPHA: Declaration = {
    "section": "stability",
    "unit": "coefficient",
    "better": "higher",
    "bar": 0.8,
    "source": PAPER,
    "missing": ("drop", "category"),
    "treatments": ("level",),
}


def alpha(**declared: Unpack[Declaration]) -> Callable[[Arithmetic], Measure]:
    """Declare a measure of stability that is Krippendorff's alpha, by what is its own."""
    return measure(**(_ALPHA | declared))


CONDITION = ("model", "variant", "decoding")
WITHIN_REPEAT = ("model", "decoding", "repeat")


@alpha(raters=("repeat",), within=CONDITION, estimands=("fixed", "population"))
def intra_pss(
    cell: Cell, *, level: Level | None = None, missing: Missing, resample: Resample = "items"
) -> Iterator[Estimate]:
    """Intra-prompt stability: Krippendorff's alpha with the repeats of one prompt as raters.

    Computed within each condition (model × variant × decoding) and averaged over a cell's conditions.
    ``by=["model", "variant", "decoding"]`` gives each prompt's own. Undefined where alpha is in every
    condition (see `quaver.agreement.krippendorff_alpha`). The interval resamples items, the same ones in all
    conditions; it holds for these prompts and says nothing about others.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        resample: ``"rows"`` resamples single labels in place of items, for these prompts alone, as the
            promptstability package does: the interval is too narrow, and a warning says so.

    Three items, two repeats, one disagreement: D = 2·1, N = (3, 3), n = 6, so alpha = 1 − 5·2/18:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "repeat": [0] * 3 + [1] * 3, "label": list("aababb")})
    >>> round(intra_pss(frame)[0].value, 6)
    0.444444
    """
    method = "Krippendorff's alpha, repeats as raters, mean over conditions"
    yield _alpha_of(cell, resample, level, missing, method=method, stratum="condition")


@alpha(
    raters=("variant",),
    within=WITHIN_REPEAT,
    compares=("variant",),
    estimands=("population", "fixed"),
    of_a_set=True,
)
def inter_pss(
    cell: Cell, *, level: Level | None = None, missing: Missing, resample: Resample = "items"
) -> Iterator[Estimate]:
    """Inter-prompt stability: Krippendorff's alpha with the variants of a prompt as raters.

    Computed across variants within each repeat (of each model and decoding) and averaged over those.
    Undefined where alpha is in every one of them. By default the interval is for prompts like these: the mean
    over sets of as many. Of two prompts there is none, since without one of them there is no alpha; the
    interval is then the one for these. ``columns={"variant": "paraphrase"}`` takes another column's levels as
    raters.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        resample: ``"rows"`` resamples single labels in place of items, for these prompts alone, as the
            promptstability package does: the interval is too narrow, and a warning says so.

    >>> import polars as pl
    >>> variants = ["v"] * 3 + ["w"] * 3
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "variant": variants, "label": list("aababb")})
    >>> round(inter_pss(frame)[0].value, 6)
    0.444444
    """
    method = "Krippendorff's alpha, variants as raters, within each repeat, mean over repeats"
    yield _alpha_of(cell, resample, level, missing, method=method, stratum="repeat")


def _alpha_of(
    cell: Cell,
    resample: Resample,
    level: Level | None,
    missing: Missing,
    *,
    method: str,
    stratum: str,
) -> Estimate:
    """The alpha of one cell's raters, items or rows being resampled."""
    raters = "repeats" if stratum == "condition" else "variants"
    statistic = alpha_over_strata(
        cell,
        method=method,
        stratum=stratum,
        level=level,
        missing=missing,
        details={raters: len(cell.raters)},
    )
    estimate = cell.estimated(statistic)
    if resample == "items":
        return estimate
    return over_rows(estimate, cell, *scaled(cell.labels, level, cell.label_set, missing))


@alpha(
    source="Krippendorff (2019), Content Analysis, 4th ed., ch. 12",
    raters=("model",),
    within=("variant", "decoding", "repeat"),
    compares=("model",),
)
def inter_model(cell: Cell, *, level: Level | None = None, missing: Missing) -> Iterator[Statistic]:
    """Inter-model agreement: Krippendorff's alpha with the models as raters.

    Computed within each variant, decoding and repeat and averaged over those. Undefined with one model.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "model": list("pppqqq"), "label": list("aababb")})
    >>> round(inter_model(frame)[0].value, 6)
    0.444444
    """
    statistic = alpha_over_strata(
        cell,
        method="Krippendorff's alpha, models as raters, mean over variants, decodings and repeats",
        stratum="prompt",
        level=level,
        missing=missing,
        details={"models": len(cell.raters)},
    )
    alone = statistic.under is None and len(cell.raters) == 1
    yield replace(statistic, reason="fewer than two models") if alone else statistic


@alpha(compares=("variant",))
def original_agreement(
    data: MeasureInput, *, level: Level | None = None, missing: Missing, original: str | None = None
) -> Iterator[Estimate]:
    """Agreement of each paraphrase with the original one: their alpha, as two raters.

    Krippendorff's alpha (Krippendorff 2019, Content Analysis, ch. 12), computed within each repeat (of each
    model and decoding) and averaged over those. ``details`` has the share of answers on which the two agree.
    Undefined where no original is known.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        original: The original variant; without it, the one that a Boolean column ``original`` marks.

    Returns:
        An estimate for each cell and variant but the original; the cell holds the variant.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "variant": list("ooowww"), "label": list("aababb")})
    >>> [(e.cell, round(e.value, 3)) for e in original_agreement(frame, original="o")]
    [({'variant': 'w'}, 0.444)]
    """
    marked = [] if original else _marked(data)
    for cell in data.cells(raters=("variant",), within=WITHIN_REPEAT, missing=missing):
        for statistic in _with_original(cell, original or _only(marked, cell), level, missing):
            yield cell.estimated(statistic)


def _marked(data: MeasureInput) -> list[str]:
    """The variants that the column ``original`` marks as such; none where there is no such column."""
    names = (data.columns or {}).get("variant", "variant")
    gathered, variant = data.gathered, ([names] if isinstance(names, str) else list(names))[0]
    if not {"original", variant} <= set(gathered.columns):
        return []
    frame = gathered.read(["original", variant]).unique()
    marks = frame["original"].cast(pl.String).str.to_lowercase().is_in(["true", "1"])
    return sorted(frame.filter(marks)[variant].cast(pl.String).unique().to_list())


def _only(marked: Sequence[str], cell: Cell) -> str | None:
    """The one of the marked variants that a cell has; the only one where it has none of them."""
    here = [name for name in marked if name in cell.raters] or marked
    if len(here) > 1:
        raise Unmeasurable(
            "several variants are marked as the original",
            where="annotations['original']",
            expected="one in each cell",
            found=", ".join(here),
            fix="add the other columns that vary to by, or name the original: original=…",
        )
    return here[0] if here else None


def _with_original(
    cell: Cell, original: str | None, level: Level | None, missing: Missing
) -> Iterator[Statistic]:
    method = "Krippendorff's alpha of a variant and the original, mean over repeats"
    statistic = said_of_alpha(cell, method, missing)
    others = [index for index, name in enumerate(cell.raters) if name != original]
    if original is None or original not in cell.raters or not others:
        why = f"no answers to {original!r}" if original not in cell.raters else "no other paraphrase"
        why = "no original paraphrase is named" if original is None else why
        yield replace(statistic, n=0, reason=why if cell.items else "no annotations")
        return
    first = cell.raters.index(original)
    for index in others:
        pair = cell.grid[:, :, [first, index]]
        both = (pair >= 0).all(2)
        details: dict[str, object] = {"original": original}
        if both.any():
            details["same"] = float((pair[..., 0] == pair[..., 1])[both].mean())
        said = replace(statistic, where={"variant": cell.raters[index]}, details=details)
        yield mean_alpha(cell, pair, said, level, missing)
