"""The templates of pages, and of text that has more words than numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2

from quaver.core.column_names import in_words
from quaver.core.number_format import count, enumeration, percent, with_interval
from quaver.report.page_words import completeness, slug


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
        "completeness": completeness,
        "count": count,
        "ends": _ends,
        "enumeration": enumeration,
        "grouped": "{:,}".format,
        "in_words": in_words,
        "percent": percent,
        "slug": slug,
        "with_interval": with_interval,
    }
    return environment


def _ends(values: list[float]) -> str:
    """The first and the last of some numbers."""
    return " to ".join(f"{value:g}" for value in dict.fromkeys((values[0], values[-1])))


def paragraph(name: str, **facts: Any) -> str:
    """A text of a template, on one line: in the template it may be broken anywhere."""
    return " ".join(template(name).render(facts).split())
