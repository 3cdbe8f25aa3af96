"""Prompt stability scores: how far the same question, or the same question reworded, gets the same label.

Source: Barrie, Palaiologou & Törnberg (2024), Prompt Stability Scoring for Text Annotation with Large
Language Models, arXiv:2407.02039, sections 3.1 (intra) and 3.2 (inter).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from quaver.agreement.stratified_alpha import alpha_over_strata, over_rows, scaled
from quaver.core.records import Estimate, Level
from quaver.estimation.answer_views import View, viewed
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Cell, Statistic

Resample = Literal["items", "rows"]
"""What an interval resamples: items, or single labels as the promptstability package does."""

PAPER = "Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039"

CONDITION = ("model", "variant", "decoding")
WITHIN_REPEAT = ("model", "decoding", "repeat")


@measure(
    title="The same prompt, asked again: intra-prompt stability",
    axis="Krippendorff’s α over repeats",
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    short="Stability across repeats",
    source=PAPER,
    missing=("drop", "category"),
    treatments=("level",),
    estimands=("fixed", "population", "next"),
)
def intra_pss(
    reading: Reading,
    *,
    level: Level | None = None,
    missing: Missing,
    view: View = "original",
    across: str | None = None,
    resample: Resample = "items",
) -> Iterator[Estimate]:
    """Intra-prompt stability: Krippendorff's alpha with the repeats of one prompt as raters.

    Computed within each condition (model × variant × decoding) and averaged over a cell's conditions.
    ``by=["model", "variant", "decoding"]`` gives each prompt's own. Undefined where alpha is in every
    condition (see `quaver.agreement.krippendorff_alpha`). The interval resamples items, the same ones in all
    conditions; it holds for these prompts and says nothing about others.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        view: Which annotations: ``"filtered"`` to those with a label, ``"balanced"`` to as many of these at
            each level of ``across``, ``"matched"`` to items valid at all levels (`answer_views`).
        across: The column whose levels the last two make alike; by default the repeats.
        resample: ``"rows"`` resamples single labels in place of items, for these prompts alone, as the
            promptstability package does: the interval is too narrow, and a warning says so.

    Three items, two repeats, one disagreement: D = 2·1, N = (3, 3), n = 6, so alpha = 1 − 5·2/18:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "repeat": [0] * 3 + [1] * 3, "label": list("aababb")})
    >>> round(intra_pss(frame)[0].value, 6)
    0.444444
    """
    method = "Krippendorff's alpha, repeats as raters, mean over conditions"
    reading = viewed(reading, view, across, CONDITION)
    for cell in reading.cells(raters=("repeat",), within=CONDITION, missing=missing):
        statistic = alpha_over_strata(
            cell,
            method=_of_view(method, view),
            stratum="condition",
            level=level,
            missing=missing,
            where={} if view == "original" else {"view": view},
            details={"repeats": len(cell.raters)},
        )
        yield _resampled(cell, statistic, resample, level, missing)


@measure(
    title="Another prompt, the same question: inter-prompt stability",
    axis="Krippendorff’s α over prompts",
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    short="Stability across paraphrases",
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("level",),
    estimands=("population", "fixed", "next"),
    of_a_set=True,
)
def inter_pss(
    reading: Reading,
    *,
    level: Level | None = None,
    missing: Missing,
    view: View = "original",
    across: str | None = None,
    resample: Resample = "items",
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
        view: Which annotations: ``"filtered"`` to those with a label, ``"balanced"`` to as many of these at
            each level of ``across``, ``"matched"`` to items valid at all levels (`answer_views`).
        across: The column whose levels the last two make alike; by default the repeats.
        resample: ``"rows"`` resamples single labels in place of items, for these prompts alone, as the
            promptstability package does: the interval is too narrow, and a warning says so.

    >>> import polars as pl
    >>> variants = ["v"] * 3 + ["w"] * 3
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "variant": variants, "label": list("aababb")})
    >>> round(inter_pss(frame)[0].value, 6)
    0.444444
    """
    method = "Krippendorff's alpha, variants as raters, within each repeat, mean over repeats"
    reading = viewed(reading, view, across, WITHIN_REPEAT)
    for cell in reading.cells(raters=("variant",), within=WITHIN_REPEAT, missing=missing):
        statistic = alpha_over_strata(
            cell,
            method=_of_view(method, view),
            stratum="repeat",
            level=level,
            missing=missing,
            where={} if view == "original" else {"view": view},
            details={"variants": len(cell.raters)},
        )
        yield _resampled(cell, statistic, resample, level, missing)


def _resampled(
    cell: Cell, statistic: Statistic, resample: Resample, level: Level | None, missing: Missing
) -> Estimate:
    made = cell.estimated(statistic)
    if resample == "items":
        return made
    return over_rows(made, cell, *scaled(cell.labels, level, cell.label_set, missing))


def _of_view(method: str, view: View) -> str:
    return method if view == "original" else f"{method}, {view} annotations"


@measure(
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    source=PAPER,
    missing=("drop", "category"),
    raters=("variant", "repeat"),
    within=("model", "decoding"),
    compares=("variant",),
    treatments=("level",),
    estimands=("population", "fixed", "next"),
    of_a_set=True,
)
def pooled_pss(cell: Cell, *, level: Level | None = None, missing: Missing) -> Iterator[Statistic]:
    """Pooled prompt stability: alpha with every variant in every repeat as a rater of its own.

    Pairs of repeats of one prompt are among its pairs, so it lies between the intra- and the inter-prompt
    score and is neither. Computed within each model and decoding and averaged over those. Undefined where
    alpha is in all of them.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).

    Three raters, one pair of which differs on one of two items: D = 2, N = (2, 4), alpha = 1 − 5·2/16:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2] * 3, "variant": list("vvvvww"), "repeat": [0, 0, 1, 1, 0, 0],
    ...                       "label": list("abbbab")})
    >>> pooled_pss(frame)[0].value
    0.375
    """
    yield alpha_over_strata(
        cell,
        method="Krippendorff's alpha, every variant and repeat a rater, pooled",
        stratum="model and decoding",
        level=level,
        missing=missing,
        details={"columns": len(cell.raters)},
    )


@measure(
    title="Another model, the same prompts: inter-model agreement",
    axis="Krippendorff’s α over models",
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    source="Krippendorff (2019), Content Analysis, 4th ed., ch. 12",
    missing=("drop", "category"),
    raters=("model",),
    within=("variant", "decoding", "repeat"),
    compares=("model",),
    treatments=("level",),
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
    found = alpha_over_strata(
        cell,
        method="Krippendorff's alpha, models as raters, mean over variants, decodings and repeats",
        stratum="prompt",
        level=level,
        missing=missing,
        details={"models": len(cell.raters)},
    )
    alone = found.under is None and len(cell.raters) == 1
    yield replace(found, reason="fewer than two models") if alone else found
