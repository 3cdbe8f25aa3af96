"""How the measures of one study behave in simulated studies like it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quaver.certification.coverage import (
    FIXED,
    KeptEstimate,
    Line,
    Place,
    kept_of,
    line_of,
    verdicts,
    verdicts_in_words,
)
from quaver.certification.simulated_study import SimulatedStudies, answered, renamed
from quaver.core.records import Estimate
from quaver.core.rows import presented
from quaver.core.seeds import derive

_LARGE_ROWS, _LARGE = 2**17, 3
"""How many rows a study has from which the truth is taken, and how many such studies there are."""
_SET_ROWS, _SETS = 2**15, 24
"""The same where the truth is the mean over sets of prompts."""
_NEXT_ROWS = 2**15


class Asked(NamedTuple):
    """A measure as a study asks for it.

    Attributes:
        name: What tells it from the study's other measures.
        take: Its estimates of a frame of the study's shape, with options in place of the study's.
        reads_items: Whether it reads a table of the items, which its option ``items_like`` makes that of a
            simulated study's.
    """

    name: str
    take: Callable[..., list[Estimate]]
    reads_items: bool = False


class Job(NamedTuple):
    """Some work: a ``study`` to replicate, a ``large`` one, or a ``set`` of prompts, and its number."""

    kind: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """How the measures of a study behave in simulated studies like it.

    Attributes:
        lines: A line for each measure and name of estimates, its cells taken together.
        places: A line for each estimate of the study; ``cell`` is its cell as JSON.
        replications: How many studies were simulated.
        population: What they were drawn from, in a few numbers.
        failed: Measures that could not be taken of them, and why.
    """

    lines: tuple[Line, ...]
    places: tuple[Line, ...]
    replications: int
    population: Mapping[str, Any] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        """How many lines have each verdict, and what they cover, in a sentence."""
        return verdicts_in_words([line.document() for line in self.lines])

    def document(self) -> dict[str, Any]:
        """It as a mapping for JSON."""
        lines = [line.document() for line in self.lines]
        return {
            "replications": self.replications,
            "population": dict(self.population),
            "failed": dict(self.failed),
            "verdicts": verdicts(lines),
            "lines": lines,
            "places": [line.document() for line in self.places],
        }


class ResampledStudies(SimulatedStudies):
    """Draws studies whose items are those of a given one, drawn anew with all answers to them.

    Of numbers: hardly two are the same label, so that how often answers agree says nothing of them. What the
    study's items do not show, such as errors larger than any that occurred, no study like it shows either.

    Args:
        frame: The study's annotations.
        group: The column of the items' groups.
    """

    def __init__(self, frame: pl.DataFrame, group: str | None = None) -> None:
        self.frame, self.group = frame, group
        self.study = answered(frame, (), group)

    def document(self) -> dict[str, object]:
        """That items are drawn; of groups, their sizes."""
        return {"drawn": "items", **self.sizes()}

    def study_like(self, seed: int, prompts: int | None = None, copies: int = 1) -> pl.DataFrame:
        """The annotations of a study like it; ``prompts`` are drawn from the study's."""
        made = [self._drawn(seed, prompts, copy) for copy in range(copies)]
        if copies == 1:
            return made[0]
        return pl.concat([renamed(one, copy, self.group) for copy, one in enumerate(made)])

    def _drawn(self, seed: int, prompts: int | None, copy: int) -> pl.DataFrame:
        """Each item with the answers to one that is drawn; of items in groups, to one of a drawn group."""
        rng, group = np.random.default_rng([seed, 7, copy]), self.study.group
        order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
        own = rng.integers(sizes.size, size=sizes.size)[group]
        within = (rng.random(group.size) * sizes[own]).astype(np.int64)
        drawn = {"item": order[(np.cumsum(sizes) - sizes)[own] + within]}
        if prompts is not None and "variant" in self.frame.columns:
            count = self.frame["variant"].n_unique()
            drawn["variant"] = np.random.default_rng([prompts, 6]).integers(count, size=count)
        made = self.frame
        for column, of in drawn.items():
            names = self.frame[column].unique(maintain_order=True)
            there = pl.DataFrame({column: names[of], "place": names})
            made = made.join(there, on=column).with_columns(pl.col("place").alias(column)).drop("place")
        if self.group:
            groups = self.frame.group_by("item", maintain_order=True).agg(pl.col(self.group).first())
            made = made.drop(self.group).join(groups, on="item")
        return made.select(self.frame.columns)


class StudyWork:
    """Does the jobs of one study's certificate; a process has one.

    Args:
        asked: The study's measures.
        studies: What draws studies like it.
        options: Options in place of the study's, such as ``resamples``.
        seed: Root seed.

    Attributes:
        own: The study's own estimates, by key.
        failed: Measures that raised an error, and which.
        population: What the studies are drawn from, in a few numbers.
    """

    def __init__(
        self, asked: Sequence[Asked], studies: SimulatedStudies, options: Mapping[str, Any], seed: int
    ) -> None:
        self._asked, self._studies, self._options, self._seed = tuple(asked), studies, dict(options), seed
        self.failed: dict[str, str] = {}
        self.population = studies.document()
        self.own: dict[str, Estimate] = self._taken(studies.frame, self._asked, {})
        self._fresh = tuple(one for one in self._asked if self._has(one.name, fixed=False))
        self._fixed = tuple(one for one in self._asked if self._has(one.name, fixed=True))

    def estimand(self, key: str) -> str:
        """What the interval of an estimate is of."""
        return str(getattr(self.own[key], "estimand", "") or FIXED)

    def units(self, key: str) -> int:
        """How many units of what its interval is over there are: groups, or prompts where these are fewer."""
        study = self._studies.study
        groups = int(study.group.max(initial=0)) + 1
        prompts = study.conditions["variant"].n_unique() if "variant" in study.conditions.columns else groups
        return groups if self.estimand(key) == FIXED else min(groups, prompts)

    def jobs(self, replications: int | None = None) -> list[Job]:
        """What has to be known before studies are replicated: the truth."""
        n = _SETS if replications is None else replications
        large, sets = min(_LARGE, 1 + n // 10), min(_SETS, 4 + n)
        return [
            *(Job("large", index) for index in range(large if self._fixed else 0)),
            *(Job("set", index) for index in range(sets if self._fresh else 0)),
        ]

    def done(self, job: Job) -> dict[str, KeptEstimate]:
        """What a job finds, by key."""
        if job.kind == "study":
            return self._study(job.at)
        if job.kind == "large":
            found = self._large(self._fixed, self._seeded("large", job.at), None, _LARGE_ROWS)
        else:
            fresh = self._seeded("set", job.at)
            found = self._large(self._fresh, fresh, fresh, _SET_ROWS)
        return {key: kept_of(estimate) for key, estimate in found.items()}

    def _study(self, index: int) -> dict[str, KeptEstimate]:
        seed = self._seeded("study", index)
        options = {**self._options, "seed": seed}
        result: dict[str, KeptEstimate] = {}
        if self._fixed:
            frame = self._studies.study_like(seed)
            taken = self._taken(frame, self._fixed, options)
            result |= {
                key: kept_of(estimate) for key, estimate in taken.items() if self.estimand(key) == FIXED
            }
        if self._fresh:
            fresh = self._seeded("prompts", index)
            taken = self._taken(self._studies.study_like(seed, fresh), self._fresh, options)
            new = {key: kept_of(estimate) for key, estimate in taken.items() if self.estimand(key) != FIXED}
            coming = self._coming(index) if any(self.estimand(key) == "next" for key in new) else {}
            result |= {
                key: said._replace(truth=coming[key].value if key in coming else None)
                if self.estimand(key) == "next"
                else said
                for key, said in new.items()
            }
        return result

    def _coming(self, index: int) -> dict[str, Estimate]:
        """What the next prompt gives; where one alone gives nothing, what the next set does."""
        fresh = self._seeded("next", index)
        frame, copies = self._drawn(fresh, fresh, _NEXT_ROWS)
        one = frame.filter(pl.col("variant") == frame["variant"][-1]) if "variant" in frame.columns else frame
        single = self._taken(one, self._fresh, {"resamples": 0}, copies)
        alone = {key: estimate for key, estimate in single.items() if estimate.value is not None}
        left = tuple(one for one in self._fresh if not any(_name(key) == one.name for key in alone))
        return alone | (self._taken(frame, left, {"resamples": 0}, copies) if left else {})

    def _large(
        self, asked: Sequence[Asked], seed: int, prompts: int | None, rows: int
    ) -> dict[str, Estimate]:
        frame, copies = self._drawn(seed, prompts, rows)
        return self._taken(frame, asked, {"resamples": 0}, copies)

    def _drawn(self, seed: int, prompts: int | None, rows: int) -> tuple[pl.DataFrame, int]:
        copies = max(2, round(rows / max(1, self._studies.frame.height)))
        return self._studies.study_like(seed, prompts, copies), copies

    def _taken(
        self, frame: pl.DataFrame, asked: Sequence[Asked], options: Mapping[str, Any], copies: int = 1
    ) -> dict[str, Estimate]:
        result: dict[str, Estimate] = {}
        for one in asked:
            given = dict(options)
            if one.reads_items:
                given["items_like"] = partial(self._studies.items_like, copies=copies)
            try:
                result |= {key_of(one.name, estimate): estimate for estimate in one.take(frame, **given)}
            except Exception as error:  # whatever a measure raises, another package's too, is a result
                self.failed[one.name] = f"{type(error).__name__}: {error}"[:300]
        return result

    def _has(self, name: str, *, fixed: bool) -> bool:
        return any(_name(key) == name and (self.estimand(key) == FIXED) is fixed for key in self.own)

    def _seeded(self, what: str, index: int) -> int:
        return derive(self._seed, "certify", what, str(index)) % 2**31


def key_of(name: str, estimate: Estimate) -> str:
    """Which of a study's estimates it is."""
    return json.dumps(
        [name, estimate.measure, dict(estimate.cell)], separators=(",", ":"), ensure_ascii=False
    )


def cell_of(estimate: Estimate) -> str:
    """Its cell, as the lines of a certificate name it."""
    return json.dumps(dict(estimate.cell), ensure_ascii=False)


def _name(key: str) -> str:
    return str(json.loads(key)[0])


def certificate(worker: StudyWork, found: Mapping[Job, Mapping[str, KeptEstimate]]) -> Certificate:
    """What the jobs that were done say of each of the study's estimates."""
    studies = {job.at: said for job, said in found.items() if job.kind == "study"}
    order = sorted(studies)
    truths: dict[str, list[float]] = {}
    for job, some in found.items():
        if job.kind == "study":
            continue
        for key, said in some.items():
            if key in worker.own and (worker.estimand(key) == FIXED) is (job.kind == "large"):
                truths.setdefault(key, []).extend([said.value] if said.value is not None else [])
    places: list[tuple[Line, Place]] = []
    grouped: dict[tuple[str, str, str], list[Place]] = {}
    for key in worker.own:
        measure, name, where = json.loads(key)
        about = Line(
            cell=json.dumps(where, ensure_ascii=False),
            measure=measure,
            name=name,
            estimand=worker.estimand(key),
            places=1,
            replications=len(order),
        )
        truth = float(np.mean(truths[key])) if truths.get(key) else None
        here = {index: studies[index][key] for index in order if key in studies[index]}
        place = Place(here, order, truth, worker.units(key))
        places.append((about, place))
        grouped.setdefault((measure, name, about.estimand), []).append(place)
    lines = [
        line_of(
            Line(cell="", measure=m, name=n, estimand=e, places=len(some), replications=len(order)),
            some,
            _null(n),
        )
        for (m, n, e), some in grouped.items()
    ]
    return Certificate(
        lines=tuple(lines),
        places=tuple(line_of(about, [place], _null(about.name)) for about, place in places),
        replications=len(order),
        population=worker.population,
        failed=worker.failed,
    )


def _null(name: str) -> float | None:
    """The value at which there is nothing to see; of a conclusion the effect that is claimed not to be."""
    if name.startswith("conclusion"):
        return 0.0
    shown = presented(name)
    return None if shown is None else shown.null
