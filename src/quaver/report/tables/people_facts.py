"""What a study reports of labels by people: how they were drawn, how they agree, what rests on them."""

from __future__ import annotations

import polars as pl

from quaver.core.number_format import percent, with_interval
from quaver.report.estimate_index import Results
from quaver.report.tables.asking_facts import defined_labels
from quaver.report.tables.reported_facts import Answer, defined, many


def gold_labels(results: Results) -> Answer:
    """Whether people labelled items, and how these were chosen."""
    known, drawn = _gold(results)
    if drawn:
        return "yes", f"{many(known, 'item')} labelled by people, drawn by design with known probabilities"
    if known and known == results.lock.get("items", {}).get("n"):
        return "yes", f"all {known:,} items have a gold label"
    if known:
        return (
            "in part",
            f"{many(known, 'item')} with a gold label, not drawn by design (quaver gold draws them)",
        )
    return "no", "no item has a label by people (quaver gold draws items for them)"


def accuracy_reported(results: Results) -> Answer:
    """How often labels are right, with an interval."""
    found = defined(results, "corrected_accuracy", "accuracy")
    sure = [one for one in found if one.low is not None]
    if not sure:
        return "no", "no accuracy has an interval; it takes gold labels and the measure accuracy"
    values = [one.value for one in sure if one.value is not None]
    said = f"accuracy {with_interval(sure[0])}"
    if len(sure) > 1:
        said = f"accuracy from {percent(min(values))} to {percent(max(values))} over {len(sure):,} conditions"
    return "yes", f"{said}, with intervals, under How often the labels are right"


def by_class(results: Results) -> Answer:
    """How often labels are right in each class or group."""
    columns = sorted(
        {name for one in defined(results, "accuracy", "f1", "corrected_accuracy") for name in one.cell}
    )
    own = [name for name in columns if name not in ("model", "decoding", "variant", "evaluator", "estimand")]
    if own:
        return "yes", f"by {', '.join(own)}"
    if results.lock.get("accepted", {}).get("groups"):
        return "in part", "the errors among accepted labels, by class and group"
    return "no", "add the measure f1, or accuracy by a group"


def coders(results: Results) -> Answer:
    """How well people agree with each other."""
    found = [one for one in defined(results, "coder_agreement_coders") if one.cell.get("coder") == "all"]
    if found:
        one = found[0]
        ends = "" if one.low is None or one.high is None else f" [{one.low:.2f} to {one.high:.2f}]"
        return "yes", f"alpha {one.value:.2f}{ends} between people, under How people and the model agree"
    names = results.lock.get("study", {}).get("items", {}).get("coders") or ()
    if names:
        return "no", "it takes two people who labelled the same items"
    return "no", "no person's own labels are in the study (the key coders)"


def each_rating(results: Results) -> Answer:
    """Whether every answer and every person's label of an item is there."""
    said = "annotations.parquet has a row for each answer"
    return "yes", f"{said}; gold/labels.csv each person's label" if _gold(results)[1] else said


def codebook(results: Results) -> Answer:
    """Whether people had definitions of the labels."""
    state, said = defined_labels(results)
    if not _gold(results)[1]:
        return ("yours", "say what the people who labelled had before them")
    return state, f"{said}; coders had them on their sheets"


def replacement(results: Results) -> Answer:
    """Whether the model was tested against people as one of them."""
    won = defined(results, "alternative_annotator_won")
    if won:
        one = won[0].details
        return (
            "yes",
            f"alternative annotator test: as good as {one['won']} of {one['coders']} people left out",
        )
    return "no", "it takes three people who labelled the same items (measure alternative_annotator)"


def corrected(results: Results) -> Answer:
    """Whether conclusions allow for wrong labels."""
    found = defined(results, "conclusion_corrected")
    if found:
        gold = found[0].details.get("gold", 0)
        return "yes", f"{many(len(found), 'conclusion')} corrected with {gold:,} gold labels drawn by design"
    if not results.lock.get("study", {}).get("conclusions"):
        return "not applicable", "the study file states no conclusion"
    return "no", "the conclusions are about the model's labels; quaver gold draws what corrects them"


def power(results: Results) -> Answer:
    """How many labels by people the conclusions take."""
    found = [one for one in defined(results, "conclusion_corrected") if "gold_needed" in one.details]
    if not found:
        return "no", "known for conclusions that gold labels correct"
    needed = [one.details["gold_needed"] for one in found]
    said = ", ".join("more than there are items" if n is None else f"{n:,}" for n in needed)
    return "yes", f"for 80% power: {said}; under What more gold labels would bring"


def _gold(results: Results) -> tuple[int, bool]:
    """How many items have a gold label, and whether some of them were drawn by design."""
    frame = results.annotations
    if "gold_drawn" in frame.columns:
        known = frame.filter(pl.col("gold_drawn") & pl.col("gold").is_not_null())["item"].n_unique()
        if known:
            return known, True
    return sum(results.lock.get("items", {}).get("gold", {}).values()), False
