"""How a study was done: the facts of a methods section, which ``templates/method.txt`` puts in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any

from quaver.core.number_format import count, enumeration
from quaver.core.records import AND_PROMPT, Estimate
from quaver.core.rows import measure_of, of_measures
from quaver.report.decoding_words import decodings_in_words, hosts_in_words
from quaver.report.estimate_index import Results
from quaver.report.findings.key_results import corrected_conclusions, corrected_totals, in_true_labels
from quaver.report.findings.quality import clusters
from quaver.report.page_templates import paragraph
from quaver.report.page_words import beginning, in_words
from quaver.report.tables.study_tables import left_out_table
from quaver.report.tables.table import Table

_WIDEST = 2
"""Undeclared groups that are named, those that matter most."""
_OTHERS = {"population": "prompts like these"}


_QUESTION = 200
"""Characters of the question that a methods section quotes."""

_LABELS = 8
"""As many labels are named in it."""


def method_paragraph(results: Results) -> str:
    """The question, the model, the day, how many texts and prompts, what is correct, and the correction."""
    lock, sample = results.lock, gold_sample(results.lock)
    right = [
        estimate for estimate in of_measures(results.audit, "correct_answers") if estimate.value is not None
    ]
    names = [*results.label_names.values()]
    known = {
        model: facts.get("version") or facts.get("served_model")
        for model, facts in lock.get("models", {}).items()
    }
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
        versions=[str(version) for model, version in known.items() if version and version != model],
        sampled=[words.partition(",")[0] for words in decodings_in_words(lock).values()],
        times=sorted(
            {
                int(condition.get("repeats", 1))
                for condition in lock.get("conditions", ())
                if not condition.get("follow_up")
            }
        ),
        right=right[0] if len(right) == 1 else None,
        by=count(len(sample["coders"]), "coder") if sample["coders"] else "people",
        totals=corrected_totals(results.estimates),
    )


def method_details(results: Results, cost: Table) -> str:
    """What was asked, of which models, how often, how it was parsed and measured, and what it cost."""
    lock, estimates = results.lock, results.estimates
    accurate = [estimate.method.partition(";")[0] for estimate in of_measures(estimates, "accuracy")]
    measures = [str(measure.get("use", "")) for measure in lock.get("study", {}).get("measures") or ()]
    measures += [measure_of(name) or name for name in results.measures]
    # How often each text was asked about under each decoding
    repeats: dict[str, set[int]] = {}
    for condition in lock.get("conditions", ()):
        if not condition.get("follow_up"):
            repeats.setdefault(str(condition.get("decoding")), set()).add(int(condition.get("repeats", 1)))
    # What the study asks of its labels: each criterion with its limit
    asked = [estimate for estimate in estimates if "limit" in estimate.details]
    named = (
        f"{in_words(estimate.measure.removeprefix('readiness_'))} {estimate.details['limit']}"
        for estimate in asked
    )
    return paragraph(
        "method.txt",
        results.word,
        results=results,
        lock=lock,
        sample=gold_sample(lock),
        totals=corrected_totals(estimates),
        claims={name: in_true_labels(claim) for name, claim in corrected_conclusions(estimates).items()},
        conditions=[condition for condition in lock.get("conditions", ()) if not condition.get("follow_up")],
        engines=_engines(results),
        sampled=decodings_in_words(lock),
        hosts=hosts_in_words(lock),
        own_limits=any(variant.get("max_tokens") for variant in lock.get("variants", ())),
        asked_times={name: sorted(times) for name, times in repeats.items()},
        measures=list(map(in_words, dict.fromkeys(measures))),
        thresholds=list(dict.fromkeys(named)),
        accurate=list(
            dict.fromkeys(
                words.replace("unanswered", "answers without a label") for words in accurate if words
            )
        ),
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
    made: dict[str, list[Mapping[str, Any]]] = {}
    for variant in results.variants:
        for level in variant.get("origin", {}).values():
            if isinstance(level, Mapping) and level.get("engine"):
                made.setdefault(str(level["engine"]), []).append(level)
    models = {}
    for paraphrasing in results.lock.get("paraphrases", {}).get("made", ()):
        asked = paraphrasing.get("asked", {})
        by = asked.get("model")
        models[str(asked.get("engine"))] = by.get("model", by.get("use")) if isinstance(by, Mapping) else by
    return [
        {
            "name": name,
            "made": len({str(sorted(map(repr, level.items()))) for level in levels}),
            "model": models.get(name),
            "temperatures": _values(levels, "temperature"),
            "strengths": _values(levels, "strength"),
        }
        for name, levels in made.items()
    ]


def _values(levels: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    return sorted({float(level[key]) for level in levels if isinstance(level.get(key), (int, float))})


def _scopes(estimates: Iterable[Estimate]) -> list[str]:
    """Over what intervals generalise, and the measures whose intervals hold for other prompts."""
    units = " or the ".join(
        dict.fromkeys(f"{estimate.unit.removesuffix(AND_PROMPT)}s" for estimate in estimates)
    )
    by: dict[str, dict[str, None]] = {}
    for estimate in estimates:
        by.setdefault(estimate.estimand, {})[estimate.measure] = None
    result = [f"over the {units} and hold for these prompts"] if "fixed" in by else []
    for estimand, words in _OTHERS.items():
        if estimand in by:
            whose = f"those of {enumeration(map(in_words, by[estimand]))} are " if result else ""
            others = max(
                (estimate.details.get("untried_at_most", 0.0) for estimate in estimates), default=0.0
            )
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
