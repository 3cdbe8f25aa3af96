"""Checklists, filled in: what a study reports, where, and what is missing.

Which rows there are stands in ``checklists.toml``, and in ``templates/checklist_answers.txt`` what a study
answers to each; here is what the answers need to know.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_templates import phrases
from quaver.report.table_rows import Table

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
    "Edits by hand to the paraphrases": "edits",
    "What was fixed before the results were known": "frozen",
    "What the estimates exclude": "exclusions",
    "Seeds": "seeds",
    "Versions and hashes of models, items and software": "versions",
    "When the collection stopped": "stopping",
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
    made = {}
    for name, one in CHECKLISTS.items():
        rows = tuple((place, item, *answers.to(said)) for place, item, said in one["rows"])
        note = f"After {one['source']}; in Quaver’s words."
        made[name] = Table(heads, rows, note=note, name=f"checklist-{name}")
    return made


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
    at = paid.columns.index("US dollars")
    unpriced = [str(row[0]) for row in paid.rows if row[at] == "unknown"]
    spent = sum(float(str(row[at]).replace(",", "")) for row in paid.rows if row[at] != "unknown")
    return {"paid": True, "unpriced": unpriced, "spent": spent}


def _facts(results: Results) -> dict[str, Any]:
    """What the answers need to know of a study."""
    lock, models = results.lock, results.lock.get("models", {})
    every = [one for one in (*results.estimates, *results.audit) if one.value is not None]

    def known(*measures: str) -> list[Estimate]:
        """The estimates with a value of measures whose name begins so."""
        return [one for one in every if one.measure.startswith(measures)]

    conditions = lock.get("conditions", ())
    asked = {(one["model"], one["variant"], one["decoding"]) for one in conditions}
    models_asked, variants_asked, decodings_asked = (len({one[at] for one in asked}) for at in range(3))
    decodings: Mapping[str, Mapping[str, Any]] = lock.get("decodings", {})
    nameless = [name for name, facts in models.items() if not facts.get("identity")]
    labels = lock.get("labels", {}).get("labels", ())
    gold, drawn = _gold(results)
    parts = {column for one in known("accuracy", "f1", "corrected_accuracy") for column in one.cell}
    noise = ["the engine's own noise"] if results.noise else []
    return {
        "results": results,
        "lock": lock,
        "known": known,
        "collection": lock.get("collection", {}),
        "n_items": int(lock.get("items", {}).get("n", 0)),
        "nameless": nameless + ([] if lock.get("items", {}).get("blake2b") else ["items"]),
        "files": {name: facts["file"] for name, facts in models.items() if facts.get("file")},
        "engines": {str(facts.get("engine", "")) for facts in models.values()},
        "hosts": list(_hosts(models)),
        "weights": [name for name, facts in models.items() if facts.get("sha256") or facts.get("file")],
        "shown": sum(1 for one in results.variants if one.get("example")),
        "examples": sorted({len(one.get("examples") or ()) for one in results.variants}),
        "conditions": conditions,
        "crossed": len(asked) == models_asked * variants_asked * decodings_asked,
        "repeats": max((one.get("repeats", 1) for one in conditions), default=1),
        "heats": [f"{name}: temperature {one.get('temperature')}" for name, one in decodings.items()],
        "drawn_with": list(_seeds(decodings.values())),
        "intervals": any(one.low is not None for one in every),
        "mitigations": list(_mitigations(results, known)),
        "referenced": {one.measure for one in every if one.reference},
        "again_by": [name for name in ("intra_pss", "consistency") if known(name)] + noise,
        "accurate_variants": len({one.cell["variant"] for one in known("accuracy") if "variant" in one.cell}),
        "excluded": _excluded(results.estimates),
        "parsed_cells": len({tuple(one.cell.items()) for one in known("compliance")}),
        "elicited": _elicited(results),
        "labels": len(labels),
        "defined": sum(1 for one in labels if one.get("definition")),
        "gold": gold,
        "drawn": drawn,
        "classes": sorted(parts - {"model", "decoding", "variant", "evaluator", "estimand"}),
        "named_coders": lock.get("study", {}).get("items", {}).get("coders"),
    }


def _hosts(models: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where each model ran, as far as that is known."""
    for name, facts in models.items():
        at = facts.get("base_url") or facts.get("processor") or facts.get("engine")
        if at:
            yield f"{name}: {at}"


def _mitigations(results: Results, known: Callable[..., list[Estimate]]) -> Iterator[str]:
    """What was done against threats to validity."""
    if len(results.variants) > 1:
        yield count(len(results.variants), "prompt")
    if len(results.models) > 1:
        yield count(len(results.models), "model")
    if known("accuracy", "corrected_accuracy"):
        yield "labels by people"
    if known("conclusion_corrected"):
        yield "conclusions corrected for wrong labels"


def _seeds(decodings: Any) -> dict[str, None]:
    """The seeds of decodings that sample, each once."""
    some = [one for one in decodings if isinstance(one, dict) and one.get("temperature") and "seed" in one]
    return dict.fromkeys(str(one["seed"]) for one in some)


def _excluded(estimates: Sequence[Estimate]) -> list[str]:
    """The kinds of what estimates exclude."""
    kinds = dict.fromkeys(str(kind) for one in estimates for kind in one.excluded)
    return [kind.replace("_", " ") for kind in kinds]


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
