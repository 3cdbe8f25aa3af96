"""The fields that a query may name: what each is about, the values it may have, and what is absent.

The field ``no`` alone asks for what is absent: ``no:label``, ``no:gold``, ``no:side``. So a value is always a
name, whatever that name is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quaver.core.number_format import short_name
from quaver.study.sources.gold_files import gold_beside
from quaver.view.query_language import Both, Either, Negated, Query, QueryError, Term, Value, Words
from quaver.view.query_scope import (
    Block,
    Coded,
    Condition,
    Level,
    Scope,
    both,
    either,
    fitting,
    negated,
    of_cells,
    unknown_in,
    where,
)
from quaver.view.study_index import LOOPING, STATUSES, TRUNCATED

NUMBERS_OF_ITEMS = ("instability", "agreement", "accuracy", "labels", "valid")
FIELDS = {
    "label": "the label that was read",
    "status": "whether the answer has a label, and why not",
    "confidence": "how sure the model was, from 0 to 1",
    "answer": "a text in the answer",
    "thinking": "a text in the thinking",
    "length": "characters of the answer",
    "is": "right, wrong, flip, unlabelled, …",
    "no": "what is absent: label, gold, mark, …",
    "model": "the model that answered",
    "prompt": "the prompt that was sent",
    "decoding": "how the answer was drawn",
    "repeat": "which time it was asked, from 0",
    "item": "the item's id",
    "gold": "the item's gold label",
    "text": "a text in the item",
    "modal": "the item's most frequent label",
    "instability": "share of the item's labels that differ from the most frequent one",
    "agreement": "share of the item's labels that are the most frequent one",
    "accuracy": "share of the item's answers that are right",
    "labels": "how many labels the item got",
    "valid": "share of the item's answers with a label",
    "flipped": 'the label differs between A and B: flipped:"A~B"',
    "mark": "agree, disagree or unclear",
    "marked": "the label that somebody gave",
    "by": "who marked it",
    "note": "a text in a note",
    "evaluators": "differ: not all ways of reading the answer give this label",
}
"""The fields that every study has, and what they mean."""

_ABSENT = ("label", "gold", "modal", "mark", "confidence", *NUMBERS_OF_ITEMS)
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


class Option(NamedTuple):
    """A value that a query may name, as the page shows it, and how many items have it where that is known."""

    text: str
    shown: str
    means: str | None = None
    n: int | None = None


@dataclass(frozen=True)
class Field:
    """A field of one study: what its terms mean, its values as far as they can be listed, what has none."""

    condition: Callable[[Term], Condition]
    options: Sequence[Option] = ()
    absent: Condition | None = None
    coded: Coded | None = None
    is_number: bool = False


def condition_of(query: Query, scope: Scope) -> Condition:
    """What a query asks for."""
    if isinstance(query, Both):
        return both([condition_of(part, scope) for part in query.parts])
    if isinstance(query, Either):
        return either([condition_of(part, scope) for part in query.parts])
    if isinstance(query, Negated):
        return negated(condition_of(query.part, scope))
    fields = Fields(scope)
    return fields.words(query) if isinstance(query, Words) else fields.term(query)


class Fields:
    """The fields of a study; the method that makes a field is called as the field is."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.index, self.design = scope, scope.index, scope.index.design
        variants = self.design.variants
        self._factors = list(dict.fromkeys(name for variant in variants for name in variant.factors))

    def names(self) -> list[str]:
        """Every field that a query may name."""
        return [*FIELDS, *dict.fromkeys([*self._factors, *self.design.groups])]

    def get(self, name: str) -> Field | None:
        """A field; a factor or group as it is written, or else in any case of letters."""
        common = name.lower()
        if common in NUMBERS_OF_ITEMS:
            return self._of_items(common)
        if common in FIELDS:
            field: Field = getattr(self, f"_{common}")()
            return field
        own = [*self.design.groups, *self._factors]
        if name not in own:
            name = next((one for one in own if one.lower() == common), "")
        if name in self.design.groups:
            return self.group(name)
        return self._factor(name) if name in self._factors else None

    def term(self, term: Term) -> Condition:
        """The condition of a term."""
        field = self.get(term.field)
        if field is None:
            place = (term.at[0], term.at[0] + len(term.field))
            raise unknown_in(term.field, self.names(), "field", place)
        if field.is_number:
            return field.condition(term)
        if term.op not in (":", "=", "!="):
            expected = f"{term.field}:VALUE"
            raise QueryError(f"{term.field} is not a number", term.at, expected=expected, found=term.op)
        condition = field.condition(term)
        return negated(condition) if term.op == "!=" else condition

    def _where(self, level: Level, known: Any) -> Condition:
        return where(level, known, self.scope)

    def words(self, words: Words) -> Condition:
        """Items or answers that contain a text."""
        parts = [self._where("item", self._found("ids", words.text))]
        if self.design.has["texts"]:
            parts.append(self._where("item", self._found("texts", words.text)))
        if self.design.has["answers"]:
            parts.append(self._contains("answers", "text", words.text))
        return either(parts)

    def group(self, name: str) -> Field:
        """A group of the items."""
        values = self.design.groups[name]
        forms = {value: [code] for code, value in enumerate(values, start=1)}
        return self._coded(Coded("item", self.index.groups[name], values, forms))

    def _factor(self, name: str) -> Field:
        variants = self.design.variants_by_id
        return self._of_columns([variants[column.prompt].factors.get(name) for column in self.design.columns])

    def _label(self) -> Field:
        labels = len(self.design.codes)
        legend = np.arange(len(self.design.meanings))
        return self._coded(self._of_labels("cell", np.where(legend <= labels, legend, 0)))

    def _gold(self) -> Field:
        return self._coded(self._of_labels("item", self.index.gold))

    def _modal(self) -> Field:
        return self._coded(self._of_labels("item", self.scope.statistics.modal))

    def _status(self) -> Field:
        names = ["valid", *(status for status in STATUSES if status != "tied"), "missing"]
        codes = np.array([1 + names.index(status) for _, status in self.design.meanings])
        forms = {name: [code] for code, name in enumerate(names, start=1)}
        return self._coded(Coded("cell", codes, names, forms))

    def _model(self) -> Field:
        return self._of_columns([column.model for column in self.design.columns])

    def _prompt(self) -> Field:
        field = self._of_columns([column.prompt for column in self.design.columns], short_name)
        options = [Option(name, short_name(name), name) for name in self.design.prompts]
        return replace(field, options=options)

    def _decoding(self) -> Field:
        return self._of_columns([column.decoding for column in self.design.columns])

    def _repeat(self) -> Field:
        repeats = [column.repeat for column in self.design.columns]
        shown = np.array(repeats)[self.scope.columns][None, :]
        number = self._number("column", lambda block: shown)
        return replace(number, coded=self._of_columns([str(repeat) for repeat in repeats]).coded)

    def _of_labels(self, level: Level, codes: Any) -> Coded:
        """Labels, which a query names by code or, where no code is so, by name."""
        labels = self.design.labels.labels
        forms = {label.code: [code] for code, label in enumerate(labels, start=1)}
        for code, label in enumerate(labels, start=1):
            if label.name not in self.design.codes:
                forms.setdefault(label.name, []).append(code)
        titles = {label.code: label.name for label in labels if label.name != label.code}
        return Coded(level, codes, self.design.codes, forms, titles)

    def _of_columns(self, values: Sequence[str | None], short: Callable[[str], str] = str) -> Field:
        """What each column has one of; a short form of it may be given."""
        names = list(dict.fromkeys(value for value in values if value is not None))
        places = {name: code for code, name in enumerate(names, start=1)}
        codes = np.array([0 if value is None else places[value] for value in values])
        forms = {name: [code] for name, code in places.items()}
        for name, code in places.items():
            forms.setdefault(short(name), []).append(code)
        return self._coded(Coded("column", codes, names, forms))

    def _coded(self, coded: Coded) -> Field:
        def condition(term: Term) -> Condition:
            wanted = {code for value in term.values for code in fitting(value, coded.forms, term.field)}
            return self._where(coded.level, np.isin(coded.codes, list(wanted)))

        absent = np.asarray(coded.codes == 0)
        if coded.level == "cell":
            absent[0] = False  # a call that is not answered is not one without a label
        return Field(condition, self._options(coded), self._where(coded.level, absent), coded)

    def _options(self, coded: Coded) -> list[Option]:
        counts: Any = None
        if coded.level == "item":
            counts = np.bincount(coded.codes, minlength=len(coded.names) + 1)
        options = []
        for code, name in enumerate(coded.names, start=1):
            n = None if counts is None else int(counts[code])
            options.append(Option(name, name or '""', coded.titles.get(name), n))
        return options

    def _confidence(self) -> Field:
        def values(block: Block) -> Any:
            kept = block.plane(f"confidence-{self.scope.evaluator}", "float32")  # 1 more than it is; 0: none
            return np.where(kept > 0, kept - np.float32(1), np.float32(np.nan))

        return self._number("cell", values)

    def _length(self) -> Field:
        return self._number("cell", lambda block: block.plane("length", "uint32"))

    def _of_items(self, name: str) -> Field:
        statistics = self.scope.statistics
        if name == "accuracy":
            numbers = statistics.accuracy(self.index.gold)
        else:
            numbers = getattr(statistics, "valid_share" if name == "valid" else name)
        return self._number("item", lambda block: numbers[block.rows][:, None])

    def _number(self, level: Level, values: Callable[[Block], Any]) -> Field:
        """A field of numbers, which are NaN where there is none."""

        def condition(term: Term) -> Condition:
            compared = _COMPARED[term.op]
            numbers = [_number_in(value, term.field) for value in term.values]
            join = np.logical_and if term.op == "!=" else np.logical_or

            def holds(block: Block) -> Any:
                known = values(block)
                return join.reduce([compared(known, number) for number in numbers]) & ~np.isnan(known)

            return Condition(level, holds)

        absent = Condition(level, lambda block: np.isnan(values(block)))
        return Field(condition, absent=absent, is_number=True)

    def _each(self, found: Callable[[Value], Condition], options: Sequence[Option] = ()) -> Field:
        """A field whose values each make a condition, of which one must hold."""
        return Field(lambda term: either([found(value) for value in term.values]), options)

    def _choice(self, field: str, choices: Mapping[str, Callable[[Value], Condition]]) -> Field:
        """A field whose values are words, each with a condition of its own."""

        def found(value: Value) -> Condition:
            if (name := value.text.lower()) not in choices:
                raise unknown_in(value.text, choices, f"value of {field}", value.at)
            return choices[name](value)

        return self._each(found, [Option(name, name) for name in choices])

    def _is(self) -> Field:
        labels, size, status = len(self.design.codes), len(self.design.meanings), self.design.status_code

        def codes(*wanted: int) -> Callable[[Value], Condition]:
            return lambda _: self._where("cell", np.isin(np.arange(size), wanted))

        def answers(holds: Callable[[Block], Any]) -> Callable[[Value], Condition]:
            return lambda _: of_cells(holds)

        def has_flag(flag: int) -> Callable[[Value], Condition]:
            return answers(lambda block: (block.plane("flags", "uint8") & flag) > 0)

        def is_wrong(block: Block) -> Any:
            return (block.codes != block.gold) & (block.gold > 0) & (block.codes > 0)

        def is_flip(block: Block) -> Any:
            return (block.codes != block.modal) & (block.codes > 0) & (block.codes <= labels)

        choices: dict[str, Callable[[Value], Condition]] = {
            "right": answers(lambda block: (block.codes == block.gold) & (block.gold > 0)),
            "wrong": answers(is_wrong),
            "flip": answers(is_flip),
            "modal": answers(lambda block: (block.codes == block.modal) & (block.modal > 0)),
            "error": codes(status("error")),
            "valid": codes(*range(1, labels + 1), status("tied")),
            "unlabelled": codes(*range(labels + 1, size)),
            "truncated": has_flag(TRUNCATED),
            "looping": has_flag(LOOPING),
            "answered": codes(*range(1, size)),
            "missing": codes(0),
            "original": lambda _: self._original(),
            "flipped": lambda _: self._where("item", self.scope.statistics.labels > 1),
            "marked": lambda _: self._marked_with("mark", lambda _: True),
            "changed": self._changed,
            "drawn": self._drawn,
        }
        return self._choice("is", choices)

    def _original(self) -> Condition:
        prompts = self.design.prompts
        return self._where("column", [column.prompt == prompts[0] for column in self.design.columns])

    def _changed(self, value: Value) -> Condition:
        if self.scope.changed is None:
            raise QueryError("nobody has looked at this study before", value.at)
        return self._where("item", self.scope.changed)

    def _drawn(self, value: Value) -> Condition:
        draw = gold_beside(Path(self.design.folder)).state().draw
        if draw is None:
            raise QueryError("no gold sample has been drawn", value.at)
        return self._items(map(self.index.ids.find, draw.filter("drawn")["item"]))

    def _items(self, places: Iterable[int | None]) -> Condition:
        """Some items; None stands for one that the study does not have."""
        known = np.zeros(self.design.items, bool)
        known[[place for place in places if place is not None]] = True
        return self._where("item", known)

    def _no(self) -> Field:
        names = [*_ABSENT, *self.names()[len(FIELDS) :]]

        def found(value: Value) -> Condition:
            is_known = value.text.lower() in _ABSENT or value.text.lower() not in FIELDS
            field = self.get(value.text) if is_known else None
            if field is None or field.absent is None:
                raise unknown_in(value.text, names, "field that may be absent", value.at)
            return field.absent

        return self._each(found, [Option(name, name) for name in names])

    def _evaluators(self) -> Field:
        def differ(block: Block) -> Any:
            """Another evaluator reads it differently."""
            result = np.zeros(block.codes.shape, bool)
            for evaluator in self.scope.other_evaluators:
                other = block.readings(evaluator)
                result |= (other != block.codes) & (other > 0)
            return result

        return self._choice("evaluators", {"differ": lambda _: of_cells(differ)})

    def _item(self) -> Field:
        def found(value: Value) -> Condition:
            if value.open:
                return self._where("item", self._found("ids", value.text))
            return self._items([self.index.ids.find(value.text)])

        return self._each(found)

    def _text(self) -> Field:
        def found(value: Value) -> Condition:
            if not self.design.has["texts"]:
                raise QueryError("the items' texts are not here", value.at)
            return self._where("item", self._found("texts", value.text))

        return self._each(found)

    def _answer(self) -> Field:
        return self._each(lambda value: self._contains("answers", "text", value.text))

    def _thinking(self) -> Field:
        return self._each(lambda value: self._contains("thinking", "thought", value.text))

    def _contains(self, texts: str, plane: str, wanted: str) -> Condition:
        """Answers one of whose texts contains a text."""
        found = self._found(texts, wanted)

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

    def _flipped(self) -> Field:
        """Items whose label differs between two prompts, models, decodings or levels, or two studies."""

        def found(value: Value) -> Condition:
            first, between, second = value.text.partition("~")
            other = None if between else self.scope.modal_in(first)
            if other is not None:
                one = self.scope.statistics.modal
            else:
                one = self._modal_over(first, value)
                other = self._modal_over(second if between else self.design.prompts[0], value)
            return self._where("item", (one != other) & (one > 0) & (other > 0))

        return self._each(found, self._prompt().options)

    def _modal_over(self, name: str, value: Value) -> Any:
        """The most frequent labels in the columns of a prompt, a model, a decoding or a level of a factor."""
        wanted, known = name.strip().lower(), list[str]()
        for field in ("prompt", "model", "decoding", *self._factors):
            made = self._factor(field) if field in self._factors else self.get(field)
            if made is None or made.coded is None:
                continue
            forms = made.coded.forms
            known += forms
            codes = {code for form, some in forms.items() if form.lower() == wanted for code in some}
            if codes:
                places = np.flatnonzero(np.isin(made.coded.codes, list(codes)))
                shown = np.intersect1d(places, self.scope.columns)
                return self.scope.statistics_of(shown).modal
        raise unknown_in(name, dict.fromkeys(known), "prompt or model", value.at)

    def _mark(self) -> Field:
        def with_mark(name: str) -> Callable[[Value], Condition]:
            return lambda _: self._marked_with("mark", lambda kind: kind == name)

        names = ("agree", "disagree", "unclear")
        field = self._choice("mark", {name: with_mark(name) for name in names})
        return replace(field, absent=negated(self._marked_with("mark", lambda _: True)))

    def _marked(self) -> Field:
        labels = self._label()

        def found(value: Value) -> Condition:
            forms = labels.coded.forms if labels.coded else {}
            wanted = {self.design.codes[code - 1] for code in fitting(value, forms, "label")}
            return self._marked_with("label", lambda label: label in wanted)

        return self._each(found, labels.options)

    def _by(self) -> Field:
        people = dict.fromkeys(who for some in self.scope.marks.get("who", {}).values() for who in some)
        options = [Option(who, who) for who in people]
        return self._each(
            lambda value: self._marked_with("who", lambda who: who.lower() == value.text.lower()), options
        )

    def _note(self) -> Field:
        return self._each(
            lambda value: self._marked_with("note", lambda note: value.text.lower() in note.lower())
        )

    def _marked_with(self, kind: str, fits: Callable[[str], bool]) -> Condition:
        """Items with a mark of which something fits."""
        marks = self.scope.marks.get(kind, {})
        return self._items(item for item, values in marks.items() if any(map(fits, values)))


def _number_in(value: Value, field: str) -> float:
    """A number; ``40%`` is 0.4."""
    text = value.text.removesuffix("%")
    try:
        return float(text) / (100 if text != value.text else 1)
    except ValueError:
        raise QueryError(
            f"{field} is compared with numbers", value.at, expected="a number", found=value.text
        ) from None
