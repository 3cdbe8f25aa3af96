"""Each distinct answer is read once: what an evaluator is shown decides what it reads."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quaver.core.annotations import AnswerRows, Values, tokens_of
from quaver.core.records import Response
from quaver.score.parsing.evaluator import Answer, Evaluator, Reader
from quaver.score.parsing.label_forms import Forms
from quaver.score.parsing.statuses import loops, settled

_REMEMBERED: Final = 20_000
"""So many distinct answers are remembered from chunk to chunk, or those of one chunk."""


def reads_of(evaluator: Evaluator) -> str:
    """What an evaluator reads."""
    return getattr(evaluator, "reads", "text")


class DistinctReadings:
    """Readings of answers by evaluators that are shown the same of them.

    Args:
        reads: What they read (see `Evaluator`).
        readers: For each evaluator its readers, one for each variant.
        forms: For each variant, how the labels may be written.
    """

    def __init__(self, reads: str, readers: Sequence[Sequence[Reader]], forms: Sequence[Forms]) -> None:
        self._reads = reads
        self._rules: list[tuple[Forms, Sequence[Reader]]] = []
        # Paraphrases that ask for the same answers are read by the same rules.
        groups: dict[Hashable, int] = {}
        self._group = np.empty(len(forms), np.intp)
        for variant, (form, *some) in enumerate(zip(forms, *readers, strict=True)):
            self._group[variant] = groups.setdefault(_alike(form, some), len(groups))
            if len(groups) > len(self._rules):
                self._rules.append((form, some))
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def of(
        self, variants: NDArray[np.intp], rows: AnswerRows
    ) -> tuple[NDArray[np.intp], list[Sequence[Any]]]:
        """The readings of some answers.

        Returns:
            Which of the distinct ones is each answer's; and of the distinct ones the marks ``truncated`` and
            ``looping``, then the readings of each evaluator.
        """
        keys = [*zip(*_shown(rows, self._reads), self._group[variants].tolist(), strict=True)]
        places: dict[tuple[Any, ...], int] = {}
        codes = np.fromiter((places.setdefault(key, len(places)) for key in keys), np.intp, len(keys))
        if self._reads == "response" or len(self._known) + len(places) > _REMEMBERED:
            self._known.clear()
        for key in places:
            if key not in self._known:
                self._known[key] = self._read(key, rows)
        columns: list[Sequence[Any]] = [*zip(*map(self._known.__getitem__, places), strict=True)]
        return codes, columns or [()] * (2 + len(self._rules[0][1]))

    def _read(self, key: tuple[Any, ...], rows: AnswerRows) -> tuple[Any, ...]:
        """Two marks and each evaluator's reading of an answer."""
        *shown, group = key
        forms, readers = self._rules[group]
        if self._reads == "pair":  # a follow-up, with the answer that it quotes; readers set the marks
            about = None if shown[1] is None else _response(*shown[1])
            answer = Answer(_response(*shown[0]), about)
            readings = [reader(answer) for reader in readers]
            return readings[0].truncated, readings[0].looping, *readings
        thought = None if self._reads == "response" else shown[3]
        answer = Answer(rows.whole(shown[0]) if thought is None else _response(*shown), thought=thought)
        decided = settled(answer, forms, of_tokens=self._reads == "tokens")
        readings = [decided or reader(answer) for reader in readers]
        response = answer.response
        return response.finish == "length", loops(response.text), *readings


def _alike(forms: Forms, readers: Sequence[Reader]) -> Hashable:
    """What two variants have in common whose answers are read alike."""
    try:
        hash(key := (forms, *readers))
    except TypeError:  # a reader of somebody else's
        return (forms, *map(id, readers))
    return key


def _response(text: str, finish: Any, error: str | None, thought: bool, tokens: Any = None) -> Response:
    return Response(text, finish, error, None, tokens_of(tokens))


def _shown(rows: AnswerRows, reads: str) -> list[Iterable[Any]]:
    """What evaluators are shown, in columns that make a key; of whole responses, every one."""
    if reads == "response":
        return [range(len(rows))]
    said = rows.said
    thought = map(bool, said.thinkings) if any(said.thinkings) else repeat(False, len(rows))
    columns: list[Iterable[Any]] = [said.texts, said.finishes, said.errors, thought]
    if reads == "text":
        return columns
    columns.append([token or None for token in said.tokens])
    if reads == "tokens":
        return columns
    about = [None if one is None else _quoted(one) for one in rows.about or (None,) * len(rows)]
    return [zip(*columns, strict=True), about]


def _quoted(said: Values) -> Values:
    text, finish, error, thinking, tokens = said[:5]
    return text, finish, error, bool(thinking), tokens or None


def mark_of_rules(evaluators: Iterable[Evaluator]) -> str:
    """A hash of the code that reads answers; a frame made by other code is rebuilt."""
    theirs = {
        getattr(sys.modules.get(type(evaluator).__module__), "__file__", None) for evaluator in evaluators
    }
    own = {path for ending in ("py", "toml") for path in Path(__file__).parent.rglob(f"*.{ending}")}
    files = {*own, *(Path(file) for file in theirs if file)}
    return _hash_of(tuple(sorted(files)))


@cache
def _hash_of(files: tuple[Path, ...]) -> str:
    """A hash of files, cached, since they do not change during a process."""
    state = blake2b(digest_size=16)
    for file in files:
        state.update(file.read_bytes() if file.is_file() else b"")  # a zipped package has no files
    return state.hexdigest()
