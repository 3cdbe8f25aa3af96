"""``json_field``: a field of the JSON object in the answer; ``field_logprob``: with its probability."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Literal

from quaver.core.label_values import labels_in, number_in, set_of
from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Level, Reading, Variant
from quaver.score.parsing.evaluator import Answer, Reader, Rule, ambiguous, no_label, valid
from quaver.score.parsing.label_forms import Codes, Forms, bare, forms_of
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
_TOKEN = re.compile(rf"{_PART.pattern}|(?P<sign>=>|[{{}}\[\]:=,])", re.DOTALL)
_KEY = re.compile(r"(\"[^\"\\]*(?:\\.[^\"\\]*)*\")\s*:\s*", re.DOTALL)
_COLON = re.compile(r"\s*[:=]>?\s*\[?\s*")
_MOST = 10_000
_NONE = no_label("no JSON object")


class JsonField:
    """The label that is the value of a field of the JSON in the answer.

    The field may be in any object and at any depth from the first ``{`` on. Text and code fences around
    the JSON do not count, nor does the case of the field's name. Common damage is repaired: single or
    missing quotes, missing or trailing commas, comments, ``=`` or ``=>`` for the colon, line breaks in
    strings, and an object that is not closed. The value may be text, a number or a list (whose first
    element counts). It gives a label if it is one of the label's forms and nothing else. If there are
    several values, those that are labels count: one distinct label is valid, several are ambiguous.
    Only the first 10,000 strings, comments and words of the JSON count.

    Of a task's field of which several labels may apply, the value is a list of labels, a text with ``;``
    between them, or an object with true for those that apply; a list with anything else in it, or one that is
    not closed, is no label. Of a field of spans it is an object with a list of quotes for each label. Where a
    field's values are numbers, so is the value, or a text that is one and nothing else. The same damage is
    repaired, in an answer that was not cut off. Every object's value counts, of a field that is written twice
    both: one distinct set or number is valid, several are ambiguous.

    Args:
        field: The field's name; by default the one that the variant asks for, else ``label``.
    """

    def __init__(self, *, field: str | None = None) -> None:
        self._field = field
        self.reads_fields = field is None

    @staticmethod
    def quote(answer: Answer, key: str) -> str | None:
        """The text under a key of the answer's object, or those of a list with … between them, if any."""
        start = answer.text.find("{")
        if start < 0:
            return None
        wanted, value = fold(composed(key).strip()), None
        with suppress(ValueError, RecursionError):
            document, _ = _DECODER.raw_decode(answer.text, start)
            value = next(_of_field(document, wanted), None)
        if value is None:  # damaged, or under another name
            value = next(_values(answer.text, start, wanted), None)
        texts = value if isinstance(value, list) else [value]
        return " … ".join(text.strip() for text in texts if isinstance(text, str) and text.strip()) or None

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        field = fold(composed(self._field or variant.label_field or "label").strip())
        if variant.output == "spans":
            return Rule(_spans, (field, forms_of(labels, variant), labels.codes))
        if variant.output == "labels":
            return Rule(_value, (field, labels.level, forms_of(labels, variant), labels.codes))
        if variant.output == "number":
            return Rule(_value, (field, labels.level))
        return Rule(_label, (forms_of(labels, variant), field))


class FieldLogProb(JsonField):
    """What ``json_field`` reads, with the probability of the tokens that spell the value.

    ``confidence`` is the product of their probabilities, each given what precedes it: of a text the tokens
    that hold any of its characters between the quotation marks, of a number all of its own, of a list or an
    object all from the opening bracket to the closing one. It is the probability of that spelling: another
    one ("Yes" for "yes") is not added. Where the field is written several times with the same label, the last
    counts. No confidence where the answer has no log-probabilities, or where the value does not stand in
    sound JSON.

    Args:
        field: The field's name; by default the one that the variant asks for, else ``label``.
    """

    reads: ClassVar[Literal["tokens"]] = "tokens"

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        field = fold(composed(self._field or variant.label_field or "label").strip())
        return Rule(_with_probability, (super().reader(labels, variant), field))


def _with_probability(answer: Answer, reader: Reader, field: str) -> Reading:
    reading = reader(answer)
    if reading.label is None:
        return reading
    text = "".join(token.text for token in answer.response.tokens)
    spelled = None
    for key in islice(_KEY.finditer(text), _MOST):
        with suppress(ValueError, RecursionError):
            if fold(composed(_DECODER.decode(key[1])).strip()) != field:
                continue
            value, end = _DECODER.raw_decode(text, key.end())
            alone = f"{{{key[0]}{text[key.end() : end]}}}"
            if reader(Answer(answer.response._replace(text=alone))).label == reading.label:
                inner = int(isinstance(value, str))  # without its quotation marks
                spelled = key.end() + inner, end - inner
    return reading if spelled is None else replace(reading, confidence=_probability(answer, *spelled))


def _probability(answer: Answer, start: int, end: int) -> float:
    """The probability of the tokens that hold a character from ``start`` to ``end``."""
    place, total = 0, 0.0
    for token in answer.response.tokens:
        if place < end and place + len(token.text) > start:
            total += min(0.0, token.logprob)
        place += len(token.text)
    return math.exp(total)


def _label(answer: Answer, forms: Forms, field: str) -> Reading:
    start = answer.text.find("{")
    if start < 0:
        return _NONE
    values, codes = list(_values(answer.text, start, field)), set[str]()
    for value in values:
        codes.update(_codes(value, forms))
    if codes:
        return valid(*codes) if len(codes) == 1 else ambiguous(codes)
    return no_label(f"no field {field}" if not values else "the field holds no label")


def _value(
    answer: Answer, field: str, level: Level, forms: Forms | None = None, codes: tuple[str, ...] = ()
) -> Reading:
    """A field of which several labels may apply, or whose values are numbers."""
    start = answer.text.find("{")
    if start < 0:
        return _NONE
    values = _candidates(answer, start, field)
    readings = [_set(value, forms, codes) if forms else _number(value, level) for value in values]
    labels = list(dict.fromkeys(reading.label for reading in readings if reading.label is not None))
    if labels:
        return valid(labels[0]) if len(labels) == 1 else ambiguous(labels)
    return readings[0] if readings else no_label(f"no field {field}")


def _spans(answer: Answer, field: str, forms: Forms, codes: tuple[str, ...]) -> Reading:
    """A field whose value has a list of quotes for each label; the reading's quote is these, as JSON."""
    start = answer.text.find("{")
    if start < 0:
        return _NONE
    values, markings = [*_candidates(answer, start, field)], dict[str, str]()
    for value in values:
        quotes = _quoted(value, forms)
        if quotes is not None:
            markings[json.dumps(quotes)] = set_of((label for label, _ in quotes), codes)
    if len(markings) > 1:
        return ambiguous(markings.values())
    for written, labels in markings.items():
        return replace(valid(labels), quote=written)
    return no_label("the field holds no lists of quotes" if values else f"no field {field}")


def _quoted(value: Any, forms: Forms) -> list[tuple[str, str]] | None:
    """Each label with the words that have it; None where a value is no such thing."""
    quotes = []
    for name, some in value.items() if isinstance(value, dict) else [("", None)]:
        labels = _codes(name, forms)
        words = [some] if isinstance(some, str) else some or []
        if len(labels) != 1 or not isinstance(words, list):
            return None
        for quote in words:
            if not isinstance(quote, str):
                return None
            if quote.strip():
                quotes.append((labels[0], quote.strip()))
    return quotes


def _codes(value: str, forms: Forms) -> Codes:
    """The codes of the label that a value is, with or without what sets it off."""
    return forms.whole(value) or forms.whole(bare(value))


def _set(value: Any, forms: Forms, codes: tuple[str, ...]) -> Reading:
    given = _listed(value)
    if given is None:
        return no_label("the field holds no list")
    labels = list[str]()
    for name in given:
        some = _codes(name, forms)
        if len(some) != 1:
            return no_label("the field holds what is no label")
        labels += some
    return valid(set_of(labels, codes))


def _number(value: Any, level: Level) -> Reading:
    text = repr(value) if type(value) in (int, float) else value if isinstance(value, str) else ""
    number = number_in(text, level)
    return no_label("the field holds no number") if number is None else valid(number)


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object in the order in which they are written, one that is written twice too."""


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_Pairs)
_WORDS = {"none": "null", "null": "null", "true": "true", "false": "false"}
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


def _candidates(answer: Answer, start: int, field: str) -> Iterator[Any]:
    """Every value that an answer's objects give a field, at any depth; of an object that is cut off none."""
    for written in islice(_objects(answer.text, start, answer.response.finish == "length"), _MOST):
        try:
            document, _ = _DECODER.raw_decode(written)
        except (ValueError, RecursionError):
            continue
        yield from _of_field(document, field)


def _of_field(document: Any, field: str) -> Iterator[Any]:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, _Pairs):
            for name, inner in value:
                if fold(composed(name).strip()) == field:
                    yield dict(inner) if isinstance(inner, _Pairs) else inner
            waiting += [inner for _, inner in reversed(value)]
        elif isinstance(value, list):
            waiting += value


def _objects(text: str, start: int, is_cut: bool) -> Iterator[str]:
    """The objects of a text, each as sound JSON: quotes, commas, comments and a missing end are repaired."""
    written: list[str] = []
    open_brackets: list[str] = []
    for part in _TOKEN.finditer(text, start):
        token, kind = part[0], part.lastgroup
        if not open_brackets and token != "{":
            continue
        if kind == "sign":
            if token in "}]":
                if written[-1] == ",":
                    written.pop()
                if open_brackets.pop() != token:  # it closes what is not open
                    written, open_brackets = [], []
                    continue
            elif token in "{[":
                open_brackets.append("}" if token == "{" else "]")
            written.append(":" if token in ("=", "=>", "=:") else token)
        elif kind is not None:
            written.append(_sound(part))
        if not open_brackets and written:
            yield "".join(written)
            written = []
    if open_brackets and "]" not in open_brackets and not is_cut:
        if written[-1] == ",":
            written.pop()
        yield "".join([*written, *reversed(open_brackets)])


def _sound(part: re.Match[str]) -> str:
    """A string, number or word as JSON writes it."""
    text = _text(part)
    if part.lastgroup == "bare":
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _JSON_NUMBER.fullmatch(text):
            return text
    return json.dumps(text)


def _listed(value: Any) -> list[str] | None:
    """The labels that a value lists; None where it is no list of them."""
    if isinstance(value, dict) and all(isinstance(is_given, bool) for is_given in value.values()):
        return [name for name, applies in value.items() if applies]
    if isinstance(value, str):
        return list(labels_in(value))
    if not isinstance(value, list) or any(isinstance(element, _NO_LABEL) for element in value):
        return None
    return [str(element).strip() for element in value]


_NO_LABEL = (type(None), dict, list, bool)


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
