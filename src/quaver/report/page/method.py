"""How a study was done: the facts of a methods section, which ``templates/method.txt`` puts in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc
from typing import Any

from quaver.core.number_format import count, enumeration
from quaver.core.records import AND_PROMPT, Estimate
from quaver.core.rows import defined, grouped, measure_of, of_measures
from quaver.report.decoding_words import conditions_of, decodings_in_words, hosts_in_words
from quaver.report.estimate_index import Results
from quaver.report.findings.key_results import corrected_conclusions, corrected_totals, in_true_labels
from quaver.report.findings.quality import clusters
from quaver.report.page_templates import paragraph
from quaver.report.page_words import beginning, in_words
from quaver.report.tables.study_tables import left_out_table
from quaver.report.tables.table import Table

_WIDEST = 2
"""Undeclared groups that are named, those that matter most."""
_QUESTION = 200
"""Characters of the question that a methods section quotes."""

_LABELS = 8
"""As many labels are named in it."""


def method_paragraph(results: Results) -> str:
    """The question, the model, the day, how many texts and prompts, what is correct, and the correction."""
    lock, sample = results.lock, gold_sample(results.lock)
    right = defined(of_measures(results.audit, "correct_answers"))
    names, versions = [*results.label_names.values()], []
    for model, facts in lock.get("models", {}).items():
        version = facts.get("version") or facts.get("served_model") or model
        if version != model:
            versions.append(str(version))
    return paragraph(
        "methods.txt",
        results.word,
        results=results,
        lock=lock,
        collection=lock.get("collection", {}),
        question=beginning(
            str(results.variants[0].get("instruction", "")) if results.variants else "", _QUESTION
        ),
        labels=enumeration(names) if 0 < len(names) <= _LABELS else f"{len(names)} labels",
        versions=versions,
        sampled=[words.partition(",")[0] for words in decodings_in_words(lock).values()],
        times=sorted(set(map(_repeats, conditions_of(lock)))),
        right=right[0] if len(right) == 1 else None,
        by=count(len(sample["coders"]), "coder") if sample["coders"] else "people",
        totals=corrected_totals(results.estimates),
    )


def method_details(results: Results, cost: Table) -> str:
    """What was asked, of which models, how often, how it was parsed and measured, and what it cost."""
    lock, estimates = results.lock, results.estimates
    measures = [str(measure.get("use", "")) for measure in lock.get("study", {}).get("measures") or ()]
    measures += [measure_of(name) or name for name in results.measures]
    # How often each text was asked about under each decoding
    repeats: dict[str, list[int]] = {}
    for decoding, some in grouped(conditions_of(lock), lambda of: str(of.get("decoding"))).items():
        repeats[decoding] = sorted(set(map(_repeats, some)))
    # What the study asks of its labels, each criterion with its limit; how accuracy is counted
    thresholds, accurate = list[str](), list[str]()
    for estimate in estimates:
        if "limit" in estimate.details:
            criterion = in_words(estimate.measure.removeprefix("readiness_"))
            thresholds.append(f"{criterion} {estimate.details['limit']}")
        if estimate.measure == "accuracy":
            accurate.append(estimate.method.partition(";")[0])
    return paragraph(
        "method.txt",
        results.word,
        results=results,
        lock=lock,
        sample=gold_sample(lock),
        totals=corrected_totals(estimates),
        claims={name: in_true_labels(claim) for name, claim in corrected_conclusions(estimates).items()},
        conditions=conditions_of(lock),
        engines=_engines(results),
        sampled=decodings_in_words(lock),
        hosts=hosts_in_words(lock),
        own_limits=any(variant.get("max_tokens") for variant in lock.get("variants", ())),
        asked_times=repeats,
        measures=list(map(in_words, dict.fromkeys(measures))),
        thresholds=list(dict.fromkeys(thresholds)),
        accurate=[
            words.replace("unanswered", "answers without a label")
            for words in dict.fromkeys(accurate)
            if words
        ],
        left_out=left_out_table(results).rows,
        scopes=_scopes([estimate for estimate in estimates if estimate.low is not None]),
        clusters=clusters(results.audit)[:_WIDEST],
        cost=[dict(zip(cost.columns, row, strict=True)) for row in cost.rows],
    )


def gold_sample(lock: Mapping[str, Any]) -> Mapping[str, Any]:
    """How a gold sample was drawn and labelled; without a design where none was drawn."""
    absent: dict[str, Any] = {"design": "", "by": (), "date": "", "agreement": None, "decided": {}}
    sample = {**absent, **lock.get("gold_sample", {})}
    return {**sample, "coders": [coder for coder in sample.get("coders", ()) if coder.get("labelled", 1)]}


def _engines(results: Results) -> list[dict[str, Any]]:
    """Which engines made the paraphrases, how many, at which temperatures or strengths."""
    made: list[Mapping[str, Any]] = []
    for variant in results.variants:
        for level in variant.get("origin", {}).values():
            if isinstance(level, Mapping) and level.get("engine"):
                made.append(level)
    models, engines = {}, []
    for paraphrasing in results.lock.get("paraphrases", {}).get("made", ()):
        asked = paraphrasing.get("asked", {})
        by = asked.get("model")
        models[str(asked.get("engine"))] = by.get("model", by.get("use")) if isinstance(by, Mapping) else by
    for name, levels in grouped(made, lambda level: str(level["engine"])).items():
        different = {str(sorted(map(repr, level.items()))) for level in levels}
        engine = {"name": name, "made": len(different), "model": models.get(name)}
        values = {"temperatures": _values(levels, "temperature"), "strengths": _values(levels, "strength")}
        engines.append(engine | values)
    return engines


def _repeats(condition: Mapping[str, Any]) -> int:
    return int(condition.get("repeats", 1))


def _values(levels: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    return sorted({float(level[key]) for level in levels if isinstance(level.get(key), (int, float))})


def _scopes(estimates: Sequence[Estimate]) -> list[str]:
    """Over what intervals generalise, and the measures whose intervals hold for other prompts."""
    units = " or the ".join(grouped(estimates, lambda estimate: f"{estimate.unit.removesuffix(AND_PROMPT)}s"))
    by = grouped(estimates, lambda estimate: estimate.estimand)
    result = [f"over the {units} and hold for these prompts"] if "fixed" in by else []
    if "population" in by:
        words = "prompts like these"
        measures = dict.fromkeys(estimate.measure for estimate in by["population"])
        whose = f"those of {enumeration(map(in_words, measures))} are " if result else ""
        others = max(estimate.details.get("untried_at_most", 0.0) for estimate in estimates)
        if others:
            words += (
                ", of the kinds that were tried, if their scores are not extremely skewed "
                f"(up to {others:.0%} of all prompts may be of others)"
            )
        result.append(f"{whose}over the {units} and the prompts and hold for {words}")
    return result


def measured(estimates: Iterable[Estimate]) -> dict[str, str]:
    """How each measure was computed, and where it is defined."""
    result: dict[str, str] = {}
    for estimate in estimates:
        if estimate.method and (estimate.measure not in result or estimate.value is not None):
            result[estimate.measure] = estimate.method + (
                f". {estimate.reference}" if estimate.reference else ""
            )
    return result


def rules(results: Results) -> dict[str, str]:
    """The evaluators' rules by name, without the indentation of the code."""
    return {
        str(name): cleandoc(str(rule)).replace("``", "")
        for name, rule in results.lock.get("evaluators", {}).items()
    }
