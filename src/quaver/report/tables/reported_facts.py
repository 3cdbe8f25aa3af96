"""What a study reports, and what is missing: the answers that its checklists share."""

from __future__ import annotations

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_words import completeness
from quaver.report.table_rows import Table

Answer = tuple[str, str]
"""``yes``, ``in part``, ``no``, ``not applicable`` or ``yours`` (the authors write it); and where it is, or
what is missing."""


def defined(results: Results, *measures: str) -> list[Estimate]:
    """The estimates with a value of measures whose name begins so."""
    every = [*results.estimates, *results.audit]
    return [one for one in every if one.value is not None and one.measure.startswith(measures)]


def raw_answers(raw_kept: bool) -> Answer:
    """Whether the answers are there as they came."""
    if raw_kept:
        return (
            "yes",
            "responses.db holds every answer with its prompt; quaver export writes them as a table",
        )
    return "no", "the report was made from labels, without raw answers"


def versions(results: Results) -> Answer:
    """Versions and hashes of models, items and software."""
    models = results.lock.get("models", {})
    nameless = [name for name, facts in models.items() if not facts.get("identity")]
    items = results.lock.get("items", {}).get("blake2b")
    if nameless or not items:
        gone = [*nameless, *([] if items else ["items"])]
        return "in part", f"without a hash or a version: {', '.join(gone)}"
    return (
        "yes",
        f"{many(len(models), 'model')}, items (blake2b {str(items)[:12]}…), software, under Method",
    )


def stopping(results: Results) -> Answer:
    """When the collection stopped."""
    collection = results.lock.get("collection", {})
    if results.imported:
        return "not applicable", "the labels were imported"
    if collection.get("rounds"):
        return "yes", str(collection["rounds"])
    whole = collection.get("total", 0) <= collection.get("answered", 0) and not collection.get("outside")
    said = completeness(collection)
    said = said[:1].lower() + said[1:]
    return ("yes", said) if whole else ("in part", f"{said}; no stopping rule was set")


def cost(paid: Table | None) -> Answer:
    """What the answers cost."""
    if paid is None or not paid.rows:
        return "no", "the cost of the answers is not known"
    at = paid.columns.index("US dollars")
    unknown = [str(row[0]) for row in paid.rows if row[at] == "unknown"]
    if unknown:
        return ("in part", f"calls and tokens under Method; the price of {', '.join(unknown)} is not known")
    total = sum(float(str(row[at]).replace(",", "")) for row in paid.rows)
    charge = f"${total:,.4f} in all" if total else "no charge"
    return "yes", f"calls, tokens and {charge}, by model under Method"


def frozen(results: Results) -> Answer:
    """Whether the design was written down beforehand."""
    frozen = results.lock.get("frozen")
    if not frozen:
        return "no", "the design was not written down beforehand (quaver freeze does so)"
    early = not frozen["entries"][0]["answers"]
    return "yes" if early and not frozen["broken"] else "in part", str(frozen["headline"])


def many(n: int, noun: str) -> str:
    """A number and its noun."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def exclusions(results: Results) -> Answer:
    """What the estimates exclude."""
    kinds = dict.fromkeys(kind for one in results.estimates for kind in one.excluded)
    if not kinds:
        return "yes", "nothing"
    named = ", ".join(str(kind).replace("_", " ") for kind in kinds)
    return "yes", f"{named}; counts under What could not be measured"


def spread(results: Results) -> Answer:
    """The spread of results over variants."""
    if known := defined(results, "spread"):
        return "yes", f"{many(len(known), 'estimate')} of spread"
    if len(results.variants) < 2:
        return "no", "there is one variant only"
    cells = {one.cell["variant"] for one in defined(results, "accuracy") if "variant" in one.cell}
    if len(cells) > 1:
        return ("in part", f"accuracy by variant ({len(cells)}). Add the measure spread for its noise floor")
    return "no", "add the measure spread, or accuracy by variant"


def edits(results: Results) -> Answer:
    """Edits by hand."""
    edits = results.lock.get("paraphrases", {}).get("edits", ())
    if edits:
        return "yes", f"{many(len(edits), 'edit')}, with the text before, under Prompts"
    return "yes", "none"
