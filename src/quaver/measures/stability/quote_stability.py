"""Quotes: how many are in the text, whether they agree, and are the words that people marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.unitizing import unit_disagreement
from quaver.core.records import Estimate
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import over_strata, share_of
from quaver.estimation.measure_input import MeasureInput, arranged
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

_ANSWERS: Final = ("variant", "repeat")
_WITHIN: Final = ("model", "decoding")
_NO_QUOTES: Final = "no label has a quote that is in the text"


@measure(estimands=("fixed", "population"))
def quote_found(data: MeasureInput) -> Iterator[Estimate]:
    """The share of labels that come with a quote whose words are in the text.

    Labels whose quote was placed / labels. A quote that is invented counts against it, and so does a label
    without one. Undefined where there are no labels, or no column of quotes.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"),
    ...     "quote_score": [1.0, 0.9, None, 1.0]})
    >>> quote_found(frame)[0].value
    0.75
    """
    scores = data.numbers("quote_score")
    for cell in data.cells(raters=ASKING):
        said = Statistic(method="share of labels with a quote that is in the text", reason="no quotes")
        if scores is not None:
            labelled = _labelled(cell)
            placed = labelled & np.isfinite(arranged(scores, cell))
            said = share_of(cell, placed.sum((1, 2)), labelled.sum((1, 2)), replace(said, reason="no labels"))
        yield cell.estimated(said)


@measure(compares=("variant",))
def quote_alpha(data: MeasureInput) -> Iterator[Estimate]:
    """Krippendorff's alpha for unitizing, αU, of the words that answers about one text quote.

    The raters are the prompts and repeats that quote words of an item's text, the continuum is the text,
    character by character. αU = 1 − Σ_items Do / Σ_items De, with the disagreements of
    `quaver.agreement.unitizing`, within each model and decoding, averaged over those. 1 where the same words
    are always quoted, 0 where quotes lie as far apart as they would by chance in the same text, whatever the
    labels are. Items with a quote in fewer than two answers contribute nothing. With ``by=["variant"]`` it is
    computed over the repeats of each prompt. Undefined where no item has two quotes.

    A text of ten characters, of which two answers quote the first four and the first two: Do = 2 · 2² / (2 ·
    10²), De = 2 / 10 · (30 + 16 · (3 + 5) + 4 · (5 + 7)) / (20 · 19 − 14):

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1], "repeat": [0, 1], "label": ["a", "a"],
    ...     "quote_start": [0, 0], "quote_end": [4, 2], "text_length": [10, 10]})
    >>> round(quote_alpha(frame)[0].value, 4)
    0.6447
    """
    lengths = data.numbers("text_length", None)
    for cell in data.cells(raters=_ANSWERS, within=_WITHIN):
        start, end = _places(data, cell)
        length = arranged(lengths, cell)
        differ, chance = (np.zeros(start.shape[:2]) for _ in range(2))
        for item, stratum in np.argwhere(np.isfinite(start).sum(2) > 1).tolist():
            defined = np.isfinite(start[item, stratum] + length[item, stratum])
            quotes = np.stack([start[item, stratum][defined], end[item, stratum][defined]], 1)
            if len(quotes) > 1:
                whole = float(length[item, stratum][defined].max())
                marked = [[(begin, other)] for begin, other in quotes.tolist()]
                differ[item, stratum], chance[item, stratum] = unit_disagreement(marked, whole)
        said = Statistic(method="αU of quotes, mean over models and decodings", reason=_NO_QUOTES)
        yield cell.estimated(unitizing_alpha(said, differ, chance))


@measure(compares=("variant",))
def other_reason(data: MeasureInput) -> Iterator[Estimate]:
    """The share of pairs of answers with the same label whose quotes have no place in common.

    Pairs are two answers of one model and decoding about one item, by two prompts or repeats, that give the
    same label, each with a quote that is in the text: pairs whose quotes do not overlap / pairs. 0 where the
    label is always given for the same words. Undefined where there is no such pair.

    Of the pairs of three answers, one has the same words, and two others:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1], "repeat": [0, 1, 2], "label": list("aaa"),
    ...     "quote_start": [0, 2, 20], "quote_end": [10, 9, 28]})
    >>> round(other_reason(frame)[0].value, 4)
    0.6667
    """
    for cell in data.cells(raters=_ANSWERS, within=_WITHIN):
        start, end = _places(data, cell)
        pairs, apart = (np.zeros(len(cell.items)) for _ in range(2))
        for left, other in combinations(range(start.shape[2]), 2):
            defined = np.isfinite(start[..., left] + start[..., other])
            defined &= cell.codes[..., left] == cell.codes[..., other]
            disjoint = (end[..., left] <= start[..., other]) | (end[..., other] <= start[..., left])
            pairs += defined.sum(1)
            apart += (defined & disjoint).sum(1)
        said = Statistic(
            method="share of pairs of answers with the same label whose quotes do not overlap",
            reason="no two answers with the same label quote the text",
            details={"pairs": int(pairs.sum())},
        )
        yield cell.estimated(share_of(cell, apart, pairs, said))


@measure(estimands=("fixed", "population"))
def quote_match(data: MeasureInput) -> Iterator[Estimate]:
    """Precision, recall and F1 of quotes against the words that people marked, character by character.

    Over answers with a label to items with marked words: ``quote_match_precision`` is Σ characters that are
    quoted and marked / Σ characters that are quoted, ``quote_match_recall`` the same / Σ characters that are
    marked, ``quote_match_f1`` twice the same / Σ of both. A label without a quote that is in the text quotes
    nothing. Undefined where no labelled item has marked words; precision also where nothing is quoted.

    The words from 0 to 10 are marked, those from 5 to 25 quoted:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1], "label": ["a"], "quote_start": [5], "quote_end": [25],
    ...     "marked_start": [0], "marked_end": [10]})
    >>> [(one.measure, round(one.value, 3)) for one in quote_match(frame)]
    [('quote_match_precision', 0.25), ('quote_match_recall', 0.5), ('quote_match_f1', 0.333)]
    """
    for cell in data.cells(raters=ASKING):
        (start, end), (first, last) = (_places(data, cell, of) for of in ("quote", "marked"))
        defined = np.isfinite(first)
        quoted = np.where(defined & np.isfinite(start), end - start, 0.0).sum((1, 2))
        marked = np.where(defined, last - first, 0.0).sum((1, 2))
        both = np.maximum(np.minimum(end, last) - np.maximum(start, first), 0.0)
        shared = np.where(defined & np.isfinite(start), both, 0.0).sum((1, 2))
        for part, whole in ("_precision", quoted), ("_recall", marked), ("_f1", (quoted + marked) / 2):
            yield cell.estimated(
                Statistic(
                    part=part,
                    method=f"{part[1:]} of quoted characters, summed over answers",
                    under=Ratio(shared[:, None], whole[:, None]) if whole.any() else None,
                    n=defined.any((1, 2)),
                    reason="no label has a quote to compare with marked words",
                    ends=(0.0, 1.0),
                )
            )


def unitizing_alpha(said: Statistic, differ: Floats, chance: Floats) -> Statistic:
    """αU as a statistic: 1 − Σ observed / Σ expected disagreement over items, the mean over strata.

    Args:
        said: What is said of it; it stays undefined where nothing is expected by chance.
        differ: The observed disagreement, shape (items, strata).
        chance: The expected one.
    """
    if not chance.any():
        return said
    under = Ratio(chance - differ, chance)
    low = -1.0 if (np.nan_to_num(under(np.ones((1, len(chance))))) >= -1).all() else None
    ends = None if low is None else (low, 1.0)
    return replace(said, under=over_strata(under), n=(chance > 0).any(1), ends=ends)


def _labelled(cell: Cell) -> NDArray[np.bool_]:
    return (cell.codes >= 0) & ~cell.unanswered


def _places(data: MeasureInput, cell: Cell, of: str = "quote") -> tuple[Floats, Floats]:
    """Where the quote of each answer with a label begins and ends, or what people marked; NaN for nowhere."""
    places = (arranged(data.numbers(f"{of}_{side}", None), cell) for side in ("start", "end"))
    start, end = (np.where(_labelled(cell), place, np.nan) for place in places)
    return start, end
