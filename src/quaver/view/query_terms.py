"""What each field of a query means."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.level_names import short_name
from quaver.errors import nearest
from quaver.view.index_design import LOOPING, STATUSES, TRUNCATED
from quaver.view.index_reader import Columns
from quaver.view.query_language import Both, Either, Negated, Query, QueryError, Term, Value, Words
from quaver.view.query_scope import (
    Block,
    Condition,
    Scope,
    both,
    either,
    negated,
    of_cells,
    of_codes,
    of_columns,
    of_items,
)

_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    ":": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}
ANSWERED = ("valid", *(one for one in STATUSES if one != "tied"))
"""The statuses of answers."""

IS_ANSWER = (
    *("right", "wrong", "flip", "modal", "error", "valid", "unlabelled", "truncated", "looping", "answered"),
    *("missing", "original"),
)
IS_ITEM = ("flipped", "marked", "changed")
MARKS = ("agree", "disagree", "unclear", "none")
NUMBERS_OF_ITEMS = ("instability", "agreement", "accuracy", "labels", "valid")
FIELDS = (
    *("label", "status", "confidence", "answer", "thinking", "length", "is", "model", "prompt", "decoding"),
    *(
        "repeat",
        "item",
        "gold",
        "text",
        "modal",
        *NUMBERS_OF_ITEMS,
        "flipped",
        "mark",
        "marked",
        "by",
        "note",
    ),
    "evaluators",
)
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


class Terms:
    """Makes conditions of terms.

    Args:
        scope: Where they are asked.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._design = scope, scope.index.design
        self._size = len(self._design.meanings)

    def term(self, term: Term) -> Condition:
        """The condition of a term."""
        name = term.field.lower()
        made = getattr(self, f"_{name}", None) if name in FIELDS else None
        if made is None:
            found = self._of_study(term)
        elif name in ("confidence", "length", "repeat", *NUMBERS_OF_ITEMS):
            return made(term)  # type: ignore[no-any-return]
        else:
            found = made(term)
        if term.op == "!=":
            return negated(found)
        if term.op not in (":", "="):
            raise QueryError(
                f"{term.field} is not a number", term.at, expected=f"{term.field}:VALUE", found=term.op
            )
        return found

    def words(self, words: Words) -> Condition:
        """Items or answers that contain a text."""
        items = [self._found("ids", words.text)]
        if self._design.has["texts"]:
            items.append(self._found("texts", words.text))
        parts = [of_items(one) for one in items]
        if self._design.has["answers"]:
            parts.append(self._contains("answers", "text", words.text))
        return either(parts)

    # ----------------------------------------------------------------------- answers

    def _label(self, term: Term) -> Condition:
        codes: set[int] = set()
        for value in term.values:
            if _is_none(value):
                codes.update(range(len(self._design.codes) + 1, self._size))
            else:
                codes.update(place + 1 for place in self._label_places(value))
        return of_codes(codes, self._size)

    def _status(self, term: Term) -> Condition:
        codes: set[int] = set()
        for value in term.values:
            wanted = _one_of(value, (*ANSWERED, "missing"), "status")
            codes.update(code for code, (_, status) in enumerate(self._design.meanings) if status == wanted)
        found = of_codes(codes, self._size)
        return found._replace(of_missing=0 in codes)

    def _confidence(self, term: Term) -> Condition:
        name = f"confidence-{self._scope.evaluator}"
        if _is_none(term.values[0]):
            return of_cells(lambda block: block.plane(name, "float32") == 0)
        compared, number = _COMPARED[term.op], np.float32(_number(term))

        def holds(block: Block) -> Any:
            known = block.plane(name, "float32")  # 1 more than it is, since 0 stands for none
            return compared(known - np.float32(1), number) & (known > 0)

        return of_cells(holds)

    def _length(self, term: Term) -> Condition:
        compared, number = _COMPARED[term.op], _number(term)
        return of_cells(lambda block: compared(block.plane("length", "uint32"), number))

    def _answer(self, term: Term) -> Condition:
        return either([self._contains("answers", "text", value.text) for value in term.values])

    def _thinking(self, term: Term) -> Condition:
        return either([self._contains("thinking", "thought", value.text) for value in term.values])

    def _contains(self, texts: str, plane: str, wanted: str) -> Condition:
        found = np.concatenate([[False], self._found(texts, wanted)])

        def holds(block: Block) -> Any:
            numbers = block.plane(plane, "uint32")
            return found[np.minimum(numbers, len(found) - 1)] & (numbers < len(found))

        return of_cells(holds)

    def _is(self, term: Term) -> Condition:
        made = []
        for value in term.values:
            name = _one_of(value, (*IS_ANSWER, *IS_ITEM), "is")
            made.append(self._is_one(name, value))
        return either(made)

    def _is_one(self, name: str, value: Value) -> Condition:
        if name in IS_ITEM:
            return self._is_item(name, value)
        labels, status = len(self._design.codes), self._design.status_code
        codes: dict[str, Iterable[int]] = {
            "error": [status("error")],
            "valid": [*range(1, labels + 1), status("tied")],
            "unlabelled": range(labels + 1, self._size),
            "answered": range(1, self._size),
            "missing": [0],
        }
        if name in codes:
            return of_codes(codes[name], self._size)._replace(of_missing=name == "missing")
        tests: dict[str, Callable[[Block], Any]] = {
            "right": lambda block: (block.codes == block.gold) & (block.gold > 0),
            "wrong": lambda block: (block.codes != block.gold) & (block.gold > 0) & (block.codes > 0),
            "flip": lambda block: (block.codes != block.modal) & _labelled(block.codes, labels),
            "modal": lambda block: (block.codes == block.modal) & (block.modal > 0),
            "truncated": lambda block: (block.plane("flags", "uint8") & TRUNCATED) > 0,
            "looping": lambda block: (block.plane("flags", "uint8") & LOOPING) > 0,
        }
        if name == "original":
            own = self._design.prompts[:1]
            return of_columns([one.prompt in own for one in self._design.columns], self._scope)
        return of_cells(tests[name])

    def _evaluators(self, term: Term) -> Condition:
        for value in term.values:
            _one_of(value, ("differ",), "evaluators")
        others = self._scope.other_evaluators

        def holds(block: Block) -> Any:
            found = np.zeros(block.codes.shape, bool)
            for at in others:
                other = block.readings(at)
                found |= (other != block.codes) & (other > 0)
            return found

        return of_cells(holds)

    # ----------------------------------------------------------------------- columns

    def _model(self, term: Term) -> Condition:
        return self._of_column(term, [one.model for one in self._design.columns])

    def _prompt(self, term: Term) -> Condition:
        return self._of_column(term, [one.prompt for one in self._design.columns], short_name)

    def _decoding(self, term: Term) -> Condition:
        return self._of_column(term, [one.decoding for one in self._design.columns])

    def _repeat(self, term: Term) -> Condition:
        compared = _COMPARED[term.op]
        numbers = [_number(replace(term, values=(value,))) for value in term.values]
        join = all if term.op == "!=" else any
        known = [join(compared(one.repeat, number) for number in numbers) for one in self._design.columns]
        return of_columns(known, self._scope)

    def _of_column(
        self, term: Term, names: Sequence[str | None], short: Callable[[str], str] = str
    ) -> Condition:
        known: dict[str, list[str | None]] = {}
        for name in dict.fromkeys(names):
            for form in () if name is None else dict.fromkeys((name, short(name))):
                known.setdefault(form.lower(), []).append(name)
        wanted: set[str | None] = set()
        for value in term.values:
            wanted.update([None] if _is_none(value) else _fitting(value, known, term.field))
        return of_columns([name in wanted for name in names], self._scope)

    def columns_of(self, value: str, at: tuple[int, int]) -> Any:
        """The columns that a name means: of a prompt, a model, a decoding or a level of a factor."""
        design, wanted = self._design, value.strip().lower()
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
        raise _unknown(value, known, "prompt or model", at)

    # ------------------------------------------------------------------------- items

    def _item(self, term: Term) -> Condition:
        known = np.zeros(self._design.items, bool)
        for value in term.values:
            if value.open:
                known |= self._found("ids", value.text)
            elif (place := self._scope.index.ids.find(value.text)) is not None:
                known[place] = True
        return of_items(known)

    def _gold(self, term: Term) -> Condition:
        return of_items(np.isin(self._scope.index.gold, self._codes(term)))

    def _modal(self, term: Term) -> Condition:
        return of_items(np.isin(self._scope.statistics.modal, self._codes(term)))

    def _codes(self, term: Term) -> list[int]:
        codes: list[int] = []
        for value in term.values:
            codes += [0] if _is_none(value) else [place + 1 for place in self._label_places(value)]
        return codes

    def _text(self, term: Term) -> Condition:
        if not self._design.has["texts"]:
            raise QueryError("the items' texts are not here", term.at)
        return either([of_items(self._found("texts", value.text)) for value in term.values])

    def _instability(self, term: Term) -> Condition:
        return self._number(term, self._scope.statistics.instability)

    def _agreement(self, term: Term) -> Condition:
        return self._number(term, self._scope.statistics.agreement)

    def _accuracy(self, term: Term) -> Condition:
        return self._number(term, self._scope.statistics.accuracy(self._scope.index.gold))

    def _labels(self, term: Term) -> Condition:
        return self._number(term, self._scope.statistics.labels)

    def _valid(self, term: Term) -> Condition:
        made = self._scope.statistics
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._number(term, (made.valid / made.answered).astype(np.float32))

    def _number(self, term: Term, known: Any) -> Condition:
        if _is_none(term.values[0]):
            return of_items(np.isnan(known))
        number = known.dtype.type(_number(term)) if known.dtype.kind == "f" else _number(term)
        return of_items(_COMPARED[term.op](known, number) & ~np.isnan(known))

    def _flipped(self, term: Term) -> Condition:
        parts = []
        for value in term.values:
            first, between, second = value.text.partition("~")
            parts.append(self._flips(first, second if between else None, value))
        return either(parts)

    def _flips(self, first: str, second: str | None, value: Value) -> Condition:
        if second is None:
            other = self._scope.modal_in(first)
            one = self._scope.statistics.modal
            if other is None:
                one, other = self._modal_over(first, value), self._modal_over(self._design.prompts[0], value)
        else:
            one, other = self._modal_over(first, value), self._modal_over(second, value)
        return of_items((one != other) & (one > 0) & (other > 0))

    def _modal_over(self, name: str, value: Value) -> Any:
        places = np.intersect1d(self.columns_of(name, value.at), self._scope.columns.places)
        return self._scope.statistics_of(Columns(places, False)).modal

    def _is_item(self, name: str, value: Value) -> Condition:
        if name == "flipped":
            return of_items(self._scope.statistics.labels > 1)
        if name == "marked":
            return self._marked_with("mark", lambda _: True)
        if self._scope.changed is None:
            raise QueryError("nobody has looked at this study before", value.at)
        return of_items(self._scope.changed)

    def _mark(self, term: Term) -> Condition:
        wanted = {_one_of(value, MARKS, "mark") for value in term.values}
        found = self._marked_with("mark", lambda values: bool(wanted & set(values)))
        return either([found, negated(self._marked_with("mark", bool))]) if "none" in wanted else found

    def _by(self, term: Term) -> Condition:
        wanted = {value.text.lower() for value in term.values}
        return self._marked_with("who", lambda values: any(one.lower() in wanted for one in values))

    def _note(self, term: Term) -> Condition:
        wanted = [value.text.lower() for value in term.values]
        return self._marked_with("note", lambda notes: any(w in n.lower() for w in wanted for n in notes))

    def _marked(self, term: Term) -> Condition:
        wanted = {self._design.codes[at] for value in term.values for at in self._label_places(value)}
        return self._marked_with("label", lambda labels: bool(wanted & set(labels)))

    def _marked_with(self, kind: str, fits: Callable[[tuple[str, ...]], bool]) -> Condition:
        known = np.zeros(self._design.items, bool)
        known[[at for at, values in self._scope.marks.get(kind, {}).items() if fits(values)]] = True
        return of_items(known)

    # ----------------------------------------------------------------- factors, groups

    def _of_study(self, term: Term) -> Condition:
        """A factor of the prompts, or a group of the items."""
        wanted = term.field.lower()
        variants = self._design.variants_by_id
        for name in dict.fromkeys(name for one in variants.values() for name in one.factors):
            if name.lower() == wanted:
                levels = [variants[one.prompt].factors.get(name) for one in self._design.columns]
                return self._of_column(term, levels)
        for name, values in self._design.groups.items():
            if name.lower() == wanted:
                return of_items(np.isin(self._scope.index.groups[name], self._group_codes(term, values)))
        raise _unknown(term.field, self.fields(), "field", (term.at[0], term.at[0] + len(term.field)))

    def _group_codes(self, term: Term, values: Sequence[str]) -> list[int]:
        codes: list[int] = []
        known: dict[str, list[str | None]] = {}
        for value in values:
            known.setdefault(value.lower(), []).append(value)
        for one in term.values:
            fitting = [None] if _is_none(one) else _fitting(one, known, term.field)
            codes += [0 if name is None else values.index(name) + 1 for name in fitting]
        return codes

    def fields(self) -> list[str]:
        """Every field that a query may name."""
        factors = dict.fromkeys(name for one in self._design.variants for name in one.factors)
        return [*FIELDS, *factors, *self._design.groups]

    # ------------------------------------------------------------------------- shared

    def _label_places(self, value: Value) -> list[int]:
        labels = self._design.labels.labels
        wanted = value.text.lower()
        exact = [at for at, one in enumerate(labels) if one.code == value.text]
        found = exact or [
            at
            for at, one in enumerate(labels)
            for name in dict.fromkeys((one.code.lower(), one.name.lower()))
            if (name.startswith(wanted) if value.open else name == wanted)
        ]
        if not found:
            raise _unknown(value.text, self._design.codes, "label", value.at)
        return found

    def _found(self, texts: str, wanted: str) -> Any:
        """Which texts contain one, as far as the search has come."""
        search = self._scope.search(texts, wanted)
        self._scope.searches.append(search)
        if texts not in ("ids", "texts"):
            return search.found
        known = np.zeros(self._design.items, bool)
        known[: len(search.found)] = search.found[: len(known)]
        return known


def _labelled(codes: Any, labels: int) -> Any:
    return (codes > 0) & (codes <= labels)


def _like(columns: Sequence[Any], place: int, wanted: str) -> Any:
    """The columns that have a name in one place: prompt, its short name, model, decoding."""
    names = [(one.prompt, short_name(one.prompt), one.model, one.decoding)[place] for one in columns]
    return np.flatnonzero([name.lower() == wanted for name in names])


def _is_none(value: Value) -> bool:
    return value.text == "none"


def _number(term: Term) -> float:
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


def _one_of(value: Value, known: Sequence[str], field: str) -> str:
    if (wanted := value.text.lower()) not in known:
        raise _unknown(value.text, known, f"value of {field}", value.at)
    return wanted


def _fitting(value: Value, known: Mapping[str, list[str | None]], field: str) -> list[str | None]:
    """The names that a value means."""
    wanted = value.text.lower()
    forms = [form for form in known if (form.startswith(wanted) if value.open else form == wanted)]
    if not forms:
        raise _unknown(value.text, known, field, value.at)
    return [name for form in forms for name in known[form]]


def _unknown(text: str, known: Iterable[str], what: str, at: tuple[int, int]) -> QueryError:
    names = list(known)
    near = nearest(text, names)
    return QueryError(
        f"no {what} is named {text!r}",
        at,
        expected=", ".join(names[:12]) + (" …" if len(names) > 12 else ""),
        found=text,
        fix=f"did you mean {near!r}?" if near else None,
    )
