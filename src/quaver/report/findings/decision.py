"""The decision: whether a model's labels may be used, with which prompt, and what to do next.

A recommendation is a decision with declared inputs: the verdict (`findings.verdicts`), how many labels are
correct where gold labels are known, how often each class is found and how each group is labelled, and how the
labels of single prompts do. It is a pure function of estimates, and claims no more than their intervals:

| kind | holds where |
| --- | --- |
| use | another prompt hardly changes a label, and nothing shows that the labels are wrong |
| use except for | the same, but labels, classes, groups or prompts that surely go wrong are named |
| use one prompt only | they change with the prompt, but those of one prompt can be used |
| do not use | calls failed, answers have no label, labels are wrong, all the same, or change too much |
| cannot tell | the answers, or the hand labels, show too little for any of these |

What it says nothing about stands beside it (`Recommendation.unvouched`). ``docs/verdicts.md`` has all rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, inf, isfinite, log, log10
from types import MappingProxyType
from typing import Final, NamedTuple

from quaver.core.column_names import in_words
from quaver.core.records import Estimate
from quaver.core.rows import of_measures
from quaver.report.findings.recommendation import (
    OF_LABELS,
    STEPS,
    Correctness,
    NextStep,
    Reason,
    Recommendation,
    Recommended,
)
from quaver.report.findings.verdicts import ON_A_SCALE, STEADY, Verdict, ends_of, verdicts

_USELESS = 0.1
"""Where surely more of the answers than this have no label, they are of no use."""

BAR: Final = 0.1
"""The share of wrong labels that a user accepts."""

_SURELY = 2.0
"""Labels are right where no more than the bar are wrong, and surely no more than so many times the bar."""

_BEYOND = 1.5
"""They are wrong where surely more than so many times the bar are: a coder's own errors may lie between."""

_HALF = 0.5
"""Where labels, or their noise, are closer to perfect than to chance."""

_WORSE = 0.05
"""A prompt deviates that surely makes so many more of the labels wrong, or other than the others' labels."""

_CHOSEN = 0.001
"""With this chance hand labels drawn at random seem to be chosen."""

_BIASED, _UNBIASED = 0.4, 0.5
"""On a scale: the bias, in standard deviations of the gold labels, that surely is one, and none."""

_MISSED, _FOUND = 0.7, 0.5
"""A class of which surely less than the first is found is excepted, and so is a label that other prompts keep
surely less often; a class of which not surely the second is found is named beside the verdict."""

_NEVER = 3
"""So is one that is never given, though as many texts have it; one more for each tenfold of classes."""

_GROUP, _GROUP_SURELY = 0.2, 0.1
"""A group is excepted where as many of its answers are not the gold label, surely more than the second."""

EXCEPTED: Final = 1 / 3
"""No more of the texts than this may be in excepted classes or groups."""

_MANY_TIMES = 100
"""More texts than so many times those that there are, nobody adds."""

_REPEATED = 0.1
"""As many labels of one prompt may surely change when it is asked again."""

_CHOICE = (
    *("rest_", "best_prompt_", "broken_prompts"),
    *("gold_agreement", "gold_bias", "correct_answers", "coders_differ", "others_wrong"),
    *("hand_labels", "reader_disagreement"),
)
"""What the estimates begin with that are known beside a verdict's own."""

_OF_GROUPS: Final = ("group_wrong", "group_agreement")
_OF_PROMPTS: Final = ("prompt_worse", "prompt_apart")
_PARTS: Final = (
    *("label_right", "label_kept", "class_found", *_OF_GROUPS, "group_class_found"),
    *("step_given", "unlabelled_texts", *_OF_PROMPTS),
)

_MOVES: Final = ("flips_prompts", "flips_agreement", "flips_repeats", "correct_answers")
_OFF: Final = ("correct_answers", "wrong_labels", "gold_agreement", "gold_bias", "coders_differ")

ELSEWHERE: Final = "elsewhere_"
"""What the estimates begin with that are of texts outside the groups that go wrong."""

_UNSEEN = 0.05
"""Groups that are all wrong are as many as may be with this chance that none of them was drawn."""

_ORDERS: Final = ("label_order", "option_order", "order")
_FORMATS: Final = ("answer", "answer_format", "answers", "format", "formats", "json_answers", "output")
"""Families of variants, and names of imported factors, for the order of labels and the form of the answer."""


def recommendations(
    estimates: Sequence[Estimate], families: Mapping[str, str] = MappingProxyType({})
) -> tuple[Recommendation, ...]:
    """A recommendation for each model; one of no model where there are no answers.

    Args:
        estimates: Of the study.
        families: What made the levels of each factor, whose name may be anything.

    >>> [(one.kind, one.next_step) for one in recommendations([])]
    [('cannot tell', 'run')]
    """
    found: list[Recommendation] = []
    for verdict in verdicts(estimates):
        known = _Known.of(verdict, estimates)._replace(families=families)
        whole = known.qualified(_recommended(known))
        found.append(_but_for_groups(whole, estimates) or whole)
    return tuple(found)


def wrong_groups(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The groups, of those that the study compares, whose labels surely go wrong, model by model."""
    return [
        estimate
        for estimate in estimates
        if estimate.measure in _OF_GROUPS
        and not estimate.details.get("undeclared")
        and "variant" not in estimate.cell
        and _is_wrong(estimate)
    ]


def _but_for_groups(whole: Recommendation, estimates: Sequence[Estimate]) -> Recommendation | None:
    """What is recommended for the texts outside groups that go wrong, where their labels may be used."""
    if whole.reason == "reading":
        return None
    own = [estimate for estimate in estimates if estimate.cell.get("model") == whole.model]
    elsewhere = [
        replace(estimate, measure=estimate.measure.removeprefix(ELSEWHERE))
        for estimate in own
        if estimate.measure.startswith(ELSEWHERE)
    ]
    if not elsewhere:
        return None
    known = _Known.of(verdicts(elsewhere)[0], elsewhere)
    rest = known.qualified(_recommended(known))
    if rest.kind not in ("use", "use except for"):
        return None
    exceptions = (*wrong_groups(own), *rest.exceptions)
    return replace(
        rest,
        kind="use except for",
        exceptions=exceptions,
        elsewhere=True,
        next_step=_next_after(exceptions),
    )


class _Known(NamedTuple):
    """A model's verdict, its estimates by measure, and the thresholds that the study states for it."""

    verdict: Verdict
    estimates: Mapping[str, Estimate]
    profiles: Sequence[Estimate]
    parts: Sequence[Estimate] = ()
    threshold: float | None = None
    families: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, verdict: Verdict, estimates: Sequence[Estimate]) -> _Known:
        own = [
            estimate for estimate in estimates if estimate.cell.get("model", verdict.model) == verdict.model
        ]
        chosen = {
            estimate.measure: estimate
            for estimate in own
            if estimate.measure.startswith(_CHOICE)
            and ("variant" not in estimate.cell or estimate.measure.startswith("best_prompt_"))
        }
        profiles = [estimate for estimate in of_measures(own, "readiness") if "verdict" in estimate.details]
        parts = of_measures(own, *_PARTS)
        bars = (estimate.details.get("threshold") for estimate in of_measures(own, "readiness_accuracy"))
        return cls(verdict, {**verdict.evidence, **chosen}, profiles, parts, next(bars, None))

    def low(self, name: str) -> float:
        """The lower end of an interval; where there is none, it may lie anywhere."""
        return ends_of(self.estimates.get(name))[0]

    def high(self, name: str) -> float:
        """The upper end."""
        return ends_of(self.estimates.get(name))[1]

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

    def said(
        self,
        kind: Recommended,
        reason: Reason,
        *names: str,
        prompt: str = "",
        correctness: Correctness = "unknown",
        next_step: NextStep | None = None,
    ) -> Recommendation:
        """A recommendation with the estimates of these names as its evidence."""
        evidence = tuple(self.estimates[name] for name in names if self.has(name))
        if reason in ("right", "wrong", "unclear gold"):
            evidence = (*self.profiles, *evidence)
        step, needed = next_step or STEPS[reason], 0
        if reason in ("unclear gold", "one prompt") and self.has("wrong_labels"):
            needed = self.needed()
            labelled, texts = self.estimates["wrong_labels"].n, self.estimates["label_in_use"].n
            if step == "label more by hand" and labelled >= texts:
                step = "add items"
            elif self.estimates["wrong_labels"].unit == "item":
                needed = min(needed, texts)
        if reason == "unclear":
            needed = self.texts_needed()
        if kind == "cannot tell" and any("grouped" in estimate.details for estimate in evidence):
            step, needed = "declare the groups", 0
        model = self.verdict.model
        recommendation = Recommendation(
            kind, model, prompt, self.verdict, reason, evidence, step, correctness
        )
        return replace(recommendation, needed=needed)

    def needed(self) -> int:
        """How many gold labels would decide, were the values what they are: intervals shrink as 1/√n does."""
        wrong, agreement = self.estimates["wrong_labels"], self.estimates.get("gold_agreement")
        value, (right, beyond, bar) = wrong.number, self.bars
        if self.has("gold_bias"):
            ends = _times(agreement, ON_A_SCALE), _times(agreement, ON_A_SCALE, high=True)
        else:
            ends = _times(wrong, right, high=True) if value <= bar else inf, _times(wrong, beyond)
        times = min(ends)
        if self.profiles or not times <= _MANY_TIMES:
            return 0
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
        return _SURELY * BAR, _BEYOND * BAR, BAR

    @property
    def are_chosen(self) -> bool:
        """Whether the texts with hand labels are surely no random sample of all."""
        estimate = self.estimates.get("hand_labels")
        if estimate is None or estimate.details["drawn"] == "random":
            return False
        return estimate.number < _CHOSEN

    def qualified(self, recommendation: Recommendation) -> Recommendation:
        """A recommendation with its exceptions, and what it does not vouch for."""
        prompt = recommendation.prompt if recommendation.reason != "only prompt" else ""
        parts = [part for part in self.parts if part.cell.get("variant", "") == prompt]
        if not prompt:
            parts += of_measures(self.parts, *_OF_PROMPTS)
        found = _exceptions(parts)
        if recommendation.kind not in ("use", "use one prompt only"):
            return self._but_for_parts(recommendation, parts, found)
        beside = (*self._missing(parts), *_unsure(parts, found))
        like_these = [] if prompt or not self.has("broken_prompts") else [self.estimates["broken_prompts"]]
        whole = replace(recommendation, exceptions=tuple(found), unvouched=(*beside, *like_these))
        if not found:
            return whole
        kind: Recommended = "use except for" if whole.kind == "use" or not prompt else whole.kind
        return replace(whole, kind=kind, next_step=_next_after(found))

    def _but_for_parts(
        self, recommendation: Recommendation, parts: Sequence[Estimate], found: Sequence[Estimate]
    ) -> Recommendation:
        """A recommendation not to use labels, or of one who cannot tell, with the parts that go wrong.

        Where it is a part of the texts that nobody declared, the labels of the others may do.
        """
        groups = [part for part in found if "group" in part.cell]
        shown = replace(recommendation, unvouched=tuple(groups))
        if recommendation.kind != "do not use" or recommendation.reason != "wrong" or self.profiles:
            return shown if recommendation.reason in ("wrong", "unclear gold", "unclear") else recommendation
        declared = any(not part.details.get("undeclared") for part in groups)  # `_but_for_groups`
        if not groups or declared or not _right_elsewhere(of_measures(parts, "group_wrong"), groups):
            return shown
        if self.low("flips_agreement") < STEADY:  # these texts may be why labels change, or not
            return self.said("cannot tell", "unclear", *_MOVES)
        return replace(
            shown,
            kind="use except for",
            reason="right",
            correctness="right",
            exceptions=tuple(found),
            unvouched=(*self._missing(parts), *_unsure(parts, found)),
            next_step=_next_after(found),
        )

    def _missing(self, parts: Sequence[Estimate]) -> list[Estimate]:
        """The texts that never got a label, and the calls that failed."""
        bare = [part for part in of_measures(parts, "unlabelled_texts") if part.value]
        if self.has("failed_calls") and self.estimates["failed_calls"].value:
            bare.append(self.estimates["failed_calls"])
        return bare


def _exceptions(parts: Sequence[Estimate]) -> list[Estimate]:
    """What is surely not to be used: labels, classes that are missed, groups of texts, prompts."""
    labels = [part for part in of_measures(parts, "label_right") if ends_of(part)[1] < 1 - _BEYOND * BAR]
    labels += [part for part in of_measures(parts, "label_kept") if ends_of(part)[1] < _MISSED]
    missed = [part for part in of_measures(parts, "class_found") if _is_missed(part)]
    groups = [part for part in of_measures(parts, *_OF_GROUPS) if _is_wrong(part)]
    named = {part.cell["label"] for part in missed}, {_group(part) for part in groups}
    for part in of_measures(parts, "group_class_found"):
        if part.cell["label"] not in named[0] and _group(part) not in named[1] and _is_missed(part):
            groups.append(part)
    prompts = [part for part in of_measures(parts, *_OF_PROMPTS) if ends_of(part)[0] > _WORSE]
    return [*labels, *missed, *groups, *prompts]


def _unsure(parts: Sequence[Estimate], found: Sequence[Estimate]) -> list[Estimate]:
    """What too few gold labels show: steps that are never given, classes and labels."""
    known = {(part.measure, part.cell.get("label")) for part in found}
    classes = [
        part
        for part in of_measures(parts, "class_found")
        if ("class_found", part.cell["label"]) not in known and ends_of(part)[0] < _FOUND
    ]
    labels = [
        part
        for part in of_measures(parts, "label_right")
        if ("label_right", part.cell["label"]) not in known and ends_of(part)[1] < 1 - BAR
    ]
    labels += [
        part
        for part in of_measures(parts, "label_kept")
        if ("label_kept", part.cell["label"]) not in known and part.number < _MISSED
    ]
    return [*of_measures(parts, "step_given"), *labels, *classes]


def _next_after(found: Sequence[Estimate]) -> NextStep:
    """What to do about the exceptions."""
    if of_measures(found, *OF_LABELS, "class_found"):
        return "define the classes"
    return "read the groups" if any("group" in part.cell for part in found) else "leave the prompts out"


def _times(estimate: Estimate | None, bar: float, *, high: bool = False) -> float:
    """How many times as many units take one end of an interval to this side of a bar."""
    end = ends_of(estimate)[high]
    if estimate is None or estimate.value is None or not isfinite(end):
        return inf
    room = (bar - estimate.value) if high else (estimate.value - bar)
    return float(((end - estimate.value) / room) ** 2) if room > 0 else inf


def _group(part: Estimate) -> tuple[str, str]:
    return part.cell["group"], part.cell["level"]


def _is_missed(part: Estimate) -> bool:
    """Whether a class is surely missed more often than found, or never given though enough texts have it."""
    never = part.details["found"] == 0 and part.details["texts"] >= _NEVER + log10(part.details["parts"])
    return never or ends_of(part)[1] < _MISSED


def _is_wrong(part: Estimate) -> bool:
    """Whether too many of a group's answers are not the gold label, or on a scale too far from it."""
    if part.measure == "group_agreement":
        return ends_of(part)[1] < ON_A_SCALE
    return part.number >= _GROUP and ends_of(part)[0] > _GROUP_SURELY


def _right_elsewhere(parts: Sequence[Estimate], wrong: Sequence[Estimate]) -> bool:
    """Whether labels are right but for groups of one column that have few of the texts."""
    of = {part.cell["group"] for part in wrong}
    if len(of) > 1 or of_measures(wrong, "group_class_found"):
        return False
    estimates = [part for part in parts if part.cell["group"] in of]
    others = [part for part in estimates if part not in wrong]
    texts, left = (sum(int(part.details["texts"]) for part in some) for some in (estimates, others))
    if not left or (texts - left) / texts > EXCEPTED:
        return False
    return sum(int(part.details["texts"]) * part.number for part in others) / left <= BAR


def _recommended(known: _Known) -> Recommendation:
    """The first rule that applies."""
    for rule in (_without_answers, _unusable, _one_label, _one_prompt, _steady):
        if recommendation := rule(known):
            return recommendation
    return _moved(known)


def _without_answers(known: _Known) -> Recommendation | None:
    """Too few answers to say anything, or answers whose evaluator decides."""
    if known.verdict.kind == "no answers":
        return known.said("cannot tell", "no answers")
    if known.verdict.kind == "failed":
        return known.said("do not use", "failed", "failed_calls")
    if known.verdict.kind == "too few items":
        return known.said("cannot tell", "too few items", "label_in_use")
    readers = known.estimates.get("reader_disagreement")
    if readers is not None and "evaluators" in readers.details:
        return known.said("cannot tell", "reading", "reader_disagreement")
    return None


def _unusable(known: _Known) -> Recommendation | None:
    """Answers that are missing."""
    if known.verdict.kind == "unreadable" or known.low("unlabelled_answers") > _USELESS:
        names = "unlabelled_answers", "failed_calls"
        bare, cut = (known.estimates.get(name) for name in ("unlabelled_answers", "truncated_answers"))
        is_cut = bare is not None and cut is not None and cut.number >= bare.number / 2 > 0
        reason: Reason = "cut off" if is_cut else "unreadable"
        return _chosen(known) or known.said("do not use", reason, *names)
    if known.low("failed_calls") > _USELESS:
        return known.said("cannot tell", "failed", "failed_calls")
    return None


def _one_label(known: _Known) -> Recommendation | None:
    """Labels that are all the same, or nearly: they say nothing of the texts, unless these are all alike."""
    if known.verdict.kind != "one label":
        return None
    names = "label_in_use", "flips_agreement", "wrong_labels"
    constant = known.estimates["label_in_use"].value == 1.0
    alike = known.has("wrong_labels") and known.estimates["wrong_labels"].value == 0.0  # gold has no other
    if not alike and (constant or known.high("flips_agreement") < _HALF):
        return known.said("do not use", "one label", *names)
    return known.said("cannot tell", "one label", *names, next_step="add items")


def _one_prompt(known: _Known) -> Recommendation | None:
    """One prompt only: repeats and gold labels are all there is."""
    if known.verdict.kind != "one prompt":
        return None
    if known.low("flips_repeats") > _REPEATED:
        return known.said("do not use", "repetition", "flips_repeats")
    correctness = _of_those_given(known)
    names = (*_OFF, "flips_repeats")
    if correctness in ("wrong", "biased"):
        return known.said("do not use", _refused(correctness), *names, correctness=correctness)
    if correctness in ("right", "as good as coders"):
        if known.are_chosen:
            return known.said("cannot tell", "chosen texts", "hand_labels", *names, correctness="unclear")
        prompt = str(known.estimates["label_in_use"].details.get("prompt", ""))
        return known.said(
            "use one prompt only", "only prompt", *names, prompt=prompt, correctness=correctness
        )
    return known.said("cannot tell", "one prompt", *names, correctness=correctness)


def _refused(correctness: Correctness) -> Reason:
    return "biased" if correctness == "biased" else "wrong"


def _steady(known: _Known) -> Recommendation | None:
    """Labels that hardly change with the prompt: they are as good as they are right."""
    if known.low("flips_agreement") < STEADY:
        return None
    correctness = _of_those_given(known)
    names = (*_OFF, "flips_prompts", "flips_agreement")
    if correctness in ("wrong", "biased"):
        return known.said("do not use", _refused(correctness), *names, correctness=correctness)
    if correctness == "unclear":
        return known.said("cannot tell", "unclear gold", *names, correctness=correctness)
    if correctness == "right" or correctness == "as good as coders":
        if known.are_chosen:
            return known.said("cannot tell", "chosen texts", "hand_labels", *names, correctness="unclear")
        return known.said("use", correctness, *names, correctness=correctness)
    return known.said("use", "steady", *names)


def _of_those_given(known: _Known) -> Correctness:
    """Whether labels are right: without those that are left out, where these are few."""
    few = known.has("others_wrong") and known.estimates["others_wrong"].details["share"] <= EXCEPTED
    if few and not known.profiles:
        return _correctness(known, "others_wrong", "")
    return _correctness(known, "wrong_labels", "gold_agreement")


def _moved(known: _Known) -> Recommendation:
    """Labels that change with the prompt: those of one prompt may do."""
    if recommendation := _chosen(known):
        return recommendation
    names: tuple[str, ...] = _MOVES
    correctness = _correctness(known, "wrong_labels", "gold_agreement")
    if known.high("flips_agreement") >= STEADY:
        if correctness in ("wrong", "biased"):  # however stable they are
            return known.said("do not use", _refused(correctness), *_OFF, correctness=correctness)
        return known.said("cannot tell", "unclear", *names, correctness=correctness)
    if known.verdict.kind == "flips on repetition" or known.low("flips_noise") > _HALF:
        names = "flips_repeats", "flips_prompts", "flips_agreement"
        return known.said("do not use", "repetition", *names, correctness=correctness)
    reason: Reason = "unsteady"
    factor = known.verdict.factor
    ways = {known.families.get(factor), in_words(factor)}
    if ways & {*_ORDERS}:
        reason = "moved by order"
    elif ways & {*_FORMATS}:
        reason = "moved by format"
    return known.said("do not use", reason, *names, correctness=correctness)


def _chosen(known: _Known) -> Recommendation | None:
    """A prompt whose labels can be used, though those of others cannot."""
    correctness = _correctness(known, "rest_wrong", "rest_gold_agreement")
    if (
        known.low("rest_agreement") >= STEADY
        and not known.low("rest_unlabelled") > _USELESS
        and correctness in ("right", "unknown")
    ):
        prompt = str(known.estimates["rest_agreement"].details["prompt"])
        step: NextStep = "keep this prompt" if correctness == "right" else "label by hand"
        names = "rest_agreement", "rest_wrong", "flips_prompts"
        return known.said(
            "use one prompt only",
            "odd prompts",
            *names,
            prompt=prompt,
            correctness=correctness,
            next_step=step,
        )
    right = _correctness(known, "best_prompt_wrong", "best_prompt_gold_agreement")
    if known.low("best_prompt_better") > 0 and right == "right":
        prompt = known.estimates["best_prompt_better"].cell["variant"]
        names = "best_prompt_wrong", "best_prompt_better", "flips_prompts"
        return known.said("use one prompt only", "best prompt", *names, prompt=prompt, correctness=right)
    return None


def _correctness(known: _Known, wrong: str, agreement: str) -> Correctness:
    """Whether labels are right: by the thresholds of the study's own profile, else by Quaver's."""
    whole = wrong == "wrong_labels"
    if known.profiles and whole:
        found = {estimate.details["verdict"] for estimate in known.profiles}
        return "wrong" if "not ready" in found else "right" if found == {"ready"} else "unclear"
    if not known.has(wrong):
        return "unknown"
    if known.has("gold_bias"):
        return _on_a_scale(known, agreement, whole=whole)
    right, beyond, bar = known.bars
    if known.low(wrong) > beyond:
        return _beside_coders(known) if whole else "wrong"
    estimate = known.estimates[wrong]
    return "right" if estimate.number <= bar and known.worst(wrong) <= right else "unclear"


def _on_a_scale(known: _Known, agreement: str, *, whole: bool) -> Correctness:
    """Whether labels that have an order are right: by how far they are off, and whether in one direction."""
    if whole and (known.low("gold_bias") > _BIASED or known.high("gold_bias") < -_BIASED):
        return "biased"
    if known.high(agreement) < ON_A_SCALE:
        return "wrong"
    unbiased = not whole or (known.low("gold_bias") >= -_UNBIASED and known.high("gold_bias") <= _UNBIASED)
    return "right" if known.low(agreement) >= ON_A_SCALE and unbiased else "unclear"


def _beside_coders(known: _Known) -> Correctness:
    """Whether labels that differ from the majority of coders do so more often than a coder does."""
    if not known.has("coders_differ") or known.low("wrong_labels") > known.high("coders_differ"):
        return "wrong"
    model, coders = (known.estimates[name].number for name in ("wrong_labels", "coders_differ"))
    return "as good as coders" if model <= coders else "unclear"
