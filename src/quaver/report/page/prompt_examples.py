"""The prompts of the page: every variant as the model saw it, with its differences from the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from quaver.core.variant_display import Change, marked_messages, origin_in_words
from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table

_TAGS = {"gone": ("<del>", "</del>"), "new": ("<ins>", "</ins>"), "same": ("", "")}


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A variant's prompt.

    Attributes:
        place: Its place in the design, from 1.
        name: The levels that distinguish it from others.
        id: Its id.
        answers: The answer for each label, by the label's name.
        origin: Where it came from and whether it keeps the meaning, a line each.
        flagged: Whether its meaning is in doubt.
        messages: Role and content, marked.
    """

    place: int
    name: str
    id: str
    answers: Mapping[str, str]
    origin: Sequence[str]
    flagged: bool
    messages: Sequence[tuple[str, Markup]]


def shown_prompts(results: Results, most: int) -> Iterator[ShownPrompt]:
    """The first variants of a study as the page shows them."""
    original = results.lock.get("original", ())
    for place, variant in enumerate(results.variants[:most], 1):
        covariates: Mapping[str, Any] = variant.get("covariates", {})
        messages = marked_messages(original or variant.get("example", ()), variant.get("example", ()))
        yield ShownPrompt(
            place,
            results.variant_name(variant["id"]),
            variant["id"],
            {results.label_name(code): answer for code, answer in variant["answers"].items()},
            origin_in_words(variant.get("origin", {}), covariates),
            bool(covariates.get("flagged")),
            [(role, marked(pieces)) for role, pieces in messages],
        )


def marked(pieces: Sequence[Change]) -> Markup:
    """Insertions and deletions in HTML; the texts are escaped."""
    parts = []
    for kind, text in pieces:
        opening, closing = _TAGS[kind]
        parts.append(Markup(opening) + escape(text) + Markup(closing))
    return Markup("").join(parts)


def edits_table(results: Results) -> Table:
    """What was changed by hand in the prompts, with the text before."""
    edits = results.lock.get("paraphrases", {}).get("edits", ())
    rows = tuple(
        (f"{one['factor']}={one['level']}", one["part"], one["before"], one["after"]) for one in edits
    )
    return Table(("level", "part", "before", "after"), rows)
