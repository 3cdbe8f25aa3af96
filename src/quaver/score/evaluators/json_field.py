"""``json_field``: a field of the JSON object in the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from quaver.core.annotations import Reading
from quaver.core.label_values import labels_in, number_in, set_of
from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Level, Variant
from quaver.score.parsing.evaluator import Answer, Held, Reader, ambiguous, no_label, valid
from quaver.score.parsing.label_forms import Forms, bare, forms_of
from quaver.score.parsing.parsed_answer import fold

# Damage is not repaired first: a reader that knows strings, comments and bare words and skips all other
# punctuation reads valid and damaged JSON alike. No part can fail at the end of the text: none is read twice.
_PART = re.compile(
    r"(?P<double>\"[^\"\\]*(?:\\.[^\"\\]*)*(?:\"|\\?\Z))"
    r"|(?<=[\s{\[,:=])(?P<single>'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z))"
    r"|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
    r"|(?P<bare>[^\s{}\[\]:=,\"'][^{}\[\]:=,\"\n]*)",
    re.DOTALL,
)
_COLON = re.compile(r"\s*[:=]>?\s*\[?\s*")
_MOST = 10_000
_NONE = no_label("no JSON object")
_HELD = Held(["{"], "", _NONE)


class JsonField:
    """The label that is the value of a field of the JSON in the answer.

    Sought from the first ``{`` on, in any object and at any depth; text and code fences around it
    do not count, nor does the case of the field's name. Common damage is read as what was meant:
    single or missing quotes, missing or trailing commas, comments, ``=`` or ``=>`` for the colon,
    line breaks in strings, an object that is not closed. The value may be text, a number or a list
    (of which the first element counts); it is a label where it is one of its forms and nothing
    else. Of several values those that are labels count: one distinct label is valid, several are
    ambiguous. The first 10,000 strings, comments and words of the JSON count.

    Of a task's field of which several labels may apply, the value is a list of labels, a text with ``;``
    between them, or an object with true for those that apply; the JSON must be whole, and a list with
    anything else in it is no label. Where a field's values are numbers, so is the value, or a text that is
    one and nothing else; the JSON must be whole here too.

    Args:
        field: The field's name; by default the one that the variant asks for, else ``label``.
    """

    def __init__(self, *, field: str | None = None) -> None:
        self._field = field
        self.reads_fields = field is None

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        field = fold(composed(self._field or variant.label_field or "label").strip())
        if variant.output == "labels":
            return _JsonSetReader(forms_of(labels, variant), field, labels.codes)
        if variant.output == "number":
            return _JsonNumberReader(field, labels.level)
        return _JsonFieldReader(forms_of(labels, variant), field)


@dataclass(frozen=True, slots=True)
class _JsonFieldReader:
    forms: Forms
    field: str

    def __call__(self, answer: Answer) -> Reading:
        start = answer.text.find("{")
        if start < 0:
            return _NONE
        values = list(_values(answer.text, start, self.field))
        found = {self.forms.whole(value) or self.forms.whole(bare(value)) for value in values} - {()}
        codes = {code for some in found for code in some}
        if len(codes) == 1:
            return valid(codes.pop())
        if codes:
            return ambiguous(codes)
        return no_label(f"no field {self.field}" if not values else "the field holds no label")

    held = _HELD


@dataclass(frozen=True, slots=True)
class _JsonSetReader:
    """Reads a field of which several labels may apply."""

    forms: Forms
    field: str
    codes: tuple[str, ...]

    def __call__(self, answer: Answer) -> Reading:
        value = _whole_value(answer.text, self.field)
        if isinstance(value, Reading):
            return value
        given = _listed(value)
        if given is None:
            return no_label("the field holds no list")
        found = [self.forms.whole(one) or self.forms.whole(bare(one)) for one in given]
        if not all(len(codes) == 1 for codes in found):
            return no_label("the field holds what is no label")
        return valid(set_of((codes[0] for codes in found), self.codes))

    held = _HELD


@dataclass(frozen=True, slots=True)
class _JsonNumberReader:
    """Reads a field whose values are numbers."""

    field: str
    level: Level

    def __call__(self, answer: Answer) -> Reading:
        value = _whole_value(answer.text, self.field)
        if isinstance(value, Reading):
            return value
        text = repr(value) if type(value) in (int, float) else value if isinstance(value, str) else ""
        number = number_in(text, self.level)
        return no_label("the field holds no number") if number is None else valid(number)

    held = _HELD


_DECODER = json.JSONDecoder(strict=False)


def _whole_value(text: str, field: str) -> Any:
    """The value of a field of the first JSON object, or a reading that says why there is none."""
    start = text.find("{")
    if start < 0:
        return _NONE
    try:
        document, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return no_label("the JSON cannot be read")
    known = {fold(composed(name).strip()): value for name, value in document.items()}
    return known[field] if field in known else no_label(f"no field {field}")


def _listed(value: Any) -> list[str] | None:
    """The labels that a value lists; None where it is no list of them."""
    if isinstance(value, dict) and all(isinstance(one, bool) for one in value.values()):
        return [name for name, applies in value.items() if applies]
    if isinstance(value, str):
        return list(labels_in(value))
    if not isinstance(value, list) or any(
        one is None or isinstance(one, dict | list | bool) for one in value
    ):
        return None
    return [str(one).strip() for one in value]


def _values(text: str, start: int, field: str) -> Iterator[str]:
    wanted = False
    for part in islice(_PART.finditer(text, start), _MOST):
        if part.lastgroup is None:
            continue
        value = _text(part)
        if wanted:
            yield value
        colon = _COLON.match(text, part.end())
        wanted = colon is not None and not wanted and fold(composed(value)) == field


def _text(part: re.Match[str]) -> str:
    written = part[0]
    if part.lastgroup == "bare":
        return written.strip()
    inner = written[1:-1] if written[-1] == written[0] and len(written) > 1 else written[1:]
    if "\\" not in inner:
        return inner.strip()
    try:
        return str(json.loads(f'"{inner}"', strict=False)).strip()
    except ValueError:
        return inner.replace("\\", "").strip()
