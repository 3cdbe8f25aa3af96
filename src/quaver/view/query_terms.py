"""What a query asks for: its fields about answers, columns and items, and what their values mean.

The field ``no`` alone asks for what is absent: ``no:label``, ``no:gold``, ``no:side``. So a value is always a
name, whatever that name is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.number_format import short_name
from quaver.errors import nearest
from quaver.view.index_design import LOOPING, STATUSES, TRUNCATED, IndexDesign
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

NUMBERS_OF_ITEMS = ("instability", "agreement", "accuracy", "labels", "valid")
FIELDS = (
    *("label", "status", "confidence", "answer", "thinking", "length", "is", "no"),
    *("model", "prompt", "decoding", "repeat", "item", "gold", "text", "modal", *NUMBERS_OF_ITEMS),
    *("flipped", "mark", "marked", "by", "note", "evaluators"),
)
"""The fields that every study has."""

ANSWERED = ("valid", *(status for status in STATUSES if status != "tied"))
"""The statuses of answers."""

IS_ANSWER = (
    *("right", "wrong", "flip", "modal", "error", "valid", "unlabelled", "truncated", "looping", "answered"),
    *("missing", "original"),
)
"""What an answer can be."""

IS_ITEM = ("flipped", "marked", "changed")
"""What an item can be."""

MARKS = ("agree", "disagree", "unclear")
ABSENT = ("label", "gold", "modal", "mark", "confidence", *NUMBERS_OF_ITEMS)
"""The fields that may be absent; factors and groups may be too."""

_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    ":": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}


def own_fields(design: IndexDesign) -> dict[str, str]:
    """The fields that a study alone has, by name: ``factor`` or ``group``."""
    factors = dict.fromkeys(name for variant in design.variants for name in variant.factors)
    return dict.fromkeys(factors, "factor") | dict.fromkeys(design.groups, "group")


def condition_of(query: Query, scope: Scope) -> Condition:
    """What a query asks for."""
    if isinstance(query, Both):
        return both([condition_of(part, scope) for part in query.parts])
    if isinstance(query, Either):
        return either([condition_of(part, scope) for part in query.parts])
    if isinstance(query, Negated):
        return negated(condition_of(query.part, scope))
    terms = Terms(scope)
    return terms.words(query) if isinstance(query, Words) else terms.term(query)


class Terms:
    """Makes conditions of terms; the method of a field is called as the field is.

    Args:
        scope: Where they are asked.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope, self.design = scope, scope.index.design
        self.size = len(self.design.meanings)

    def fields(self) -> list[str]:
        """Every field that a query may name."""
        return [*FIELDS, *own_fields(self.design)]

    def term(self, term: Term) -> Condition:
        """The condition of a term."""
        name = term.field.lower()
        if name in NUMBERS_OF_ITEMS:
            return self._number_of_items(term)
        condition: Condition = getattr(self, f"_{name}")(term) if name in FIELDS else self._of_study(term)
        if name in ("confidence", "length", "repeat"):
            return condition
        if term.op == "!=":
            return negated(condition)
        if term.op not in (":", "="):
            raise QueryError(
                f"{term.field} is not a number", term.at, expected=f"{term.field}:VALUE", found=term.op
            )
        return condition

    def words(self, words: Words) -> Condition:
        """Items or answers that contain a text."""
        parts = [of_items(self._found("ids", words.text))]
        if self.design.has["texts"]:
            parts.append(of_items(self._found("texts", words.text)))
        if self.design.has["answers"]:
            parts.append(self._contains("answers", "text", words.text))
        return either(parts)

    def _is(self, term: Term) -> Condition:
        names = [_one_of(value, (*IS_ANSWER, *IS_ITEM), "is") for value in term.values]
        return either(
            [self._item_is(name, term) if name in IS_ITEM else self._answer_is(name) for name in names]
        )

    def _no(self, term: Term) -> Condition:
        """What is absent, by the name of its field."""
        return either([self._absent(value) for value in term.values])

    def _absent(self, value: Value) -> Condition:
        name = value.text.lower()
        if name == "label":
            return of_codes(range(len(self.design.codes) + 1, self.size), self.size)
        if name == "confidence":
            return of_cells(lambda block: self._confidences(block) == 0)
        if name == "gold":
            return of_items(self.scope.index.gold == 0)
        if name == "modal":
            return of_items(self.scope.statistics.modal == 0)
        if name == "mark":
            return negated(self._marked_with("mark", bool))
        if name in NUMBERS_OF_ITEMS:
            return of_items(np.isnan(self._numbers(name)))
        own = self._own(value.text)
        if own is None:
            known = [*ABSENT, *own_fields(self.design)]
            raise _unknown(value.text, known, "field that may be absent", value.at)
        kind, name = own
        if kind == "group":
            return of_items(self.scope.index.groups[name] == 0)
        return of_columns([level is None for level in self._levels(name)], self.scope)

    # ------------------------------------------------------------- factors and groups

    def _of_study(self, term: Term) -> Condition:
        """A factor of the prompts, or a group of the items."""
        own = self._own(term.field)
        if own is None:
            place = (term.at[0], term.at[0] + len(term.field))
            raise _unknown(term.field, self.fields(), "field", place)
        kind, name = own
        if kind == "factor":
            return self._of_column(term, self._levels(name))
        values = self.design.groups[name]
        wanted = _fitting(term, {value: [value] for value in values})
        codes = [code for code, value in enumerate(values, start=1) if value in wanted]
        return of_items(np.isin(self.scope.index.groups[name], codes))

    def _own(self, field: str) -> tuple[str, str] | None:
        """The factor or group that a field names: as it is written, or else in any case of letters."""
        known = own_fields(self.design)
        if field in known:
            return known[field], field
        return next(((kind, name) for name, kind in known.items() if name.lower() == field.lower()), None)

    def _levels(self, factor: str) -> list[str | None]:
        """The level of a factor in each column."""
        variants = self.design.variants_by_id
        return [variants[column.prompt].factors.get(factor) for column in self.design.columns]

    # ------------------------------------------------------------------------ answers

    def _label(self, term: Term) -> Condition:
        return of_codes(self._codes(term), self.size)

    def _codes(self, term: Term) -> list[int]:
        """The legend codes of the labels that a term names."""
        return [place + 1 for value in term.values for place in self._label_places(value)]

    def _label_places(self, value: Value) -> list[int]:
        """The labels that a value means: by code or, where no code is so, by code or name in any case."""
        labels = self.design.labels.labels
        exact = [place for place, label in enumerate(labels) if label.code == value.text and not value.open]
        if exact:
            return exact
        found = [
            place for place, one in enumerate(labels) if _fits(value, one.code) or _fits(value, one.name)
        ]
        if not found:
            raise _unknown(value.text, self.design.codes, "label", value.at)
        return found

    def _status(self, term: Term) -> Condition:
        wanted = {_one_of(value, (*ANSWERED, "missing"), "status") for value in term.values}
        codes = {code for code, (_, status) in enumerate(self.design.meanings) if status in wanted}
        return of_codes(codes, self.size)._replace(of_missing=0 in codes)

    def _confidence(self, term: Term) -> Condition:
        compared, number = _COMPARED[term.op], np.float32(_number_in(term))

        def holds(block: Block) -> Any:
            known = self._confidences(block)
            return compared(known - np.float32(1), number) & (known > 0)

        return of_cells(holds)

    def _confidences(self, block: Block) -> Any:
        """How sure the model was, and 1 more than that: 0 stands for none."""
        return block.plane(f"confidence-{self.scope.evaluator}", "float32")

    def _length(self, term: Term) -> Condition:
        compared, number = _COMPARED[term.op], _number_in(term)
        return of_cells(lambda block: compared(block.plane("length", "uint32"), number))

    def _answer(self, term: Term) -> Condition:
        return either([self._contains("answers", "text", value.text) for value in term.values])

    def _thinking(self, term: Term) -> Condition:
        return either([self._contains("thinking", "thought", value.text) for value in term.values])

    def _evaluators(self, term: Term) -> Condition:
        """Answers that another evaluator reads differently."""
        for value in term.values:
            _one_of(value, ("differ",), "evaluators")
        others = self.scope.other_evaluators

        def holds(block: Block) -> Any:
            found = np.zeros(block.codes.shape, bool)
            for evaluator in others:
                other = block.readings(evaluator)
                found |= (other != block.codes) & (other > 0)
            return found

        return of_cells(holds)

    def _contains(self, texts: str, plane: str, wanted: str) -> Condition:
        """Answers one of whose texts contains a text."""
        found = np.concatenate([[False], self._found(texts, wanted)])

        def holds(block: Block) -> Any:
            numbers = block.plane(plane, "uint32")
            return found[np.minimum(numbers, len(found) - 1)] & (numbers < len(found))

        return of_cells(holds)

    def _found(self, texts: str, wanted: str) -> Any:
        """Which texts contain one, as far as the search has come."""
        search = self.scope.search(texts, wanted)
        self.scope.searches.append(search)
        if texts not in ("ids", "texts"):
            return search.found
        known = np.zeros(self.design.items, bool)
        known[: len(search.found)] = search.found[: len(known)]
        return known

    def _answer_is(self, name: str) -> Condition:
        """Answers that are what ``is`` names: one of ``IS_ANSWER``."""
        labels, status = len(self.design.codes), self.design.status_code
        codes: dict[str, Iterable[int]] = {
            "error": [status("error")],
            "valid": [*range(1, labels + 1), status("tied")],
            "unlabelled": range(labels + 1, self.size),
            "answered": range(1, self.size),
            "missing": [0],
        }
        if name in codes:
            return of_codes(codes[name], self.size)._replace(of_missing=name == "missing")
        if name == "original":
            own = self.design.prompts[:1]
            return of_columns([column.prompt in own for column in self.design.columns], self.scope)
        tests: dict[str, Callable[[Block], Any]] = {
            "right": lambda block: (block.codes == block.gold) & (block.gold > 0),
            "wrong": lambda block: (block.codes != block.gold) & (block.gold > 0) & (block.codes > 0),
            "flip": lambda block: (block.codes != block.modal) & (block.codes > 0) & (block.codes <= labels),
            "modal": lambda block: (block.codes == block.modal) & (block.modal > 0),
            "truncated": lambda block: (block.plane("flags", "uint8") & TRUNCATED) > 0,
            "looping": lambda block: (block.plane("flags", "uint8") & LOOPING) > 0,
        }
        return of_cells(tests[name])

    # ------------------------------------------------------------------------ columns

    def _model(self, term: Term) -> Condition:
        return self._of_column(term, [column.model for column in self.design.columns])

    def _prompt(self, term: Term) -> Condition:
        return self._of_column(term, [column.prompt for column in self.design.columns], short_name)

    def _decoding(self, term: Term) -> Condition:
        return self._of_column(term, [column.decoding for column in self.design.columns])

    def _repeat(self, term: Term) -> Condition:
        compared = _COMPARED[term.op]
        numbers = [_number_in(replace(term, values=(value,))) for value in term.values]
        join = all if term.op == "!=" else any
        known = [join(compared(one.repeat, number) for number in numbers) for one in self.design.columns]
        return of_columns(known, self.scope)

    def _of_column(
        self, term: Term, names: Sequence[str | None], short: Callable[[str], str] = str
    ) -> Condition:
        """Columns by a name that each has; a short form of it may be given."""
        known: dict[str, list[str]] = {name: [name] for name in names if name is not None}
        for name in list(known):
            known.setdefault(short(name), []).append(name)
        wanted = _fitting(term, known)
        return of_columns([name in wanted for name in names], self.scope)

    def columns_of(self, value: str, at: tuple[int, int]) -> Any:
        """The columns that a name means: of a prompt, a model, a decoding or a level of a factor."""
        columns, wanted = self.design.columns, value.strip().lower()
        kinds = (
            [column.prompt for column in columns],
            [short_name(column.prompt) for column in columns],
            [column.model for column in columns],
            [column.decoding for column in columns],
        )
        for names in kinds:
            if any(name.lower() == wanted for name in names):
                return np.flatnonzero([name.lower() == wanted for name in names])
        levels = [self.design.variants_by_id[column.prompt].factors.values() for column in columns]
        found = [wanted in (level.lower() for level in some) for some in levels]
        if any(found):
            return np.flatnonzero(found)
        raise _unknown(value, dict.fromkeys([*kinds[1], *kinds[2]]), "prompt or model", at)

    # -------------------------------------------------------------------------- items

    def _item(self, term: Term) -> Condition:
        """An item by its id, or items by the beginning of theirs."""
        known = np.zeros(self.design.items, bool)
        for value in term.values:
            if value.open:
                known |= self._found("ids", value.text)
            elif (place := self.scope.index.ids.find(value.text)) is not None:
                known[place] = True
        return of_items(known)

    def _gold(self, term: Term) -> Condition:
        return of_items(np.isin(self.scope.index.gold, self._codes(term)))

    def _modal(self, term: Term) -> Condition:
        return of_items(np.isin(self.scope.statistics.modal, self._codes(term)))

    def _text(self, term: Term) -> Condition:
        if not self.design.has["texts"]:
            raise QueryError("the items' texts are not here", term.at)
        return either([of_items(self._found("texts", value.text)) for value in term.values])

    def _number_of_items(self, term: Term) -> Condition:
        known = self._numbers(term.field.lower())
        wanted = _number_in(term)
        number = known.dtype.type(wanted) if known.dtype.kind == "f" else wanted
        return of_items(_COMPARED[term.op](known, number) & ~np.isnan(known))

    def _numbers(self, name: str) -> Any:
        """A number of each item; not a number where it has none."""
        statistics = self.scope.statistics
        if name == "accuracy":
            return statistics.accuracy(self.scope.index.gold)
        if name == "valid":
            with np.errstate(invalid="ignore", divide="ignore"):
                return (statistics.valid / statistics.answered).astype(np.float32)
        return getattr(statistics, name)

    def _flipped(self, term: Term) -> Condition:
        """Items whose label differs between two names."""
        return either([self._flips(value) for value in term.values])

    def _flips(self, value: Value) -> Condition:
        first, between, second = value.text.partition("~")
        other = None if between else self.scope.modal_in(first)
        if other is not None:
            one = self.scope.statistics.modal
        else:
            one = self._modal_over(first, value)
            other = self._modal_over(second if between else self.design.prompts[0], value)
        return of_items((one != other) & (one > 0) & (other > 0))

    def _modal_over(self, name: str, value: Value) -> Any:
        places = np.intersect1d(self.columns_of(name, value.at), self.scope.columns.places)
        return self.scope.statistics_of(Columns(places, False)).modal

    def _mark(self, term: Term) -> Condition:
        wanted = {_one_of(value, MARKS, "mark") for value in term.values}
        return self._marked_with("mark", lambda kinds: bool(wanted & set(kinds)))

    def _by(self, term: Term) -> Condition:
        wanted = {value.text.lower() for value in term.values}
        return self._marked_with("who", lambda people: any(one.lower() in wanted for one in people))

    def _note(self, term: Term) -> Condition:
        wanted = [value.text.lower() for value in term.values]
        return self._marked_with("note", lambda notes: any(w in n.lower() for w in wanted for n in notes))

    def _marked(self, term: Term) -> Condition:
        wanted = {self.design.codes[code - 1] for code in self._codes(term)}
        return self._marked_with("label", lambda labels: bool(wanted & set(labels)))

    def _marked_with(self, kind: str, fits: Callable[[tuple[str, ...]], bool]) -> Condition:
        known = np.zeros(self.design.items, bool)
        known[[item for item, values in self.scope.marks.get(kind, {}).items() if fits(values)]] = True
        return of_items(known)

    def _item_is(self, name: str, term: Term) -> Condition:
        """Items that are what ``is`` names: one of ``IS_ITEM``."""
        if name == "flipped":
            return of_items(self.scope.statistics.labels > 1)
        if name == "marked":
            return self._marked_with("mark", bool)
        if self.scope.changed is None:
            raise QueryError("nobody has looked at this study before", term.at)
        return of_items(self.scope.changed)


def _number_in(term: Term) -> float:
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


def _one_of(value: Value, known: Sequence[str], field: str) -> str:
    """A value that must be one of some words."""
    if (wanted := value.text.lower()) not in known:
        raise _unknown(value.text, known, f"value of {field}", value.at)
    return wanted


def _fits(value: Value, name: str) -> bool:
    wanted, plain = value.text.lower(), name.lower()
    return plain.startswith(wanted) if value.open else plain == wanted


def _fitting(term: Term, known: Mapping[str, list[str]]) -> set[str]:
    """The names that a term's values mean, by their forms: the form as it is, or else in any case."""
    wanted: set[str] = set()
    for value in term.values:
        if value.text in known and not value.open:
            wanted.update(known[value.text])
            continue
        forms = [form for form in known if _fits(value, form)]
        if not forms:
            raise _unknown(value.text, known, term.field, value.at)
        for form in forms:
            wanted.update(known[form])
    return wanted


def _unknown(text: str, known: Iterable[str], what: str, at: tuple[int, int]) -> QueryError:
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
