"""Each distinct answer is read once: what an evaluator is shown decides what it reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from quaver.core.annotations import Reading
from quaver.core.answer_rows import AnswerRows, Said
from quaver.core.records import Response
from quaver.score.parsing.evaluator import Answer, Evaluator, Reader
from quaver.score.parsing.parsed_answer import Shown
from quaver.score.parsing.statuses import Judge

_REMEMBERED: Final = 100_000
_LONGEST_REMEMBERED: Final = 2_000
_MOST_REMEMBERED: Final = 20_000_000
"""How much is remembered from chunk to chunk: answers, characters of one, characters of all."""


Read = tuple[Any, ...]
"""An answer as some evaluators read it: whether it is truncated, whether it loops, a reading of each."""

MARKS: Final = 2
"""Where the readings begin in it."""


class Named(NamedTuple):
    """An evaluator of a study.

    Attributes:
        name: Its name there.
        reads: What it reads (see `Evaluator`).
        readers: Its readers, one for each variant.
    """

    name: str
    reads: str
    readers: Sequence[Reader]


def reads_of(evaluator: Evaluator) -> str:
    """What an evaluator reads."""
    return getattr(evaluator, "reads", "text")


class DistinctReadings:
    """Readings of answers by evaluators that are shown the same of them.

    Args:
        evaluators: The evaluators, which all read the same.
        judges: For each variant, what decides the statuses that no evaluator does.
    """

    def __init__(self, evaluators: Sequence[Named], judges: Sequence[Judge]) -> None:
        self.evaluators, self._judges = evaluators, judges
        self._reads = evaluators[0].reads
        self._known: dict[int, dict[Any, Read]] = defaultdict(dict)
        self._remembered = 0
        self._characters = 0

    def of(self, variants: Sequence[int], rows: AnswerRows) -> tuple[list[Read], list[int]]:
        """The distinct readings of some answers, and which of them is each answer's.

        Args:
            variants: The position of each answer's variant.
            rows: The answers.
        """
        found: list[Read] = []
        codes: list[int] = []
        new: dict[int, list[int]] = defaultdict(list)
        keys: list[Any] = []
        places: dict[int, dict[Any, int]] = defaultdict(dict)
        for variant, key in zip(variants, _KEYS[self._reads](rows), strict=True):
            here = places[variant]
            at = here.get(key)
            if at is None:
                at = here[key] = len(found)
                known = self._known[variant].get(key)
                if known is None:
                    new[variant].append(at)
                found.append(known or ())
                keys.append(key)
            codes.append(at)
        for variant, some in new.items():
            made = self._read(variant, [keys[at] for at in some], rows)
            for at, one in zip(some, made, strict=True):
                found[at] = one
                self._remember(variant, keys[at], one)
        return found, codes

    def _read(self, variant: int, keys: Sequence[Any], rows: AnswerRows) -> list[Read]:
        """The readings of what was not read before."""
        if self._reads == "pair":
            return [self._read_pair(variant, *key) for key in keys]
        shown: list[Response | Shown] = (
            [rows.whole(rows.said[at]) for at in keys]
            if self._reads == "response"
            else [Shown(*key) for key in keys]
        )
        judged = self._judges[variant].many(shown)
        settled = [one.tokens if self._reads == "tokens" else one.text for one in judged]
        answers = [one.answer for one, known in zip(judged, settled, strict=True) if known is None]
        columns = []
        for evaluator in self.evaluators:
            own = iter(_readings(evaluator.readers[variant], answers))
            columns.append([next(own) if known is None else known for known in settled])
        marks = ([one.truncated for one in judged], [one.looping for one in judged])
        return list(zip(*marks, *columns, strict=True))

    def _read_pair(self, variant: int, said: Said, about: Said | None) -> Read:
        """The readings of a follow-up with the answer that it quotes; they set the marks themselves."""
        quoted = None if about is None else Shown(*about).response()
        readings = [one.readers[variant](Answer(Shown(*said), quoted)) for one in self.evaluators]
        return readings[0].truncated, readings[0].looping, *readings

    def _remember(self, variant: int, key: Any, one: Read) -> None:
        size = _characters(key)
        if size > _LONGEST_REMEMBERED:
            return
        self._characters += size
        self._remembered += 1
        if self._remembered > _REMEMBERED or self._characters > _MOST_REMEMBERED:
            self._known.clear()
            self._remembered, self._characters = 1, size
        self._known[variant][key] = one


def _readings(reader: Reader, answers: Sequence[Answer]) -> Sequence[Reading]:
    many = getattr(reader, "many", None)
    found: Sequence[Reading] = many(answers) if many else [reader(answer) for answer in answers]
    return found


def _characters(key: Any) -> int:
    """How many characters of answers a key holds; more than any may have, if it is not to be kept."""
    if isinstance(key, int):
        return _LONGEST_REMEMBERED + 1
    if not isinstance(key[0], str):
        return sum(_characters(one) for one in key if one is not None)
    tokens = key[4] if len(key) > 4 else None
    return len(key[0]) + (len(tokens) if isinstance(tokens, str) else 100 * len(tokens or ()))


def _texts(rows: AnswerRows) -> list[Said]:
    return [(one[0], one[1], one[2], bool(one[3])) for one in rows.said]


def _with_tokens(rows: AnswerRows) -> list[Said]:
    return [_shown(one) for one in rows.said]


def _shown(said: Said) -> Said:
    text, finish, error, thinking, tokens = said[:5]
    return text, finish, error, bool(thinking), tokens or None


def _pairs(rows: AnswerRows) -> list[Said]:
    return [
        (_shown(said), None if about is None else _shown(about))
        for said, about in zip(rows.said, rows.about, strict=True)
    ]


_KEYS: Final[Mapping[str, Callable[[AnswerRows], Sequence[Any]]]] = {
    "text": _texts,
    "tokens": _with_tokens,
    "pair": _pairs,
    "response": lambda rows: range(len(rows)),
}
"""What each kind of evaluator is shown, as a key; one that is shown the whole response reads every one."""
