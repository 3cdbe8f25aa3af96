"""The reporting checklist of an audit, filled in: what the study reports, where, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import polars as pl

from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table
from quaver.report.tables import asking_facts as asking
from quaver.report.tables import asking_facts as people
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


SOURCES: Final[Mapping[str, str]] = {
    "llm-guidelines": "Baltes et al. (2026), Guidelines for Empirical Studies in Software Engineering "
    "involving Large Language Models: the checklist of llm-guidelines.org as of June 2026, G1 to G8",
    "text-annotation": "Törnberg (2024), Best Practices for Text Annotation with Large Language Models, "
    "Sociologica 18(2), 67-85",
    "wrong-labels": "Baumann et al. (2025), Large Language Model Hacking, arXiv 2509.08825; Egami et al. "
    "(2023), NeurIPS 36",
}
"""The checklists by name, and what each follows."""


class _Row(NamedTuple):
    place: str
    item: str
    answer: Answer


def field_checklists(results: Results, *, raw_kept: bool, paid: Table | None = None) -> dict[str, Table]:
    """Each checklist as a table, by its name."""
    made = {
        "llm-guidelines": _llm_guidelines(results, raw_kept, paid),
        "text-annotation": _text_annotation(results, raw_kept),
        "wrong-labels": _wrong_labels(results, raw_kept),
    }
    return {name: _table(name, rows) for name, rows in made.items()}


def _table(name: str, rows: list[_Row]) -> Table:
    cells = tuple((row.place, row.item, *row.answer) for row in rows)
    heads = ("where", "what is asked", "reported", "how, or what is missing")
    return Table(heads, cells, note=f"After {SOURCES[name]}; in Quaver’s words.", name=f"checklist-{name}")


def _llm_guidelines(results: Results, raw_kept: bool, paid: Table | None) -> list[_Row]:
    """The rows of the reporting checklist at llm-guidelines.org, in its order.

    It was read in its source, ``_summary/checklist.tex`` of github.com/se-uhd/llm-guidelines-paper at
    0f0a957d. Left out are its rows about agents, tools, retrieval, user interfaces and new benchmarks.
    """
    return [
        *_introduction_and_models(results),
        *_design_and_traces(results, raw_kept),
        *_measures_and_people(results, raw_kept),
        *_results_and_limits(results, paid),
    ]


def _introduction_and_models(results: Results) -> list[_Row]:
    return [
        _Row("G1, must", "Which language model was used, how, and for what step", asking.disclosed(results)),
        _Row("G1, should", "Why, for which tasks, and what you hoped to gain", _yours("your reasons")),
        _Row(
            "G2, must",
            "The exact model and version, its configuration, and when it was asked",
            asking.asked(results),
        ),
        _Row(
            "G2, must", "If it was fine-tuned: aim, data, procedure", _yours("whether a model was fine-tuned")
        ),
        _Row("G2, should", "All parameters, those at their defaults too", asking.parameters(results)),
        _Row("G2, should", "Why this model and version", _yours("your reasons")),
        _Row("G2, should", "Hashes of models, and what a service does not disclose", versions(results)),
        _Row("G2, should", "How weights were quantized", asking.quantized(results)),
        _Row(
            "G6, should",
            "An open model beside a commercial one, and how far models agree",
            asking.open_model(results),
        ),
    ]


def _design_and_traces(results: Results, raw_kept: bool) -> list[_Row]:
    return [
        _Row(
            "G3, must",
            "Everything around the model, and what the model itself contributes",
            asking.around(results),
        ),
        _Row("G3, must", "Prompts without examples, with one, or with several", asking.shots(results)),
        _Row(
            "G3, must",
            "Which prompt went to which model in which configuration",
            asking.prompt_reuse(results),
        ),
        _Row(
            "G3, must", "Every prompt, and how a text becomes part of it, published", asking.prompts(results)
        ),
        _Row("G3, must", "Where the model ran, and on what hardware", asking.hosted(results)),
        _Row("G3, should", "How prompts were developed and chosen", asking.developed(results)),
        _Row("G3, should", "How prompts changed, and what a model suggested", edits(results)),
        _Row("G3, should", "Source code under an open licence", _yours("where your code is")),
        _Row("G4, should", "Every request and answer", raw_answers(raw_kept)),
    ]


def _measures_and_people(results: Results, raw_kept: bool) -> list[_Row]:
    return [
        _Row("G5, must", "Why these measures suit this study", _yours("your choice of measures")),
        _Row("G5, should", "What the labels are meant to measure", asking.defined_labels(results)),
        _Row("G5, should", "An error analysis: which failures, how often", asking.worst(raw_kept)),
        _Row(
            "G5, should",
            "How the texts were sampled, and for which others they stand",
            _yours("how you chose the texts"),
        ),
        _Row(
            "G5, should",
            "Why so many repetitions",
            _yours("the number of repeats (quaver plan forecasts it)"),
        ),
        _Row("G5, should", "Each rating of an item, not the aggregate alone", people.each_rating(results)),
        _Row("G7, must", "The codebook that people had", people.codebook(results)),
        _Row("G7, must", "Whether the model may stand in for people", people.replacement(results)),
        _Row(
            "G7, should",
            "Labels by people to validate against, and how items were chosen",
            people.gold_labels(results),
        ),
        _Row("G7, should", "Agreement between people, and how they were aggregated", people.coders(results)),
        _Row("G7, should", "Agreement of the model with people", people.accuracy_reported(results)),
        _Row("G7, should", "Who the people are, and what may confound them", _yours("your coders")),
        _Row("G7, may", "How many labels by people it takes (power)", people.power(results)),
    ]


def _results_and_limits(results: Results, paid: Table | None) -> list[_Row]:
    return [
        _Row("G8, must", "How sensitive data are governed", _yours("privacy and law")),
        _Row("G8, should", "What it cost, and why that is worth it", cost(paid)),
        _Row("G8, should", "A package to replicate the study, with instructions", asking.package(results)),
        _Row("G5, should", "Repetitions, and the distribution of results", asking.repeated(results)),
        _Row("G5, should", "Something simpler to compare with", asking.baseline(results)),
        _Row("G5, should", "Established measures", asking.metrics(results)),
        _Row("G5, should", "Tests or intervals where models are compared", asking.models_compared(results)),
        _Row("G8, must", "Whether the model may have seen the items in training", _yours("data leakage")),
        _Row("G8, must", "How far results change when the same is asked again", asking.again(results)),
        _Row("G8, must", "For which texts, prompts and models results hold", asking.holds_for(results)),
        _Row(
            "G8, should",
            "What was done against these threats: other prompts, people's labels, a second run",
            asking.mitigated(results),
        ),
    ]


def _text_annotation(results: Results, raw_kept: bool) -> list[_Row]:
    """The areas that the essay's abstract names, and a codebook for prompts: a row for each thing to report.

    The essay gives recommendations and no numbered list: the division into rows is Quaver's.
    """
    return [
        _Row("model", "Why this model: openness, cost, language, law", _yours("your reasons")),
        _Row("model", "Its exact version, so that others can ask it again", versions(results)),
        _Row("coding", "A codebook: each label defined", asking.defined_labels(results)),
        _Row("coding", "Labels by people from the same codebook", people.gold_labels(results)),
        _Row("coding", "Agreement between people", people.coders(results)),
        _Row("prompt", "Every prompt in full, and every change by hand", asking.prompts(results)),
        _Row("prompt", "Edits by hand to paraphrases", edits(results)),
        _Row("prompt", "Temperature and the other parameters", asking.parameters(results)),
        _Row(
            "validation", "Accuracy against people, with its uncertainty", people.accuracy_reported(results)
        ),
        _Row("validation", "… in each class and subgroup", people.by_class(results)),
        _Row(
            "validation",
            "Items for validation that no prompt was tuned on",
            _yours("which items you tuned prompts on"),
        ),
        _Row("stability", "The same labels in other words", asking.stable(results, "inter_pss")),
        _Row("stability", "The same labels when asked again", asking.stable(results, "intra_pss")),
        _Row("errors", "Which texts are mislabelled, and why", asking.worst(raw_kept)),
        _Row("ethics", "Consent, law, and what the provider does with the texts", _yours("ethics and law")),
    ]


def _wrong_labels(results: Results, raw_kept: bool) -> list[_Row]:
    """What Baumann et al. recommend against wrong conclusions, and what Egami et al.'s correction takes.

    Baumann et al.: a random sample labelled by people, configurations fixed beforehand, all that were tried
    reported, caution near the threshold of significance, data for others to check. Egami et al.: a sample of
    known probabilities, and conclusions corrected by it. The division into rows is Quaver's; what Baumann et
    al. recommend is taken from their abstract and from summaries of the paper.
    """
    return [
        _Row("before", "Models, prompts and decision rule fixed before results", frozen(results)),
        _Row("before", "When the collection was to end", stopping(results)),
        _Row("labels", "A random sample of labels by people", people.gold_labels(results)),
        _Row("labels", "How often labels are wrong, in each class and group", people.by_class(results)),
        _Row(
            "conclusions", "Every model and prompt that was tried, not the best alone", asking.tried(results)
        ),
        _Row("conclusions", "Conclusions under each of them", asking.every_prompt(results)),
        _Row("conclusions", "Conclusions corrected for wrong labels", people.corrected(results)),
        _Row(
            "conclusions", "Exact p values, and how close they are to the threshold", asking.p_values(results)
        ),
        _Row("after", "Every label and answer for others to reanalyse", raw_answers(raw_kept)),
        _Row("after", "A package to replicate the study", asking.package(results)),
    ]


def _yours(about: str) -> Answer:
    return "yours", f"write about {about}"
