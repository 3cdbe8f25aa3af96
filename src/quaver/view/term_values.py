"""What the values of a query's terms mean: numbers, labels, names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from quaver.errors import nearest
from quaver.view.query_language import QueryError, Term, Value
from quaver.view.query_scope import Scope

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    ":": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}
"""What an operator does with two numbers."""


class TermMaker:
    """Makes conditions of some fields; each field's method has its name.

    Args:
        scope: Where they are asked.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope, self.design = scope, scope.index.design
        self.size = len(self.design.meanings)

    def label_places(self, value: Value) -> list[int]:
        """The labels that a value means, as places in the label set."""
        labels = self.design.labels.labels
        wanted = value.text.lower()
        exact = [at for at, one in enumerate(labels) if one.code == value.text]
        found = exact or [
            at
            for at, one in enumerate(labels)
            for name in dict.fromkeys((one.code.lower(), one.name.lower()))
            if (name.startswith(wanted) if value.open else name == wanted)
        ]
        if not found:
            raise unknown(value.text, self.design.codes, "label", value.at)
        return found

    def found(self, texts: str, wanted: str) -> Any:
        """Which texts contain one, as far as the search has come."""
        search = self.scope.search(texts, wanted)
        self.scope.searches.append(search)
        if texts not in ("ids", "texts"):
            return search.found
        known = np.zeros(self.design.items, bool)
        known[: len(search.found)] = search.found[: len(known)]
        return known


def is_none(value: Value) -> bool:
    """Whether a value stands for what is not there."""
    return value.text == "none"


def number_in(term: Term) -> float:
    """The one number of a term; ``40%`` is 0.4."""
    value = term.values[0]
    text = value.text.removesuffix("%")
    try:
        if len(term.values) > 1:
            raise ValueError
        return float(text) / (100 if text != value.text else 1)
    except ValueError:
        raise QueryError(
            f"{term.field} is compared with one number", value.at, expected="a number", found=value.text
        ) from None


def one_of(value: Value, known: Sequence[str], field: str) -> str:
    """A value that must be one of some words."""
    if (wanted := value.text.lower()) not in known:
        raise unknown(value.text, known, f"value of {field}", value.at)
    return wanted


def fitting(value: Value, known: Mapping[str, list[str | None]], field: str) -> list[str | None]:
    """The names that a value means."""
    wanted = value.text.lower()
    forms = [form for form in known if (form.startswith(wanted) if value.open else form == wanted)]
    if not forms:
        raise unknown(value.text, known, field, value.at)
    return [name for form in forms for name in known[form]]


def unknown(text: str, known: Iterable[str], what: str, at: tuple[int, int]) -> QueryError:
    """The error of a name that is not known, with the nearest that is."""
    names = list(known)
    near = nearest(text, names)
    return QueryError(
        f"no {what} is named {text!r}",
        at,
        expected=", ".join(names[:12]) + (" …" if len(names) > 12 else ""),
        found=text,
        fix=f"did you mean {near!r}?" if near else None,
    )
