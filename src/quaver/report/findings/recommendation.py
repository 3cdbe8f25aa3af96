"""Recommendations: whether a model's labels may be used, with which prompt, and what to do next.

A recommendation rests on the verdict (`findings.verdicts`), on how many labels are correct where gold labels
are known, and on how the labels of single prompts do. It is a pure function of estimates, and claims no more
than their intervals:

| kind | holds where |
| --- | --- |
| use | another prompt hardly changes a label, and nothing shows that the labels are wrong |
| use this prompt | they change with the prompt, but those of one prompt can be used |
| do not use | calls failed, answers have no label, labels are wrong, all the same, or change too much |
| cannot tell | the answers are too few for any of these |

``docs/verdicts.md`` has the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from quaver.core.records import Estimate
from quaver.report.findings.verdicts import STEADY, Verdict, verdicts

Recommended = Literal["use", "use this prompt", "do not use", "cannot tell"]
RECOMMENDED: Final[tuple[Recommended, ...]] = get_args(Recommended)

Reason = Literal[
    "right",
    "steady",
    "best prompt",
    "odd prompts",
    "only prompt",
    "no answers",
    "failed",
    "unreadable",
    "too few items",
    "one label",
    "one prompt",
    "wrong",
    "unclear gold",
    "repetition",
    "unsteady",
    "unclear",
]
"""Why: what decided."""

NextStep = Literal[
    "run",
    "ask again",
    "make answers readable",
    "add items",
    "add prompts",
    "label by hand",
    "label more by hand",
    "correct the prompt",
    "name the labels",
    "revise the prompt",
    "lower the temperature",
    "keep this prompt",
    "label the rest",
]

_USELESS = 0.1
"""Where surely more of the answers than this are wrong, or have no label, they are of no use."""

_RIGHT = 0.2
"""Where surely fewer of the labels than this are wrong, they are right often enough."""

_INFORMED = 0.5
"""How far, from chance to perfect, labels must agree with the gold labels: guards against a rare label that
is never found."""

_REPEATED = 0.1
"""As many labels of one prompt may surely change when it is asked again."""

_CHOICE = ("rest_", "best_prompt_", "gold_agreement")
"""What the estimates of `prompt_choice` begin with."""

Correctness = Literal["right", "wrong", "unclear", "unknown"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do with one model's labels.

    Attributes:
        kind: ``use``, ``use this prompt``, ``do not use`` or ``cannot tell``.
        model: Whose labels; empty where there are no answers.
        prompt: The variant to use, by its id; empty unless it is one prompt that is recommended.
        verdict: What the labels turn out to be.
        reason: What decided.
        evidence: The estimates that decided, the most important first.
        next_step: What to do next.
        correctness: Whether the labels are right, as far as gold labels show.
    """

    kind: Recommended
    model: str
    prompt: str
    verdict: Verdict
    reason: Reason
    evidence: tuple[Estimate, ...]
    next_step: NextStep
    correctness: Correctness = "unknown"


def recommendations(estimates: Sequence[Estimate]) -> tuple[Recommendation, ...]:
    """A recommendation for each model; one of no model where there are no answers.

    Args:
        estimates: Those that `findings.verdicts.verdicts` needs, and where they are known those of
            `quaver.measures.stability.prompt_choice` and of ``readiness``.

    >>> [(one.kind, one.next_step) for one in recommendations([])]
    [('cannot tell', 'run')]
    """
    return tuple(_recommended(_Known.of(one, estimates)) for one in verdicts(estimates))


class _Known(NamedTuple):
    """A model's verdict, its estimates by measure, and the thresholds that the study states for it."""

    verdict: Verdict
    estimates: Mapping[str, Estimate]
    profiles: Sequence[Estimate]
    threshold: float | None = None

    @classmethod
    def of(cls, verdict: Verdict, estimates: Sequence[Estimate]) -> _Known:
        own = [one for one in estimates if one.cell.get("model", verdict.model) == verdict.model]
        chosen = {one.measure: one for one in own if one.measure.startswith(_CHOICE)}
        profiles = [one for one in own if one.measure == "readiness" and "verdict" in one.details]
        bars = (one.details.get("threshold") for one in own if one.measure == "readiness_accuracy")
        return cls(verdict, {**verdict.evidence, **chosen}, profiles, next(bars, None))

    def low(self, name: str) -> float:
        """The lower end of an interval; where there is none, it may lie anywhere."""
        return _ends(self.estimates.get(name))[0]

    def high(self, name: str) -> float:
        """The upper end."""
        return _ends(self.estimates.get(name))[1]

    def has(self, name: str) -> bool:
        """Whether there is such an estimate with a value."""
        return name in self.estimates and self.estimates[name].value is not None

    def said(
        self,
        kind: Recommended,
        reason: Reason,
        next_step: NextStep,
        *names: str,
        prompt: str = "",
        correctness: Correctness = "unknown",
    ) -> Recommendation:
        """A recommendation with the estimates of these names as its evidence."""
        evidence = tuple(self.estimates[name] for name in names if self.has(name))
        if reason in ("right", "wrong", "unclear gold"):
            evidence = (*self.profiles, *evidence)
        return Recommendation(
            kind, self.verdict.model, prompt, self.verdict, reason, evidence, next_step, correctness
        )


def _recommended(known: _Known) -> Recommendation:
    """The first rule that applies."""
    for rule in (_without_answers, _unusable, _one_label, _one_prompt, _steady):
        if found := rule(known):
            return found
    return _moved(known)


def _without_answers(known: _Known) -> Recommendation | None:
    """Too few answers to say anything."""
    if known.verdict.kind == "no answers":
        return known.said("cannot tell", "no answers", "run")
    if known.verdict.kind == "failed":
        return known.said("do not use", "failed", "ask again", "failed_calls")
    if known.verdict.kind == "too few items":
        return known.said("cannot tell", "too few items", "add items", "label_in_use")
    return None


def _unusable(known: _Known) -> Recommendation | None:
    """Answers that are missing, or that all have one label."""
    if known.verdict.kind == "unreadable" or known.low("unlabelled_answers") > _USELESS:
        names = "unlabelled_answers", "failed_calls"
        return _chosen(known) or known.said("do not use", "unreadable", "make answers readable", *names)
    if known.low("failed_calls") > _USELESS:
        return known.said("cannot tell", "failed", "ask again", "failed_calls")
    return None


def _one_label(known: _Known) -> Recommendation | None:
    """Labels that are all the same, or nearly: they say nothing of the texts, unless these are all alike."""
    if known.verdict.kind != "one label":
        return None
    names = "label_in_use", "flips_agreement", "wrong_labels"
    constant = known.estimates["label_in_use"].value == 1.0
    alike = known.has("wrong_labels") and known.estimates["wrong_labels"].value == 0.0  # gold has no other
    if not alike and (constant or known.high("flips_agreement") < _INFORMED):
        return known.said("do not use", "one label", "name the labels", *names)
    return known.said("cannot tell", "one label", "add items", *names)


def _one_prompt(known: _Known) -> Recommendation | None:
    """One prompt only: repeats and gold labels are all there is."""
    if known.verdict.kind != "one prompt":
        return None
    if known.low("flips_repeats") > _REPEATED:
        return known.said("do not use", "repetition", "lower the temperature", "flips_repeats")
    correctness = _correctness(known, "wrong_labels", "gold_agreement")
    names = ("wrong_labels", "flips_repeats")
    if correctness == "wrong":
        return known.said("do not use", "wrong", "correct the prompt", *names, correctness=correctness)
    if correctness == "right":
        prompt = str(known.estimates["label_in_use"].details.get("prompt", ""))
        return known.said(
            "use this prompt", "only prompt", "add prompts", *names, prompt=prompt, correctness=correctness
        )
    return known.said("cannot tell", "one prompt", "add prompts", *names, correctness=correctness)


def _steady(known: _Known) -> Recommendation | None:
    """Labels that hardly change with the prompt: they are as good as they are right."""
    if known.low("flips_agreement") < STEADY:
        return None
    correctness = _correctness(known, "wrong_labels", "gold_agreement")
    names = "wrong_labels", "gold_agreement", "flips_prompts", "flips_agreement"
    if correctness == "wrong":
        return known.said("do not use", "wrong", "correct the prompt", *names, correctness=correctness)
    if correctness == "unclear":
        return known.said(
            "cannot tell", "unclear gold", "label more by hand", *names, correctness=correctness
        )
    if correctness == "right":
        return known.said("use", "right", "label the rest", *names, correctness=correctness)
    return known.said("use", "steady", "label by hand", *names)


def _moved(known: _Known) -> Recommendation:
    """Labels that change with the prompt: those of one prompt may do."""
    if found := _chosen(known):
        return found
    names: tuple[str, ...] = ("flips_prompts", "flips_agreement", "flips_repeats", "wrong_labels")
    correctness = _correctness(known, "wrong_labels", "gold_agreement")
    if known.high("flips_agreement") >= STEADY:
        return known.said("cannot tell", "unclear", "add items", *names, correctness=correctness)
    if known.verdict.kind == "flips on repetition" or known.low("flips_noise") > _INFORMED:
        names = "flips_repeats", "flips_prompts", "flips_agreement"
        return known.said(
            "do not use", "repetition", "lower the temperature", *names, correctness=correctness
        )
    return known.said("do not use", "unsteady", "revise the prompt", *names, correctness=correctness)


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
            "use this prompt",
            "odd prompts",
            step,
            *names,
            prompt=prompt,
            correctness=correctness,
        )
    right = _correctness(known, "best_prompt_wrong", "best_prompt_gold_agreement")
    if known.low("best_prompt_better") > 0 and right == "right":
        prompt = known.estimates["best_prompt_better"].cell["variant"]
        names = "best_prompt_wrong", "best_prompt_better", "flips_prompts"
        return known.said(
            "use this prompt", "best prompt", "keep this prompt", *names, prompt=prompt, correctness=right
        )
    return None


def _correctness(known: _Known, wrong: str, agreement: str) -> Correctness:
    """Whether labels are right: by the thresholds of the study's own profile, else by Quaver's."""
    if known.profiles and wrong == "wrong_labels":
        found = {one.details["verdict"] for one in known.profiles}
        return "wrong" if "not ready" in found else "right" if found == {"ready"} else "unclear"
    if not known.has(wrong):
        return "unknown"
    useless, right = (_USELESS, _RIGHT) if known.threshold is None else (1 - known.threshold,) * 2
    if known.low(wrong) > useless or known.high(agreement) < _INFORMED:
        return "wrong"
    informed = not known.has(agreement) or known.low(agreement) >= _INFORMED
    return "right" if known.high(wrong) <= right and informed else "unclear"


def _ends(one: Estimate | None) -> tuple[float, float]:
    if one is None or one.value is None or one.low is None or one.high is None:
        return float("-inf"), float("inf")
    return one.low, one.high
