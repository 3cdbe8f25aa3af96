"""Each distinct answer is read once: what an evaluator is shown decides what it reads."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.core.annotations import AnswerRows, Reading, Values
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Evaluator, Reader
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.many_answers import ManyAnswers, holding, in_columns
from quaver.score.parsing.parsed_answer import Shown
from quaver.score.parsing.statuses import Judge

_MARKS: Final = 2
"""The columns of marks, before those of readings: whether an answer is truncated, whether it loops."""

_REMEMBERED: Final = 20_000
"""So many distinct answers are remembered from chunk to chunk, or those of one chunk."""


class Named(NamedTuple):
    """An evaluator of a study.

    Attributes:
        name: Its name there.
        reads: What it reads (see `Evaluator`).
        readers: Its readers, one for each variant.
        field: The position of the field that they read, where the task has fields.
    """

    name: str
    reads: str
    readers: Sequence[Reader]
    field: int = 0


class Found(NamedTuple):
    """Distinct readings of answers.

    Attributes:
        codes: Which of them is each answer's.
        truncated: The mark, of each distinct one.
        looping: The mark.
        readings: For each evaluator, the readings.
    """

    codes: NDArray[np.intp]
    truncated: Sequence[bool]
    looping: Sequence[bool]
    readings: Sequence[Sequence[Reading]]

    def reading(self, index: int) -> Reading:
        """An answer as the first evaluator reads it, with its marks."""
        code = int(self.codes[index])
        reading, marks = self.readings[0][code], (self.truncated[code], self.looping[code])
        return reading if not any(marks) else replace(reading, truncated=marks[0], looping=marks[1])


def reads_of(evaluator: Evaluator) -> str:
    """What an evaluator reads."""
    return getattr(evaluator, "reads", "text")


def distinct(keys: Iterable[Hashable], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of distinct keys among some many, in order, and which of them is at each place.

    >>> places, codes = distinct("abacb", 5)
    >>> places.tolist(), codes.tolist()
    ([0, 1, 3], [0, 1, 0, 2, 1])
    """
    known: dict[Hashable, int] = {}
    first = np.fromiter(map(known.setdefault, keys, range(count)), np.intp, count)
    places = np.flatnonzero(first == np.arange(count))
    if len(places) == count:
        return places, places
    at = np.empty(count, np.intp)
    at[places] = np.arange(len(places))
    return places, at[first]


class DistinctReadings:
    """Readings of answers by evaluators that are shown the same of them.

    Args:
        evaluators: The evaluators, which all read the same.
        judges: For each variant, what decides the statuses that no evaluator does.
    """

    def __init__(self, evaluators: Sequence[Named], judges: Sequence[Judge]) -> None:
        self.evaluators = evaluators
        self._reads = evaluators[0].reads
        self._alike: list[tuple[Judge, list[Reader]]] = []
        # Paraphrases that ask for the same answers are read by the same rules.
        groups: dict[Hashable, int] = {}
        self._group = np.empty(len(judges), np.intp)
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for variant, judge in enumerate(judges):
            readers = [evaluator.readers[variant] for evaluator in evaluators]
            index = groups.setdefault(_rules(judge, readers), len(groups))
            if index == len(self._alike):
                self._alike.append((judge, readers))
            self._group[variant] = index

    def of(self, variants: NDArray[np.intp], rows: AnswerRows) -> Found:
        """The distinct readings of some answers."""
        groups = self._group[variants]
        of_each = groups.tolist() if len(self._alike) > 1 else repeat(0, len(rows))
        keys: list[tuple[Any, ...]] = list(zip(*_COLUMNS[self._reads](rows), of_each, strict=True))
        places, codes = distinct(keys, len(keys))
        if len(places) < len(keys):
            keys = [keys[position] for position in places]
        truncated, looping, *readings = self._columns(keys, rows)
        return Found(codes, truncated, looping, readings)

    def _columns(self, keys: Sequence[tuple[Any, ...]], rows: AnswerRows) -> list[Sequence[Any]]:
        """The readings of distinct answers, a column for each mark and evaluator."""
        known = self._known if self._reads != "response" else {}
        new = [key for key in keys if key not in known]
        if len(known) + len(new) > _REMEMBERED:
            known.clear()
            new = [*keys]
        alike: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for key in new:
            alike[key[-1]].append(key)
        for group, some in alike.items():
            made = self._read(group, some, rows)
            known.update(zip(some, zip(*made, strict=True), strict=True))
            if len(some) == len(keys):
                return made
        columns: list[Sequence[Any]] = [*zip(*map(known.__getitem__, keys), strict=True)]
        return columns or [()] * (_MARKS + len(self.evaluators))

    def _read(self, group: int, keys: Sequence[Values], rows: AnswerRows) -> list[Sequence[Any]]:
        """The readings of answers that are read by the same rules, a column for each mark and evaluator."""
        if self._reads == "pair":
            return self._read_pairs(group, keys)
        judge, readers = self._alike[group]
        said, finishes = rows.said.texts, rows.said.finishes
        if self._reads == "response":
            at_key = [at for at, _ in keys]
            answers = ManyAnswers(
                [said[at] for at in at_key],
                [finishes[at] for at in at_key],
                lambda index: rows.whole(at_key[index]),
            )
        else:
            texts, ends = ([key[index] for key in keys] for index in range(2))
            answers = ManyAnswers(texts, ends, lambda index: Shown(*keys[index][:-1]))
        judged = judge(answers)
        settled = judged.tokens if self._reads == "tokens" else judged.text
        left = [index for index in range(len(keys)) if index not in settled] if settled else range(len(keys))
        to_read = answers.at(left)
        columns: list[Sequence[Any]] = [judged.truncated, judged.looping]
        for reader in readers:
            readings = _readings(reader, to_read)
            if settled:
                whole: list[Any] = [settled.get(index) for index in range(len(keys))]
                for index, reading in zip(left, readings, strict=True):
                    whole[index] = reading
                readings = whole
            columns.append(readings)
        return columns

    def _read_pairs(self, group: int, keys: Sequence[Values]) -> list[Sequence[Any]]:
        """The readings of follow-ups with the answers that they quote; they set the marks themselves."""
        answers = [
            Answer(Shown(*said), None if about is None else Shown(*about).response())
            for said, about, _ in keys
        ]
        readings = [_readings(reader, answers) for reader in self._alike[group][1]]
        marked = readings[0]
        return [[reading.truncated for reading in marked], [reading.looping for reading in marked], *readings]


def alone(evaluator: Evaluator, labels: LabelSet, variant: Variant) -> DistinctReadings:
    """What reads one variant's answers by one evaluator."""
    named = Named("", reads_of(evaluator), [evaluator.reader(labels, variant)])
    return DistinctReadings([named], [Judge(forms_of(labels, variant))])


def _rules(judge: Judge, readers: Sequence[Reader]) -> Hashable:
    """What two variants have in common whose answers are read alike."""
    try:
        key = (judge, *readers)
        hash(key)
    except TypeError:  # a reader of somebody else's
        return (judge, *map(id, readers))
    return key


def _readings(reader: Reader, answers: Sequence[Answer]) -> Sequence[Reading]:
    """Read some answers, looking at those alone that hold what the reader looks for."""
    if many := getattr(reader, "many", None):
        together: Sequence[Reading] = many(answers)
        return together
    held = getattr(reader, "held", None)
    if held is None or not in_columns(answers):
        return [reader(answer) for answer in answers]
    readings = [held.otherwise] * len(answers)
    places = holding(answers, held.words, held.pattern)
    for index, answer in zip(places, answers.each_in(places), strict=True):
        readings[index] = reader(answer)
    return readings


def _texts(rows: AnswerRows) -> tuple[Iterable[Any], ...]:
    said = rows.said
    thought = map(bool, said.thinkings) if any(said.thinkings) else repeat(False, len(rows))
    return said.texts, said.finishes, said.errors, thought


def _with_tokens(rows: AnswerRows) -> tuple[Iterable[Any], ...]:
    return *_texts(rows), [token or None for token in rows.said.tokens]


def _pairs(rows: AnswerRows) -> tuple[Iterable[Any], ...]:
    about = [None if one is None else _shown(one) for one in rows.about or (None,) * len(rows)]
    return zip(*_with_tokens(rows), strict=True), about


def _shown(said: Values) -> Values:
    text, finish, error, thinking, tokens = said[:5]
    return text, finish, error, bool(thinking), tokens or None


_COLUMNS: Final[Mapping[str, Callable[[AnswerRows], tuple[Iterable[Any], ...]]]] = {
    "text": _texts,
    "tokens": _with_tokens,
    "pair": _pairs,
    "response": lambda rows: (range(len(rows)),),
}
"""What each kind of evaluator is shown, in columns that make a key; one that is shown whole responses reads
every one."""


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
