"""Many answers as columns, so that few of them must be looked at one by one."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeGuard, overload

import numpy as np
import polars as pl

from quaver.core.records import Response
from quaver.score.parsing.parsed_answer import Answer, Shown

_FEW: Final = 20
"""Fewer answers than this are read faster one by one."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SPACE: Final = "\t\n\x0b\x0c\r "
_BETWEEN: Final = "\n"
_SIMPLE: Final = frozenset(map(ord, _SPACE + string.printable)) - frozenset(map(ord, "<["))
_ODD: Final = b"\1"
_MARKED: Final = bytes(code not in _SIMPLE for code in range(256))
"""By byte: 1 where no simple text has it."""


class ManyAnswers(Sequence[Answer]):
    """Some answers; each is parsed on its own only when it is asked for.

    Args:
        said: Their texts, as they came.
        finishes: How each ended.
        shown: Makes what an evaluator is shown of one.

    Attributes:
        said: Their texts as a column; None where there are so few answers that each is looked at.
        simple: Which of them are ASCII, without what marks thinking or the end of a turn and without
            invisible characters: their text is what came, but for white space around it.
        texts: `Answer.text` of each.
        folded: `Answer.folded` of each.
        shown: As given.
    """

    def __init__(
        self, said: Sequence[str], finishes: Sequence[Any], shown: Callable[[int], Response | Shown]
    ) -> None:
        self.shown, self._finishes = shown, finishes
        self._made: dict[int, Answer] = {}
        self._texts: list[str] = []
        self._folded: list[str] = []
        self.said: pl.Series | None = None
        if len(said) < _FEW:
            return
        self.said, self.simple = _columns(said)
        texts = self.said.str.strip_chars(_SPACE)
        folded = texts.str.to_lowercase()
        others = (~self.simple).arg_true()
        if len(others):
            made = [self[at] for at in others]
            series = ((~self.simple).cum_sum().cast(pl.Int64) - 1).clip(lower_bound=0)
            texts = texts.zip_with(self.simple, pl.Series([one.text for one in made]).gather(series))
            folded = folded.zip_with(self.simple, pl.Series([one.folded for one in made]).gather(series))
        self.texts, self.folded = texts, folded

    def __len__(self) -> int:
        return len(self._finishes)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Answer]: ...
    def __getitem__(self, index: int | slice) -> Answer | Sequence[Answer]:
        if isinstance(index, slice):
            return [self[one] for one in range(len(self))[index]]
        index = range(len(self))[index]
        answer = self._made.get(index)
        if answer is None:
            answer = self._made[index] = self._answer(index)
        return answer

    def _answer(self, index: int) -> Answer:
        if not self._texts:
            return Answer(self.shown(index))
        return Answer.of_parts(self._texts[index], self._folded[index], partial(self.shown, index))

    def each_in(self, places: Sequence[int]) -> list[Answer]:
        """The answers at some places, which is faster than one after the other."""
        if self.said is not None and not self._texts:
            self._texts, self._folded = self.texts.to_list(), self.folded.to_list()
        return [self[index] for index in places]

    def ending(self, *finishes: str) -> list[int]:
        """The places of the answers that ended in some ways."""
        if not set(finishes) & set(self._finishes):
            return []
        return [index for index, finish in enumerate(self._finishes) if finish in finishes]

    def at(self, places: Sequence[int]) -> ManyAnswers:
        """Those at some places."""
        if len(places) == len(self):
            return self
        shown = self.shown
        answers = ManyAnswers(
            (), [self._finishes[index] for index in places], lambda index: shown(places[index])
        )
        answers._made = {new: self._made[old] for new, old in enumerate(places) if old in self._made}
        if self.said is not None:
            chosen = np.array(places, np.intp)
            answers.said, answers.simple = self.said.gather(chosen), self.simple.gather(chosen)
            answers.texts, answers.folded = self.texts.gather(chosen), self.folded.gather(chosen)
        return answers


def _columns(said: Sequence[str]) -> tuple[pl.Series, pl.Series]:
    """Texts as a column, and which of them are simple."""
    try:
        texts = pl.Series(said, dtype=pl.String)
        content = _BETWEEN.join(said).encode()
    except (
        UnicodeEncodeError
    ):  # a surrogate has no place in a column; what stands for it is not simple either
        said = [_SURROGATE.sub("\ufffd", one) for one in said]
        texts, content = pl.Series(said, dtype=pl.String), _BETWEEN.join(said).encode()
    simple = np.ones(len(said), dtype=bool)
    marked = content.translate(_MARKED)
    if _ODD in marked:
        odd = np.flatnonzero(np.frombuffer(marked, np.uint8))
        ends = texts.str.len_bytes().to_numpy().astype(np.int64).cumsum() + np.arange(len(said))
        simple[np.searchsorted(ends, odd, side="right")] = False
    return texts, pl.Series(simple)


def in_columns(answers: Sequence[Answer]) -> TypeGuard[ManyAnswers]:
    """Whether answers have columns, which few do not."""
    return isinstance(answers, ManyAnswers) and answers.said is not None


def holding(answers: ManyAnswers, words: Sequence[str], pattern: str = "") -> list[int]:
    """The places of the answers that may hold one of some words, in lower case, or a pattern as it is."""
    held = ~answers.simple
    if words:
        held |= answers.folded.str.contains_any(list(words))
    if pattern:
        held |= answers.texts.str.contains(pattern)
    places: list[int] = held.arg_true().to_list()
    return places
