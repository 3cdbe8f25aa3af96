"""What each field of a query means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quaver.view.answer_terms import IS_ANSWER, AnswerTerms
from quaver.view.column_terms import ColumnTerms
from quaver.view.item_terms import IS_ITEM, NUMBERS_OF_ITEMS, ItemTerms
from quaver.view.query_language import Both, Either, Negated, Query, QueryError, Term, Words
from quaver.view.query_scope import Condition, Scope, both, either, negated, of_items
from quaver.view.term_values import TermMaker, fitting, is_none, one_of, unknown

OF_ANSWERS = ("label", "status", "confidence", "answer", "thinking", "length", "evaluators")
OF_COLUMNS = ("model", "prompt", "decoding", "repeat")
OF_ITEMS = ("item", "gold", "text", "modal", *NUMBERS_OF_ITEMS, "flipped", "mark", "marked", "by", "note")
FIELDS = (*OF_ANSWERS[:-1], "is", *OF_COLUMNS, *OF_ITEMS, "evaluators")
"""The fields that every study has; factors and groups are fields besides."""


def condition_of(query: Query, scope: Scope) -> Condition:
    """What a query asks for.

    Raises:
        QueryError: It names a field or a value that there is not.
    """
    if isinstance(query, Both):
        return both([condition_of(part, scope) for part in query.parts])
    if isinstance(query, Either):
        return either([condition_of(part, scope) for part in query.parts])
    if isinstance(query, Negated):
        return negated(condition_of(query.part, scope))
    terms = Terms(scope)
    return terms.words(query) if isinstance(query, Words) else terms.term(query)


class Terms(TermMaker):
    """Makes conditions of terms, whatever they are about.

    Args:
        scope: Where they are asked.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self._answers, self._columns, self._items = AnswerTerms(scope), ColumnTerms(scope), ItemTerms(scope)

    def term(self, term: Term) -> Condition:
        """The condition of a term."""
        name = term.field.lower()
        made = self._made(name)
        if made is None:
            found = self._of_study(term)
        elif name in ("confidence", "length", "repeat", *NUMBERS_OF_ITEMS):
            return made(term)
        else:
            found = made(term)
        if term.op == "!=":
            return negated(found)
        if term.op not in (":", "="):
            raise QueryError(
                f"{term.field} is not a number", term.at, expected=f"{term.field}:VALUE", found=term.op
            )
        return found

    def _made(self, name: str) -> Callable[[Term], Condition] | None:
        """What makes the condition of a field that every study has."""
        if name == "is":
            return self._is
        makers: dict[TermMaker, Sequence[str]] = {
            self._answers: OF_ANSWERS,
            self._columns: OF_COLUMNS,
            self._items: OF_ITEMS,
        }
        found = next((maker for maker, fields in makers.items() if name in fields), None)
        return getattr(found, name) if found else None

    def words(self, words: Words) -> Condition:
        """Items or answers that contain a text."""
        items = [self.found("ids", words.text)]
        if self.design.has["texts"]:
            items.append(self.found("texts", words.text))
        parts = [of_items(one) for one in items]
        if self.design.has["answers"]:
            parts.append(self._answers.contains("answers", "text", words.text))
        return either(parts)

    def _is(self, term: Term) -> Condition:
        names = [one_of(value, (*IS_ANSWER, *IS_ITEM), "is") for value in term.values]
        return either(
            [
                self._items.state(name, value) if name in IS_ITEM else self._answers.state(name)
                for name, value in zip(names, term.values, strict=True)
            ]
        )

    def _of_study(self, term: Term) -> Condition:
        """A factor of the prompts, or a group of the items."""
        wanted = term.field.lower()
        variants = self.design.variants_by_id
        for name in dict.fromkeys(name for one in variants.values() for name in one.factors):
            if name.lower() == wanted:
                levels = [variants[one.prompt].factors.get(name) for one in self.design.columns]
                return self._columns.of_column(term, levels)
        for name, values in self.design.groups.items():
            if name.lower() == wanted:
                return of_items(np.isin(self.scope.index.groups[name], self._group_codes(term, values)))
        raise unknown(term.field, self.fields(), "field", (term.at[0], term.at[0] + len(term.field)))

    def _group_codes(self, term: Term, values: Sequence[str]) -> list[int]:
        codes: list[int] = []
        known: dict[str, list[str | None]] = {}
        for value in values:
            known.setdefault(value.lower(), []).append(value)
        for one in term.values:
            names = [None] if is_none(one) else fitting(one, known, term.field)
            codes += [0 if name is None else values.index(name) + 1 for name in names]
        return codes

    def columns_of(self, value: str, at: tuple[int, int]) -> Any:
        """The columns that a name means: of a prompt, a model, a decoding or a level of a factor."""
        return self._columns.columns_of(value, at)

    def fields(self) -> list[str]:
        """Every field that a query may name."""
        factors = dict.fromkeys(name for one in self.design.variants for name in one.factors)
        return [*FIELDS, *factors, *self.design.groups]
