"""Spans: stretches of a text that have labels, as a model quotes them and as people mark them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from quaver.core.label_values import NO_LABELS, set_of
from quaver.errors import ItemError, UnknownName

_WRITTEN = re.compile(r"(?P<label>[^;\[\]]+)\[(?P<start>\d+):(?P<end>\d+)\]\s*(?:;\s*|\Z)")
_LINE = re.compile(r"(?P<label>[^:\[\]{}\"\t]+):\s*(?P<words>\S.*)")
_BRAT = re.compile(r"T\d+\t(?P<label>\S+) (?P<places>\d+ \d+(;\d+ \d+)*)\t.*")
_FORMS: Final = (
    '[[4, 12, "person"]], [{"start": 4, "end": 12, "label": "person"}], {"person": ["Abraham Lincoln"]}, '
    "person[4:12], lines such as `person: Abraham Lincoln`, or brat's annotations"
)


class Span(NamedTuple):
    """A stretch of a text, from one character up to another, and its label."""

    label: str
    start: int
    end: int


Marked = Span | tuple[str, str]
"""A span, or a label and the words that have it."""


def written_spans(spans: Iterable[Span]) -> str:
    """Spans as a cell, each once, in the text's order.

    >>> written_spans([Span("place", 20, 26), Span("person", 4, 12)])
    'person[4:12];place[20:26]'
    """
    ordered = sorted({*spans}, key=lambda span: (span.start, span.end, span.label))
    return ";".join(f"{label}[{start}:{end}]" for label, start, end in ordered)


def spans_in(text: str) -> list[Span]:
    """The spans of such a cell.

    >>> spans_in("person[4:12];place[20:26]")
    [Span(label='person', start=4, end=12), Span(label='place', start=20, end=26)]
    """
    parts = [*_WRITTEN.finditer(text)]
    if sum(len(part[0]) for part in parts) < len(text):
        return []
    return [Span(part["label"].strip(), int(part["start"]), int(part["end"])) for part in parts]


def set_in(cell: str, codes: Sequence[str]) -> str:
    """The set of the labels of such a cell's spans.

    >>> set_in("person[4:12];place[20:26]", ["place", "person"])
    'place;person'
    """
    return set_of((span.label for span in spans_in(cell)), codes)


def in_words(cell: str, text: str) -> str:
    """The spans of such a cell as a person writes them on a sheet: a line for each, the label and the words.

    >>> in_words("person[0:12]", "Ada Lovelace was there"), in_words("", "Nobody was there")
    ('person: Ada Lovelace', '[]')
    """
    lines = (f"{label}: {' '.join(text[start:end].split())}" for label, start, end in spans_in(cell))
    return "\n".join(lines) or NO_LABELS


def marked_in(cell: Any, where: str) -> list[Marked] | None:
    """What people marked, as a cell holds it; None of an empty one, nothing of ``[]`` or ``{}``.

    The cell is one of ours, a list of doccano's ``[start, end, label]``, of objects with ``start``, ``end``
    and ``label`` or ``labels`` (in ``value``, as Label Studio has it), or an object with the words of each
    label; a list or an object, or its JSON. Or it has a line for each span, with the label and the words, or
    as brat writes its annotations, of which those that are no spans are left out.

    Raises:
        ItemError: It is none of these.

    >>> marked_in('[[4, 12, "person"]]', ""), marked_in('{"person": ["Lincoln"]}', "")
    ([Span(label='person', start=4, end=12)], [('person', 'Lincoln')])
    """
    text = cell.strip() if isinstance(cell, str) else None
    if cell is None or text == "":
        return None
    if text and (written := spans_in(text) or _lines_in(text)) is not None:
        return [*written]
    try:
        document = json.loads(text) if text is not None else cell
        if isinstance(document, Mapping):
            return [(str(label), str(words)) for label, some in document.items() for words in _listed(some)]
        return [span for part in document for span in _spans_of(part)]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ItemError(
            "this cell holds no spans", where=where, expected=_FORMS, found=str(cell)[:80]
        ) from None


def in_labels(marked: Iterable[Marked], codes: Mapping[str, str], where: str) -> list[Marked]:
    """The same with the codes of the labels.

    Args:
        marked: What people marked.
        codes: Each label's code, by code and by name.
        where: Where it stands, for the error.

    Raises:
        UnknownName: A label is none of these.
    """
    spans, folded = list[Marked](), {text.casefold(): code for text, code in codes.items()}
    for label, *place in marked:
        written = str(label).strip()
        if (code := codes.get(written) or folded.get(written.casefold())) is None:
            raise UnknownName("label", str(label), [*dict.fromkeys(codes.values())], where=where)
        spans.append((code, *place) if len(place) == 1 else Span(code, *place))
    return spans


def _lines_in(text: str) -> list[Marked] | None:
    """The spans of lines, of brat's annotations or as people write them on a sheet; None of another text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if all(line[:1] in "TREAMN#*" and "\t" in line for line in lines):
        brat = [mark for line in lines if (mark := _BRAT.fullmatch(line))]
        places = ((mark["label"], *place.split()) for mark in brat for place in mark["places"].split(";"))
        return [Span(label, int(start), int(end)) for label, start, end in places]
    written = [_LINE.fullmatch(line) for line in lines]
    return [(mark["label"].strip(), mark["words"]) for mark in written if mark] if all(written) else None


def _listed(value: Any) -> Sequence[Any]:
    return [value] if isinstance(value, str) else list(value)


def _spans_of(part: Any) -> list[Marked]:
    """One entry of a list; of several labels a span for each."""
    if isinstance(part, Mapping):
        value = part.get("value", part)
        labels = value["labels"] if "labels" in value else value["label"]
        return [_span(label, value["start"], value["end"]) for label in _listed(labels)]
    start, end, label = part
    return [_span(label, start, end)]


def _span(label: Any, start: Any, end: Any) -> Span:
    if isinstance(start, bool) or isinstance(end, bool) or not 0 <= int(start) < int(end):
        raise ValueError
    return Span(str(label), int(start), int(end))
