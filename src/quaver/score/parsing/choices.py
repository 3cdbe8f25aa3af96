"""Single-character answers, which multiple-choice parsers look for."""

from __future__ import annotations

import re
from functools import lru_cache

from quaver.score.parsing.finder import word_pattern
from quaver.score.parsing.label_forms import Forms
from quaver.score.parsing.parsed_answer import fold

_LEADING = r"[\W_]*"
_ZEROS = re.compile(r"\A\.0+(?!\d)")
_LOOK_BACK, _LOOK_AHEAD = 8, 24
_LIST_NUMBER = r"(?:\d{1,3}[.)]\s[\W_]*)?"


class Choices:
    """The single-character answers that a variant asks for.

    Attributes:
        codes: Label codes by folded choice.
        lone: A regular expression of Rust's: a simple answer (see `ManyAnswers`) that does not match it has
            no line that is a choice alone.
    """

    def __init__(self, forms: Forms) -> None:
        self.codes = {form: codes for form, codes in forms.answers.items() if len(form) == 1}
        digits = [form for form in self.codes if form.isdigit()]
        numbered = "" if digits else _LIST_NUMBER
        self._number = re.compile("|".join(map(word_pattern, digits))) if digits else None
        self._leading = re.compile(_LEADING + numbered)
        signs = [char for form in self.codes for char in sorted({form, form.upper()[:1]})]
        written = re.escape("".join(signs))
        simple = re.escape("".join(char for char in signs if char.isascii()))
        self.lone = rf"(?m)^[^0-9A-Za-z\n]*[{simple}][^0-9A-Za-z\n]*$" if simple else ""
        blank = r"[^\w\n]*+(?:_[^\w\n]*+)*+"
        self._lone = re.compile(rf"(?m)^{blank}([{written}]){blank}$") if written else None

    def first_character(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The first character of a text's first line, after list markers and punctuation.

        Returns:
            The character, and the codes of the label that it stands for, if any.
        """
        line = text.lstrip().partition("\n")[0]
        first = line[:1]
        at = 0
        if first.isalnum() or first not in self.codes:  # a sign may be a choice itself
            at = self._leading.match(line).end()  # type: ignore[union-attr]
            first = line[at : at + 1] or first
            if line[at + 1 : at + 2].isalpha() and first.islower():
                return first, ()
        if first.isdigit() and not self._is_number(line, at):
            return first, ()
        return first, self.codes.get(fold(first), ())

    def lone_line(self, text: str) -> tuple[str, ...]:
        """The codes of the last choice that has a line to itself."""
        found = [
            match[1]
            for match in (self._lone.finditer(text) if self._lone else ())
            if not match[1].isdigit() or self._is_number(text, match.start(1))
        ]
        return self.codes[fold(found[-1])] if found else ()

    def _is_number(self, text: str, at: int) -> bool:
        """Whether a digit is a whole number and a choice: not the first digit of 10, 0.5 or 1-5."""
        start = max(0, at - _LOOK_BACK)
        near = text[start : at + 1] + _ZEROS.sub("", text[at + 1 : at + _LOOK_AHEAD])
        return self._number is not None and self._number.match(near, at - start) is not None


@lru_cache(maxsize=256)
def choices_of(forms: Forms) -> Choices:
    """The choices among some forms, cached."""
    return Choices(forms)
