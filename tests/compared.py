"""Comparisons without studies, for tests of what is written about them."""

import polars as pl

from quaver.comparison.bounds import Judgement, read_bound
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import verdict_on
from quaver.core.records import Estimate

HOSTILE = (
    "a|b",
    "\\",
    "\\|",
    "`",
    "``x``",
    " ",
    "@everyone see #1",
    "<img src=x onerror=alert(1)>",
    "</details>",
    "<!-- quaver -->",
    "[x](javascript:alert(1))",
    "www.example.com http://example.com a@example.com",
    "::error::no\n::stop-commands::x",
    "##[add-mask]x",
    "%0A::warning::no",
    "a,file=b::no",
    "]]>&amp;<x/>",
    "\x00\x07\x1b[31m\ud800\ufffe",
    "\u202eevil\u2028next",
    "$(touch hacked) `touch hacked`; touch hacked",
    "| --- |\n| x |",
    "- [ ] x",
    "🙂 é 語",
)
"""Names and texts that nothing written about a comparison may take for anything but text."""


def difference(low, high, measure="accuracy", **cell):
    """A paired difference of 300 items."""
    details = {
        "before": 0.8,
        "after": 0.8 + (low + high) / 2,
        "standard_error": (high - low) / 4,
        "freedom": 299.0,
        "units": 300.0,
        "step": 1.0,
        "range": (-1.0, 1.0),
        "p": 0.01,
        "changed": 20,
    }
    return Estimate(measure, (low + high) / 2, low, high, n=300, cell=cell, details=details)


def comparison(differences, flips=(), *, before="main", after="change", fail_if=None):
    """A comparison of these differences and flipped items."""
    judgements = []
    if fail_if:
        bound = read_bound(fail_if, "if")
        about = bound.about(differences)
        judgements.append(Judgement(bound, about, [one for one in about if bound.beyond(one)]))
    schema = dict.fromkeys(["item", "variant", "before", "after", "gold", "change"], pl.String)
    return Comparison(
        before,
        after,
        differences,
        pl.DataFrame([dict.fromkeys(schema) | row for row in flips], schema=schema),
        300,
        ("2 items: only before",),
        judgements,
        [verdict_on(one) for one in differences],
    )


LOSS = comparison(
    [difference(-0.08, -0.02), difference(-0.02, 0.02, "compliance"), Estimate("f1", None, reason="no gold")],
    [{"item": "i1", "variant": "v", "before": "yes", "after": None, "gold": "yes", "change": "loss"}],
    fail_if="accuracy < 0",
)
"""A comparison that fails for a loss of accuracy."""
