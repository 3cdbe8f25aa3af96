"""What was decided about the cells of a column of labels, for people to read: merges, gaps, doubts."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quaver.core.labels import folded, missing_texts, number_of, same_labels, shown
from quaver.core.number_format import composed, count
from quaver.core.records import Level
from quaver.errors import ItemError, nearest

EMPTY: Final = "(an empty cell)"
_LIKE_MISSING: Final = frozenset(
    ("na", "n/a", "n.a.", "#n/a", "nan", "null", "nil", "missing", "-", "--", ".", "?")
)
"""What people write for a missing label too, folded: it is pointed out."""
_CODES_LIKE_MISSING: Final = frozenset((-999, -99, -98, -9, -8, -1, 9, 66, 77, 88, 97, 98, 99, 999, 9999))

_MOST_DOUBTS, _MOST_LISTED, _MOST_OTHERS, _MOST_MERGES = 8, 30, 5, 5
"""What is named one by one: labels that occur once, those of a whole set, those outside it, merges."""


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


@dataclass(frozen=True, slots=True)
class WrittenLabels:
    """What the cells of some columns of labels mean.

    Attributes:
        labels: The label set: as given, or each label that occurs once.
        also: Other texts in the cells, each with its label.
        missing: Texts that stand for a missing label.
        outside: Texts that are neither, with how often each occurs.
        decisions: What people should know of this.
    """

    labels: tuple[str, ...]
    also: dict[str, str]
    missing: tuple[str, ...]
    outside: dict[str, int]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The user's rules for the cells of label columns.

    Attributes:
        labels: The label set; all labels that occur, without.
        unlabelled: Texts that stand for a missing label.
        label_is: Texts that are labels although they look like missing ones.
        same: Other texts that are a label, each with that label.
        distinct: Whether labels that differ in capitals or white space alone stay apart.
        level: The labels' level of measurement.
        options: How the options are called that say so, of those that there are.
    """

    labels: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    label_is: tuple[str, ...] = ()
    same: Mapping[str, str] = field(default_factory=dict)
    distinct: bool = False
    level: Level | None = None
    options: tuple[str, ...] = ("label-is", "distinct", "unlabelled")

    def read(self, counts: Mapping[str, int]) -> WrittenLabels:
        """What the texts of cells mean, by how often each occurs."""
        named = {composed(text) for text in self.unlabelled}
        likely = missing_texts(counts, [*self.labels, *self.label_is])
        missing = [text for text in counts if composed(text) in named or text in likely]
        values = {text: n for text, n in counts.items() if text not in missing}
        also = {text: label for text, label in self.same.items() if text in values}
        rest = {text: n for text, n in values.items() if text not in also}
        also |= _composed_alike(rest) if self.distinct else same_labels(rest, self.labels, self.level)
        totals = Counter[str]()
        for text, n in values.items():
            totals[also.get(text, text)] += n
        valid = {*map(composed, (*(self.labels or totals), *also))}
        outside = {text: n for text, n in values.items() if composed(text) not in valid}
        decisions = self._merged(also, counts)
        for text in sorted(missing):
            why = "named" if composed(text) in named else f"taken for no label{self._or('label-is', text)}"
            why = why if text else "no label"
            decisions.append(Decision("missing", text or EMPTY, f"{_cells(counts[text])}, {why}"))
        if not self.labels:
            decisions += self._doubtful(totals)
        none = tuple(text for text in missing if text)
        return WrittenLabels(self.labels or tuple(totals), also, none, outside, tuple(decisions))

    def _or(self, option: str, *texts: str) -> str:
        """What to type if a decision is wrong; empty where the command has no option of this name."""
        if option not in self.options:
            return ""
        does = {"label-is": "keeps it", "distinct": "keeps them apart", "unlabelled": "if it is not"}
        words = [f"--{option} {shlex.quote(label_line([text]))}" for text in texts[:2]] or [f"--{option}"]
        words += ["…"] * (len(texts) > 2)
        return f"; {' '.join(words)} {does[option]}"

    def _merged(self, also: Mapping[str, str], counts: Mapping[str, int]) -> list[Decision]:
        """Which texts were taken for one label."""
        forms: dict[str, list[str]] = {}
        for text, label in also.items():
            forms.setdefault(label, [label] if counts.get(label) else []).append(text)
        merges = []
        for label, texts in forms.items():
            why = f"read as {shown(label)}: {_cells(counts[texts[0]])}"
            if len(texts) > 1:
                sizes = " and ".join(f"{counts[text]:,}" for text in texts)
                why = f"taken for one label: {sizes} rows{self._or('distinct')}"
            merges.append(Decision("same", " and ".join(map(shown, texts)), why))
        if len(merges) > _MOST_MERGES:
            rest = ", ".join(decision.column for decision in merges[_MOST_MERGES:])
            merges[_MOST_MERGES:] = [Decision("same", rest[:200], "each taken for one label, too")]
        return merges

    def _doubtful(self, counts: Mapping[str, int]) -> list[Decision]:
        """Labels that may be none: they look like missing ones, or occur once."""
        labels = [label for label in counts if label not in self.label_is]
        likely = [label for label in labels if folded(label) in _LIKE_MISSING] + _codes_apart(labels)
        doubts = [
            Decision(
                "label?", label, f"{_cells(counts[label])}, taken as a label{self._or('unlabelled', label)}"
            )
            for label in likely
        ]
        once = [label for label in labels if counts[label] == 1 and label not in likely]
        if self.level in ("interval", "ratio"):  # a measured number may well occur once
            once = [label for label in once if number_of(label) is None]
        if 0 < len(once) < len(labels) and "unlabelled" in self.options:
            occur = "occurs" if len(once) == 1 else "occur"
            why = f"{occur} once, taken as a label{self._or('unlabelled', *once)}"
            doubts.append(Decision("label?", _some(once), why))
        return doubts


def _composed_alike(values: Mapping[str, int]) -> dict[str, str]:
    """Texts of which another writes the same characters, each with the more frequent one."""
    first: dict[str, str] = {}
    for text in sorted(values, key=lambda text: (-values[text], text)):
        first.setdefault(composed(text), text)
    return {text: first[composed(text)] for text in values if first[composed(text)] != text}


def _codes_apart(labels: Sequence[str]) -> list[str]:
    """Among whole numbers, those such as 99 and -1 that lie apart from the others."""
    numbers = {label: float(number) for label in labels if (number := number_of(label)) is not None}
    others = [value for value in numbers.values() if value not in _CODES_LIKE_MISSING]
    if len(numbers) < len(labels) or len(others) < 2:
        return []
    least, most = min(others), max(others)
    return [
        label
        for label, value in numbers.items()
        if value in _CODES_LIKE_MISSING and (value > most + 1 or value < 0 <= least)
    ]


def _some(texts: Sequence[str]) -> str:
    """The first of some texts, and how many more there are."""
    more = len(texts) - _MOST_DOUBTS
    return ", ".join(texts[:_MOST_DOUBTS]) + (f" and {more} more" if more > 0 else "")


def labels_outside(counts: Mapping[str, int]) -> list[Decision]:
    """What counts as missing because it is not among the valid labels."""
    if not counts:
        return []
    named = _some([text[:40] for text in counts])
    return [Decision("missing", named, f"{_cells(sum(counts.values()))}, not among the valid labels")]


def _cells(number: int) -> str:
    return count(number, "cell")


def in_quotes(text: str) -> str:
    r"""A text as an option's value, in double quotes where a shell and Python both read these.

    >>> in_quotes("for, against"), in_quotes('the "others"')
    ('"for, against"', '\'the "others"\'')
    """
    return shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'


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
    outsider, *others = texts
    guess = nearest(outsider, known)
    named = ", ".join(map(repr, others[:_MOST_OTHERS])) + (", …" if len(others) > _MOST_OTHERS else "")
    more = f"; {len(others)} other{'s' * (len(others) != 1)} in the file: {named}" if others else ""
    return ItemError(
        f"{what} is outside the label set",
        where=where,
        expected=f"one of {', '.join(known[:_MOST_LISTED])}" + ", …" * (len(known) > _MOST_LISTED),
        found=outsider[:200] + more,
        fix=(f"did you mean {guess!r}? Otherwise " if guess else "") + fix,
    )
