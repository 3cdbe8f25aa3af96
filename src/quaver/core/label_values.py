"""The fields of a codebook, and the meaning of a cell in a column of labels, whichever command opens it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Any, Final

from quaver.core.label_decisions import outside_label_set
from quaver.core.labels import LabelCells
from quaver.core.number_format import text_of
from quaver.core.records import OF_SETS, Label, LabelSet, Level, Output, Reading, Variant
from quaver.errors import ItemError, SpecError


@dataclass(frozen=True, slots=True)
class TaskField:
    """One variable of a codebook: tone, topics, stance.

    Attributes:
        name: Its key in the JSON object that the model writes, and its value in the column ``field``.
        labels: Its label set; of numbers where a value is one.
        definition: What it is about, or an empty string.
        several: Whether several of the labels may apply, so that a value is a set of them. The label set's
            level is then the distance of two sets.
        evidence: Whether the answer quotes the words of the text that decide its value.
        marked: The items' column of the words, or the spans, that people marked, or an empty string.
        quoted: What stands behind its name in the key of the quote.
        spans: Whether the answer quotes the words that have each of the labels; the value is then the set of
            the labels that some words have.
    """

    name: str
    labels: LabelSet
    definition: str = ""
    several: bool = False
    evidence: bool = False
    marked: str = ""
    quoted: str = "quote"
    spans: bool = False

    @property
    def quote_key(self) -> str:
        """The key of the quote in the JSON object, beside the field's own."""
        return f"{self.name} {self.quoted}"

    def of(self, variant: Variant) -> Variant:
        """A variant as it asks for this field alone, which is what an evaluator reads."""
        answers = {label.code: label.name for label in self.labels.labels}
        output: Output = "spans" if self.spans else "labels" if self.several else variant.output
        if self.labels.are_numbers:
            output = "number"
        return replace(variant, answers=answers, label_field=self.name, output=output)


@dataclass(frozen=True, slots=True)
class Codebook(LabelSet):
    """The fields of a task whose answers are records: JSON objects with a value for each field.

    It stands where a task's label set does and has no labels of its own, so that what takes the labels of one
    field refuses it.

    Attributes:
        fields: The fields, in the order in which the prompt names them.
    """

    labels: tuple[Label, ...] = ()
    fields: tuple[TaskField, ...] = ()

    def of(self, name: str) -> LabelSet:
        """The labels of a field."""
        return next(field.labels for field in self.fields if field.name == name)

    @property
    def codes(self) -> tuple[str, ...]:
        """Refused: each field has its own.

        Raises:
            SpecError: Always.
        """
        names = ", ".join(field.name for field in self.fields)
        raise SpecError(
            "this needs the labels of one field, and the task has several",
            where="task: fields",
            expected=f"one of {names}",
            found="no field",
            fix="name it: --field NAME, or study.fields[NAME] in Python",
        )


def fields_in(labels: LabelSet) -> tuple[TaskField, ...]:
    """The fields of a codebook; none of a task of one label set."""
    return labels.fields if isinstance(labels, Codebook) else ()


def quotes(labels: LabelSet) -> bool:
    """Whether answers quote the words of the text that decide some field, or have its labels."""
    return any(field.evidence or field.spans for field in fields_in(labels))


def lineages(labels: LabelSet) -> dict[str, tuple[str, ...]]:
    """Each label, by code, with what it falls under, the broadest first.

    >>> lineages(LabelSet((Label("work", "work"), Label("wages", "wages", parent="work"))))["wages"]
    ('work', 'wages')
    """
    parents = {label.code: label.parent for label in labels.labels}
    lines = {}
    for code in parents:
        line = [code]
        while (parent := parents.get(line[0])) and parent not in line:
            line.insert(0, parent)
        lines[code] = tuple(line)
    return lines


def tree_of(labels: LabelSet) -> LabelSet:
    """The labels and the headings under which they fall, each before what falls under it.

    >>> tree_of(LabelSet((Label("trial", "trial", parent="Justice"), Label("powers", "powers")))).codes
    ('Justice', 'trial', 'powers')
    """
    own = {label.code: label for label in labels.labels}
    codes = dict.fromkeys(chain.from_iterable(lineages(labels).values()))
    return replace(labels, labels=tuple(own.get(code, Label(code, code)) for code in codes))


def falling_under(labels: LabelSet) -> dict[str, list[str]]:
    """What falls under each label or heading, by code; the top level under none.

    >>> falling_under(LabelSet((Label("trial", "trial", parent="Justice"), Label("powers", "powers"))))
    {'': ['Justice', 'powers'], 'Justice': ['trial']}
    """
    children: dict[str, list[str]] = {"": []}
    for label in tree_of(labels).labels:
        children.setdefault(label.parent, []).append(label.code)
    return children


def ways_down(labels: LabelSet) -> dict[str, int]:
    """For each label with others below it how many levels these have, and under no name how many there are.

    >>> ways_down(LabelSet((Label("trial", "trial", parent="Justice"), Label("powers", "powers"))))
    {'': 2, 'Justice': 1}
    """
    children = falling_under(labels)

    def levels(code: str) -> int:
        return 1 + max(map(levels, children[code])) if code in children else 0

    return {code: levels(code) for code in children}


def offered(labels: LabelSet, variant: Variant) -> LabelSet:
    """The labels that a prompt offers: all of them, or those of one level of a tree."""
    own = {label.code for label in labels.labels}
    if not variant.answers or own <= variant.answers.keys():
        return labels
    return replace(labels, labels=tuple(one for one in tree_of(labels).labels if one.code in variant.answers))


NO_LABELS: Final = "[]"
"""The set without a label, as a label: none of them applies."""

SEPARATOR: Final = ";"
"""What stands between the labels of a set."""


def labels_in(text: str) -> tuple[str, ...]:
    """The labels of a set, each once, in their order; a label without a separator is a set of one.

    >>> labels_in("food; service"), labels_in("food"), labels_in("[]")
    (('food', 'service'), ('food',), ())
    """
    if text.strip() == NO_LABELS:
        return ()
    return tuple(dict.fromkeys(part.strip() for part in text.split(SEPARATOR) if part.strip()))


def set_of(labels: Iterable[str], codes: Sequence[str]) -> str:
    """The set of some labels as a label: each once, in the label set's order.

    >>> set_of(["tax", "war", "tax"], ["war", "tax"]), set_of([], ["war", "tax"])
    ('war;tax', '[]')
    """
    given = set(labels)
    return SEPARATOR.join(code for code in codes if code in given) or NO_LABELS


def cell_labels(cell: Any, known: Collection[str] = ()) -> tuple[str, ...]:
    """The labels in a cell of several.

    The cell is a list, one in JSON, or texts with ``;``, ``,`` or ``|`` between: the first of these signs
    that occurs separates. A text that is a known label is that label, whatever is in it.

    >>> cell_labels('["tax", "war"]'), cell_labels("tax, war"), cell_labels("a, b; c"), cell_labels("[]")
    (('tax', 'war'), ('tax', 'war'), ('a, b', 'c'), ())
    """
    if isinstance(cell, list | tuple):
        return tuple(dict.fromkeys(text for value in cell if (text := text_of(value))))
    text = text_of(cell)
    if text in known:
        return (text,)
    if text.startswith("[") and text.endswith("]"):
        listed = _list_in(text)
        if listed is not None:
            return cell_labels(listed)
    between = next((sign for sign in _BETWEEN if sign in text), SEPARATOR)
    return tuple(dict.fromkeys(part.strip() for part in text.split(between) if part.strip()))


_BETWEEN: Final = (SEPARATOR, ",", "|")


def _list_in(text: str) -> list[Any] | None:
    """The list that a text is, as JSON or Python writes lists of texts; None where it is none."""
    for written in (text, text.replace("'", '"')):
        try:
            values = json.loads(written)
        except (ValueError, RecursionError):
            continue
        return [value for value in values if not isinstance(value, list | dict)]
    return None


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def number_in(text: str, level: Level) -> str | None:
    """A number as a label, in its shortest form; None of a text that is no finite number, or below a ratio.

    Half a number is another number: ``1,200`` and ``12 USD`` are none.

    >>> [number_in(text, "ratio") for text in ("12.50", "1e3", "-2", "1,2")]
    ['12.5', '1000', None, None]
    """
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text) + 0.0  # no -0
    if not isfinite(value) or (level == "ratio" and value < 0):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def occurring_numbers(given: Iterable[str], level: Level) -> LabelSet:
    """The label set of the numbers that occur, by size.

    >>> [label.value for label in occurring_numbers({"12.5", "3"}, "ratio").labels]
    [3.0, 12.5]
    """
    labels = tuple(Label(number, number, value=float(number)) for number in sorted(given, key=float))
    return LabelSet(labels, level, are_numbers=True)


def occurring_sets(given: Iterable[str], alone: Sequence[Label], level: Level) -> LabelSet:
    """The label set of the sets that occur: each label alone, then the other sets of these labels.

    >>> occurring_sets({"tax;war", "tax", "[]"}, [Label("tax", "tax"), Label("war", "war")], "jaccard").codes
    ('tax', 'war', '[]', 'tax;war')
    """
    codes = {label.code for label in alone}
    more = sorted(set(given) - codes, key=lambda written: (len(labels_in(written)), written))
    known = (written for written in more if codes.issuperset(labels_in(written)))
    return LabelSet((*alone, *(Label(written, written) for written in known)), level)


def single_labels(labels: LabelSet) -> tuple[Label, ...]:
    """The labels that a person may choose: of sets, those that stand alone; of numbers none."""
    if labels.are_numbers:
        return ()
    if labels.level not in OF_SETS:
        return labels.labels
    return tuple(label for label in labels.labels if SEPARATOR not in label.code and label.code != NO_LABELS)


_FEW = 11
"""More different numbers than these are measured rather than chosen: two people need not write the same."""


def is_coded_again(name: str, cells: Iterable[Any], variable: str, own: Iterable[Any]) -> bool:
    """Whether a column holds another person's codes of a variable: it is called after it, with such values.

    Args:
        name: The column's name.
        cells: Its cells.
        variable: The name of the variable's own column.
        own: The cells of that.

    >>> is_coded_again("tone_b", ["calm", "angry"], "tone", ["angry", "calm"])
    True
    >>> is_coded_again("tone_source", ["press", "radio"], "tone", ["angry", "calm"])
    False
    """
    if not _called_after(_words(name), _words(variable)):
        return False
    try:
        counts, known = (Counter(label for cell in of for label in cell_labels(cell)) for of in (cells, own))
    except ItemError:  # tables in cells
        return False
    if min(len(counts), len(known)) > _FEW and all(
        number_in(value, "interval") for value in (*counts, *known)
    ):
        return True
    return 2 * sum(number for label, number in counts.items() if label in known) > counts.total()


def _words(name: str) -> list[str]:
    """The words and numbers in a column's name."""
    return re.findall(r"[^\W\d_]+|\d+", name.casefold())


def _called_after(words: Sequence[str], own: Sequence[str]) -> bool:
    """Whether a name has the words of another and more of its own, or another word in one place."""
    if len(words) == len(own):
        return len(own) > 1 and sum(word != other for word, other in zip(words, own, strict=True)) == 1
    shorter, longer = sorted((words, own), key=len)
    rest = iter(longer)
    return bool(shorter) and all(word in rest for word in shorter)


NOTHING = Reading(None, "empty", "an empty cell")


class CellReader:
    """Reads the cells of a variable.

    Args:
        labels: Its label set.
        also: Other texts of cells, each with its label, or None where it stands for no label.
    """

    def __init__(self, labels: LabelSet, also: Mapping[str, str | None] | None = None) -> None:
        self._labels, also = labels, also or {}
        self._is_number, self._several = labels.are_numbers, labels.level in OF_SETS
        single = single_labels(labels)
        self._codes = [label.code for label in single]
        self._known = [*also, *self._codes]
        none = [text for text, code in also.items() if code is None]
        given = {text: code for text, code in also.items() if code is not None}
        self._cells = LabelCells(single, given, none, labels.level)

    def read(self, cell: Any, where: str = "") -> Reading | None:
        """The meaning of a cell; None where it has none.

        Raises:
            ItemError: The cell holds a table.
        """
        if self._several and isinstance(cell, list | tuple):
            return self._set(cell)
        text = text_of(cell, where)
        if not text:
            return NOTHING
        if self._several:
            return self._set(text)
        if self._is_number and (number := number_in(text, self._labels.level)) is not None:
            return Reading(number, "valid", None)
        return self._cells.read(text)

    def _set(self, cell: Any) -> Reading | None:
        given = cell_labels(cell, self._known)
        parts = list(map(self._cells.read, given))
        own = [part.label for part in parts if part is not None and part.label is not None]
        if None in parts:
            return None
        if given and not own:
            return Reading(None, "no_label", text_of(given[0]))
        return Reading(set_of(own, self._codes), "valid", None)

    def outside(self, what: str, where: str, texts: list[str], fix: str) -> ItemError:
        """The error of cells whose meaning is not known."""
        if not self._is_number:
            return outside_label_set(what, where, texts, self._known, fix)
        return ItemError(
            f"{what} is no number",
            where=where,
            expected="a number of 0 or more" if self._labels.level == "ratio" else "a number",
            found=texts[0][:80],
            fix="write it with digits and a point; leave the cell empty where there is none",
        )
