"""What a study reports of models, prompts and measures: answers of the field's checklists."""

from __future__ import annotations

import polars as pl

from quaver.core.number_format import percent, with_interval
from quaver.report.estimate_index import Results
from quaver.report.tables.reported_facts import Answer, defined, many, versions


def disclosed(results: Results) -> Answer:
    """Which models labelled what."""
    models, items = ", ".join(results.models), int(results.lock.get("items", {}).get("n", 0))
    if not models:
        return "no", "who made the labels is not known"
    return "yes", f"{models}, to label {many(items, 'item')}; methods paragraph"


def asked(results: Results) -> Answer:
    """Models, versions and when they were asked."""
    state, said = versions(results)
    date = results.lock.get("collection", {}).get("date")
    if results.imported:
        return "in part", "the labels were imported; say when and how they were collected"
    named = f"{', '.join(results.models)}: {said}"
    return (
        (state, f"{named}; last answer on {date}") if date else ("in part", f"{named}; no answer is stored")
    )


def quantized(results: Results) -> Answer:
    """The weights' files, whose names say how they were quantized."""
    local = {name: facts for name, facts in results.lock.get("models", {}).items() if facts.get("file")}
    if not local:
        return "not applicable", "no weights on this machine; a provider's are as it serves them"
    return "yes", "; ".join(f"{name}: {facts['file']}" for name, facts in local.items())


def around(results: Results) -> Answer:
    """What stands around the model."""
    engines = {str(facts.get("engine", "")) for facts in results.lock.get("models", {}).values()}
    if "function" in engines:
        return "yours", "a model is a Python function: write what it does beside asking a model"
    if results.imported:
        return "yours", "the labels were imported: write what made them"
    return (
        "yes",
        "no retrieval and no agents: each prompt is sent as it is shown, its answer read by a fixed rule",
    )


def hosted(results: Results) -> Answer:
    """Where the models ran."""
    found = []
    for name, facts in results.lock.get("models", {}).items():
        at = facts.get("base_url") or facts.get("processor") or facts.get("engine")
        found += [f"{name}: {at}"] if at else []
    return ("yes", "; ".join(found)) if found else ("no", "where the models ran is not known")


def prompts(results: Results) -> Answer:
    """Whether every prompt is shown."""
    shown = sum(1 for one in results.variants if one.get("example"))
    if not results.has_prompts:
        return "no", "the labels were imported without their prompts"
    if shown < len(results.variants):
        return "in part", f"{shown} of {many(len(results.variants), 'prompt')}, under Prompts"
    return "yes", f"{many(shown, 'prompt')} in full, under Prompts and in study.lock.json"


def shots(results: Results) -> Answer:
    """How many examples prompts show."""
    if not results.has_prompts:
        return "no", "the labels were imported without their prompts"
    counts = sorted({len(one.get("examples") or ()) for one in results.variants})
    if counts in ([], [0]):
        return "yes", "no prompt shows an example (zero-shot)"
    named = ", ".join(map(str, counts))
    return "yes", f"prompts show {named} examples; which, under Prompts"


def prompt_reuse(results: Results) -> Answer:
    """Whether each model was asked with each prompt."""
    conditions = results.lock.get("conditions", ())
    if results.imported or not conditions:
        return "yours", "the labels were imported: write which prompt went to which model"
    sides = [{one[name] for one in conditions} for name in ("model", "variant", "decoding")]
    asked = {(one["model"], one["variant"], one["decoding"]) for one in conditions}
    every = len(asked) == len(sides[0]) * len(sides[1]) * len(sides[2])
    how = "every prompt went to every model in every configuration" if every else "each combination"
    return "yes", f"{how}, listed in study.lock.json"


def models_compared(results: Results) -> Answer:
    """Whether models are compared by more than their means."""
    if len(results.models) < 2:
        return "not applicable", "there is one model"
    if any(one.low is not None for one in defined(results, "")):
        return "in part", "each model's estimates have intervals; quaver compare tests their differences"
    return "no", "no estimate has an interval"


def mitigated(results: Results) -> Answer:
    """What was done against threats to validity."""
    done = []
    if len(results.variants) > 1:
        done.append(many(len(results.variants), "prompt"))
    if len(results.models) > 1:
        done.append(many(len(results.models), "model"))
    if defined(results, "accuracy", "corrected_accuracy"):
        done.append("labels by people")
    if defined(results, "conclusion_corrected"):
        done.append("conclusions corrected for wrong labels")
    if not done:
        return "no", "one prompt, one model, and nobody else's labels"
    return "in part", f"{', '.join(done)}; say whether you asked again later"


def developed(results: Results) -> Answer:
    """How prompts came about."""
    factors = ", ".join(results.factors)
    known = f"what varies ({factors}) and where each level comes from; " if factors else ""
    return "in part", f"{known}write where the first prompt is from"


def open_model(results: Results) -> Answer:
    """Whether a model is open."""
    models = results.lock.get("models", {})
    weights = [name for name, facts in models.items() if facts.get("sha256") or facts.get("file")]
    if weights:
        return "yes", f"with weights of a known hash: {', '.join(weights)}"
    return "yours", "say which of these models is open, or why none is"


def package(results: Results) -> Answer:
    """Whether the study is packed."""
    digest = results.lock.get("bundle")
    if digest:
        return "yes", f"a bundle with the SHA-256 {str(digest)[:12]}…, which quaver verify computes again"
    return "no", "quaver bundle packs one"


def metrics(results: Results) -> Answer:
    """What was measured."""
    named = list(dict.fromkeys(one.measure for one in defined(results, "") if one.reference))
    return (
        ("yes", f"{many(len(named), 'measure')} with formula and reference, under Method")
        if named
        else (
            "no",
            "nothing was measured",
        )
    )


def baseline(results: Results) -> Answer:
    """What results are compared with."""
    if any("chance" in one.details for one in defined(results, "accuracy")):
        return (
            "in part",
            "guessing and the most frequent label stand beside accuracy; a classifier would be yours",
        )
    return "no", "accuracy against gold labels has guessing beside it"


def repeated(results: Results) -> Answer:
    """How often was asked."""
    repeats = max((one.get("repeats", 1) for one in results.lock.get("conditions", ())), default=1)
    times = "once" if repeats == 1 else f"{repeats} times"
    asked = f"{many(len(results.variants), 'prompt')}, each asked {times}"
    several = len(results.variants) > 1 or repeats > 1
    return ("yes", f"{asked}; results by prompt, with intervals") if several else ("no", asked)


def again(results: Results) -> Answer:
    """How far results change when the same is asked again."""
    found = [name for name in ("intra_pss", "consistency") if defined(results, name)]
    noise = ["the engine's own noise"] if results.noise else []
    if found or noise:
        return "yes", f"{', '.join([*found, *noise])}, under Stability"
    return "no", "ask each prompt more than once (repeats) and measure intra_pss"


def holds_for(results: Results) -> Answer:
    """For what results hold."""
    kinds = {one.estimand for one in defined(results, "") if one.low is not None}
    said = (
        "each interval says whether it holds for these prompts, for prompts like these, or for the next one"
    )
    return ("in part", f"{said}; say for which texts") if kinds else ("yours", "for which texts and prompts")


def defined_labels(results: Results) -> Answer:
    """Whether labels are defined."""
    labels = results.lock.get("labels", {}).get("labels", ())
    known = sum(1 for one in labels if one.get("definition"))
    if known == len(labels) and known:
        return "yes", f"all {known} labels have a definition in the study file"
    return (
        "in part" if known else "no"
    ), f"{known} of {len(labels)} labels have a definition in the study file"


def parameters(results: Results) -> Answer:
    """How answers were sampled."""
    found = [
        f"{name}: temperature {one.get('temperature')}"
        for name, one in results.lock.get("decodings", {}).items()
    ]
    return (
        ("yes", f"{'; '.join(found)}; all others under Method")
        if found and not results.imported
        else (
            "no",
            "they are not known",
        )
    )


def stable(results: Results, measure: str) -> Answer:
    """A measure of stability."""
    found = defined(results, measure)
    return (
        ("yes", f"{measure} {found[0].value:.2f}, under Stability")
        if found
        else ("no", f"add the measure {measure}")
    )


def worst(raw_kept: bool) -> Answer:
    """Which items change."""
    if raw_kept:
        return (
            "in part",
            "the items whose labels change most, with texts and answers (quaver worst); read them",
        )
    return "yours", "read items whose labels change, and say what is wrong with them"


def tried(results: Results) -> Answer:
    """What was tried."""
    design = f"{many(len(results.models), 'model')} and {many(len(results.variants), 'prompt')}"
    return "yes", f"{design}, all of them in the tables; say if you tried others before"


def every_prompt(results: Results) -> Answer:
    """Whether conclusions were drawn under every prompt."""
    if defined(results, "conclusion_holds"):
        return "yes", "the specification curve, under Conclusions"
    if not results.lock.get("study", {}).get("conclusions"):
        return "not applicable", "the study file states no conclusion"
    return "no", "no conclusion could be drawn"


def p_values(results: Results) -> Answer:
    """Whether conclusions have p values."""
    found = [one for one in defined(results, "conclusion") if "p" in one.details]
    if found:
        return "yes", f"p of {many(len(found), 'estimate')}, with intervals, in estimates.csv"
    return "not applicable", "no conclusion was tested"


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
