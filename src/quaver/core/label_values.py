"""The fields of a codebook, and the meaning of a cell in a column of labels, whichever command opens it."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final, NamedTuple

from quaver.core.number_format import composed, text_of
from quaver.core.records import OF_SETS, Label, LabelSet, Level, Numbers, Output, Status, Variant
from quaver.errors import ItemError, SpecError, nearest

ASKED: Final = "asked"
"""The factor of whether fields are asked together or alone."""


@dataclass(frozen=True, slots=True)
class TaskField:
    """One variable of a codebook: tone, topics, stance.

    Attributes:
        name: Its key in the JSON object that the model writes, and its value in the column ``field``.
        labels: Its label set; `Numbers` where a value is a number.
        definition: What it is about, or an empty string.
        several: Whether several of the labels may apply, so that a value is a set of them. The label set's
            level is then the distance of two sets.
    """

    name: str
    labels: LabelSet
    definition: str = ""
    several: bool = False

    def of(self, variant: Variant) -> Variant:
        """A variant as it asks for this field alone, which is what an evaluator reads."""
        answers = {label.code: label.name for label in self.labels.labels}
        output: Output = "labels" if self.several else variant.output
        if isinstance(self.labels, Numbers):
            output = "number"
        return replace(variant, answers=answers, label_field=self.name, output=output)

    def is_asked(self, variant: Variant) -> bool:
        """Whether a variant asks for this field: some ask for others alone."""
        fields = variant.origin.get(ASKED, {}).get("fields")
        return fields is None or self.name in fields


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
        return next(one.labels for one in self.fields if one.name == name)

    @property
    def codes(self) -> tuple[str, ...]:
        """Refused: each field has its own.

        Raises:
            SpecError: Always.
        """
        names = ", ".join(one.name for one in self.fields)
        raise SpecError(
            "this takes the labels of one field, and the task has several",
            where="task: fields",
            expected=f"one of {names}",
            found="no field",
            fix="name it: --field NAME, or study.fields[NAME] in Python",
        )


def fields_in(labels: LabelSet) -> tuple[TaskField, ...]:
    """The fields of a codebook; none of a task of one label set."""
    return labels.fields if isinstance(labels, Codebook) else ()


_LIKE_MISSING = frozenset(
    ("na", "n/a", "n.a.", "#n/a", "nan", "none", "null", "nil", "missing", "-", "--", ".", "?")
)
"""What programs and people write for a missing label, in lower case."""

_MOST_DOUBTS, _MOST_LISTED, _MOST_OTHERS = 8, 30, 5
"""Labels that are named one by one: of those that occur once, of a whole set, and of those outside it."""


class CellLabel(NamedTuple):
    """The meaning of a cell: a label's code, or why it has none."""

    label: str | None
    status: Status
    reason: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about a file.

    Attributes:
        role: The role that something in it was given.
        column: The column, the columns, or the text of a cell.
        why: Whether it was named or recognised, and what to do if that is wrong.
    """

    role: str
    column: str
    why: str


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
    return tuple(dict.fromkeys(one.strip() for one in text.split(SEPARATOR) if one.strip()))


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
        return tuple(dict.fromkeys(text for one in cell if (text := text_of(one))))
    text = text_of(cell)
    if text in known:
        return (text,)
    if text.startswith("[") and text.endswith("]"):
        listed = _list_in(text)
        if listed is not None:
            return cell_labels(listed)
    between = next((sign for sign in _BETWEEN if sign in text), SEPARATOR)
    return tuple(dict.fromkeys(one.strip() for one in text.split(between) if one.strip()))


MARKS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "x"), True),
    **dict.fromkeys(("", "0", "0.0", "false", "no", "n"), False),
}
"""What a cell of a label's own column says, in lower case: whether the label applies."""

_BETWEEN: Final = (SEPARATOR, ",", "|")


def _list_in(text: str) -> list[Any] | None:
    """The list that a text is, as JSON or Python writes lists of texts; None where it is none."""
    for written in (text, text.replace("'", '"')):
        try:
            found = json.loads(written)
        except (ValueError, RecursionError):
            continue
        return [one for one in found if not isinstance(one, list | dict)]
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


def occurring_numbers(given: Iterable[str], level: Level) -> Numbers:
    """The label set of the numbers that occur, by size.

    >>> [label.value for label in occurring_numbers({"12.5", "3"}, "ratio").labels]
    [3.0, 12.5]
    """
    return Numbers(tuple(Label(one, one, value=float(one)) for one in sorted(given, key=float)), level)


def occurring_sets(given: Iterable[str], alone: Sequence[Label], level: Level) -> LabelSet:
    """The label set of the sets that occur: each label alone, then the other sets of these labels.

    >>> occurring_sets({"tax;war", "tax", "[]"}, [Label("tax", "tax"), Label("war", "war")], "jaccard").codes
    ('tax', 'war', '[]', 'tax;war')
    """
    codes = {label.code for label in alone}
    more = sorted(set(given) - codes, key=lambda one: (len(labels_in(one)), one))
    known = (one for one in more if codes.issuperset(labels_in(one)))
    return LabelSet((*alone, *(Label(one, one) for one in known)), level)


def single_labels(labels: LabelSet) -> tuple[Label, ...]:
    """The labels that a person may choose: of sets, those that stand alone; of numbers none."""
    if isinstance(labels, Numbers):
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
        found, known = (Counter(label for cell in of for label in cell_labels(cell)) for of in (cells, own))
    except ItemError:  # tables in cells
        return False
    if min(len(found), len(known)) > _FEW and all(number_in(one, "interval") for one in (*found, *known)):
        return True
    return 2 * sum(number for label, number in found.items() if label in known) > found.total()


def _words(name: str) -> list[str]:
    """The words and numbers in a column's name."""
    return re.findall(r"[^\W\d_]+|\d+", name.casefold())


def _called_after(words: Sequence[str], own: Sequence[str]) -> bool:
    """Whether a name has the words of another and more of its own, or another word in one place."""
    if len(words) == len(own):
        return len(own) > 1 and sum(one != other for one, other in zip(words, own, strict=True)) == 1
    shorter, longer = sorted((words, own), key=len)
    rest = iter(longer)
    return bool(shorter) and all(word in rest for word in shorter)


class LabelCells:
    """Reads the cells of a column of labels, however accents are encoded.

    Args:
        codes: The labels.
        also: Other texts of cells, each with its label.
        unlabelled: The texts that stand for a missing label.
    """

    def __init__(
        self, codes: Iterable[str], also: Mapping[str, str] | None = None, unlabelled: Iterable[str] = ()
    ) -> None:
        self._codes = {composed(code): code for code in codes}
        self._also = {composed(text): label for text, label in (also or {}).items()}
        self._unlabelled = {composed(text) for text in unlabelled}

    def read(self, text: str) -> CellLabel | None:
        """The meaning of a cell's stripped text; None for a text that is not known."""
        if not text:
            return CellLabel(None, "empty", "an empty cell")
        form = composed(text)
        label = self._codes.get(composed(self._also.get(form, text)))
        if label is not None and form not in self._unlabelled:
            return CellLabel(label, "valid", None)
        return CellLabel(None, "no_label", text) if form in self._unlabelled else None


def same_labels(counts: Mapping[str, int], given: Sequence[str] = ()) -> dict[str, str]:
    """The texts of cells that are a label in other characters, each with that label.

    ``1.0`` is ``1`` if that is a label too: pandas writes whole numbers this way in a column with gaps.
    ``1.10`` is not ``1.1``, which may be another code. ``é`` in two characters is ``é`` in one; the more
    frequent form is the label.

    >>> same_labels({"1": 3, "1.0": 2, "1.1": 1, "1.10": 1})
    {'1.0': '1'}
    """
    labels: dict[str, str] = {}
    for text in given or sorted(counts, key=lambda text: -counts[text]):
        labels.setdefault(composed(text), text)
    result = {}
    for text in sorted(counts):
        form = composed(text)
        whole = form.removesuffix(".0")
        if labels.get(form, text) != text:
            result[text] = labels[form]
        elif whole != form and whole in labels and text not in given and whole.lstrip("-").isdigit():
            result[text] = labels[whole]
    return result


def doubtful_labels(
    counts: Mapping[str, int],
    labels: Iterable[str],
    unlabelled: Sequence[str],
    *,
    given: bool,
    level: Level | None = None,
) -> list[Decision]:
    """Which texts count as missing labels, and which count as labels but may not be."""
    missing = Counter({composed(text): counts.get(text, 0) for text in ("", *unlabelled)})
    decisions = [
        Decision("missing", text or "(an empty cell)", f"{_rows(number)}, {'named' if text else 'no label'}")
        for text, number in missing.items()
        if number
    ]
    if given:
        return decisions
    known = [label for label in labels if counts.get(label)]
    for label in known:
        if label.casefold() in _LIKE_MISSING:
            say = f"{_rows(counts[label])}, taken as a label; {_unlabelled(label)} if it is not"
            decisions.append(Decision("label?", label, say))
    once = [one for one in known if counts[one] == 1 and one.casefold() not in _LIKE_MISSING]
    if level in ("interval", "ratio"):  # a measured number may well occur once
        once = [one for one in once if number_in(one, level) is None]
    if 0 < len(once) < len(known):
        named = ", ".join(once[:_MOST_DOUBTS])
        more = f" and {len(once) - _MOST_DOUBTS} more" if len(once) > _MOST_DOUBTS else ""
        option = " ".join(map(_unlabelled, once[:2])) + " …" * (len(once) > 2)
        say = f"{'occurs' if len(once) == 1 else 'occur'} once, taken as a label; {option} if it is not"
        decisions.append(Decision("label?", named + more, say))
    return decisions


def labels_outside(counts: Mapping[str, int]) -> list[Decision]:
    """What counts as missing because it is not among the valid labels."""
    if not counts:
        return []
    more = f" and {len(counts) - _MOST_DOUBTS} more" if len(counts) > _MOST_DOUBTS else ""
    named = ", ".join([text[:40] for text in counts][:_MOST_DOUBTS]) + more
    return [Decision("missing", named, f"{_rows(sum(counts.values()))}, not among the valid labels")]


def _rows(number: int) -> str:
    return f"{number:,} cell{'s' * (number != 1)}"


def _unlabelled(text: str) -> str:
    """The option that makes a cell's text no label."""
    return f"--unlabelled {shlex.quote(label_line([text]))}"


def label_line(labels: Sequence[str]) -> str:
    """Labels as ``--labels`` takes them: separated by commas, in quotation marks where a label has a comma.

    >>> label_line(["left", "right, far"])
    'left, "right, far"'
    """
    doubled = [label.replace('"', '""') for label in labels[:_MOST_LISTED]]
    written = ", ".join(f'"{label}"' if "," in label or '"' in label else label for label in doubled)
    return written if len(labels) <= _MOST_LISTED else f"{written}, … ({len(labels)} in all)"


def outside_label_set(
    what: str, where: str, texts: Sequence[str], known: Sequence[str], fix: str
) -> ItemError:
    """The error of a label outside the label set."""
    found, *others = texts
    guess = nearest(found, known)
    named = ", ".join(map(repr, others[:_MOST_OTHERS])) + (", …" if len(others) > _MOST_OTHERS else "")
    more = f"; {len(others)} other{'s' * (len(others) != 1)} in the file: {named}" if others else ""
    return ItemError(
        f"{what} is outside the label set",
        where=where,
        expected=f"one of {', '.join(known[:_MOST_LISTED])}" + ", …" * (len(known) > _MOST_LISTED),
        found=found[:200] + more,
        fix=(f"did you mean {guess!r}? Otherwise " if guess else "") + fix,
    )
