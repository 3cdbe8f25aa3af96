"""The grid of populations over which every measure is certified, and what works through it.

``python -m tools.certifying.gate --out FOLDER`` goes on from where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from quaver.core.line_file import LineFile
from quaver.core.replaced_file import replace_text
from tools.certifying.certified_measures import Certified, certified_measures
from tools.certifying.coverage import FEW, FIXED, WIDTH, KeptEstimate, Line, Place, line_of
from tools.certifying.population import Population, Row, covering_array
from tools.certifying.processes import in_processes
from tools.certifying.replications import UNBROKEN, Work, read_found, work

FACTORS: Mapping[str, Sequence[Any]] = {
    "items": (30, 100, 300, 1000),
    "variants": (3, 10, 30),
    "level": ("near perfect", "middling", "chance"),
    "labels": ("balanced", "rare"),
    "items are": ("independent", "clustered"),
    "noise": ("equal", "unequal"),
    "missing": (0.0, 0.1),
    "effects": ("none", "some"),
}
"""The grid. ``effects``: none, so that all null hypotheses are true but for the prompts' noise; or some:
prompts that differ, overconfidence, and gold labels that depend on the items' columns."""

HARD: Mapping[str, Sequence[Any]] = {
    "items": (100, 300, 1000),
    "variants": (5, 8),
    "labels": ("balanced", "Zipf"),
    "groups": ("none", "power law"),
    "prompts": ("alike", "one in seven broken"),
    "difficulty": ("normal", "heavy-tailed", "bimodal"),
    "missing": (0.0, 0.3),
    "coder": ("honest", "hostile"),
}
"""What the grid does not vary, and breaks promises most: groups of unequal sizes, broken prompts,
difficulties of other shapes, answers that are missing from hard items, many labels, a coder who misleads."""

RESULTS, LINES = "work.jsonl", "lines.json"
"""The files of a folder of results: what processes returned, a line each; and what they say."""

_LEVELS = {"near perfect": (0.985, 0.99), "middling": (0.85, 0.85), "chance": (0.0, 0.0)}
_SHARES = {"balanced": (1 / 3, 1 / 3, 1 / 3), "rare": (0.05, 0.95)}
_GROUPS = {30: 3, 100: 5, 300: 10, 1000: 20}
_BLOCK = 6000
MOST_REPLICATIONS = 1600
"""Lines that are still open then stay so."""
_LEAST, _MOST = 4, 20
"""How many items × prompts × replications a process is given at a time, and how many replications."""


def population_of(row: Row) -> Population:
    """The population of a cell of the grid."""
    agreement, validity = _LEVELS[row["level"]]
    clustered, some = row["items are"] == "clustered", row["effects"] == "some"
    return Population(
        items=row["items"],
        variants=row["variants"],
        shares=_SHARES[row["labels"]],
        agreement=agreement,
        validity=validity,
        noisy=0.25 if row["noise"] == "unequal" else 0.0,
        group_size=_GROUPS[row["items"]] if clustered else 1,
        icc=0.2 if clustered else 0.0,
        missing=row["missing"],
        unparsed=row["missing"],
        prompt_sd=0.5 if some else 0.0,
        label_sd=0.5 if some else 0.0,
        sharpness=1.5 if some else 1.0,
        effect=0.3 if some else 0.0,
    )


def hard_population_of(row: Row) -> Population:
    """The population of a cell of the hard grid."""
    grouped = row["groups"] != "none"
    weights = 1 / np.arange(1, 13)
    return Population(
        items=row["items"],
        variants=row["variants"],
        shares=tuple(weights / weights.sum()) if row["labels"] == "Zipf" else _SHARES["balanced"],
        group_size=10 if grouped else 1,
        unequal=grouped,
        icc=0.2 if grouped else 0.0,
        broken=1 / 7 if row["prompts"] != "alike" else 0.0,
        shape={"normal": "normal", "heavy-tailed": "heavy", "bimodal": "bimodal"}[row["difficulty"]],
        missing=row["missing"],
        hostile=row["coder"] == "hostile",
    )


_RAREST = Population(items=2000, variants=5, shares=(0.002, 0.998), agreement=0.98)


def cells(*, whole: bool = False) -> dict[str, Population]:
    """The populations, by name: those in which every pair of levels meets, or all of them.

    The hard ones come last: every pair of their levels, and a label that one of 500 items has.
    """
    every = (dict(zip(FACTORS, row, strict=True)) for row in product(*FACTORS.values()))
    found = {name_of(row): population_of(row) for row in (every if whole else covering_array(FACTORS))}
    hard = {hard_name_of(row): hard_population_of(row) for row in covering_array(HARD)}
    return {**found, **hard, "hard: 2000 items × 5, a label of 1 in 500": _RAREST}


def hard_name_of(row: Row) -> str:
    """A cell of the hard grid in words."""
    kept = [f"hard: {row['items']} items × {row['variants']}", f"{row['labels']} labels"]
    kept += [f"groups by a {row['groups']}"] if row["groups"] != "none" else []
    kept += [row["prompts"]] if row["prompts"] != "alike" else []
    kept += [f"{row['difficulty']} difficulty"] if row["difficulty"] != "normal" else []
    kept += ["answers missing from hard items"] if row["missing"] else []
    return ", ".join([*kept, *([f"{row['coder']} coder"] if row["coder"] != "honest" else [])])


def name_of(row: Row) -> str:
    """A cell in words."""
    kept = [f"{row['items']} items × {row['variants']}", row["level"], row["labels"]]
    kept += [word for word in (row["items are"],) if word != "independent"]
    kept += ["unequal noise"] if row["noise"] == "unequal" else []
    kept += [f"{row['missing']:.0%} missing"] if row["missing"] else []
    return ", ".join([*kept, f"{row['effects']} effects" if row["effects"] == "some" else "no effects"])


def tasks(
    populations: Mapping[str, Population],
    measures: Sequence[Certified],
    *,
    replications: int,
    resamples: int,
    seed: int,
) -> Iterator[Work]:
    """The work to be done: the truth and some replications of every cell, then more of every cell."""
    left = dict.fromkeys(populations, 0)
    while any(done < replications for done in left.values()):
        for name, one in populations.items():
            if not left[name]:
                yield Work(name, one, tuple(measures), -1, 0, 0, seed)
            block = min(_MOST, max(_LEAST, _BLOCK // (one.items * one.variants)))
            if left[name] < replications:
                count = min(block, replications - left[name])
                yield Work(name, one, tuple(measures), left[name], count, resamples, seed)
                left[name] += count


def further(
    found: Iterable[Line],
    measures: Mapping[str, Certified],
    populations: Mapping[str, Population],
    *,
    replications: int,
    resamples: int,
    seed: int,
) -> Iterator[Work]:
    """As many replications again of the measures that have open lines, population by population."""
    open_in: dict[str, set[str]] = {}
    for line in found:
        if line.verdict == "open" and line.replications >= FEW and line.coverage is not None:
            open_in.setdefault(line.cell, set()).add(line.measure)
    for cell, names in open_in.items():
        one = populations[cell]
        block = min(_MOST, max(_LEAST, _BLOCK // (one.items * one.variants)))
        some = tuple(measures[name] for name in sorted(names))
        for start in range(replications, 2 * replications, block):
            count = min(block, 2 * replications - start)
            yield Work(cell, one, some, start, count, resamples, seed)


def run(
    todo: Iterable[Work], folder: Path, *, processes: int, seconds: float | None = None
) -> dict[str, dict[str, Any]]:
    """Do what is not done yet, and say all that is done, by name."""
    results = LineFile(folder / RESULTS)
    done = {one["work"]: one for one in results.documents()}
    left = iter([one for one in todo if one.name not in done])
    deadline = None if seconds is None else monotonic() + seconds
    for one in in_processes(work, left, processes=processes, deadline=deadline):
        results.append([one])
        done[one["work"]] = one
    return done


def lines(
    done: Mapping[str, Mapping[str, Any]],
    measures: Mapping[str, Certified],
    populations: Mapping[str, Population],
) -> list[Line]:
    """The lines of the populations of which work was done."""
    by_cell: dict[str, list[Mapping[str, Any]]] = {}
    for name, one in done.items():
        by_cell.setdefault(name.rpartition(" ")[0], []).append(one)
    return [
        line
        for cell, population in populations.items()
        for line in lines_of(cell, by_cell.get(cell, []), measures, population)
    ]


def lines_of(
    cell: str,
    documents: Iterable[Mapping[str, Any]],
    measures: Mapping[str, Certified],
    population: Population,
) -> list[Line]:
    """The lines of one population, from the documents of its work."""
    groups = population.items // population.group_size
    documents = list(documents)
    truth, works = (
        {key: value[0] for one in documents if "truth" in one for key, value in one.get(name, {}).items()}
        for name in ("truth", UNBROKEN)
    )
    found: dict[str, dict[int, KeptEstimate]] = {}
    for one in documents:
        for key, at, said in read_found(one):
            if key in works:  # prompts like those tried: none is broken where none of those was
                own = works if at in one[UNBROKEN] else truth
                said = said._replace(truth=own.get(key))
            found.setdefault(key, {})[at] = said
    taken: dict[tuple[str, str], set[int]] = {}  # not every replication of every measure and estimand
    for key, some in found.items():
        measure, _, estimand, _ = json.loads(key)
        taken.setdefault((measure, estimand), set()).update(some)
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for key in found:
        measure, name, estimand, _ = json.loads(key)
        grouped.setdefault((measure, name, estimand), []).append(key)
    lines = []
    for (measure, name, estimand), keys in grouped.items():
        if measure in measures:
            replications = sorted(taken[measure, estimand])
            units = groups if estimand == FIXED else min(groups, population.variants)
            places = [Place(found[key], replications, truth.get(key), units) for key in keys]
            about = Line(
                cell=cell,
                measure=measure,
                name=name,
                estimand=estimand,
                places=len(keys),
                replications=len(replications),
            )
            certified = measures[measure]
            lines.append(line_of(about, places, certified.null_of(name), certified.why_not))
    return lines


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tools.certifying.gate", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("certification"), help="the folder of results")
    parser.add_argument("--whole", action="store_true", help="all cells, not only every pair of levels")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=6600.0, help="begin nothing more after so long")
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--measure", action="append", help="only this measure; as often as you like")
    parser.add_argument("--cells", type=int, help="only so many of the cells")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Work through the grid, and print what fails."""
    asked = options(arguments)
    measures = certified_measures()
    if asked.measure:
        measures = {k: one for k, one in measures.items() if {k, one.path} & set(asked.measure)}
    populations = dict(list(cells(whole=asked.whole).items())[: asked.cells])
    todo = tasks(
        populations,
        list(measures.values()),
        replications=asked.replications,
        resamples=asked.resamples,
        seed=asked.seed,
    )
    deadline = monotonic() + asked.seconds
    done = run(todo, asked.out, processes=asked.processes, seconds=asked.seconds)
    found = lines(done, measures, populations)
    replications = asked.replications
    while monotonic() < deadline and replications < MOST_REPLICATIONS:
        more = list(
            further(
                found,
                measures,
                populations,
                replications=replications,
                resamples=asked.resamples,
                seed=asked.seed,
            )
        )
        done = run(more, asked.out, processes=asked.processes, seconds=deadline - monotonic())
        found = lines(done, measures, populations)
        replications *= 2
    text = json.dumps([one.document() for one in found], ensure_ascii=False, indent=0)
    replace_text(asked.out / LINES, text)
    failing = [one for one in found if one.verdict == "fail"]
    widths = [one.width for one in found if one.width is not None]
    width = sum(widths) / len(widths) if widths else 1.0
    for line in failing:
        sys.stdout.write(json.dumps(line.document(), ensure_ascii=False) + "\n")
    counts = {
        verdict: sum(one.verdict == verdict for one in found)
        for verdict in ("pass", "warned", "wide", "fail", "open")
    }
    sys.stdout.write(json.dumps(counts) + "\n")
    sys.stdout.write(f"mean width beside an oracle's: {width:.2f}\n")
    return 1 if failing or width > WIDTH else 0


if __name__ == "__main__":
    raise SystemExit(main())
