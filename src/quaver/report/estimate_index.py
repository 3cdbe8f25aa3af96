"""What a report is made from: a study's design, annotations and estimates, ready to be looked up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter, itemgetter
from textwrap import shorten
from typing import Any

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.instrument import idle_knobs
from quaver.core.media import item_word
from quaver.core.records import NO_LABEL, Estimate
from quaver.core.rows import at_levels, by_level, cell_columns, defined, grouped, of_measures

__all__ = ["NO_LABEL", "Results", "strongest_factor", "varying"]

_MOVEMENT: Mapping[str, frozenset[str]] = {
    "level_shares": frozenset({"factor", "level", "label"}),
    "label_range": frozenset({"factor", "label"}),
}
"""What says how labels move, by the columns of its cells."""
_BEGINNING = 44
"""Characters of an instruction that name a prompt, as whole words."""

_FIRST = ("model", "decoding", "evaluator", "variant")


def _begins(instruction: str) -> str:
    return shorten(instruction, _BEGINNING, placeholder="…").rstrip(".:")


class Results:
    """A study's resolved design, annotations and estimates.

    Args:
        lock: The document of ``study.lock.json``.
        annotations: The annotation frame (`core.annotations.ANNOTATION_COLUMNS`, factors and groups).
        estimates: Of any measures.
        audit: Estimates that the study file does not ask for: how the answers were parsed, and what only
            charts show.
    """

    def __init__(
        self,
        lock: Mapping[str, Any],
        annotations: pl.DataFrame,
        estimates: Sequence[Estimate],
        audit: Sequence[Estimate] = (),
    ) -> None:
        self.lock = lock
        self.annotations = annotations
        self.estimates = list(map(_finite, estimates))
        self.audit = list(map(_finite, audit))

    # ------------------------------------------------------------------- design

    @property
    def name(self) -> str:
        """The study's name."""
        return str(self.lock.get("study", {}).get("name", "study"))

    @property
    def imported(self) -> bool:
        """Whether the labels were imported, so that it is not known here how they were collected."""
        return bool(self._annotations)

    @property
    def has_raw_answers(self) -> bool:
        """Whether there are raw answers."""
        return not self.imported or bool(self._annotations.get("raw"))

    @property
    def has_prompts(self) -> bool:
        """Whether the prompts are known."""
        return not self.imported or bool(self._annotations.get("prompt"))

    @property
    def _annotations(self) -> Mapping[str, Any]:
        """Which column of imported labels or answers is what; empty if they were collected here."""
        return self.lock.get("study", {}).get("annotations") or {}

    @property
    def seed(self) -> int:
        """The study's root seed; 0 if it is no number."""
        seed = self.lock.get("study", {}).get("seed", 0)
        return seed if isinstance(seed, int) else 0

    @property
    def watched(self) -> Mapping[str, Any]:
        """What a watch found: how many looks, since when, alarms; empty without one."""
        return self.lock.get("watched") or {}

    @cached_property
    def label_names(self) -> dict[str, str]:
        """Name by code, in the label set's order."""
        return {str(label["code"]): str(label["name"]) for label in self.lock["labels"]["labels"]}

    def label_name(self, code: str) -> str:
        """What a label is called in print."""
        return self.label_names.get(code, code)

    @cached_property
    def variants(self) -> list[Mapping[str, Any]]:
        """The variants, in the design's order."""
        return list(self.lock.get("variants", ()))

    @cached_property
    def factors(self) -> dict[str, list[str]]:
        """Levels by factor, for the factors of the variants that have more than one level."""
        every: list[tuple[str, str]] = []
        for variant in self.variants:
            every += ((str(factor), str(level)) for factor, level in variant["factors"].items())
        levels = {}
        for factor, some in grouped(dict.fromkeys(every), itemgetter(0)).items():
            if len(some) > 1:
                levels[factor] = [level for _, level in some]
        return levels

    @cached_property
    def families(self) -> dict[str, str]:
        """What made the levels of each factor: the family of variants that the study uses."""
        families = {}
        for variant in self.variants:
            for factor, origin in variant.get("origin", {}).items():
                if "family" in origin:
                    families[str(factor)] = str(origin["family"])
        return families

    @cached_property
    def factor_levels(self) -> dict[str, dict[str, str]]:
        """For each variant the levels of the factors that vary."""
        levels_of = {}
        for variant in self.variants:
            levels = variant["factors"]
            levels_of[str(variant["id"])] = {
                name: str(levels[name]) for name in self.factors if name in levels
            }
        return levels_of

    @cached_property
    def only_openings(self) -> bool:
        """Whether the instructions differ only in an opening before one of them: none is reworded."""
        texts = {text.strip() for text in self._instructions.values()}
        shortest = min(texts, key=len, default="")
        return len(texts) > 1 and bool(shortest) and all(text.endswith(shortest) for text in texts)

    @cached_property
    def _instructions(self) -> dict[str, str]:
        """Each variant's instruction."""
        return {str(variant["id"]): str(variant.get("instruction", "")) for variant in self.variants}

    @cached_property
    def idle(self) -> list[tuple[str, str, int]]:
        """The models and knobs of which several levels made no difference; how many levels."""
        return [*idle_knobs(self.lock.get("collection", {}).get("instrument", {}))]

    def variant_name(self, variant: str, without: str | None = None) -> str:
        """A variant by the factor levels that distinguish it from the others."""
        levels = self.factor_levels.get(variant)
        if not levels:
            return "the only variant" if len(self.variants) == 1 else variant
        names = [level for factor, level in levels.items() if factor != without]
        names = names[:1] if {*names} == {"original"} else names  # of every factor
        return " · ".join(names) if names else next(iter(levels.values()))

    @cached_property
    def _worded(self) -> dict[str, dict[str, set[str]]]:
        """The factors whose levels the instructions show, since no two share one; these by level."""
        worded = {}
        for factor in self.factors:
            levels: dict[str, set[str]] = defaultdict(set)
            for variant in self.variants:
                text = str(variant.get("instruction", "")).strip()
                levels[str(variant["factors"].get(factor))].add(text)
            if len(set[str]().union(*levels.values())) == sum(map(len, levels.values())):
                worded[factor] = dict(levels)
        return worded

    @cached_property
    def level_words(self) -> dict[str, dict[str, str]]:
        """The beginning of the instruction at each level of a factor, where it identifies the level."""
        beginnings = {}
        for factor, levels in self._worded.items():
            begins = {}
            for level, texts in levels.items():
                if len(texts) == 1:
                    begins[level] = _begins(*texts)
            if len({*begins.values()}) == len(levels):
                beginnings[factor] = begins
        return beginnings

    def levels_unseen(self, variant: str) -> str:
        """The levels of a variant that its instruction does not show, but for those of the original."""
        first = self.factor_levels.get(str(self.variants[0]["id"]), {})
        unseen = []
        for factor, level in self.factor_levels.get(variant, {}).items():
            if factor not in self._worded and (level != first.get(factor) or level != "original"):
                unseen.append(f"{in_words(factor).replace('_', ' ')}: {level}")
        return ", ".join(unseen)

    @cached_property
    def _beginnings(self) -> dict[str, str]:
        """The beginning of each variant's instruction; none where several would begin alike."""
        begins = {name: _begins(text) for name, text in self._instructions.items()}
        alike = len({*begins.values()}) < len({*self._instructions.values()})
        return {} if alike else begins

    @property
    def word(self) -> str:
        """What the items are: ``text``, or ``picture``, ``recording``, ``document``."""
        return item_word(self.lock.get("study", {}).get("items") or {})

    def prompt_words(self, variant: str) -> str:
        """A variant by how its instruction begins and the levels that this does not show; else its levels."""
        begins = self._beginnings.get(variant) if self._worded or len(self.variants) == 1 else ""
        if not begins:
            return self.variant_name(variant)
        return ", ".join(filter(None, (begins, self.levels_unseen(variant))))

    @cached_property
    def evaluators(self) -> list[str]:
        """Names, in the study's order; the headline uses the labels of the first."""
        return self._ordered("evaluators", "evaluator")

    @cached_property
    def models(self) -> list[str]:
        """Names, in the study's order."""
        return self._ordered("models", "model")

    @cached_property
    def decodings(self) -> list[str]:
        """Names, in the study's order."""
        return self._ordered("decodings", "decoding")

    def _ordered(self, key: str, column: str) -> list[str]:
        return list(dict.fromkeys([*map(str, self.lock.get(key, {})), *self._values(column)]))

    def _values(self, column: str) -> list[str]:
        if column not in self.annotations.columns:
            return []
        return sorted(map(str, self.annotations[column].drop_nulls().unique()))

    @cached_property
    def gold_shares(self) -> dict[str, float]:
        """Share of each label among the gold labels; empty where there are none."""
        counts = self.lock.get("items", {}).get("gold", {})
        total = sum(counts.values())
        return {code: counts.get(code, 0) / total for code in self.label_names} if total else {}

    # ---------------------------------------------------------------- estimates

    @cached_property
    def measures(self) -> list[str]:
        """The measures that have estimates, in their order."""
        return [*grouped(self.estimates, attrgetter("measure"))]

    def of(self, measure: str, evaluator: str | None = None) -> list[Estimate]:
        """A measure's estimates."""
        estimates = of_measures(self.estimates, measure)
        return estimates if evaluator is None else at_levels(estimates, evaluator=(None, evaluator))

    def main(self, measure: str) -> list[Estimate]:
        """A measure's estimates from the first evaluator's labels; where it has none, from any other's."""
        return self.of(measure, self.evaluators[0] if self.evaluators else None) or self.of(measure)

    def known(self, measure: str) -> list[Estimate]:
        """The estimates of `main` that have a value, in the design's order."""
        return self.in_order(defined(self.main(measure)))

    def coarsest(self, measure: str) -> list[Estimate]:
        """Those `known` estimates that are about most: their cells have the fewest columns."""
        by_size = grouped(self.known(measure), lambda estimate: len(estimate.cell))
        return by_size[min(by_size)] if by_size else []

    def anywhere(self, measure: str) -> list[Estimate]:
        """A measure's estimates of any evaluator, requested by the study or not; each cell once."""
        estimates = of_measures((*self.audit, *self.estimates), measure)
        return [*{estimate.place: estimate for estimate in estimates}.values()]

    @cached_property
    def moved(self) -> list[Estimate]:
        """What moves the labels: ``level_shares`` and ``label_range``, of each factor."""
        moved = list[Estimate]()
        for measure, columns in _MOVEMENT.items():
            moved += (estimate for estimate in self.anywhere(measure) if columns <= estimate.cell.keys())
        return moved

    @cached_property
    def grouping_factor(self) -> str | None:
        """The factor whose levels group the rows of charts: the one that moves the labels most."""
        return strongest_factor(at_levels(self.moved, factor=self.factors))

    def in_order(self, estimates: Iterable[Estimate]) -> list[Estimate]:
        """Estimates in the design's order of their cells; unknown values stay where they were."""
        places = {column: self._places(column) for column in (*_FIRST, *self.factors)}

        def place(estimate: Estimate) -> tuple[int, ...]:
            return tuple(known.get(estimate.cell.get(column, ""), -1) for column, known in places.items())

        return sorted(estimates, key=place)

    def _places(self, column: str) -> dict[str, int]:
        """Where each value of a cell's column stands."""
        order = self.order(column)
        return dict(zip(order, range(len(order)), strict=True))

    @cached_property
    def undefined(self) -> list[Estimate]:
        """The estimates without a value."""
        return [estimate for estimate in self.estimates if estimate.value is None]

    def order(self, column: str) -> list[str]:
        """The values of a cell's column in the design's order."""
        known: dict[str, Iterable[str]] = {
            "model": self.models,
            "decoding": self.decodings,
            "evaluator": self.evaluators,
            "variant": (str(v["id"]) for v in self.variants),
            "label": (*self.label_names, NO_LABEL, "no_label"),
            "class": self.label_names,
        }
        return list(known.get(column, self.factors.get(column, ())))


def _finite(estimate: Estimate) -> Estimate:
    """A plug-in's NaN or infinity is no value, and no end of an interval."""
    if estimate.value is not None and not math.isfinite(estimate.value):
        return replace(
            estimate, value=None, low=None, high=None, reason=estimate.reason or "not a finite number"
        )
    ends = [end for end in (estimate.low, estimate.high) if end is not None]
    if not all(map(math.isfinite, ends)):
        return replace(
            estimate, low=None, high=None, warnings=(*estimate.warnings, "its interval is not finite")
        )
    return estimate


def strongest_factor(estimates: Sequence[Estimate]) -> str | None:
    """The factor of the prompt that moves a label's share most, beyond what noise does with its levels."""
    beyond = {}
    for factor, estimate in by_level(defined(of_measures(estimates, "label_range")), "factor").items():
        if factor != "gold":
            beyond[factor] = estimate.number - estimate.details.get("floor", 0.0)
    return max(beyond, key=beyond.__getitem__, default=None)


def varying(estimates: Sequence[Estimate]) -> list[str]:
    """The columns of the cells in which these estimates differ, in order of appearance."""
    columns = []
    for column in cell_columns(estimates):
        if len({estimate.cell.get(column) for estimate in estimates}) > 1:
            columns.append(column)
    return columns
