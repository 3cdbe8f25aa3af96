"""Answers of one character: the choices that multiple-choice parsers look for."""

from __future__ import annotations

import re
from functools import lru_cache

from quaver.score.answer import fold
from quaver.score.forms import Forms

__all__ = ["Choices", "choices_of"]

_LEADING = r"[\W_]*"
_LIST_NUMBER = r"(?:\d{1,3}[.)]\s[\W_]*)?"


class Choices:
    """The answers of one character that a variant asks for.

    Attributes:
        codes: Label codes by choice, folded.
    """

    def __init__(self, forms: Forms) -> None:
        self.codes = {form: codes for form, codes in forms.answers.items() if len(form) == 1}
        numbered = "" if any(form.isdigit() for form in self.codes) else _LIST_NUMBER
        self._leading = re.compile(_LEADING + numbered)
        written = "".join(re.escape(char) for form in self.codes for char in {form, form.upper()[:1]})
        blank = r"[^\w\n]*+(?:_[^\w\n]*+)*+"
        self._lone = re.compile(rf"(?m)^{blank}([{written}]){blank}$") if written else None

    def first_character(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The first character of a text's first line, list marker and punctuation apart.

        Returns:
            The character, and the codes of the label that it is a choice of: none where it is none.
        """
        line = text.lstrip().partition("\n")[0]
        first = line[:1]
        if first.isalnum() or first not in self.codes:  # a sign may be a choice itself
            at = self._leading.match(line).end()  # type: ignore[union-attr]
            first = line[at : at + 1] or first
            if line[at + 1 : at + 2].isalpha() and first.islower():
                return first, ()
        return first, self.codes.get(fold(first), ())

    def lone_line(self, text: str) -> tuple[str, ...]:
        """The codes of the choice that has a line to itself, the last such line."""
        found = self._lone.findall(text) if self._lone else None
        return self.codes[fold(found[-1])] if found else ()


@lru_cache(maxsize=256)
def choices_of(forms: Forms) -> Choices:
    """The choices among some forms, made once."""
    return Choices(forms)
