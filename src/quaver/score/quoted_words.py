"""The columns of what answers quote: the words, whether and where they are in the text, and their labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.annotations import EVIDENCE_COLUMNS, SPAN_COLUMNS
from quaver.core.records import Reading
from quaver.core.spans import Span, written_spans

if TYPE_CHECKING:
    from quaver.score.parsing.quotes import QuotedText

_REMEMBERED: Final = 20_000
"""So many quotes and their places are remembered."""


class QuotedWords:
    """Places what answers quote in the texts that they are about; each distinct quote of a text once."""

    def __init__(self, variants: Sequence[str], texts: Callable[[str, int], str] | None) -> None:
        self._variants, self._texts = variants, texts
        self._places: dict[tuple[str, str | None], tuple[Any, ...]] = {}

    def columns(
        self,
        readings: Sequence[Reading | None],
        variants: NDArray[np.intp],
        items: NDArray[np.intp],
        marks: Sequence[str] | None,
    ) -> list[pl.Series]:
        """The columns of some answers, by their readings; None for one that was not asked for a quote."""
        if len(self._places) > _REMEMBERED:
            self._places.clear()
        rows: list[tuple[Any, ...]] = []
        texts: dict[tuple[int, int], QuotedText] = {}
        for reading, *place in zip(readings, variants.tolist(), items.tolist(), strict=True):
            if reading is None or reading.label is None:
                rows.append(_NO_QUOTE)
            elif self._texts is None:
                rows.append((reading.quote, *_NO_QUOTE[1:]))
            else:
                quoted = self._placed(reading.quote, (place[0], place[1]), texts)
                marked = self._placed(marks[place[1]], (place[0], place[1]), texts) if marks else _NO_QUOTE
                rows.append((*quoted, *marked[2:4]))
        return _series(rows, EVIDENCE_COLUMNS)

    def spans(
        self,
        readings: Sequence[Reading | None],
        variants: NDArray[np.intp],
        items: NDArray[np.intp],
        marks: Sequence[str] | None,
    ) -> list[pl.Series]:
        """The same columns of a field of spans, and those of the spans."""
        rows: list[tuple[Any, ...]] = []
        texts: dict[tuple[int, int], QuotedText] = {}
        for reading, *place in zip(readings, variants.tolist(), items.tolist(), strict=True):
            if reading is None or reading.label is None:
                rows.append((*_NO_QUOTE, None, None))
                continue
            quotes = json.loads(reading.quote or "[]")
            written = "; ".join(f"{label}: {words}" for label, words in quotes)
            if self._texts is None:
                rows.append((written, *_NO_QUOTE[1:], None, None))
                continue
            text = self._text((place[0], place[1]), texts)
            spans, worst, score = list[Span](), "none", 1.0
            for label, (how, start, end, likeness) in _placed_quotes(quotes, text):
                worst, score = max(worst, how, key=_WORST.index), min(score, likeness or 0.0)
                if start is not None:
                    spans.append(Span(label, start, end))
            marked = None
            if marks and marks[place[1]]:  # as spans of the text; words that are not in it are none
                marked = written_spans(placed_spans(json.loads(marks[place[1]]), text)[0])
            sure = None if worst == "invented" else score
            rows.append(
                (written, worst, None, None, sure, len(text.text), None, None, written_spans(spans), marked)
            )
        return _series(rows, {**EVIDENCE_COLUMNS, **SPAN_COLUMNS})

    def _text(self, place: tuple[int, int], texts: dict[tuple[int, int], QuotedText]) -> QuotedText:
        """The text that a variant shows of an item."""
        assert self._texts is not None
        text = texts.get(place)
        if text is None:
            from quaver.score.parsing.quotes import QuotedText  # of an extra

            text = texts[place] = QuotedText(self._texts(self._variants[place[0]], place[1]))
        return text

    def _placed(
        self, quote: str | None, place: tuple[int, int], texts: dict[tuple[int, int], QuotedText]
    ) -> tuple[Any, ...]:
        text = self._text(place, texts)
        key = text.text, quote
        if key not in self._places:
            self._places[key] = quote, *text.place(quote), len(text.text)
        return self._places[key]


def placed_spans(marked: Sequence[Any], text: QuotedText) -> tuple[list[Span], list[str]]:
    """What people marked as spans of a text, and those of the words that are not in it."""
    spans = [Span(*mark) for mark in marked if len(mark) == len(Span._fields)]
    quotes, lost = [mark for mark in marked if len(mark) < len(Span._fields)], []
    for (label, words), (_, (_, start, end, _)) in zip(quotes, _placed_quotes(quotes, text), strict=True):
        if start is None:
            lost.append(words)
        else:
            spans.append(Span(label, start, end))
    return spans, lost


def _series(rows: Sequence[tuple[Any, ...]], kinds: Mapping[str, Any]) -> list[pl.Series]:
    """Rows as columns of these names and types."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(kinds)
    return [pl.Series(*pair, dtype=kinds[pair[0]]) for pair in zip(kinds, columns, strict=True)]


def _placed_quotes(quotes: Sequence[Any], text: QuotedText) -> Iterable[tuple[str, Any]]:
    """The label of each quote, and how and where it is in a text."""
    labels, words = zip(*quotes, strict=True) if quotes else ((), ())
    return zip(labels, text.places(words), strict=True)


_WORST: Final = ("none", "exact", "alike", "fuzzy", "invented")
"""How quotes are found, the better ways first."""

_NO_QUOTE: Final = (None,) * len(EVIDENCE_COLUMNS)
