"""An evaluator's reading of a response, and the columns of the frame that holds one a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import polars as pl

from quaver.core.calls import Response
from quaver.core.response_validation import valid_tokens

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


ANNOTATION_COLUMNS: Final[Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "model": pl.Categorical,
    "variant": pl.Categorical,
    "decoding": pl.Categorical,
    "item": pl.Categorical,
    "repeat": pl.Int32,
    "evaluator": pl.Categorical,
    "label": pl.Categorical,
    "status": pl.Categorical,
    "reason": pl.String,
    "truncated": pl.Boolean,
    "looping": pl.Boolean,
    "confidence": pl.Float64,
    "probabilities": pl.List(pl.Float64),
    "label_coverage": pl.Float64,
    "mass_coverage": pl.Float64,
    "gold": pl.Categorical,
    "gold_probability": pl.Float64,
    "gold_drawn": pl.Boolean,
    "gold_stratum": pl.String,
    "gold_round": pl.Int32,
}
"""The annotation frame: one row an annotation (response × evaluator).

``label`` is null unless ``status`` is ``valid``, and also null if a valid answer prefers no label (tied
scores). ``probabilities`` follow the label set's order.
``gold`` is null where the item has none. The next four are null unless a gold sample was drawn:
``gold_probability`` is set for every item of the sampled population and holds the item's probability of being
in the sample after all rounds; ``gold_drawn`` says whether the item is in it; ``gold_stratum`` names its
stratum and ``gold_round`` the round that drew it. ``gold`` of a drawn item is the label that its coders
settled on, null until they have. An item that was not drawn keeps the gold label it came with, which
estimates that need a design leave out. To these columns the study adds one (Categorical) for each
factor of its variants (``paraphrase``, ``format``, …), one for each of their covariates (Float64,
Boolean or Categorical: ``original``, ``distance``, ``flagged``, …; null where a variant has none), one
for each group of its items, and one (Float64) for each parameter that varies in a grid of decodings. None of
them may have a name from here.
"""

FIELD: Final = "field"
"""The column of the field, in annotations of a task with fields: a row for each field of an answer.

Without fields there is no such column, so that a group or a factor may have its name.
"""

EVIDENCE_COLUMNS: Final[Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "quote": pl.String,
    "quote_status": pl.Categorical,
    "quote_start": pl.Int32,
    "quote_end": pl.Int32,
    "quote_score": pl.Float64,
    "text_length": pl.Int32,
    "marked_start": pl.Int32,
    "marked_end": pl.Int32,
}
"""The columns of what answers quote, in annotations of a task with a field that asks for it.

They are null where there is no label or none was asked for. ``quote_status`` says how the quote was found in
the item's text (``exact``, ``alike``, ``fuzzy``), or that it was not (``invented``) or that there is none
(``none``). Where it was found, ``quote_start`` and ``quote_end`` are its place in the text, in characters,
and ``quote_score`` is how like the text it is, 1 where nothing but case, spaces and punctuation differ.
``text_length`` is how many characters the text has, ``marked_start`` and ``marked_end`` are the place of the
words that people marked.
"""

SPAN_COLUMNS: Final[Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "spans": pl.String,
    "marked_spans": pl.String,
}
"""The further columns of annotations of a task with a field of spans, as `quaver.core.spans` writes them.

``spans`` are those of an answer with a value whose words are in the text, ``marked_spans`` those that people
marked; null where there is no value, or where people marked nothing in any text of this kind. ``quote`` has
the words with their labels, ``quote_status`` is ``invented`` where some are not in the text, and
``quote_score`` is then null.
"""

SERVED: Final = ("served_host", "served_snapshot")
"""The columns of what answered for a server: the host that a router names; the model and fingerprint.

A study has them whose answers name either.
"""

GOLD_COLUMNS: Final = ("gold", "gold_probability", "gold_drawn", "gold_stratum", "gold_round")
"""The columns about an item's gold label: they have one value in all rows of an item."""


def rows_with(frame: Frame, column: str, values: str | Iterable[str]) -> Frame:
    """The annotations that have a value in a column, or one of several; the column may be of categories."""
    wanted = [values] if isinstance(values, str) else list(values)
    return frame.filter(pl.col(column).cast(pl.String).is_in(wanted))


_MOST_ROWS: Final = 200_000
"""Of more answers, what takes long is measured of as many whole items as that."""


def few_items(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """All answers to some items, where there are too many."""
    if frame.height <= _MOST_ROWS:
        return frame
    items = frame["item"].unique().cast(pl.String).sort()
    count = max(2, int(len(items) * _MOST_ROWS / frame.height))
    kept = items.sample(min(count, len(items)), seed=abs(seed))
    return rows_with(frame, "item", kept.to_list())


def misfit(schema: Mapping[str, pl.DataType]) -> str | None:
    """What keeps a file's columns from being annotations; None for nothing."""
    for name, kind in ANNOTATION_COLUMNS.items():
        if name not in schema:
            return f"no column {name!r}"
        if not _fits(schema[name], pl.Series(dtype=kind).dtype):
            return f"the column {name!r} holds {schema[name]}"
    return None


def _fits(dtype: pl.DataType, wanted: pl.DataType) -> bool:
    """Whether a column can be taken for one of a type; labels may be texts, and whole numbers numbers."""
    if wanted in (pl.Categorical, pl.String):
        return dtype in (pl.Categorical, pl.String)
    if isinstance(wanted, pl.List):
        return isinstance(dtype, pl.List) and dtype.inner.is_numeric()
    if wanted.is_numeric():
        return dtype.is_integer() if wanted.is_integer() else dtype.is_float()
    return dtype == wanted


Row = tuple[int, int, int, Response, Response | None]
"""Condition position, item position, repeat, response, and the quoted response if a follow-up quotes one."""

Values = tuple[Any, ...]
"""What came back: text, finish, error, thinking, tokens (as JSON, or parsed), and whatever follows."""

SHOWN = 5
"""How many of these values an evaluator may be shown."""


class AnswerRows:
    """Some answers with their places in the design; iterating gives each as a `Row`.

    Args:
        places: The positions of their conditions, those of their items, and which repeat each is.
        said: What came back, a column for each value that an evaluator may be shown.
        about: What the answers said that follow-ups quote, None for an answer that is no such follow-up;
            None where no answer is.
        whole: Makes the response at a place among the answers.
        quoted: Makes the response that a follow-up at a place quotes.
        served: What answered, a column for each of `SERVED`; empty where that is not known.
    """

    __slots__ = ("_quoted", "about", "conditions", "items", "repeats", "said", "served", "whole")

    def __init__(
        self,
        places: Sequence[Sequence[int]],
        said: Sequence[Sequence[Any]],
        about: Sequence[Values | None] | None,
        whole: Callable[[int], Response],
        quoted: Callable[[int], Response],
        served: Sequence[Sequence[str | None]] = (),
    ) -> None:
        self.conditions, self.items, self.repeats = places
        self.said, self.about, self.whole, self._quoted = said, about, whole, quoted
        self.served = served

    @classmethod
    def of(cls, rows: Sequence[Row]) -> AnswerRows:
        """The answers in rows."""
        conditions, items, repeats, responses, about = zip(*rows, strict=True) if rows else ((),) * 5
        said = [*zip(*map(_values, responses), strict=True)] or [()] * SHOWN
        quoted = [None if quote is None else _values(quote) for quote in about] if any(about) else None
        places = conditions, items, repeats
        return cls(places, said, quoted, responses.__getitem__, about.__getitem__)

    def __len__(self) -> int:
        return len(self.conditions)

    def __iter__(self) -> Iterator[Row]:
        about = self.about or (None,) * len(self)
        for index, place in enumerate(zip(self.conditions, self.items, self.repeats, strict=True)):
            yield (*place, self.whole(index), None if about[index] is None else self._quoted(index))

    def at(self, places: Sequence[int]) -> AnswerRows:
        """Those at some places."""
        if len(places) == len(self):
            return self
        position = (self.conditions, self.items, self.repeats)
        return AnswerRows(
            [[column[index] for index in places] for column in position],
            [[column[index] for index in places] for column in self.said],
            self.about and [self.about[index] for index in places],
            lambda index: self.whole(places[index]),
            lambda index: self._quoted(places[index]),
            [[column[index] for index in places] for column in self.served],
        )


def _values(response: Response) -> Values:
    return response.text, response.finish, response.error, response.thinking, response.tokens


def tokens_of(tokens: Any) -> tuple[Any, ...]:
    """Tokens as they are kept: JSON, or parsed already."""
    if isinstance(tokens, str):
        return valid_tokens(json.loads(tokens))
    return tokens or ()
