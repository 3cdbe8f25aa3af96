r"""When two written labels are the same, and when a cell holds none: the one place that says so.

Tables, imports, agreement, gold labels, sheets that come back, prompts, guards and evaluators all ask here.

Two texts are one label where they differ only in capitals, in white space (double, no-break, zero-width), in
a hyphen, a dash, an underscore or a space between words, in full-width characters, in how an accent or a
quotation mark is encoded, or in the forms of one Arabic letter. Where every label is a number, ``1``,
``1.0``, ``01`` and ``1,0`` are one; where every label is a truth value, ``TRUE``, ``1`` and ``yes`` are. A
label's code, name and synonyms are one, as are ``501: Environment``, ``501`` and ``Environment``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Final

from quaver.core.number_format import composed
from quaver.core.records import Label, Level, Reading

_INVISIBLE: Final = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_UNSEEN: Final = re.compile(f"[{_INVISIBLE}]")
_NEVER_MEANT: Final = re.compile("[\u00ad\u200b\u2060\ufeff\u200e\u200f\u202a-\u202e]")
"""Of these, what no spelling needs: joiners belong to Persian words and to emoji."""
SIGNS: Final = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc\uff07"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb"), '"'),
    **dict(zip(map(ord, "İıςيىك"), "iiσییک", strict=True)),
}
"""Characters that stand for another in any label, each with that one: dashes, quotes, forms of a letter."""

_VOWELS: Final = re.compile("[\u0640\u064b-\u065f\u0670]")
"""Arabic vowel marks, and the stroke that makes a word longer."""
_CODE_AND_NAME: Final = re.compile(r"^\(?(\d+(?:\.\d+)*|[a-z])\)?\s*[.:)=|-]\s*(?=[^\d\s])(\S.*)$")
_BEGINS: Final = frozenset("(0123456789abcdefghijklmnopqrstuvwxyz")
_BETWEEN_WORDS: Final = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")


@lru_cache(maxsize=1 << 16)
def folded(text: str) -> str:
    r"""The form in which written labels are compared.

    >>> folded(" Center\u2013Left\u200b "), folded("\uff21\uff22"), folded("A-"), folded("A")
    ('center left', 'ab', 'a-', 'a')
    """
    if not text.isascii():
        text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
        text = unicodedata.normalize("NFKC", _VOWELS.sub("", text.translate(SIGNS)).casefold())
    form = " ".join(_BETWEEN_WORDS.sub(" ", text.casefold()).split())
    return _CODE_AND_NAME.sub(r"\1: \2", form) if form[:1] in _BEGINS else form


def code_and_name(text: str) -> tuple[str, str] | None:
    """The code with which a label's name begins, and the rest, both folded; None of other names.

    >>> code_and_name("501: Environment"), code_and_name("2) Health"), code_and_name("Health")
    (('501', 'environment'), ('2', 'health'), None)
    """
    match = _CODE_AND_NAME.fullmatch(folded(text))
    return None if match is None else (match[1], match[2])


def cleaned(text: str) -> str:
    r"""A label as a prompt can show it: without what nobody sees, on one line.

    >>> cleaned("in\u00a0favor\u200b"), cleaned("very\nbad")
    ('in favor', 'very bad')
    """
    return " ".join(_NEVER_MEANT.sub("", composed(text)).split())


def shown(text: str) -> str:
    r"""A label in quotes, with its invisible characters written out.

    >>> shown("in favor"), shown("in\u00a0favor\u200b")
    ("'in favor'", "'in\\xa0favor\\u200b'")
    """
    return repr(_UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)).replace("\\\\u", "\\u")


_NUMBER: Final = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_NOISE: Final = 12
"""Digits: what comes after them is how computers write 0.3."""


@lru_cache(maxsize=1 << 16)
def number_of(text: str, *, measured: bool = True) -> str | None:
    """The number that a text is, in one form; None of another text.

    Codes that are not measured may end in a zero: ``1.10`` comes after ``1.9``.

    >>> [number_of(text) for text in ("1", "1.0", "01", "1,0", "0.30000000000000004", "1.10", "1,000")]
    ['1', '1', '1', '1', '0.3', '1.1', None]
    >>> number_of("1.10", measured=False)
    '1.10'
    """
    form = folded(text)
    if not _NUMBER.fullmatch(form) or _THOUSANDS.fullmatch(form):
        return None
    value = float(form.replace(",", ".")) + 0.0
    if not isfinite(value):
        return None
    digits = form.replace(",", ".").lstrip("+")
    codes = not measured and not value.is_integer() and "e" not in digits and len(digits) <= _NOISE
    return re.sub(r"^(-?)0*(?=\d)", r"\1", digits) if codes else f"{value:.12g}"


_TRUE: Final = "1 1.0 true t yes y wahr vrai verdadero vero verdadeiro sant prawda 真"
_FALSE: Final = "0 0.0 false f no n falsch faux falso falskt fałsz 假"
_TRUTHS: Final = {
    **dict.fromkeys(_TRUE.split(), True),
    **dict.fromkeys(_FALSE.split(), False),
}
"""What programs write for a truth value, in the languages of spreadsheets."""


def applies(text: str) -> bool | None:
    """Whether a mark in a label's own column means that the label applies; None for any other text.

    >>> applies("TRUE"), applies("x"), applies(""), applies("maybe")
    (True, True, False, None)
    """
    return {"x": True, "": False}.get(folded(text), _TRUTHS.get(folded(text)))


def _key_of(labels: Iterable[str], level: Level | None) -> Callable[[str], str]:
    """A function from a text to its key: texts with one key are the same label."""
    forms = {folded(text) for text in labels}
    if len(forms) > 1 and forms <= _TRUTHS.keys():
        return lambda text: str(_TRUTHS.get(folded(text), folded(text)))
    measured = level in ("interval", "ratio")
    if forms and None not in {number_of(form, measured=measured) for form in forms}:
        return lambda text: number_of(text, measured=measured) or folded(text)
    return _written_whole


def _written_whole(text: str) -> str:
    """A text's key among labels that are not all numbers: folded, without the decimals of a whole number."""
    form = folded(text)
    return form[:-2] if form.endswith(".0") and form[:-2].lstrip("-").isdigit() else form


def _parts(forms: Iterable[str]) -> dict[str, str]:
    """The code, and the name, in forms such as ``501: environment``, each with the one form that has it."""
    owners: dict[str, set[str]] = defaultdict(set)
    for form in {*forms}:
        if match := _CODE_AND_NAME.fullmatch(form):
            for part in match.groups():
                owners[part].add(form)
    return {part: min(own) for part, own in owners.items() if len(own) == 1}


MISSING: Final = frozenset(("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "None", "<NA>", "#N/A", "."))
"""What programs write into a cell that has no value."""


def missing_texts(texts: Iterable[str], given: Iterable[str] = ()) -> list[str]:
    """The texts of a column that stand for a missing label and are not labels.

    ``None`` is a label among others that begin with a capital letter, ``NA`` among other abbreviations.
    Labels that are given are labels.

    >>> missing_texts(["favor", "NA", "None"]), missing_texts(["Favor", "None"]), missing_texts(["NA", "EU"])
    (['NA', 'None'], [], [])
    """
    occurring = [*dict.fromkeys(texts)]
    others = [text for text in occurring if text.strip() not in MISSING]
    labels = {*map(folded, given)} | {folded(text) for text in others}
    capital = any(text[:1].isupper() and not text.isupper() for text in others)
    abbreviations = bool(others) and all(text.isupper() and len(text) < _ABBREVIATED for text in others)
    kept = {"None": capital, "NA": abbreviations}
    return [
        text
        for text in occurring
        if (form := text.strip()) in MISSING
        and not kept.get(form)
        and (not form or folded(form) not in labels)
    ]


_ABBREVIATED: Final = 5
"""Characters: shorter labels in capital letters are abbreviations."""


class LabelCells:
    """Says which label a written text is.

    A text that is a label's code to the letter is that label, else the one label that it is the same as.

    Args:
        labels: The labels, or their codes.
        also: Other texts of cells, each with its label.
        unlabelled: The texts that stand for a missing label.
        level: The labels' level of measurement.

    >>> cells = LabelCells([Label("pos", "positive"), Label("neg", "negative")])
    >>> [cells.label(text) for text in ("POS ", "Positive", "NA", "nag")]
    ['pos', 'pos', None, None]
    """

    def __init__(
        self,
        labels: Iterable[str | Label],
        also: Mapping[str, str] | None = None,
        unlabelled: Iterable[str] = (),
        level: Level | None = None,
    ) -> None:
        given = [Label(label, label) if isinstance(label, str) else label for label in labels]
        self._exact = {composed(text): label for text, label in (also or {}).items()}
        self._exact |= {composed(label.code): label.code for label in given}
        self._key = _key_of([label.code for label in given], level)
        self._unlabelled = {composed(text) for text in unlabelled}
        forms: dict[str, set[str]] = defaultdict(set)
        for label in given:
            forms[self._key(label.code)].add(label.code)
        names: dict[str, set[str]] = defaultdict(set)
        for label in given:
            for text in (label.name, *label.synonyms):
                names[folded(text)].add(label.code)
        for text, code in (also or {}).items():
            names[folded(text)].add(code)
        for part, form in _parts([*forms, *names]).items():
            names[part] |= forms[form] if form in forms else names[form]
        self._forms = {form: min(codes) for form, codes in {**names, **forms}.items() if len(codes) == 1}
        unseen = {folded(text): text for text in self._unlabelled}
        self._unlabelled |= {form for form in unseen if form not in self._forms}

    def read(self, text: str) -> Reading | None:
        """The meaning of a cell's text; None for a text that is not known."""
        if not text.strip():
            return Reading(None, "empty", "an empty cell")
        exact, form = composed(text), folded(text)
        if exact in self._unlabelled:
            return Reading(None, "no_label", text)
        label = self._exact.get(exact) or self._forms.get(self._key(text)) or self._forms.get(form)
        if label is not None:
            return Reading(label, "valid", None)
        is_missing = form in self._unlabelled or text in MISSING or not form
        return Reading(None, "no_label", text) if is_missing else None

    def label(self, text: str) -> str | None:
        """The label's code; None of every other text."""
        read = self.read(text)
        return read.label if read else None


def same_labels(
    counts: Mapping[str, int], given: Sequence[str] = (), level: Level | None = None
) -> dict[str, str]:
    """The texts of cells that are a label written differently, each with that label.

    Without a label set, the label is the form with capitals as most cells have them, of several the most
    frequent, without what nobody sees in it; of numbers, the shortest.

    >>> same_labels({"True": 3, "TRUE": 2, "False": 1, "FALSE": 4})
    {'False': 'FALSE', 'True': 'TRUE'}
    >>> same_labels({"1": 3, "1.0": 2, "1.1": 1, "1.10": 1})
    {'1.0': '1'}
    """
    cases = Counter[tuple[bool, bool]]()
    for text, number in counts.items():
        cases[text.isupper(), text.islower()] += number
    texts = sorted(counts, key=lambda text: (-cases[text.isupper(), text.islower()], -counts[text], text))
    if given:
        cells = LabelCells(given, level=level)
        return {text: label for text in sorted(texts) if (label := cells.label(text)) not in (None, text)}
    key = _key_of(texts, level)
    owner = _parts(map(key, texts))
    groups: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        groups[owner.get(key(text), key(text))].append(text)
    gaps = bool(texts) and all(re.fullmatch(r"-?\d+\.0", text) for text in texts)
    written: dict[str, str] = {}
    for form, group in groups.items():
        label = cleaned(next((text for text in group if key(text) == form), group[0]))
        if gaps or (len(group) > 1 and number_of(label) is not None and key is not _written_whole):
            label = number_of(label, measured=False) or label
        written |= {text: label for text in group if text != label}
    return dict(sorted(written.items()))


TOLD_APART: Final = "labels that differ in more than capitals, white space, dashes or a number's form"


def indistinct_labels(codes: Sequence[str]) -> tuple[str, str] | None:
    """Two labels that nobody can tell apart in an answer; None where there are none.

    >>> indistinct_labels(["left", "center-left", "Center left"])
    ('center-left', 'Center left')
    """
    key = _key_of(codes, None)
    seen: dict[str, str] = {}
    for code in codes:
        if (other := seen.setdefault(key(code), code)) != code:
            return other, code
    return None
