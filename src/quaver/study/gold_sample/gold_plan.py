"""A round of a gold sample: how large it is, how it is drawn, and the interval to expect of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.core.rows import Rows
from quaver.core.seeds import derive
from quaver.errors import QuaverError, StoreError
from quaver.gold.coder_sheet import CODER, labels_per_item
from quaver.gold.gold_draw import (
    HOW,
    STRATA,
    Design,
    doubt_about,
    drawn,
    expected_width,
    joined,
    label_probabilities,
    predicted_labels,
    strata_of,
)
from quaver.report.page_templates import template
from quaver.study.analysis.annotation_frame import scan
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.sources.gold_files import DesignFile, GoldSample
from quaver.study.sources.study_source import StudySource

FEWEST_EVENTS: Final = 8
"""Gold labels of the rarest label that a corrected interval takes, about."""

_OVERLAP: Final = 0.2


@dataclass(frozen=True, slots=True)
class GoldRound(Rows):
    """A round of a sample: what was drawn, or would be, and what it is expected to bring.

    Attributes:
        design: How items are drawn.
        by: What tells its strata apart.
        population: How many items there are.
        size: How many items the whole sample has.
        labels: How many labels people give for this round, with those of several coders.
        width: The width that is expected of the widest interval of a label's corrected share.
        rarest: How many gold labels are expected of the rarest label.
        round: The round's number.
        drawn: How many items it draws.
        known: How many of them the table has gold labels of, which nobody has to give again.
        files: The coders' sheets, and what belongs to them; none before they are drawn.
    """

    design: Design
    by: tuple[str, ...]
    population: int
    size: int
    labels: int
    width: float
    rarest: float
    round: int
    drawn: int
    known: int = 0
    files: tuple[Path, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        shown = [field.name for field in fields(self) if field.name != "files"]
        return [{**{name: getattr(self, name) for name in shown}, "by": ", ".join(self.by)}]

    def __str__(self) -> str:
        """A few sentences."""
        text = template("terminal/gold_forecast.txt").render(plan=self, fewest=FEWEST_EVENTS)
        return text.rstrip("\n")


def next_round(
    source: StudySource, sample: GoldSample, given: GoldOptions, declared: Collection[str] = ()
) -> tuple[GoldSample, GoldRound]:
    """The sample with its next round, of which nothing is kept yet, and what to expect of it.

    Args:
        source: The study.
        sample: Its gold sample now.
        given: What is asked for, with every option.
        declared: Items that came as a random sample, which the first round goes on from: those of a stratum
            are a random sample of it, and stay one when others are drawn to them at random.

    Raises:
        QuaverError: The sample would be no larger, or a later round differs from the first.
    """
    rounds = sample.design.get("rounds", [])
    before: dict[str, Any] = rounds[-1] if rounds else {"coders": [CODER], "overlap": _OVERLAP}
    coders = coders_of(given["coders"] or before["coders"])
    overlap = before["overlap"] if given["overlap"] is None else given["overlap"]
    items = [item.id for item in source.experiment.items]
    codes = source.experiment.labels.codes
    shares, answers = predicted_labels(_labels(source), items, codes)
    likely = label_probabilities(shares, answers)
    design = _design(source, sample, given["design"], has_labels=bool(answers.any()))
    size, had = given["n"] or 0, len(sample.drawn) or len(declared)
    if size < 2 or (size <= had < len(items)):
        raise QuaverError(
            "this is no larger than the sample that there is" if had else "this is no sample",
            where="gold",
            expected=f"more than {max(had, 1):,} items",
            found=f"{size:,}",
            fix=f"name a larger sample: `quaver gold STUDY --n {max(2 * had, 200)}`",
        )
    size, number = min(size, len(items)), len(rounds) + 1
    strata, worth = ["all"] * len(items), None
    if design["design"] == "stratified":
        strata = strata_of(codes, shares, size)
    population = joined(sample.draw, items, strata, number)
    if declared:
        is_declared = pl.col("item").is_in([*declared])
        population = population.with_columns(drawn=is_declared, round=pl.when(is_declared).then(0))
    if design["design"] == "stratified":
        doubt = pl.DataFrame({"item": items, "doubt": doubt_about(likely)})
        column = population.join(doubt, on="item", how="left", maintain_order="left")["doubt"]
        worth = column.fill_null(column.mean()).to_numpy()
    draw = drawn(population, size, design["seed"], number=number, worth=worth)
    about = {"when": now(), "size": size, "coders": coders, "overlap": overlap}
    after = GoldSample({**design, "rounds": [*rounds, about]}, draw, sample.coded)
    chances = pl.DataFrame({"item": items}).join(draw, on="item", how="left", maintain_order="left")
    probabilities = chances["probability"].to_numpy()
    return after, GoldRound(
        design=design["design"],
        by=tuple(STRATA[design["design"]]),
        population=len(items),
        size=size,
        labels=ceil((size - had) * labels_per_item(len(coders), overlap) - 1e-9),
        width=expected_width(likely, probabilities),
        rarest=float(np.min(probabilities @ likely)),
        round=number,
        drawn=draw.filter(round=number).height + len(declared),
    )


def declared_sample(fields: Iterable[StudySource]) -> set[str]:
    """The items that came as a random sample: those with a gold label in each field, where each says so.

    Raises:
        QuaverError: A field's gold labels have probabilities of their own, which a draw would not keep.
    """
    samples = []
    for field in fields:
        spec = field.gold_spec
        if spec is not None and spec.probability:
            raise QuaverError(
                "these gold labels were drawn with probabilities of their own, and a draw knows only its own",
                where="gold: probability",
                expected="one draw",
                found=f"the probabilities in the column {spec.probability}",
                fix="to go on from these labels, draw further texts as the first were drawn, and write "
                f"1 − (1 − p)(1 − q) into {spec.probability} for two draws with the probabilities p and q; "
                "or leave `probability` out: labels of texts that Quaver draws then count in its sample",
            )
        has_sample = spec is not None and spec.is_sample
        samples.append({item.id for item in field.experiment.items if has_sample and item.gold is not None})
    return set.intersection(*samples)


def _design(
    source: StudySource, sample: GoldSample, wanted: Design | None, *, has_labels: bool
) -> DesignFile:
    """The design's document, before the round that comes: that of the first round in later ones."""
    if sample.design:
        if wanted not in (None, first := sample.design["design"]):
            raise QuaverError(
                "a later round is drawn like the first",
                where="design",
                expected=f"{first} sampling",
                found=f"{wanted} sampling",
                fix="leave the design out; it is recorded in gold/design.json",
            )
        return sample.design
    if wanted == "stratified" and not has_labels:
        raise QuaverError(
            "no model has labelled these items yet",
            where="design",
            expected="simple sampling",
            found="strata of the models' labels",
            fix="collect labels first (`quaver run STUDY`), or draw a simple sample",
        )
    chosen = wanted or ("stratified" if has_labels else "simple")
    seed = derive(source.spec.seed, "gold")
    return {"seed": seed, "design": chosen, "how": HOW, "rounds": [], "rule": "adjudicator"}


def _labels(source: StudySource) -> pl.DataFrame | None:
    """The labels that models have given; None where there are none."""
    if source.can_ask and not source.files.responses.exists():
        return None
    try:
        return scan(source).select("item", "evaluator", "label").collect()
    except StoreError:
        return None


def coders_of(names: Sequence[str]) -> list[str]:
    """Coders' names, each once."""
    result = [name.strip() for name in ([names] if isinstance(names, str) else names)]
    if not result or not all(result) or len({*result}) < len(result) or any("(" in name for name in result):
        raise QuaverError(
            "coders need names that tell them apart",
            where="coders",
            expected="each name once, without brackets",
            found=", ".join(map(repr, result)) or "none",
        )
    return result


def now() -> str:
    """The time, as it is recorded."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
