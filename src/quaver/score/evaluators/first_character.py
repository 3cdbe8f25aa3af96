"""``first_character``: the parser of most multiple-choice benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.choices import Choices, choices_of
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.many_answers import holding, in_columns
from quaver.score.parsing.readings import ambiguous, no_label, valid


class FirstCharacter:
    """The first character of the answer's first line that is not empty, if it is a choice.

    White space, punctuation and a list marker before it are passed over (a number is no list
    marker where digits are choices). A capital counts even where it begins a word ("Based on" is
    B); a small letter only where it does not, and a digit only where it is a number by itself (not the 1
    of ``10``, ``1.5``, ``1%`` or ``1-5``). Else the last line that is a choice alone
    (punctuation apart). Else no label, with the first character as the reason.

    Choices are the variant's answers of one character; where it asks for none, no label is read.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _FirstCharacterReader(choices_of(forms_of(labels, variant)))


@dataclass(frozen=True, slots=True)
class _FirstCharacterReader:
    choices: Choices

    def __call__(self, answer: Answer) -> Reading:
        return read_first_character(answer, self.choices)

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        return read_first_characters(answers, self.choices)


def read_first_characters(answers: Sequence[Answer], choices: Choices) -> list[Reading]:
    """Read many answers by this rule; where a letter comes first, it and the next character decide."""
    if not in_columns(answers) or not choices.codes:
        return [read_first_character(answer, choices) for answer in answers]
    known: dict[str, Reading] = {}
    begun = answers.texts.str.head(2).to_list()
    found: list[Reading | None] = [None] * len(answers)
    lone = {*holding(answers, (), choices.lone)}
    for at, text in enumerate(begun):
        if at in lone or not text[:1].isalpha():
            continue
        reading = known.get(text)
        if reading is None:
            character, codes = choices.first_character(text)
            reading = known[text] = _reading(character, codes)
        found[at] = reading
    left = [at for at, reading in enumerate(found) if reading is None]
    for at, answer in zip(left, answers.each_in(left), strict=True):
        found[at] = read_first_character(answer, choices)
    return found  # type: ignore[return-value]


def read_first_character(answer: Answer, choices: Choices) -> Reading:
    """Read an answer by the rule of `FirstCharacter`."""
    if not choices.codes:
        return no_label("no answer of this variant is one character")
    character, codes = choices.first_character(answer.text)
    return _reading(character, codes or choices.lone_line(answer.text))


def _reading(character: str, codes: tuple[str, ...]) -> Reading:
    if len(codes) == 1:
        return valid(codes[0])
    return ambiguous(codes, "share the form") if codes else no_label(f'the first character is "{character}"')
