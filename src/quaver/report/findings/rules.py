"""The rules of the decision, declared in ``rules.toml``: the first that holds says what to do with labels.

Rules are expressions of Jinja over a `JudgedModel`, in the words of `CONDITIONS`; those of parts (labels,
classes, groups, prompts) over an estimate. ``docs/verdicts.md`` prints the table (`rules_table`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import log10
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from quaver.core.records import Estimate
from quaver.report.findings.judged_model import BAR, BEYOND, ON_A_SCALE, STEADY, JudgedModel, ends_of
from quaver.report.findings.recommendation import NextStep, Reason, Recommended

_CONSTANTS: Final = {"STEADY": STEADY, "BAR": BAR, "BEYOND": BEYOND, "ON_A_SCALE": ON_A_SCALE, "log10": log10}
_DECLARED: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
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
def _compiled(expression: str) -> Callable[..., Any]:
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
    return _compiled(expression)(labels=labels, detail=labels.detail, **words, **_CONSTANTS)


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
    return bool(_compiled(condition)(value=part.number, low=low, high=high, **known, **_CONSTANTS))


def rules_table() -> str:
    """The rules in Markdown, in their order."""
    rows = [f"| {rule.answers} | {rule.kind} | {rule.reason} |" for rule in RULES]
    head = "| what the answers show | recommendation | why (`reason`) |", "| --- | --- | --- |"
    return "\n".join([*head, *rows])
