"""The reporting checklist of an audit, filled in: what the study reports, where, and what is missing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table
from quaver.report.tables import asking_facts, reported_facts
from quaver.report.tables.reported_facts import (
    Answer,
    cost,
    defined,
    edits,
    exclusions,
    frozen,
    many,
    raw_answers,
    spread,
    stopping,
    versions,
)

_CALIBRATION = ("ece", "mce", "brier", "ece_shift", "verbal_calibration")


def checklist(results: Results, raw_kept: bool, paid: Table | None = None) -> Table:
    """What readers of an audit ask for, with the study's answers."""
    answers = {
        "How confidence was normalized before calibration was measured": _normalisation(results),
        "The evaluators’ exact rules, and the prompts": _rules(results),
        "The raw text of every answer": raw_answers(raw_kept),
        "How many answers have a label, by cell": _parse_rates(results),
        "Confidence elicited in two ways, from tokens and in words": _elicitations(results),
        "The spread of results over variants, beside their mean": spread(results),
        "Edits by hand to the paraphrases": edits(results),
        "What was fixed before the results were known": frozen(results),
        "What the estimates exclude": exclusions(results),
        "Seeds": _seeds(results),
        "Versions and hashes of models, items and software": versions(results),
        "When the collection stopped": stopping(results),
        "What it cost": cost(paid),
    }
    rows = tuple((item, *answer) for item, answer in answers.items())
    return Table(("item", "reported", "how, or what is missing"), rows, name="checklist")


def _normalisation(results: Results) -> Answer:
    known = defined(results, *_CALIBRATION)
    if not known:
        return "not applicable", "no calibration was measured"
    if any(one.measure.startswith("ece_shift") for one in known):
        return "yes", "raw and normalized over the label set, side by side (ece_shift)"
    methods = "; ".join(dict.fromkeys(one.method for one in known if one.method))
    return ("in part", f"{methods}. Add the measure ece_shift for raw and normalized confidence side by side")


def _rules(results: Results) -> Answer:
    named = ", ".join(results.evaluators)
    shown = sum(1 for one in results.variants if one.get("example"))
    if not results.has_raw_answers:
        return "no", "the labels were imported without raw answers"
    if not results.has_prompts:
        return "in part", f"{named}; the answers were imported without their prompts"
    if not named:
        return "no", "no evaluator parsed the answers"
    if shown < len(results.variants):
        return (
            "in part",
            f"rules of {named} under Method; prompts of {shown} of {len(results.variants)} variants",
        )
    return "yes", f"rules of {named} under Method, {many(shown, 'prompt')} under Prompts"


def _parse_rates(results: Results) -> Answer:
    cells = {tuple(one.cell.items()) for one in defined(results, "compliance")}
    if not cells:
        return "no", "add the measure compliance"
    return "yes", f"{many(len(cells), 'cell')}, with the reasons for the others, under Compliance"


def _elicitations(results: Results) -> Answer:
    ways = _ways(results)
    if not ways:
        return "not applicable", "no confidence was elicited"
    found = "; ".join(f"{way}: {', '.join(names)}" for way, names in ways.items())
    if len(ways) > 1:
        return "yes", found
    other = "an evaluator of stated confidence" if "tokens" in ways else "an evaluator of log-probabilities"
    return "no", f"{found} only. Add {other}"


def _ways(results: Results) -> dict[str, list[str]]:
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


def _seeds(results: Results) -> Answer:
    drawn = _samples(results.lock.get("decodings", {}).values())
    return ("yes", f"root seed {results.seed}, from which every sample, shuffle and bootstrap derives{drawn}")


def _samples(decodings: Iterable[object]) -> str:
    seeds = [d["seed"] for d in decodings if isinstance(d, dict) and d.get("temperature") and "seed" in d]
    return f"; decodings sample from {', '.join(map(str, dict.fromkeys(seeds)))}" if seeds else ""


CHECKLISTS: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("checklists.toml").read_text(encoding="utf-8")
)
"""The checklists by name: what each follows, and its rows."""


def field_checklists(results: Results, *, raw_kept: bool, paid: Table | None = None) -> dict[str, Table]:
    """Each checklist as a table, by its name."""
    given = {"raw_answers": raw_kept, "worst": raw_kept, "cost": paid}
    heads = ("where", "what is asked", "reported", "how, or what is missing")
    made = {}
    for name, one in CHECKLISTS.items():
        rows = []
        for place, item, said in one["rows"]:
            function, _, more = said.partition(" ")
            if function == "yours:":
                answer = "yours", f"write about {more}"
            else:
                answers = asking_facts if hasattr(asking_facts, function) else reported_facts
                answer = getattr(answers, function)(given.get(function, results), *more.split())
            rows.append((place, item, *answer))
        note = f"After {one['source']}; in Quaver’s words."
        made[name] = Table(heads, tuple(rows), note=note, name=f"checklist-{name}")
    return made
