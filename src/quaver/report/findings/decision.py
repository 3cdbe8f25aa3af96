"""The decision: whether a model's labels may be used, with which prompt, and what to do next.

The first of the rules that holds (`findings.rules`) says what; exceptions, and what it says nothing about,
are added here. It is a pure function of estimates, and claims no more than their intervals.
``docs/verdicts.md`` has all of it in words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import log10
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from quaver.core.records import Estimate
from quaver.core.rows import at_levels, having, levels_in, of_measures
from quaver.report.findings.judged_model import (
    BAR,
    BEYOND,
    OF_GROUPS,
    OF_PROMPTS,
    ON_A_SCALE,
    STEADY,
    JudgedModel,
    ends_of,
    judged_models,
)
from quaver.report.findings.recommendation import OF_LABELS, NextStep, Reason, Recommendation, Recommended

ELSEWHERE: Final = "elsewhere_"
"""What the estimates begin with that are of texts outside the groups that go wrong."""


_CONSTANTS: Final = {"STEADY": STEADY, "BAR": BAR, "BEYOND": BEYOND, "ON_A_SCALE": ON_A_SCALE, "log10": log10}
_DECLARED: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
)
CONDITIONS: Final[Mapping[str, str]] = _DECLARED["conditions"]
"""What the rules say by name; an interval that is not known may lie anywhere."""
STEPS: Final[Mapping[Reason, NextStep]] = _DECLARED["steps"]
"""What to do about each cause."""


class Rule(NamedTuple):
    """One rule.

    Attributes:
        answers: What the answers show, in words.
        kind: What is recommended then.
        reason: Why.
        when: The condition that they show it.
        evidence: The estimates that decide, and names of groups of them.
        correct: Whether the labels that are spoken of are right, as an expression.
        next_step: What to do next, where it is not what the reason asks for.
        prompt: The variant that is recommended; empty for none in particular.
    """

    answers: str
    kind: Recommended
    reason: Reason
    when: str
    evidence: Sequence[str] = ()
    correct: str = "'unknown'"
    next_step: str = "none"
    prompt: str = "''"

    @property
    def estimates(self) -> list[str]:
        """The names of the estimates that decide."""
        groups = _DECLARED["evidence"]
        return [name for group in self.evidence for name in groups.get(group, [group])]


RULES: Final[tuple[Rule, ...]] = tuple(Rule(**row) for row in _DECLARED["rules"])


@cache
def compiled(expression: str) -> Callable[..., Any]:
    """An expression with the conditions that it names in full."""

    def in_full(name: re.Match[str]) -> str:
        condition = CONDITIONS.get(name[0])
        return name[0] if condition is None else f"({_NAME.sub(in_full, condition)})"

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    return environment.compile_expression(_NAME.sub(in_full, expression), undefined_to_none=False)


_NAME: Final = re.compile(r"\w+")


def evaluated(expression: str, labels: JudgedModel) -> Any:
    """The value of an expression for a model's labels."""
    words = {"value": labels.value, "low": labels.low, "high": labels.high, "has": labels.has}
    return compiled(expression)(labels=labels, detail=labels.detail, **words, **_CONSTANTS)


def first_rule(labels: JudgedModel) -> Rule:
    """The first rule that holds."""
    return next(rule for rule in RULES if evaluated(rule.when, labels))


def parts_that_are(
    kind: Literal["excepted", "unsure"], parts: Sequence[Estimate], *measures: str
) -> list[Estimate]:
    """The parts that are excepted, or of which too little is known: of some measures or of all, in order."""
    parts_so_far = []
    for measure, conditions in _DECLARED["parts"].items():
        if kind in conditions and (not measures or measure in measures):
            for part in parts:
                if part.measure == measure and _holds(conditions[kind], part):
                    parts_so_far.append(part)
    return parts_so_far


def _holds(condition: str, part: Estimate) -> bool:
    low, high = ends_of(part)
    known = {name: part.details.get(name) for name in ("found", "texts", "parts")}
    return bool(compiled(condition)(value=part.number, low=low, high=high, **known, **_CONSTANTS))


def rules_table() -> str:
    """The rules in Markdown, in their order."""
    rows = [f"| {rule.answers} | {rule.kind} | {rule.reason} |" for rule in RULES]
    head = "| what the answers show | recommendation | why (`reason`) |", "| --- | --- | --- |"
    return "\n".join([*head, *rows])


def recommendations(
    estimates: Sequence[Estimate], families: Mapping[str, str] = MappingProxyType({})
) -> tuple[Recommendation, ...]:
    """A recommendation for each model; one of no model where there are no answers.

    Args:
        estimates: Of the study.
        families: What made the levels of each factor, whose name may be anything.

    >>> [(one.kind, one.next_step) for one in recommendations([])]
    [('cannot tell', 'run')]
    """
    recommendations: list[Recommendation] = []
    for judged in judged_models(estimates):
        labels = judged._replace(families=families)
        whole = _qualified(labels, _recommended(labels))
        recommendations.append(_but_for_groups(whole, estimates) or whole)
    return tuple(recommendations)


def wrong_groups(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The groups whose labels surely go wrong, model by model."""
    return at_levels(parts_that_are("excepted", estimates, *OF_GROUPS), variant=(None,))


def _but_for_groups(whole: Recommendation, estimates: Sequence[Estimate]) -> Recommendation | None:
    """What is recommended for the texts outside groups that go wrong, where their labels may be used."""
    if whole.reason == "reading":
        return None
    own, elsewhere = at_levels(estimates, model=whole.model), []
    for estimate in own:
        name = estimate.measure.removeprefix(ELSEWHERE)
        if name != estimate.measure:
            elsewhere.append(replace(estimate, measure=name))
    if not elsewhere:
        return None
    (labels, *_) = judged_models(elsewhere)
    rest = _qualified(labels, _recommended(labels))
    if rest.kind not in ("use", "use except for"):
        return None
    exceptions = (*wrong_groups(own), *rest.exceptions)
    return replace(
        rest,
        kind="use except for",
        exceptions=exceptions,
        elsewhere=True,
        next_step=_next_after(exceptions),
    )


def _recommended(labels: JudgedModel) -> Recommendation:
    """What the first rule that holds recommends."""
    return _said(labels, first_rule(labels))


def _said(labels: JudgedModel, rule: Rule) -> Recommendation:
    """A rule's recommendation, with its evidence."""
    kind, reason = rule.kind, rule.reason
    evidence = [labels.estimates[name] for name in rule.estimates if labels.has(name)]
    if reason in ("right", "wrong", "unclear gold"):
        evidence = [*labels.profiles, *evidence]
    step, needed = evaluated(rule.next_step, labels) or STEPS[reason], 0
    if reason == "unclear gold" or (reason == "one prompt" and labels.has("wrong_labels")):
        needed = labels.needed()
        wrong, texts = labels.estimates["wrong_labels"], labels.estimates["label_in_use"].n
        if labels.is_between:
            step = "correct the prompt"
        elif step == "label more by hand" and wrong.n >= texts:
            step = "add items"
        elif wrong.unit == "item":
            needed = min(needed, texts)
    if reason == "unclear":
        needed = labels.texts_needed()
    if kind == "cannot tell" and any("grouped" in estimate.details for estimate in evidence):
        step, needed = "declare the groups", 0
    return Recommendation(
        kind,
        labels.model,
        evaluated(rule.prompt, labels),
        labels,
        reason,
        tuple(evidence),
        step,
        evaluated(rule.correct, labels),
        needed=needed,
    )


def _qualified(labels: JudgedModel, recommendation: Recommendation) -> Recommendation:
    """A recommendation with its exceptions, and what it does not vouch for."""
    prompt = recommendation.prompt if recommendation.reason != "only prompt" else ""
    parts = at_levels(labels.parts, variant=prompt or (None, ""))
    if not prompt:
        parts += of_measures(labels.parts, *OF_PROMPTS)
    exceptions = _exceptions(parts)
    if recommendation.kind not in ("use", "use one prompt only"):
        return _but_for_parts(recommendation, exceptions)
    unsure = [part for part in parts_that_are("unsure", parts) if part not in exceptions]
    beside = (*_missing(labels, parts), *unsure)
    like_these = [] if prompt or not labels.has("broken_prompts") else [labels.estimates["broken_prompts"]]
    whole = replace(recommendation, exceptions=tuple(exceptions), unvouched=(*beside, *like_these))
    if not exceptions:
        return whole
    kind: Recommended = "use except for" if whole.kind == "use" or not prompt else whole.kind
    return replace(whole, kind=kind, next_step=_next_after(exceptions))


def _but_for_parts(recommendation: Recommendation, estimates: Sequence[Estimate]) -> Recommendation:
    """A recommendation not to use labels, or of one who cannot tell, with the parts that go wrong."""
    named = having(estimates, "group")
    if recommendation.reason in ("unclear gold", "unclear"):
        named += of_measures(estimates, *OF_LABELS, "class_found")
    is_about = named and recommendation.reason in ("wrong", "unclear gold", "unclear")
    return replace(recommendation, unvouched=tuple(named)) if is_about else recommendation


def _missing(labels: JudgedModel, parts: Sequence[Estimate]) -> list[Estimate]:
    """The texts that never got a label, and the calls that failed."""
    bare = [part for part in of_measures(parts, "unlabelled_texts") if part.value]
    if labels.has("failed_calls") and labels.estimates["failed_calls"].value:
        bare.append(labels.estimates["failed_calls"])
    return bare


def _exceptions(parts: Sequence[Estimate]) -> list[Estimate]:
    """What is surely not to be used; a class of a group only where neither by itself is named."""
    exceptions = parts_that_are("excepted", parts)
    labels = levels_in(of_measures(exceptions, "class_found"), "label")
    groups = set(map(_group, of_measures(exceptions, *OF_GROUPS)))
    for part in of_measures(exceptions, "group_class_found"):
        if part.cell["label"] in labels or _group(part) in groups:
            exceptions.remove(part)
    return exceptions


def _next_after(estimates: Sequence[Estimate]) -> NextStep:
    """What to do about the exceptions."""
    if of_measures(estimates, *OF_LABELS, "class_found"):
        return "define the classes"
    return "read the groups" if having(estimates, "group") else "leave the prompts out"


def _group(part: Estimate) -> tuple[str, str]:
    return part.cell["group"], part.cell["level"]
