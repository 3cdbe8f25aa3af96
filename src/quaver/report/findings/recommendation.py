"""What a recommendation is: its kind, the reason that decided, and the next step, which follows from it.

``findings.decision`` makes it of estimates, and ``findings.verdict_card`` says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from quaver.core.records import Estimate
from quaver.core.rows import levels_in, of_measures
from quaver.report.findings.judged_model import Correctness, JudgedModel

Recommended = Literal["use", "use except for", "use one prompt only", "do not use", "cannot tell"]
RECOMMENDED: Final[tuple[Recommended, ...]] = get_args(Recommended)

Reason = Literal[
    "right",
    "as good as coders",
    "steady",
    "best prompt",
    "odd prompts",
    "only prompt",
    "no answers",
    "failed",
    "unreadable",
    "cut off",
    "refused",
    "too few items",
    "reading",
    "one label",
    "one prompt",
    "wrong",
    "biased",
    "unclear gold",
    "chosen texts",
    "repetition",
    "unsteady",
    "moved by order",
    "moved by format",
    "moved by host",
    "moved by snapshot",
    "moved sum",
    "unclear",
]
"""Why: what decided."""

NextStep = Literal[
    "run",
    "ask again",
    "make answers readable",
    "choose the evaluator",
    "raise max_tokens",
    "ask another model",
    "add items",
    "add prompts",
    "declare the groups",
    "label by hand",
    "label more by hand",
    "label a random sample",
    "correct the prompt",
    "define the scale",
    "define the classes",
    "read the groups",
    "leave the prompts out",
    "name the labels",
    "revise the prompt",
    "vote over orders",
    "name the format",
    "lower the temperature",
    "ask one host",
    "ask one snapshot",
    "keep this prompt",
    "label the rest",
]

OF_LABELS: Final = ("label_right", "label_kept")
"""The measures of a label where it is given: whether it is right, or whether other prompts give it too."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do with one model's labels.

    Attributes:
        kind: ``use``, ``use except for``, ``use one prompt only``, ``do not use`` or ``cannot tell``.
        model: Whose labels; empty where there are no answers.
        prompt: The variant to use, by its id; empty unless it is one prompt that is recommended.
        judged: What is known of the labels.
        reason: What decided.
        evidence: The estimates that decided, the most important first.
        next_step: What to do next.
        correctness: Whether the labels are right, as far as gold labels show.
        field: The field that it is about, where the task has fields; else empty.
        exceptions: The classes and groups whose labels are not to be used, as estimates with their cells.
        unvouched: What the recommendation says nothing about: classes with too few gold labels, texts that
            never got a label, prompts like these.
        elsewhere: Whether the evidence is of the texts outside the excepted groups.
        needed: About how many gold labels (or groups of texts with them) would show whether the labels are
            right; 0 where that is not the question, or no number would.
    """

    kind: Recommended
    model: str
    prompt: str
    judged: JudgedModel
    reason: Reason
    evidence: tuple[Estimate, ...]
    next_step: NextStep
    correctness: Correctness = "unknown"
    field: str = ""
    exceptions: tuple[Estimate, ...] = ()
    unvouched: tuple[Estimate, ...] = ()
    elsewhere: bool = False
    needed: int = 0

    def known(self, name: str) -> Estimate | None:
        """An estimate of the recommendation, or what every verdict rests on; None where it has no value."""
        own = iter(of_measures(self.evidence, name))
        estimate = next(own, self.judged.estimates.get(name))
        return estimate if estimate is not None and estimate.value is not None else None

    @property
    def on_a_scale(self) -> Estimate | None:
        """What prompts agree, where labels have an order, so that a step between neighbours weighs little."""
        agreement = self.known("flips_agreement")
        nominal = agreement is None or agreement.details.get("level", "nominal") == "nominal"
        return None if nominal else agreement

    @property
    def grouped(self) -> list[str]:
        """The columns of items that are labelled alike, which the evidence allows for."""
        return [
            str(estimate.details["grouped"]) for estimate in self.evidence if "grouped" in estimate.details
        ]

    @property
    def subject(self) -> str:
        """The model or field whose labels the recommendation is about, where there are several."""
        return self.field or self.model

    @property
    def labels(self) -> tuple[str, ...]:
        """The codes of labels that are not to be used where they are given."""
        return tuple(levels_in(of_measures(self.exceptions, *OF_LABELS), "label"))

    @property
    def missed(self) -> tuple[str, ...]:
        """The codes of classes whose texts often have another label."""
        return tuple(levels_in(of_measures(self.exceptions, "class_found"), "label"))

    @property
    def classes(self) -> tuple[str, ...]:
        """The codes of both."""
        return tuple(dict.fromkeys((*self.labels, *self.missed)))

    @property
    def prompts(self) -> tuple[str, ...]:
        """The variants whose labels are not to be used."""
        measures = "prompt_worse", "prompt_apart"
        return tuple(levels_in(of_measures(self.exceptions, *measures), "variant"))

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """The excepted groups, each as its column and value; those that hand labels are too few of, too."""
        cells = [estimate.cell for estimate in self.exceptions]
        if self.reason == "chosen texts" and (chosen := self.known("hand_labels")) is not None:
            cells.append({name: str(value) for name, value in chosen.details.items()})
        known = ((cell["group"], cell["level"]) for cell in cells if "group" in cell)
        return tuple(dict.fromkeys(known))
