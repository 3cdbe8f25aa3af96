"""A round of a gold sample: drawn, recorded, and sent out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from quaver.core.meter import account_name
from quaver.core.seeds import derive
from quaver.errors import QuaverError
from quaver.gold.coder_sheet import Format
from quaver.gold.gold_draw import FLOOR, HOW, drawn
from quaver.gold.returned_labels import Rule
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.gold_sample.sample_plan import SIZES, GoldForecast, SamplePlan, check_size
from quaver.study.sources.gold_files import DesignFile, GoldState, Round, Ruled
from quaver.study.sources.study_source import StudySource

CODER: Final = "coder"
"""The name of a coder who has none."""

_STRATA_FOR: Final = 200
"""The size that strata are made for where the size is what is asked."""
_OVERLAP: Final = 0.2


@dataclass(frozen=True, slots=True)
class GoldDrawn:
    """A round that was drawn.

    Attributes:
        forecast: What the sample is expected to bring.
        round: The round's number.
        drawn: How many items it drew.
        known: How many of them the table has true labels of, which nobody has to give again.
        files: The coders' sheets, and what belongs to them.
    """

    forecast: GoldForecast
    round: int
    drawn: int
    known: int = 0
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundAsked:
    """What a round is asked to be.

    Attributes:
        options: Its size and design, those left out too.
        seed: What is drawn from.
        form: Which files are written.
        drawn_by: Who draws; the name of your account if left out.
    """

    options: GoldOptions
    seed: int | None = None
    form: Format = "xlsx"
    drawn_by: str | None = None

    def plan(self, source: StudySource, state: GoldState) -> SamplePlan:
        """The sample that this would be a round of."""
        given = self.options
        check_size(given)
        size = given["n"] or given["more"] or _STRATA_FOR
        result = SamplePlan(source, state, given["design"], given["by"], size, given["of"])
        if given["design"] or given["by"] or state.design or result.design == "simple":
            return result
        saved = result.forecast(given, 1, 0.0).saved
        if saved is None or saved > 0:
            return result
        return SamplePlan(source, state, "simple", None, size, given["of"])

    def shared(self, state: GoldState) -> tuple[list[str], float]:
        """The coders, and the share of items that all of them label: by default those of the round before."""
        before = state.design["rounds"][-1] if state.design else None
        coders = coders_of(self.options["coders"] or (before["coders"] if before else [CODER]))
        usual = before["overlap"] if before else _OVERLAP
        overlap = self.options["overlap"]
        return coders, usual if overlap is None else overlap


def drawn_round(source: StudySource, state: GoldState, asked: RoundAsked) -> tuple[GoldState, GoldDrawn]:
    """Draw a round: the sample with it, and what was drawn."""
    coders, overlap = asked.shared(state)
    plan = asked.plan(source, state)
    forecast = plan.forecast(asked.options, len(coders), overlap)
    design = _design_of(source, state, plan, asked.seed)
    number = len(design["rounds"]) + 1
    after = drawn(plan.before, forecast.size, design["seed"], plan.design, number=number, worth=plan.worth)
    about: Round = {
        "round": number,
        "when": now(),
        "asked": {
            name: value for name in (*SIZES, "label_cost") if (value := asked.options[name]) is not None
        },
        "size": forecast.size,
        "drawn": after.filter(pl.col("round") == number).height,
        "coders": coders,
        "overlap": overlap,
        "by": asked.drawn_by or account_name(),
    }
    state = GoldState({**design, "rounds": [*design["rounds"], about]}, after, state.coded)
    return state, GoldDrawn(forecast, number, about["drawn"])


def ruled(state: GoldState, rule: Rule) -> GoldState:
    """A gold sample with another rule for disagreements, and when it was set."""
    if (design := state.design) is None:
        return state
    rules = [*design.get("ruled", ()), Ruled(rule=rule, when=now())]
    return GoldState({**design, "rule": rule, "ruled": rules}, state.draw, state.coded)


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


def _design_of(source: StudySource, state: GoldState, plan: SamplePlan, seed: int | None) -> DesignFile:
    """The design's document, before the round that comes."""
    if state.design is None:
        return {
            "form": "quaver gold 1",
            "seed": derive(source.spec.seed, "gold") if seed is None else seed,
            "design": plan.design,
            "by": list(plan.by),
            "floor": FLOOR,
            "how": HOW,
            "rounds": [],
            "rule": "adjudicator",
            "taken": [],
        }
    if seed not in (None, state.design["seed"]):
        raise QuaverError(
            "a later round is drawn with the seed of the first",
            where="seed",
            expected=str(state.design["seed"]),
            found=str(seed),
            fix="leave the seed out",
        )
    return state.design
