"""Words and numbers as a page prints them, and untrusted text made fit for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from markupsafe import Markup

from quaver.core.column_names import in_words as named_by_study
from quaver.core.number_format import alike, count, rounded, span
from quaver.core.number_format import percent as in_percent
from quaver.core.records import NO_LABEL, Estimate
from quaver.core.rows import SECTIONS, Presentation, Section, presented
from quaver.report.estimate_index import Results

_VISIBLE = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"},
    **{
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    },
    **{code: f"⟨U+{code:04X}⟩" for code in (0x061C, 0x200E, 0x200F)},
    0x7F: "␡",
}

_HIDDEN = re.compile(f"[{''.join(map(re.escape, map(chr, _VISIBLE)))}]")
"""A search for the few that are there takes a tenth of the time that translating every letter does."""


def one_line(text: object) -> str:
    r"""The text on one line, without what cannot be printed (or be in XML at all).

    >>> one_line("a\x00b\n  c")
    'ab c'
    """
    kept = (c if not unicodedata.category(c).startswith("C") or c.isspace() else "" for c in str(text))
    return " ".join("".join(kept).split())


def shortened(text: object, length: int) -> str:
    """At most ``length`` characters of it, cut in the middle: the ends of names tell most.

    >>> shortened("paraphrase-0001-at-1.5", 12)
    'parap…at-1.5'
    """
    line = one_line(text)
    if len(line) <= length:
        return line
    tail = max(1, length // 2)
    head = max(0, length - 1 - tail)
    return line[:head] + "…" + line[-tail:]


def beginning(text: str, length: int) -> str:
    r"""The text on one line, and of a longer one the beginning.

    >>> beginning(" a\n b", 9), beginning("abcdef", 3)
    ('a b', 'abc…')
    """
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length]}…"


def capital(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


_TEXTS: Final = re.compile(r"“[^”]*”|`[^`]*`|(?<![\w-])text(s?)(?![\w-])")


def of_items(sentences: str, word: str) -> str:
    """Sentences about texts as they are about other items; what is quoted stays.

    >>> of_items("2 texts differ; see “my texts”.", "picture")
    '2 pictures differ; see “my texts”.'
    """
    return _TEXTS.sub(lambda found: found[0] if found[1] is None else word + found[1], sentences)


def slug(text: object) -> str:
    """A file name made of it: lower-case letters, digits and hyphens, never a path.

    >>> slug("../../Intra PSS")
    'intra-pss'
    """
    ascii_text = unicodedata.normalize("NFKD", str(text)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:60] or "figure"


def visible(text: str) -> str:
    r"""The text with its control characters, and those that turn the reading order, made visible.

    >>> visible("a\x00b\u202e")
    'a␀b⟨U+202E⟩'
    """
    return text if text.isprintable() else _HIDDEN.sub(lambda match: _VISIBLE[ord(match[0])], text)


_SHARES: Final = frozenset(
    [
        "level_shares",
        "label_range",
        "label_shift",
        "deviation_share",
        "flips_repeats",
        "flips_prompts",
        "flips_chance",
        "flips_noise",
        "label_in_use",
        "wrong_labels",
        "gold_total",
        "flips_total",
        "failed_calls",
        "unlabelled_answers",
        "truncated_answers",
        "corrected_share",
        "corrected_accuracy",
        "rest_wrong",
        "rest_unlabelled",
        "best_prompt_wrong",
        "best_prompt_better",
    ]
)
"""What is printed as percents, of measures that do not declare it and of numbers that are no measures."""


def in_words(column: str) -> str:
    """A column, or a measure without a name of its own, as charts call it: a factor by its study's name.

    >>> in_words("paraphrase_temperature"), in_words("factor_output × tone")
    ('paraphrase temperature', 'output × tone')
    """
    return one_line(" × ".join(map(named_by_study, column.split(" × "))).replace("_", " "))


def presentation_of(measure: str) -> Presentation:
    """How estimates of a name are shown: as a measure declares it, or as the tables here have it.

    >>> presentation_of("my_measure").title
    'My measure, with intervals'
    """
    return presented(measure) or Presentation(unit="share" if measure in _SHARES else "number").named(measure)


def section_of(measure: str) -> Section:
    """Where in the report a measure's charts stand."""
    name = presentation_of(measure).section
    return next((section for section in SECTIONS if section == name), "more")


def percent_measure(measure: str) -> bool:
    """Whether a measure's numbers are printed as percents."""
    return presentation_of(measure).in_percent


def printed(value: float, percent: bool = False) -> str:
    """A number as it is read (`quaver.core.number_format`): a share as a percent, another with two decimals.

    >>> printed(0.384, percent=True), printed(-0.0712)
    ('38%', '−0.07')
    """
    return in_percent(value) if percent else rounded(value)


def number(value: float, percent: bool = False, of: Estimate | None = None) -> Markup:
    """The number as HTML: what is printed, and what it is; of an estimate with an interval, as its ends."""
    text = printed(value, percent) if of is None else _written(of)(value)
    return Markup('<data value="{}">{}</data>').format(repr(float(value)), text)


def _written(estimate: Estimate) -> Callable[[float], str]:
    """How an estimate and the ends of its interval are printed."""
    return alike(estimate, in_percent if percent_measure(estimate.measure) else rounded)


def cell(value: object, percent: bool = False) -> Markup | str:
    """A table's cell for a number that may be missing."""
    return number(float(value), percent) if isinstance(value, (int, float)) else ""


def interval(estimate: Estimate) -> Markup:
    """The interval's ends as HTML, or nothing where there is none."""
    return Markup(span(estimate.low, estimate.high, partial(number, of=estimate)))


_SAID: Mapping[str, str] = {
    "accuracy": "{} correct",
    "compliance": "{} of the answers have a label",
    "deviation_share": "{} of the answers differ from their item’s most frequent label",
}


def sentence(estimate: Estimate, results: Results) -> str:
    """An estimate in a sentence: its cell, value, interval and n.

    >>> import polars as pl
    >>> one = Estimate("accuracy", 0.82, 0.74, 0.88, n=120, cell={"variant": "v", "paraphrase": "third"})
    >>> sentence(one, Results({"labels": {"labels": []}}, pl.DataFrame(), [one]))
    'v, third: 82% correct, 95% interval 74% to 88%, 120 items'
    """
    subject = ", ".join(_names(estimate, results))
    before = f"{subject}: " if subject else ""
    if estimate.value is None:
        reason = estimate.reason or "no reason given"
        return f"{before}{presentation_of(estimate.measure).axis}: not defined ({reason})"
    written = _written(estimate)
    parts = [_value(estimate, written(estimate.value), results)]
    if ends := span(estimate.low, estimate.high, written):
        parts.append(f"{100 * estimate.confidence_level:g}% interval {ends}")
    if estimate.n:
        unit = estimate.unit.partition(" and ")[0]
        parts.append(f"{estimate.n:,} {unit}{'s' * (estimate.n != 1)}")
    return before + ", ".join(parts)


_OF_LABELS = ("label_shares", "level_shares")
"""Measures whose value says which label it is of."""


def _value(estimate: Estimate, value: str, results: Results) -> str:
    label = estimate.cell.get("label", "")
    if estimate.measure in _OF_LABELS and label:
        name = "no label" if label in (NO_LABEL, "no_label") else f"the label “{results.label_name(label)}”"
        return f"{value} of the answers have {name}"
    said = _SAID.get(estimate.measure)
    return said.format(value) if said else f"{presentation_of(estimate.measure).axis} {value}"


def _names(estimate: Estimate, results: Results) -> list[str]:
    """The names of an estimate's cell, without those that all of the study has in common."""
    result = []
    for column, value in sorted(estimate.cell.items(), key=lambda pair: pair[0] != "variant"):
        known = results.order(column)
        if column in ("model", "decoding", "evaluator") and len(known) < 2:
            continue
        if column == "evaluator" and value == known[0]:
            continue
        if column == "label" and estimate.measure in _OF_LABELS:
            continue
        result.append(named(estimate, column, results))
    return result


def named(estimate: Estimate, column: str, results: Results, without: str | None = None) -> str:
    """What an estimate's cell holds in a column, as printed; a prompt without the level of a factor."""
    value = estimate.cell.get(column, "all")
    factor = estimate.cell.get("factor")
    if column == "variant":
        return results.variant_name(value, without)
    if column in ("label", "class") or (column == "level" and factor == "gold"):
        return results.label_name(value)
    if column == "factor":
        return "items, by gold label" if factor == "gold" else in_words(value)
    return value


def completeness(collection: Mapping[str, Any]) -> str:
    """Whether every call of the design has an answer, and whether the design is what was asked."""
    missing = collection.get("total", 0) - collection.get("answered", 0)
    if missing > 0:
        return f"{count(missing, 'call')} of the design {'have' if missing > 1 else 'has'} no answer yet"
    if collection.get("outside"):
        return "Every call of the current design has an answer; others, no longer part of it, have one too"
    return "The whole design was collected; no rule ended collection early"
