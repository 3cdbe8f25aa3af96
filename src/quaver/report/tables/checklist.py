"""The reporting checklist of an audit, filled in: what the study reports, where, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table

_CALIBRATION = ("ece", "mce", "brier", "ece_shift", "verbal_calibration")
Answer = tuple[str, str]
"""``yes``, ``in part``, ``no`` or ``not applicable``; and where it is, or what is missing."""


def checklist(results: Results, raw_kept: bool, paid: Table | None = None) -> Table:
    """What readers of an audit ask for, with the study's answers."""
    answers = {
        "How confidence was normalized before calibration was measured": _normalisation(results),
        "The evaluators’ exact rules, and the prompts": _rules(results),
        "The raw text of every answer": _raw(raw_kept),
        "How many answers have a label, by cell": _parse_rates(results),
        "Confidence elicited in two ways, from tokens and in words": _elicitations(results),
        "The spread of results over variants, beside their mean": _spread(results),
        "Edits by hand to the paraphrases": _edits(results),
        "What was fixed before the results were known": _frozen(results),
        "What the estimates exclude": _exclusions(results),
        "Seeds": _seeds(results),
        "Versions and hashes of models, items and software": _versions(results),
        "When the collection stopped": _stopping(results),
        "What it cost": _cost(paid),
    }
    rows = tuple((item, *answer) for item, answer in answers.items())
    return Table(("item", "reported", "how, or what is missing"), rows, name="checklist")


def _defined(results: Results, *measures: str) -> list[Estimate]:
    every = [*results.estimates, *results.audit]
    return [one for one in every if one.value is not None and one.measure.startswith(measures)]


def _normalisation(results: Results) -> Answer:
    known = _defined(results, *_CALIBRATION)
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
    return "yes", f"rules of {named} under Method, {_many(shown, 'prompt')} under Prompts"


def _raw(raw_kept: bool) -> Answer:
    if raw_kept:
        return (
            "yes",
            "responses.db holds every answer with its prompt; quaver export writes them as a table",
        )
    return "no", "the report was made from labels, without raw answers"


def _parse_rates(results: Results) -> Answer:
    cells = {tuple(one.cell.items()) for one in _defined(results, "compliance")}
    if not cells:
        return "no", "add the measure compliance"
    return "yes", f"{_many(len(cells), 'cell')}, with the reasons for the others, under Compliance"


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


def _spread(results: Results) -> Answer:
    if known := _defined(results, "spread"):
        return "yes", f"{_many(len(known), 'estimate')} of spread"
    if len(results.variants) < 2:
        return "no", "there is one variant only"
    cells = {one.cell["variant"] for one in _defined(results, "accuracy") if "variant" in one.cell}
    if len(cells) > 1:
        return ("in part", f"accuracy by variant ({len(cells)}). Add the measure spread for its noise floor")
    return "no", "add the measure spread, or accuracy by variant"


def _edits(results: Results) -> Answer:
    edits = results.lock.get("paraphrases", {}).get("edits", ())
    if edits:
        return "yes", f"{_many(len(edits), 'edit')}, with the text before, under Prompts"
    return "yes", "none"


def _frozen(results: Results) -> Answer:
    frozen = results.lock.get("frozen")
    if not frozen:
        return "no", "the design was not written down beforehand (quaver freeze does so)"
    early = not frozen["entries"][0]["answers"]
    return "yes" if early and not frozen["broken"] else "in part", str(frozen["headline"])


def _exclusions(results: Results) -> Answer:
    kinds = dict.fromkeys(kind for one in results.estimates for kind in one.excluded)
    if not kinds:
        return "yes", "nothing"
    named = ", ".join(str(kind).replace("_", " ") for kind in kinds)
    return "yes", f"{named}; counts under What could not be measured"


def _seeds(results: Results) -> Answer:
    drawn = _samples(results.lock.get("decodings", {}).values())
    return ("yes", f"root seed {results.seed}, from which every sample, shuffle and bootstrap derives{drawn}")


def _samples(decodings: Iterable[object]) -> str:
    seeds = [d["seed"] for d in decodings if isinstance(d, dict) and d.get("temperature") and "seed" in d]
    return f"; decodings sample from {', '.join(map(str, dict.fromkeys(seeds)))}" if seeds else ""


def _versions(results: Results) -> Answer:
    models = results.lock.get("models", {})
    nameless = [name for name, facts in models.items() if not facts.get("identity")]
    items = results.lock.get("items", {}).get("blake2b")
    if nameless or not items:
        gone = [*nameless, *([] if items else ["items"])]
        return "in part", f"without a hash or a version: {', '.join(gone)}"
    return (
        "yes",
        f"{_many(len(models), 'model')}, items (blake2b {str(items)[:12]}…), software, under Method",
    )


def _stopping(results: Results) -> Answer:
    collection = results.lock.get("collection", {})
    if results.imported:
        return "not applicable", "the labels were imported"
    if collection.get("rounds"):
        return "yes", str(collection["rounds"])
    missing = collection.get("total", 0) - collection.get("answered", 0)
    if missing > 0:
        return "in part", f"{missing:,} calls of the design have no answer; no stopping rule was set"
    return "yes", "the whole design was collected; no rule ended it early"


def _cost(paid: Table | None) -> Answer:
    if paid is None or not paid.rows:
        return "no", "the cost of the answers is not known"
    at = paid.columns.index("US dollars")
    unknown = [str(row[0]) for row in paid.rows if row[at] == "unknown"]
    if unknown:
        return ("in part", f"calls and tokens under Method; the price of {', '.join(unknown)} is not known")
    total = sum(float(str(row[at]).replace(",", "")) for row in paid.rows)
    charge = f"${total:,.4f} in all" if total else "no charge"
    return "yes", f"calls, tokens and {charge}, by model under Method"


def _many(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
