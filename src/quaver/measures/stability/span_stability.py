"""Spans: whether answers mark the same stretches of a text, and those that people marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.unitizing import unit_disagreement
from quaver.core.records import Estimate
from quaver.core.spans import Span, spans_in
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Ratio
from quaver.estimation.measure_input import MeasureInput, arranged
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.stability.quote_stability import unitizing_alpha
from quaver.measures.variation.label_shares import ASKING

_ANSWERS: Final = ("variant", "repeat")
_WITHIN: Final = ("model", "decoding")


@measure(compares=("variant",))
def span_alpha(data: MeasureInput) -> Iterator[Estimate]:
    """Krippendorff's alpha for unitizing, αU, of the spans that answers about one text mark.

    The raters are the prompts and repeats with a value, those that mark nothing among them; the continuum is
    the text, character by character. Each label is a continuum of its own: αU = 1 − Σ Do / Σ De over items
    and labels, with the disagreements of `quaver.agreement.unitizing`, within each model and decoding,
    averaged over those. Spans of one label that overlap or meet in one answer are taken together. 1 where
    every answer marks the same, 0 where spans lie as far apart as they would by chance. Undefined where no
    item has two answers, one of them with a span.

    A text of ten characters, of which two answers mark the first four and the first two:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1], "repeat": [0, 1], "label": ["a", "a"],
    ...     "spans": ["a[0:4]", "a[0:2]"], "text_length": [10, 10]})
    >>> round(span_alpha(frame)[0].value, 4)
    0.6447
    """
    lengths = data.numbers("text_length", None)
    for cell in data.cells(raters=_ANSWERS, within=_WITHIN):
        marked, places = _spans(data, cell, "spans")
        length = arranged(lengths, cell)
        differ, chance = (np.zeros(places.shape[:2]) for _ in range(2))
        for item, stratum in np.argwhere((places >= 0).sum(2) > 1).tolist():
            defined = (places[item, stratum] >= 0) & np.isfinite(length[item, stratum])
            answers = [marked[place] for place in places[item, stratum][defined].tolist()]
            for label in sorted({span.label for spans in answers for span in spans}):
                stretches = [_joined(spans, label) for spans in answers]
                parts = unit_disagreement(stretches, float(length[item, stratum][defined].max()))
                differ[item, stratum] += parts[0]
                chance[item, stratum] += parts[1]
        said = Statistic(method="αU of spans, mean over models and decodings", reason="no spans to compare")
        yield cell.estimated(unitizing_alpha(said, differ, chance))


@measure(estimands=("fixed", "population"))
def span_match(data: MeasureInput) -> Iterator[Estimate]:
    """Precision, recall and F1 of spans against those that people marked.

    Over answers with a value to items whose text people marked. ``span_match_precision`` is Σ spans that
    people marked, with the same label, beginning and end / Σ spans of the answers; ``span_match_recall`` the
    same / Σ spans that people marked; ``span_match_f1`` twice the same / Σ of both: micro-averages, as
    seqeval and nervaluate ("strict") have them. ``span_match_overlap_precision``,
    ``span_match_overlap_recall`` and ``span_match_overlap_f1`` count characters that both give the same label
    in place of whole spans. Undefined where no answered item was marked; precision also where no answer has a
    span, recall where no person marked one.

    One span of two is the same, and the other has four of its eight characters:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1], "label": ["a;b"], "spans": ["a[0:4];b[10:18]"],
    ...     "marked_spans": ["a[0:4];b[10:14]"]})
    >>> [(one.measure, round(one.value, 3)) for one in span_match(frame)]  # doctest: +NORMALIZE_WHITESPACE
    [('span_match_precision', 0.5), ('span_match_recall', 0.5), ('span_match_f1', 0.5),
     ('span_match_overlap_precision', 0.667), ('span_match_overlap_recall', 1.0),
     ('span_match_overlap_f1', 0.8)]
    """
    for cell in data.cells(raters=ASKING):
        (given, own), (gold, theirs) = (_spans(data, cell, name) for name in ("spans", "marked_spans"))
        defined = (own >= 0) & (theirs >= 0)
        sums = np.zeros((len(cell.items), 6))
        for item, *place in np.argwhere(defined).tolist():
            sums[item] += _shared(given[own[item, *place]], gold[theirs[item, *place]])
        for name, (both, mine, other) in {"": sums.T[:3], "_overlap": sums.T[3:]}.items():
            for part, whole in ("precision", mine), ("recall", other), ("f1", (mine + other) / 2):
                yield cell.estimated(
                    Statistic(
                        part=f"{name}_{part}",
                        method=f"{part} of {'characters in spans' if name else 'spans'}, summed over answers",
                        under=Ratio(both[:, None], whole[:, None]) if whole.any() else None,
                        n=defined.any((1, 2)),
                        reason="no span to compare with what people marked",
                        ends=(0.0, 1.0),
                    )
                )


def _spans(data: MeasureInput, cell: Cell, role: str) -> tuple[list[list[Span]], NDArray[np.intp]]:
    """The distinct entries of a column of spans, and which stands in each place of a cell; -1 for none."""
    name = data.column(role)
    if name is None:
        return [], np.full(cell.codes.shape, -1)
    known: dict[str, int] = {}
    column = data.gathered[name].to_list()
    rows = np.array(
        [-1 if value is None else known.setdefault(value, len(known)) for value in column], np.float64
    )
    is_labelled = (cell.codes >= 0) & ~cell.unanswered
    places = np.where(is_labelled, np.nan_to_num(arranged(rows, cell), nan=-1), -1).astype(np.intp)
    return list(map(spans_in, known)), places


def _joined(spans: Sequence[Span], label: str) -> list[tuple[float, float]]:
    """The stretches of a label, those that overlap or meet as one."""
    joined = list[tuple[float, float]]()
    for start, end in sorted((span.start, span.end) for span in spans if span.label == label):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _shared(own: Sequence[Span], other: Sequence[Span]) -> list[float]:
    """How many spans are in both, in one and in the other; then the same of their characters."""
    characters = []
    for label in {span.label for span in (*own, *other)}:
        left, two = (_joined(spans, label) for spans in (own, other))
        both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in left for b in two)
        characters.append((both, *(sum(end - start for start, end in some) for some in (left, two))))
    sums = [sum(column) for column in zip(*characters, strict=True)] or [0.0, 0.0, 0.0]
    return [len({*own} & {*other}), len({*own}), len({*other}), *sums]
