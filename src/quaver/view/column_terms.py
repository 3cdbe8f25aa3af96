"""The fields of a query that are about columns: where an answer comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.number_format import short_name
from quaver.view.query_language import Term
from quaver.view.query_scope import Condition, of_columns
from quaver.view.term_values import COMPARED, TermMaker, fitting, is_none, number_in, unknown


class ColumnTerms(TermMaker):
    """Conditions on columns."""

    def model(self, term: Term) -> Condition:
        """Answers of a model."""
        return self.of_column(term, [one.model for one in self.design.columns])

    def prompt(self, term: Term) -> Condition:
        """Answers under a prompt."""
        return self.of_column(term, [one.prompt for one in self.design.columns], short_name)

    def decoding(self, term: Term) -> Condition:
        """Answers of a decoding."""
        return self.of_column(term, [one.decoding for one in self.design.columns])

    def repeat(self, term: Term) -> Condition:
        """Answers by the number of their repeat."""
        compared = COMPARED[term.op]
        numbers = [number_in(replace(term, values=(value,))) for value in term.values]
        join = all if term.op == "!=" else any
        known = [join(compared(one.repeat, number) for number in numbers) for one in self.design.columns]
        return of_columns(known, self.scope)

    def of_column(
        self, term: Term, names: Sequence[str | None], short: Callable[[str], str] = str
    ) -> Condition:
        """Columns by a name that each has; a short form of it may be given."""
        known: dict[str, list[str | None]] = {}
        for name in dict.fromkeys(names):
            for form in () if name is None else dict.fromkeys((name, short(name))):
                known.setdefault(form.lower(), []).append(name)
        wanted: set[str | None] = set()
        for value in term.values:
            wanted.update([None] if is_none(value) else fitting(value, known, term.field))
        return of_columns([name in wanted for name in names], self.scope)

    def columns_of(self, value: str, at: tuple[int, int]) -> Any:
        """The columns that a name means: of a prompt, a model, a decoding or a level of a factor."""
        design, wanted = self.design, value.strip().lower()
        for one in design.columns:
            names = (one.prompt, short_name(one.prompt), one.model, one.decoding)
            for place, name in enumerate(names):
                if name.lower() == wanted:
                    return _like(design.columns, place, wanted)
        levels = [
            wanted in (level.lower() for level in design.variants_by_id[one.prompt].factors.values())
            for one in design.columns
        ]
        if any(levels):
            return np.flatnonzero(levels)
        known = dict.fromkeys(n for one in design.columns for n in (short_name(one.prompt), one.model))
        raise unknown(value, known, "prompt or model", at)


def _like(columns: Sequence[Any], place: int, wanted: str) -> Any:
    """The columns that have a name in one place: prompt, its short name, model, decoding."""
    names = [(one.prompt, short_name(one.prompt), one.model, one.decoding)[place] for one in columns]
    return np.flatnonzero([name.lower() == wanted for name in names])
