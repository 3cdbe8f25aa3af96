"""The templates of pages, and of text that has more words than numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any

import jinja2
from markupsafe import Markup, escape

from quaver.core.column_names import in_words
from quaver.core.number_format import (
    count,
    duration,
    enumeration,
    percent,
    points,
    several,
    with_interval,
)
from quaver.core.records import AND_PROMPT, Estimate
from quaver.core.variant_display import plain
from quaver.report.page_words import (
    capital,
    completeness,
    interval,
    number,
    of_items,
    shortened,
    visible,
)

_LONGEST = 60
"""Characters of a name that are shown."""


@cache
def template(name: str) -> jinja2.Template:
    """A page's template, compiled once for all pages of a process."""
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quaver.report", "templates"),
        autoescape=jinja2.select_autoescape(disabled_extensions=("txt",), default=True),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "by_share": lambda shares: sorted(shares.items(), key=itemgetter(1)),
        "capital": capital,
        "clauses": _clauses,
        "coded": coded,
        "completeness": completeness,
        "correct": _correct,
        "count": count,
        "duration": duration,
        "ends": lambda values: " to ".join(f"{value:g}" for value in dict.fromkeys((values[0], values[-1]))),
        "enumeration": enumeration,
        "grouped": "{:,}".format,
        "in_words": in_words,
        "interval": interval,
        "mirrored": _mirrored,
        "number": number,
        "one_line": _one_line,
        "percent": percent,
        "plain": plain,
        "points": points,
        "quoted": quoted,
        "repr": repr,
        "resampled": _resampled,
        "several": several,
        "shortened": shortened,
        "visible": visible,
        "with_interval": with_interval,
        "yaml": in_yaml,
    }
    return environment


@cache
def style(name: str) -> Markup:
    """A style sheet of the pages."""
    return Markup((files("quaver.report") / "templates" / name).read_text(encoding="utf-8"))


def coded(sentences: str) -> Markup:
    """Sentences with what stands in backticks as code; a command of the study runs in the study's folder.

    >>> coded("type `quaver gold STUDY --n 9` & wait")
    Markup('type <code>quaver gold . --n 9</code> in the study’s folder &amp; wait')
    """
    parts = str(escape(sentences)).split("`")
    for index in range(1, len(parts), 2):
        there = parts[index].replace(" STUDY", " .")
        parts[index] = f"<code>{there}</code>" + " in the study’s folder" * (there != parts[index])
    return Markup("".join(parts))


def in_yaml(value: object) -> str:
    """A value on one line, as JSON writes it and YAML reads it."""
    return json.dumps(value, ensure_ascii=False)


def quoted(name: object, most: int = _LONGEST) -> str:
    r"""A name in quotation marks, on one line and not too long.

    >>> quoted("for\nor against")
    '“for or against”'
    """
    return f"“{shortened(name, most)}”"


def _correct(wrong: Estimate | None) -> str:
    """The share of correct labels, from that of wrong ones."""
    if wrong is None:
        return "enough"
    low, high = (None if end is None else 1 - end for end in (wrong.high, wrong.low))
    return with_interval(replace(wrong, value=1 - wrong.number, low=low, high=high))


def _mirrored(estimate: Estimate) -> Estimate:
    """An estimate on the other side of 0."""
    low, high = (None if end is None else -end for end in (estimate.high, estimate.low))
    return replace(estimate, value=-estimate.number, low=low, high=high)


def _resampled(unit: str) -> str:
    """The column whose values an interval resamples."""
    return unit.removesuffix(AND_PROMPT)


def paragraph(name: str, word: str = "text", **facts: Any) -> str:
    """A text of a template about such items, on one line: in the template it may be broken anywhere."""
    return of_items(_one_line(template(name).render(facts)), word)


def phrases(name: str, word: str = "text", **facts: Any) -> Callable[..., str]:
    """What says the phrases of a template, its macros: by their names, and what each is about.

    Args:
        name: The template.
        word: What the study's items are.
        **facts: What all phrases know.
    """
    macros = template(name).make_module(facts)

    def say(phrase: str, *about: Any) -> str:
        return of_items(_one_line(getattr(macros, phrase)(*about)), word)

    return say


def marked_phrases(name: str, **facts: Any) -> Callable[..., Markup]:
    """The macros of an HTML template, as functions."""
    say = phrases(name, **facts)
    return lambda phrase, *about: Markup(say(phrase, *about))


def _one_line(text: str) -> str:
    """A part of a template on one line."""
    return " ".join(text.split())


def _clauses(lines: str, by: str) -> str:
    """The clauses of a part of a template, one a line there, joined by a separator."""
    return by.join(line for line in map(str.strip, lines.splitlines()) if line)
