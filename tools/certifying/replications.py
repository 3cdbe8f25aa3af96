"""What one process does: draw studies from a population, take measures of them, and keep what they said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from tools.certifying.certified_measures import Certified
from tools.certifying.coverage import FIXED, KeptEstimate, kept_of
from tools.certifying.population import Population, large_study, study

_TRUTH_ITEMS, _TRUTH_ROWS = 2**14, 2**17
_TRUTH_TIMES = 16
"""As many times a study's items at least, so that the truth's own error is a quarter of an estimate's."""
_SETS, _SET_ITEMS = 60, 2**8
"""How many sets of prompts the mean over prompts is taken of, and of how many items each."""
UNBROKEN = "unbroken"
"""In a document of results: the truths without broken prompts, or the replications that drew none."""
_LARGE = 9000
"""Items × prompts of what counts as a large study."""


class Work(NamedTuple):
    """Some replications of a population, or its truth, for some measures.

    Attributes:
        cell: What the population is called.
        population: It.
        measures: What is taken of its studies.
        start: The first replication; -1 for the truth.
        studies: How many replications.
        resamples: Bootstrap resamples of each interval.
        seed: Root seed.
    """

    cell: str
    population: Population
    measures: tuple[Certified, ...]
    start: int
    studies: int
    resamples: int
    seed: int

    @property
    def name(self) -> str:
        """What it is called in the file of results."""
        return f"{self.cell} {'truth' if self.start < 0 else self.start}"


def key_of(certified: Certified, estimand: str, estimate: Estimate) -> str:
    """What an estimate is about: a line of the results, and where in its cell."""
    where = {name: value for name, value in estimate.cell.items() if name != "conclusion"}
    return json.dumps([certified.name, estimate.measure, estimand, where], separators=(",", ":"))


def work(task: Work) -> dict[str, Any]:
    """Do some work.

    Returns:
        A document for the file of results: ``work`` (its name), ``found`` (by key, what each replication
        said) or ``truth``, ``failed`` (measures that raised, and how), and ``seconds`` by measure.
    """
    doer = _Worker(task)
    found = doer.truths() if task.start < 0 else doer.replications()
    return {"work": task.name, **found, "failed": doer.failed, "seconds": doer.seconds}


class _Worker:
    """Takes the measures of one task."""

    def __init__(self, task: Work) -> None:
        self._task = task
        self.failed: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def truths(self) -> dict[str, Any]:
        """The true values: of the fixed prompts, and the mean over sets of prompts."""
        asked = self._task.population.variants * self._task.population.repeats
        items = min(_TRUTH_ITEMS, 2 ** (_TRUTH_ROWS // asked).bit_length() // 2)
        items = max(items, 2 ** (_TRUTH_TIMES * self._task.population.items - 1).bit_length())
        truth: dict[str, float | None] = {}
        for slow in (False, True):  # which would take minutes
            some = [one for one in self._of(FIXED) if (one.every > 1) is slow]
            found = self._estimates(None, FIXED, items // 4 if slow else items, only=some)
            truth |= {key: one.value for key, one in found}
        if not self._task.population.effect:
            truth |= self._nulls(truth)
        fixed = {key: [value, 0.0] for key, value in truth.items() if value is not None}
        population = self._task.population
        works = self._over_sets(replace(population, broken=0.0)) if population.broken else {}
        return {"truth": {**fixed, **self._over_sets(population)}, UNBROKEN: works}

    def _over_sets(self, population: Population) -> dict[str, list[float]]:
        """The means over sets of prompts, with their standard errors."""
        found: dict[str, list[float]] = {}
        for at in range(_SETS if self._of("population") else 0):
            fresh = self._seed("set", at)
            for floored in (False, True):
                some = [one for one in self._of("population") if one.floored is floored]
                size = _SET_ITEMS * (16 if floored else 1)
                for key, one in self._estimates(fresh, "population", size, only=some, of=population):
                    if one.value is not None:
                        found.setdefault(key, []).append(one.value)
        return {
            key: [float(np.mean(some)), float(np.std(some) / len(some) ** 0.5)] for key, some in found.items()
        }

    def _nulls(self, truth: Iterable[str]) -> dict[str, float | None]:
        """The truths that are known where the items' columns do nothing."""
        known = {one.name: one for one in self._task.measures if one.of_effect}
        found: dict[str, float | None] = {}
        for key in truth:
            measure, name, *_ = json.loads(key)
            if measure in known and name in known[measure].of_effect:
                found[key] = known[measure].null
        return found

    def replications(self) -> dict[str, Any]:
        """What each replication said, and those in which no prompt that was drawn is broken."""
        found: dict[str, dict[str, list[Any]]] = {}
        kinds: dict[str, int] = {}
        population, works = self._task.population, []
        for at in range(self._task.start, self._task.start + self._task.studies):
            if population.of_kinds_tried(self._seed("prompts", at)) != population:
                works.append(at)
            for key, said in self._replication(at):
                # Seven digits are enough, and each kind of warning stands there once.
                numbers: list[Any] = [float(f"{one:.7g}") if isinstance(one, float) else one for one in said]
                numbers[KeptEstimate._fields.index("warnings")] = [
                    kinds.setdefault(one, len(kinds)) for one in said.warnings
                ]
                found.setdefault(key, {})[str(at)] = numbers
        return {"found": found, "kinds": list(kinds), UNBROKEN: works}

    def _replication(self, at: int) -> Iterator[tuple[str, KeptEstimate]]:
        seed = self._seed("study", at)
        options = {"resamples": self._task.resamples, "seed": seed}
        for key, one in self._estimates(None, FIXED, None, seed, options, only=self._of(FIXED, at)):
            yield key, kept_of(one)
        population, fresh = self._of("population", at), self._seed("prompts", at)
        for key, one in self._estimates(fresh, "population", None, seed, options, only=population):
            yield key, kept_of(one)

    def _of(self, estimand: str, at: int | None = None) -> list[Certified]:
        """The measures with an estimand; those that are taken in a replication, where one is named.

        Prompts are drawn anew in every second replication only, and of large studies in every fourth: a
        measure is then taken again without each prompt.
        """
        found = [one for one in self._task.measures if estimand in (one.estimands or (FIXED,))]
        if at is None:
            return found
        population = self._task.population
        turns = 4 if population.items * population.variants >= _LARGE else 2
        if estimand != FIXED and at % turns:
            return []
        return [one for one in found if (at if estimand == FIXED else at // turns) % one.every == 0]

    def _seed(self, what: str, at: int) -> int:
        return derive(self._task.seed, "certify", self._task.cell, what, str(at)) % 2**31

    def _estimates(
        self,
        fresh: int | None,
        estimand: str,
        large: int | None,
        drawn: int = 0,
        options: Mapping[str, Any] = MappingProxyType({}),
        *,
        only: Iterable[Certified] | None = None,
        of: Population | None = None,
    ) -> Iterator[tuple[str, Estimate]]:
        """The estimates of the measures that have an estimand, of one study."""
        whole = of or self._task.population
        frames: dict[tuple[int, int], tuple[Population, pl.DataFrame]] = {}
        for certified in self._of(estimand) if only is None else only:
            shape = (certified.models, certified.evaluators)
            if shape not in frames:
                shaped = replace(whole, models=certified.models, evaluators=certified.evaluators)
                frames[shape] = shaped, self._drawn(shaped, fresh, large, drawn)
            population, frame = frames[shape]
            given = {"resamples": 0, **options}
            if large is None and certified.estimands:
                given["estimand"] = estimand
            for one in self._taken(certified, frame, population, given):
                yield key_of(certified, estimand, one), one

    def _drawn(self, population: Population, fresh: int | None, large: int | None, seed: int) -> pl.DataFrame:
        if fresh is None:
            prompts = population.fixed_prompts(self._seed("prompts", -1))
        else:
            prompts = population.prompts(fresh)
        if large is None:
            return study(population, prompts, seed)
        return large_study(population, prompts, self._seed("truth", fresh or 0), large)

    def _taken(
        self, certified: Certified, frame: pl.DataFrame, population: Population, options: Mapping[str, Any]
    ) -> list[Estimate]:
        began = perf_counter()
        if large := not options["resamples"]:  # a very large study's items are in no groups
            population = replace(population, group_size=1)
        try:
            found = certified.taken(frame, population, **options)
        except Exception as error:  # whatever a measure raises, another package's too, is a result
            self.failed[certified.name] = f"{type(error).__name__}: {error}"[:300]
            return []
        if not large:
            spent = self.seconds.get(certified.name, 0.0)
            self.seconds[certified.name] = round(spent + perf_counter() - began, 4)
        return found


def read_found(document: Mapping[str, Any]) -> Iterator[tuple[str, int, KeptEstimate]]:
    """Key, replication and what was said, of a document that `work` made."""
    kinds = document.get("kinds", ())
    for key, some in document.get("found", {}).items():
        for at, values in some.items():
            said = KeptEstimate(*values)
            yield key, int(at), said._replace(warnings=tuple(kinds[int(one)] for one in said.warnings))
