"""What is known of one model's labels, as the rules of the decision ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf, isfinite, log
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from quaver.core.annotations import FIELD
from quaver.core.column_names import in_words
from quaver.core.records import Estimate
from quaver.core.rows import at_levels, defined, of_measures
from quaver.report.findings.quality import quality

Correctness = Literal["right", "as good as coders", "wrong", "biased", "unclear", "unknown"]

STEADY: Final = 0.8
"""Krippendorff's customary bar: below it, conclusions from the labels are not safe."""

ON_A_SCALE: Final = 2 / 3
"""How far labels that have an order must agree with the gold labels: Krippendorff's lowest bar."""

_CHANCE, _HALF = 0.05, 0.5
BAR: Final = 0.1
"""The share of wrong labels that a user accepts."""

_SURELY: Final = 2.0
"""Labels are right where no more than the bar are wrong, and surely no more than so many times the bar."""

BEYOND: Final = 1.5
"""They are wrong where surely more than so many times the bar are: a coder's own errors may lie between."""

_CHOSEN: Final = 0.001
"""With this chance gold labels drawn at random seem to be chosen."""

_BIASED, _UNBIASED = 0.4, 0.5
"""On a scale: the bias, in standard deviations of the gold labels, that surely is one, and none."""

EXCEPTED: Final = 1 / 3
"""No more of the texts than this may be in excepted classes or groups."""

_MANY_TIMES: Final = 100
"""More texts than so many times those that there are, nobody adds."""

_UNSEEN: Final = 0.05
"""Groups that are all wrong are as many as may be with this chance that none of them was drawn."""

OF_GROUPS: Final = ("group_wrong", "group_agreement")
OF_PROMPTS: Final = ("prompt_worse", "prompt_apart")
_PARTS: Final = (
    *("label_right", "label_kept", "class_found", *OF_GROUPS, "group_class_found"),
    *("unlabelled_texts", *OF_PROMPTS),
)


class JudgedModel(NamedTuple):
    """What is known of one model's labels.

    Attributes:
        model: Whose; empty where there are no answers.
        shifts: How far each factor moves the share of a label.
        estimates: What is known of all labels, and of the best prompt, by measure; without a value they say
            why.
        profiles: Profiles of the study's own thresholds.
        parts: Estimates of labels, classes, groups and prompts.
        threshold: The accuracy that the study asks for.
        families: What made the levels of each factor.
    """

    model: str = ""
    shifts: Sequence[Estimate] = ()
    estimates: Mapping[str, Estimate] = MappingProxyType({})
    profiles: Sequence[Estimate] = ()
    parts: Sequence[Estimate] = ()
    threshold: float | None = None
    families: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, model: str, estimates: Sequence[Estimate]) -> JudgedModel:
        """What some estimates say of a model."""
        own = at_levels(estimates, model=(None, model))
        known = {
            estimate.measure: estimate
            for estimate in own
            if estimate.cell.keys() <= {"model", FIELD} or estimate.measure.startswith("best_prompt_")
        }
        bars = (estimate.details.get("threshold") for estimate in of_measures(own, "readiness_accuracy"))
        return cls(
            model,
            of_measures(defined(own), "label_shift"),
            known,
            [estimate for estimate in of_measures(own, "readiness") if "verdict" in estimate.details],
            of_measures(own, *_PARTS),
            next(bars, None),
        )

    @property
    def clear(self) -> list[Estimate]:
        """The shifts that go further than the factor's levels would by chance."""
        return [shift for shift in self.shifts if float(shift.details.get("p_holm", 1.0)) < _CHANCE]

    @property
    def factor(self) -> str:
        """The factor of the prompt that moves a label's share furthest beyond chance; empty for none.

        Prompts are compared within a decoding, which so explains no flip between them.
        """
        asked = [shift for shift in self.clear if shift.cell["factor"] != "decoding"]
        most = max(asked, key=lambda shift: shift.number - float(shift.details.get("floor", 0)), default=None)
        return most.cell["factor"] if most else ""

    @property
    def top(self) -> Estimate | None:
        """The shift to speak of: that of the factor, else the largest that goes further than chance."""
        own = iter(at_levels(self.shifts, factor=self.factor))
        return next(own, max(self.clear, key=lambda shift: shift.number, default=None))

    @property
    def has_labels(self) -> bool:
        """Whether more than half of the calls gave a label."""
        return bool(self.estimates) and self.value("failed_calls") + self.value("unlabelled_answers") < _HALF

    def is_moved_by(self, *families: str) -> bool:
        """Whether what moves the labels furthest is of a family of variants, or called as one of these."""
        return not {self.families.get(self.factor), in_words(self.factor)}.isdisjoint(families)

    def detail(self, name: str, key: str) -> Any:
        """A detail of an estimate; None where there is none."""
        estimate = self.estimates.get(name)
        return None if estimate is None else estimate.details.get(key)

    def value(self, name: str) -> float:
        """A share; 0 where there is none."""
        return self.estimates[name].number if self.has(name) else 0.0

    def low(self, name: str) -> float:
        """The lower end of an interval; where there is none, it may lie anywhere."""
        return ends_of(self.estimates.get(name))[0]

    def high(self, name: str) -> float:
        """The upper end."""
        return ends_of(self.estimates.get(name))[1]

    def beyond(self, name: str, bar: float) -> bool:
        """Whether a number is surely above a bar, or below its negative."""
        return self.has(name) and (self.low(name) > bar or self.high(name) < -bar)

    def within(self, name: str, bar: float) -> bool:
        """Whether it surely lies between the two."""
        return self.low(name) >= -bar and self.high(name) <= bar

    def worst(self, name: str) -> float:
        """The upper end of a share; of groups of texts, no less than where others like them are all wrong.

        That none of n groups is wrong throughout has a chance of 5% or more where up to 1 − 0.05^(1/n) of
        groups like these are.
        """
        estimate = self.estimates.get(name)
        if estimate is None or estimate.value is None or estimate.unit == "item" or not estimate.n:
            return self.high(name)
        unseen = 1 - float(_UNSEEN ** (1 / estimate.n))
        return max(self.high(name), estimate.value + unseen * (1 - estimate.value))

    def has(self, name: str) -> bool:
        """Whether there is such an estimate with a value."""
        return name in self.estimates and self.estimates[name].value is not None

    def needed(self) -> int:
        """How many gold labels would decide, were the values what they are: intervals shrink as 1/√n does."""
        wrong, agreement = self.estimates["wrong_labels"], self.estimates.get("gold_agreement")
        value, (right, beyond, bar) = wrong.number, self.bars
        if self.has("gold_bias"):
            ends = _times(agreement, ON_A_SCALE), _times(agreement, ON_A_SCALE, high=True)
        else:
            ends = _times(wrong, right, high=True) if value <= bar else inf, _times(wrong, beyond)
        times = min(ends)
        if self.profiles or not times <= _MANY_TIMES or (times <= 1 and wrong.unit == "item"):
            return 0  # it is something else that too few texts show
        unseen = 0.0
        if wrong.unit != "item" and value < right:
            unseen = log(_UNSEEN) / log(1 - (right - value) / (1 - value))
        return ceil(max(wrong.n * max(times, 1.0), unseen))

    def texts_needed(self) -> int:
        """How many texts (or groups of them) would show whether labels are steady; 0 for too many."""
        estimate = self.estimates["flips_agreement"]
        times = min(_times(estimate, STEADY), _times(estimate, STEADY, high=True))
        return ceil(estimate.n * max(times, 1.0)) if times <= _MANY_TIMES else 0

    @property
    def bars(self) -> tuple[float, float, float]:
        """What shares of wrong labels decide: right surely below the first, wrong surely above the second.

        The third is the bar, which the share itself must not be above.
        """
        if self.threshold is not None:
            return (1 - self.threshold,) * 3
        return _SURELY * BAR, BEYOND * BAR, BAR

    @property
    def is_between(self) -> bool:
        """Whether surely more labels are wrong than a user accepts, and fewer than rule them out."""
        _, beyond, bar = self.bars
        return (
            not self.has("gold_bias") and bar < self.low("wrong_labels") <= self.high("wrong_labels") < beyond
        )

    @property
    def are_chosen(self) -> bool:
        """Whether the texts with gold labels are surely no random sample of all."""
        estimate = self.estimates.get("hand_labels")
        if estimate is None or estimate.details["drawn"] == "random":
            return False
        return estimate.number < _CHOSEN

    @property
    def all_correct(self) -> Correctness:
        """Whether all labels are right."""
        return _correctness(self, "wrong_labels", "gold_agreement")

    @property
    def given_correct(self) -> Correctness:
        """Whether labels are right: without those that are left out, where these are few."""
        few = self.has("others_wrong") and self.estimates["others_wrong"].details["share"] <= EXCEPTED
        if not few or self.profiles or not self.excepted.issuperset(self.detail("others_wrong", "without")):
            return self.all_correct
        return _correctness(self, "others_wrong", "")

    @property
    def excepted(self) -> set[str]:
        """The labels that are surely wrong too often, with intervals that keep groups of texts together."""
        given = of_measures(self.parts, "label_right")
        return {part.cell["label"] for part in given if ends_of(part)[1] < 1 - BEYOND * BAR}

    @property
    def rest_correct(self) -> Correctness:
        """Whether the labels of all prompts but odd ones are right."""
        return _correctness(self, "rest_wrong", "rest_gold_agreement")

    @property
    def best_correct(self) -> Correctness:
        """Whether the labels of the prompt that is right most often are."""
        return _correctness(self, "best_prompt_wrong", "best_prompt_gold_agreement")


def _correctness(labels: JudgedModel, wrong: str, agreement: str) -> Correctness:
    """Whether labels are right: by the thresholds of the study's own profile, else by Quaver's."""
    whole = wrong == "wrong_labels"
    if labels.profiles and whole:
        verdicts = {estimate.details["verdict"] for estimate in labels.profiles}
        return "wrong" if "not ready" in verdicts else "right" if verdicts == {"ready"} else "unclear"
    if not labels.has(wrong):
        return "unknown"
    if labels.has("gold_bias"):
        return _on_a_scale(labels, agreement, whole=whole)
    right, beyond, bar = labels.bars
    if labels.low(wrong) > beyond:
        return _beside_coders(labels) if whole else "wrong"
    estimate = labels.estimates[wrong]
    return "right" if estimate.number <= bar and labels.worst(wrong) <= right else "unclear"


def _on_a_scale(labels: JudgedModel, agreement: str, *, whole: bool) -> Correctness:
    """Whether labels that have an order are right: by how far they are off, and whether in one direction."""
    if whole and (labels.beyond("gold_bias", _BIASED) or labels.beyond("gold_total", BAR)):
        return "biased"
    if labels.high(agreement) < ON_A_SCALE:
        return "wrong"
    unbiased = not whole or (
        labels.within("gold_bias", _UNBIASED)
        and (not labels.value("gold_total") or labels.within("gold_total", _SURELY * BAR))
    )
    return "right" if labels.low(agreement) >= ON_A_SCALE and unbiased else "unclear"


def _beside_coders(labels: JudgedModel) -> Correctness:
    """Whether labels that differ from the majority of coders do so more often than a coder does."""
    if not labels.has("coders_differ") or labels.low("wrong_labels") > labels.high("coders_differ"):
        return "wrong"
    model, coders = (labels.estimates[name].number for name in ("wrong_labels", "coders_differ"))
    return "as good as coders" if model <= coders else "unclear"


def _times(estimate: Estimate | None, bar: float, *, high: bool = False) -> float:
    """How many times as many units take one end of an interval to this side of a bar."""
    end = ends_of(estimate)[high]
    if estimate is None or estimate.value is None or not isfinite(end):
        return inf
    room = (bar - estimate.value) if high else (estimate.value - bar)
    return float(((end - estimate.value) / room) ** 2) if room > 0 else inf


def judged_models(estimates: Sequence[Estimate]) -> tuple[JudgedModel, ...]:
    """What is known of each model's labels; of no model where there are no answers."""
    models = quality(estimates).models
    return tuple(JudgedModel.of(model, estimates) for model in models) or (JudgedModel(),)


def ends_of(estimate: Estimate | None) -> tuple[float, float]:
    """The interval's ends; without an interval nothing is known, and it lies anywhere."""
    interval = None if estimate is None or estimate.value is None else estimate.interval
    return interval or (-inf, inf)
