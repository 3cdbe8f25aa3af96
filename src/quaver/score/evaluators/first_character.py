"""``first_character``: the parser of most multiple-choice benchmarks."""

from __future__ import annotations

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.choices import Choices, choices_of
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import forms_of
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
        choices = choices_of(forms_of(labels, variant))

        def read(answer: Answer) -> Reading:
            return read_first_character(answer, choices)

        return read


def read_first_character(answer: Answer, choices: Choices) -> Reading:
    """Read an answer by the rule of `FirstCharacter`."""
    if not choices.codes:
        return no_label("no answer of this variant is one character")
    character, codes = choices.first_character(answer.text)
    codes = codes or choices.lone_line(answer.text)
    if len(codes) == 1:
        return valid(codes[0])
    return ambiguous(codes, "share the form") if codes else no_label(f'the first character is "{character}"')
