"""``pattern``: a regular expression of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.core.table_text import composed
from quaver.errors import SpecError
from quaver.score.parsing.evaluator import Answer
from quaver.score.parsing.label_forms import Forms, bare, forms_of
from quaver.score.parsing.many_answers import in_columns
from quaver.score.parsing.readings import ambiguous, no_label, valid


class Pattern:
    """The label that a regular expression finds.

    What the expression's first group matches (all of it where it has no group), at the first place
    or at the last, must be a form of a label; quotes, brackets, emphasis and stops around it do
    not count.

    Args:
        pattern: In the syntax of Rust's ``regex``, which takes time linear in the answer's length
            whatever the expression. It is that of Python's ``re`` without look-around and
            references back: ``(?i)`` in front disregards case, ``(?s)`` lets ``.`` match line
            ends, ``(?m)`` makes ``^`` and ``$`` match at lines.
        place: ``"first"`` or ``"last"``.
    """

    def __init__(self, *, pattern: str, place: Literal["first", "last"] = "first") -> None:
        pattern = composed(pattern)  # as answers are, before they are read
        before = r"\A(?s:.*)" if place == "last" else ""
        self._pattern = f"{before}({pattern})"
        try:
            groups = pl.Series([""]).str.extract_groups(self._pattern).struct.fields
        except (pl.exceptions.PolarsError, UnicodeError) as error:
            raise SpecError(
                "the pattern is not a regular expression",
                where="evaluators: pattern: pattern",
                expected="the syntax of Rust's regex, without look-around and references back",
                found=str(error).partition("\n\nThis error")[0],
            ) from error
        self._group = min(2, len(groups))

    def reader(self, labels: LabelSet, variant: Variant) -> PatternReader:
        """Make the reader for one variant's answers."""
        return PatternReader(self._pattern, self._group, forms_of(labels, variant))


class PatternReader:
    """Reads answers with an expression, many at once, which is ten times as fast as one by one."""

    def __init__(self, pattern: str, group: int, forms: Forms) -> None:
        self._pattern = pattern
        self._group = group
        self._forms = forms

    def __call__(self, answer: Answer) -> Reading:
        """Read one answer."""
        return self.many([answer])[0]

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        """Read some answers."""
        if in_columns(answers):
            texts = answers.texts
        else:
            texts = pl.Series([answer.text for answer in answers], dtype=pl.String)
        known: dict[str | None, Reading] = {}
        found = texts.str.extract(self._pattern, self._group).to_list()
        for one in dict.fromkeys(found):
            known[one] = self._reading(one)
        return [*map(known.__getitem__, found)]

    def _reading(self, found: str | None) -> Reading:
        if found is None:
            return no_label("the pattern matches nowhere")
        codes = self._forms.whole(found.strip()) or self._forms.whole(bare(found))
        if len(codes) == 1:
            return valid(codes[0])
        return ambiguous(codes, "share the form") if codes else no_label("what matches is no label")
