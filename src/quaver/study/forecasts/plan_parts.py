"""What each part of a study takes: calls and tokens by level of every factor, and by decoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quaver.core.records import Condition
from quaver.design.calls.call_plan import Plan


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The calls at one level of a factor, of all models together.

    Attributes:
        factor: A factor of the variants, ``decoding`` or ``model``.
        level: One of its levels; an empty text where a variant has none.
        calls: Calls.
        prompt_tokens: Tokens of their prompts.
        answer_tokens: At most, if every answer is as long as it may be.
    """

    factor: str
    level: str
    calls: int
    prompt_tokens: int
    answer_tokens: int


def parts_of(plan: Plan, tokens_a_character: Mapping[str, float]) -> tuple[PlanPart, ...]:
    """Split a plan by whatever has several levels in it.

    Returns:
        The parts, factor by factor; those of one factor sum to the whole plan.
    """
    experiment = plan.experiment
    factors_of = {variant.id: variant.factors for variant in experiment.variants}
    names = list(dict.fromkeys(name for factors in factors_of.values() for name in factors))
    sums: dict[tuple[str, str], list[float]] = {}
    of_variants = zip(experiment.variants, plan.order.survey.of_variants, strict=True)
    characters = {one.id: total for one, total in of_variants}
    for condition in experiment.conditions:
        read = characters[condition.variant] * condition.repeats
        tokens = read * tokens_a_character[condition.model]
        levels = [(name, factors_of[condition.variant].get(name, "")) for name in names]
        for key in (*levels, ("decoding", condition.decoding), ("model", condition.model)):
            total = sums.setdefault(key, [0, 0, 0])
            total[0] += len(experiment.items) * condition.repeats
            total[1] += tokens
            total[2] += answer_tokens(plan, condition)
    found = [
        PlanPart(factor, level, int(calls), round(prompts), int(answers))
        for (factor, level), (calls, prompts, answers) in sums.items()
    ]
    several = {part.factor for part in found if part.calls < experiment.calls}
    order = [name for name in (*names, "decoding", "model") if name in several]
    return tuple(part for name in order for part in found if part.factor == name)


def answer_tokens(plan: Plan, condition: Condition) -> int:
    """Tokens of a condition's answers, if each is as long as it may be."""
    return len(plan.experiment.items) * condition.repeats * plan.max_tokens(condition)
