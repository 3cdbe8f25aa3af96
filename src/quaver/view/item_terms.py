"""The fields of a query that are about items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quaver.view.column_terms import ColumnTerms
from quaver.view.index_reader import Columns
from quaver.view.query_language import QueryError, Term, Value
from quaver.view.query_scope import Condition, either, negated, of_items
from quaver.view.term_values import COMPARED, TermMaker, is_none, number_in, one_of

IS_ITEM = ("flipped", "marked", "changed")
"""What an item can be."""

MARKS = ("agree", "disagree", "unclear", "none")
NUMBERS_OF_ITEMS = ("instability", "agreement", "accuracy", "labels", "valid")
"""The fields that are numbers of items."""


class ItemTerms(TermMaker):
    """Conditions on items."""

    def item(self, term: Term) -> Condition:
        """An item by its id, or items by the beginning of theirs."""
        known = np.zeros(self.design.items, bool)
        for value in term.values:
            if value.open:
                known |= self.found("ids", value.text)
            elif (place := self.scope.index.ids.find(value.text)) is not None:
                known[place] = True
        return of_items(known)

    def gold(self, term: Term) -> Condition:
        """Items by their gold label."""
        return of_items(np.isin(self.scope.index.gold, self._codes(term)))

    def modal(self, term: Term) -> Condition:
        """Items by their most frequent label."""
        return of_items(np.isin(self.scope.statistics.modal, self._codes(term)))

    def text(self, term: Term) -> Condition:
        """Items that contain a text."""
        if not self.design.has["texts"]:
            raise QueryError("the items' texts are not here", term.at)
        return either([of_items(self.found("texts", value.text)) for value in term.values])

    def instability(self, term: Term) -> Condition:
        """Items by how far their labels move."""
        return self._number(term, self.scope.statistics.instability)

    def agreement(self, term: Term) -> Condition:
        """Items by how far their labels agree."""
        return self._number(term, self.scope.statistics.agreement)

    def accuracy(self, term: Term) -> Condition:
        """Items by their share of right labels."""
        return self._number(term, self.scope.statistics.accuracy(self.scope.index.gold))

    def labels(self, term: Term) -> Condition:
        """Items by how many labels they have."""
        return self._number(term, self.scope.statistics.labels)

    def valid(self, term: Term) -> Condition:
        """Items by their share of answers with a label."""
        made = self.scope.statistics
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._number(term, (made.valid / made.answered).astype(np.float32))

    def flipped(self, term: Term) -> Condition:
        """Items whose label differs between two names."""
        parts = []
        for value in term.values:
            first, between, second = value.text.partition("~")
            parts.append(self._flips(first, second if between else None, value))
        return either(parts)

    def mark(self, term: Term) -> Condition:
        """Items by what somebody marked."""
        wanted = {one_of(value, MARKS, "mark") for value in term.values}
        found = self._marked_with("mark", lambda values: bool(wanted & set(values)))
        return either([found, negated(self._marked_with("mark", bool))]) if "none" in wanted else found

    def by(self, term: Term) -> Condition:
        """Items by who marked them."""
        wanted = {value.text.lower() for value in term.values}
        return self._marked_with("who", lambda values: any(one.lower() in wanted for one in values))

    def note(self, term: Term) -> Condition:
        """Items by a text in a note."""
        wanted = [value.text.lower() for value in term.values]
        return self._marked_with("note", lambda notes: any(w in n.lower() for w in wanted for n in notes))

    def marked(self, term: Term) -> Condition:
        """Items by the label of a mark."""
        wanted = {self.design.codes[at] for value in term.values for at in self.label_places(value)}
        return self._marked_with("label", lambda labels: bool(wanted & set(labels)))

    def state(self, name: str, value: Value) -> Condition:
        """Items that are what ``is`` names: one of ``IS_ITEM``."""
        if name == "flipped":
            return of_items(self.scope.statistics.labels > 1)
        if name == "marked":
            return self._marked_with("mark", lambda _: True)
        if self.scope.changed is None:
            raise QueryError("nobody has looked at this study before", value.at)
        return of_items(self.scope.changed)

    def _codes(self, term: Term) -> list[int]:
        codes: list[int] = []
        for value in term.values:
            codes += [0] if is_none(value) else [place + 1 for place in self.label_places(value)]
        return codes

    def _number(self, term: Term, known: Any) -> Condition:
        if is_none(term.values[0]):
            return of_items(np.isnan(known))
        number = known.dtype.type(number_in(term)) if known.dtype.kind == "f" else number_in(term)
        return of_items(COMPARED[term.op](known, number) & ~np.isnan(known))

    def _flips(self, first: str, second: str | None, value: Value) -> Condition:
        if second is None:
            other = self.scope.modal_in(first)
            one = self.scope.statistics.modal
            if other is None:
                one, other = self._modal_over(first, value), self._modal_over(self.design.prompts[0], value)
        else:
            one, other = self._modal_over(first, value), self._modal_over(second, value)
        return of_items((one != other) & (one > 0) & (other > 0))

    def _modal_over(self, name: str, value: Value) -> Any:
        places = np.intersect1d(ColumnTerms(self.scope).columns_of(name, value.at), self.scope.columns.places)
        return self.scope.statistics_of(Columns(places, False)).modal

    def _marked_with(self, kind: str, fits: Callable[[tuple[str, ...]], bool]) -> Condition:
        known = np.zeros(self.design.items, bool)
        known[[at for at, values in self.scope.marks.get(kind, {}).items() if fits(values)]] = True
        return of_items(known)
