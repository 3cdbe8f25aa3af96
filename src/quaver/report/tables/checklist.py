"""Checklists, filled in: what a study reports, where, and what is missing.

Which rows there are stands in ``checklists.toml``, and in ``templates/checklist_answers.txt`` what a study
answers to each; here is what the answers need to know.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import defined
from quaver.report.decoding_words import decodings_in_words
from quaver.report.estimate_index import Results
from quaver.report.page_templates import phrases
from quaver.report.table_rows import Table, left_out

CHECKLISTS: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("checklists.toml").read_text(encoding="utf-8")
)
"""The field's checklists by name: what each follows, and its rows."""

_AUDIT: Final[Mapping[str, str]] = {
    "How confidence was normalized before calibration was measured": "normalisation",
    "The evaluators’ exact rules, and the prompts": "rules",
    "The raw text of every answer": "raw_answers",
    "How many answers have a label, by cell": "parse_rates",
    "Confidence elicited in two ways, from tokens and in words": "elicitations",
    "The spread of results over variants, beside their mean": "spread",
    "What was fixed before the results were known": "design",
    "What the estimates exclude": "exclusions",
    "Seeds": "seeds",
    "Versions and hashes of models, items and software": "versions",
    "What it cost": "cost",
}
"""The rows of Quaver's own checklist."""


def checklist(results: Results, raw_kept: bool, paid: Table | None = None) -> Table:
    """What readers of an audit ask for, with the study's answers."""
    answers = _Answers(results, raw_kept, paid)
    rows = tuple((item, *answers.to(name)) for item, name in _AUDIT.items())
    return Table(("item", "reported", "how, or what is missing"), rows, name="checklist")


def field_checklists(results: Results, *, raw_kept: bool, paid: Table | None = None) -> dict[str, Table]:
    """Each checklist as a table, by its name."""
    answers = _Answers(results, raw_kept, paid)
    heads = ("where", "what is asked", "reported", "how, or what is missing")
    result = {}
    for name, one in CHECKLISTS.items():
        rows = tuple((place, item, *answers.to(said)) for place, item, said in one["rows"])
        note = f"After {one['source']}; in Quaver’s words."
        result[name] = Table(heads, rows, note=note, name=f"checklist-{name}")
    return result


class _Answers:
    """What a study answers to the rows of checklists."""

    def __init__(self, results: Results, raw_kept: bool, paid: Table | None) -> None:
        facts = {"raw": raw_kept, **_paid(paid), **_facts(results)}
        self._say = phrases("checklist_answers.txt", **facts)

    def to(self, said: str) -> tuple[str, str]:
        """The state of an answer and its words; of what the authors write, what it is about."""
        name, _, more = said.partition(" ")
        if name == "yours:":
            return "yours", f"write about {more}"
        state, _, words = self._say(name, *more.split()).partition(": ")
        return state, words


def _paid(paid: Table | None) -> dict[str, Any]:
    """What the answers cost, and the models whose price is not known."""
    if paid is None or not paid.rows:
        return {"paid": False}
    index = paid.columns.index("US dollars")
    unpriced = [str(row[0]) for row in paid.rows if row[index] == "unknown"]
    spent = sum(float(str(row[index]).replace(",", "")) for row in paid.rows if row[index] != "unknown")
    return {"paid": True, "unpriced": unpriced, "spent": spent}


def _facts(results: Results) -> dict[str, Any]:
    """What the answers need to know of a study."""
    estimates = defined((*results.estimates, *results.audit))

    def known(*measures: str) -> list[Estimate]:
        """The estimates with a value of measures whose name begins so."""
        return [estimate for estimate in estimates if estimate.measure.startswith(measures)]

    asked = {(one["model"], one["variant"], one["decoding"]) for one in results.lock.get("conditions", ())}
    models, variants, decodings = (len({one[index] for one in asked}) for index in range(3))
    gold, drawn = _gold(results)
    return {
        "results": results,
        "lock": results.lock,
        "known": known,
        "crossed": len(asked) == models * variants * decodings,
        "left_out": left_out(results),
        "elicited": _elicited(results),
        "sampled": (sampled := decodings_in_words(results.lock)),
        "unseeded": [name for name, words in sampled.items() if "without a seed" in words],
        "gold": gold,
        "drawn": drawn,
    }


def _elicited(results: Results) -> dict[str, list[str]]:
    """Which evaluators have confidence from tokens, and which from words."""
    frame = results.annotations
    wanted = ("evaluator", "confidence", "probabilities")
    if frame.is_empty() or not set(wanted) <= set(frame.columns):
        return {}
    counted = frame.group_by(pl.col("evaluator").cast(pl.String)).agg(
        pl.col("confidence").is_not_null().any(), pl.col("probabilities").is_not_null().any()
    )
    ways: dict[str, list[str]] = {}
    for evaluator, confident, probable in counted.sort("evaluator").iter_rows():
        if confident:
            ways.setdefault("tokens" if probable else "words", []).append(evaluator)
    return ways


def _gold(results: Results) -> tuple[int, bool]:
    """How many items have a gold label, and whether some of them were drawn by design."""
    frame = results.annotations
    if "gold_drawn" in frame.columns:
        known = frame.filter(pl.col("gold_drawn") & pl.col("gold").is_not_null())["item"].n_unique()
        if known:
            return known, True
    return sum(results.lock.get("items", {}).get("gold", {}).values()), False
