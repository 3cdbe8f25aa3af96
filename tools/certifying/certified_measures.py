"""What is certified: every registered measure, with the options that it needs, and functions beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from typing import Any, Final

import polars as pl

from quaver.core import registry
from quaver.core.records import OF_SETS, Estimate, Level
from tools.certifying.population import FACTORS, GROUP, NUMBER, SMALL, Population, as_numbers, as_sets

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """A measure as it is certified.

    Attributes:
        name: What its lines are called: the measure's registered name, perhaps with the option that matters.
        path: Where it is found: a registered name, or ``module:attribute``.
        options: Its options.
        models: How many models its studies have.
        evaluators: How many evaluators.
        null: The value at which its tests' null hypothesis holds; None where its presentation says so.
        why_not: Why its interval is not certified, should it claim no coverage.
        every: In which of the replications it is taken, every so many: more than 1 of slow measures, and of
            those that no line judges.
        floored: Whether noise pushes its value up, so that the truth takes larger studies.
        of_effect: Estimates of what the items' columns do. Where a population's columns do nothing, their
            truth is ``null``, which a large study would show with an error of its own.
        sampled: Whether it takes a gold sample, which is then all items.
        level: The level of its labels: grades are the population's in their order, sets and numbers are made
            of them (`as_sets`, `as_numbers`).
    """

    name: str
    path: str
    options: Options = field(default_factory=dict)
    models: int = 1
    evaluators: int = 1
    null: float | None = None
    why_not: str = ""
    every: int = 1
    floored: bool = False
    of_effect: frozenset[str] = frozenset()
    sampled: bool = False
    level: Level = "nominal"

    @property
    def function(self) -> Any:
        """The measure itself."""
        module, _, attribute = self.path.partition(":")
        return getattr(import_module(module), attribute) if attribute else registry.load("measures", module)

    @property
    def estimands(self) -> tuple[str, ...]:
        """What its interval can be of; empty where it offers no choice."""
        return tuple(getattr(self.function, "estimands", ()))

    def taken(self, frame: pl.DataFrame, population: Population, **common: Any) -> list[Estimate]:
        """Its estimates, with those of the common arguments that it has."""
        function = self.function
        known = signature(function).parameters
        if self.sampled:
            frame = frame.with_columns(gold_drawn=pl.lit(value=True), gold_probability=pl.lit(1.0))
        labels = replace(population.labels, level=self.level)
        if self.level in OF_SETS:
            frame, labels = as_sets(frame, population, self.level)
        elif self.level in ("interval", "ratio"):
            frame, labels = as_numbers(frame, population, self.level)
        given = {"labels": labels, **common, **self.options}
        group = GROUP if population.group_size > 1 else None
        given |= {"group": group} if group else {}
        return list(function(frame, **{name: value for name, value in given.items() if name in known}))

    def null_of(self, name: str) -> float | None:
        """The value of an estimate's name at which there is nothing to see."""
        if self.null is not None:
            return self.null
        shown = getattr(self.function, "presentation_of", None)
        null: float | None = None if shown is None else shown(name).null
        return 0.0 if null is None and name.endswith("_difference") else null


_SUBSAMPLES = "the interval holds the middle of the subsamples, not a value of the population"
_CONCLUSION = "quaver.measures.validity.conclusions:conclusion"
_EFFECTS = frozenset({"conclusion", "conclusion_gold"})
_SELDOM: Final = 50
"""Every so many replications what takes minutes is taken, and what no line judges, to see that it works."""
_SAMPLED: Options = {
    "sampled": True,
    "every": _SELDOM,
    "why_not": "simulated studies have gold labels of all items: benchmarks/corrected.py simulates samples",
}
_BUILT_IN: Mapping[str, Options] = {
    "alternative_annotator": {
        "why_not": "simulated studies have two coders, and it takes three",
        "every": _SELDOM,
    },
    "coder_agreement": {"options": {"coders": ("gold", "coder")}},
    "corrected_accuracy": _SAMPLED,
    "corrected_score": _SAMPLED,
    "corrected_share": _SAMPLED,
    "ece_shift": {"every": 4},
    "evaluator_flips": {"evaluators": 2},
    "factor_effects": {"options": {"factors": tuple(FACTORS)}},
    "inter_model": {"models": 2},
    "inter_pss_subsamples": {"why_not": _SUBSAMPLES, "every": _SELDOM},
    "intra_pss_subsamples": {"why_not": _SUBSAMPLES, "every": _SELDOM},
    "mixed_effects": {"options": {"formula": "correct ~ tone * length"}, "every": _SELDOM},
    "readiness": {"options": {"second": "f", "token": "e"}, "evaluators": 2},
    "served_flips": {
        "why_not": "no server answers in simulated studies; tests of `served_flips` simulate hosts",
        "every": _SELDOM,
    },
    "spread": {"floored": True},
    "verbal_calibration": {"options": {"columns": {"confidence": "stated"}}},
}
_BESIDE = (
    Certified(name="differences, reference", path="differences", options={"reference": "v00"}),
    Certified(name="differences, tone", path="differences", options={"between": "tone"}),
    Certified(name="distribution_shift, reference", path="distribution_shift", options={"reference": "v00"}),
    Certified(name="distribution_shift, tone", path="distribution_shift", options={"between": "tone"}),
    Certified(
        name="conclusion, small group",
        path=_CONCLUSION,
        options={"formula": f"share(a) ~ {SMALL}", "effect": f"{SMALL}[yes] > {SMALL}[no]"},
        null=0.0,
        of_effect=_EFFECTS,
    ),
    Certified(
        name="conclusion, number",
        path=_CONCLUSION,
        options={"formula": f"share(a) ~ {NUMBER}", "effect": f"{NUMBER} > 0"},
        null=0.0,
        of_effect=_EFFECTS,
    ),
    Certified(
        name="label_movement",
        path="quaver.measures.variation.label_movement:label_movement",
        options={"factors": FACTORS},
    ),
    Certified(name="accuracy, sets", path="accuracy", level="jaccard"),
    Certified(name="accuracy, numbers", path="accuracy", level="ratio"),
    Certified(name="f1, sets", path="f1", level="jaccard"),
    *(
        Certified(name=f"inter_pss, {level}", path="inter_pss", level=level)
        for level in ("jaccard", "masi", "interval", "ratio")
    ),
)


def certified_measures() -> dict[str, Certified]:
    """Everything that is certified, by name; another package's measures among it.

    Such a measure's options are those of its recipe (`quaver.testing.recipes.Recipe`).
    """
    found = {}
    for name in registry.names("measures"):
        own = _BUILT_IN.get(name)
        if own is None and not registry.load("measures", name).__module__.startswith("quaver."):
            own = _of_recipe(name)
        found[name] = Certified(name=name, path=name, **(own or {}))
    return found | {one.name: one for one in _BESIDE}


def _of_recipe(name: str) -> Options:
    """What another package says of its measure, among its recipes for the tests of the contract."""
    for entry in entry_points(group="quaver.testing"):
        if entry.value.startswith("quaver."):
            continue  # whose recipes need models
        recipe = entry.load().get("measures", {}).get(name)
        if recipe is not None:
            options = recipe.options() if callable(recipe.options) else recipe.options
            return {"options": options, "why_not": recipe.missing or (_SUBSAMPLES if recipe.is_drawn else "")}
    return {}
