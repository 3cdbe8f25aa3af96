"""Verdicts: what a study's labels turn out to be, as values, judged from estimates alone.

A `Quality` is the gate: failed calls, answers without a label, answers cut off. Behind it a `Verdict` for
each model, of a stated kind with the estimates that it rests on. Both are pure functions of estimates (of
`measures.evidence`); the report and the commands render them in words.

The rules, in their order; ends are those of 95% intervals:

| kind | holds where |
| --- | --- |
| no answers | nothing is stored |
| failed | half of the calls or more ended in an error |
| unreadable | half of the calls or more gave no label, errors among them |
| too few items | fewer than 10 items have a label |
| one label | every label is the same, or 95% of them are and the others do not follow the items |
| one prompt | there is one prompt only: nothing to compare |
| steady and wrong | as steady, and surely over 10% differ from gold; on a scale, kappa surely below 2/3 |
| steady | the lower end of the agreement between prompts is 0.8 or more |
| follows the item | its lower end is above 0.5 |
| undecided | its interval holds 0.5 |
| flips on repetition | repeats of one prompt flip more than half as often as prompts do (lower end) |
| follows the prompt | a factor moves a label's share beyond chance, and half of its flips or more one way |
| flips without a direction | none of these |

Agreement is 1 − D_prompts / D_chance: 1 where another prompt never changes a label, 0 where two prompts agree
about one item no more often than about two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Final, Literal, get_args

from quaver.core.records import Estimate
from quaver.core.rows import Rows, defined, of_measures, short_lines

Kind = Literal[
    "no answers",
    "failed",
    "unreadable",
    "too few items",
    "one label",
    "one prompt",
    "steady and wrong",
    "steady",
    "follows the item",
    "undecided",
    "flips on repetition",
    "follows the prompt",
    "flips without a direction",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

STEADY: Final = 0.8
"""Krippendorff's customary bar: below it, conclusions from the labels are not safe."""

ON_A_SCALE: Final = 2 / 3
"""How far labels that have an order must agree with the gold labels: Krippendorff's lowest bar."""

_HALF = 0.5
_FEW_ITEMS = 10
_NEARLY_ALL = 0.95
_WRONG = 0.1
_NOTED, _CAUTION = 0.01, 0.05
_CHANCE = 0.05
_ISSUES: Final = ("failed_calls", "unlabelled_answers", "truncated_answers")


_COPIES = "near_duplicates"


@dataclass(frozen=True, slots=True)
class Clusters:
    """Groups of items that are labelled alike, and that no interval resamples.

    Attributes:
        kind: ``columns``: items share a value of a column. ``copies``: their texts are nearly the same.
        column: What to declare as the study's group.
        estimate: The intraclass correlation, and in its details the design effect (``effect``), the
            ``quantity`` of the items that it is about, and some of the study's estimates with both intervals
            (``again``).
    """

    kind: Literal["columns", "copies"]
    column: str
    estimate: Estimate

    @property
    def wider(self) -> float:
        """By what factor intervals over the groups are wider, roughly: the root of the design effect."""
        return sqrt(float(self.estimate.details["effect"]))


def clusters(estimates: Iterable[Estimate]) -> tuple[Clusters, ...]:
    """The groups that are real, those that matter most first."""
    real = [
        estimate for estimate in of_measures(estimates, "item_clusters") if estimate.details.get("clustered")
    ]
    columns = {
        estimate.cell["column"]: estimate for estimate in real
    }  # the audit's and the study's own are the same
    found = [
        Clusters("copies" if name == _COPIES else "columns", name, estimate)
        for name, estimate in columns.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.wider))


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with a model's answers.

    Attributes:
        kind: ``failed_calls``, ``unlabelled_answers`` or ``truncated_answers``.
        model: Whose.
        severity: ``stop`` from half of the calls on, ``caution`` from one in twenty, ``note`` below.
        estimate: The share of all calls, with its interval; how many stands in its details.
    """

    kind: str
    model: str
    severity: Literal["note", "caution", "stop"]
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Quality(Rows):
    """Whether the answers can be judged at all.

    Attributes:
        issues: What is wrong, the models in their order; nothing that concerns fewer than 1% of the calls.
        models: All models that have answers.
        clusters: The groups of items that intervals take for independent.
    """

    issues: tuple[Issue, ...] = ()
    models: tuple[str, ...] = ()
    clusters: tuple[Clusters, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{issue.model}: {issue.kind.replace('_', ' ')}, {issue.severity}" for issue in self.issues]
        return short_lines(lines, "issues") if lines else "nothing is wrong with the answers"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each issue: its kind, model, severity and share, with the share's interval."""
        return [
            {
                "kind": issue.kind,
                "model": issue.model,
                "severity": issue.severity,
                "share": issue.estimate.value,
                "low": issue.estimate.low,
                "high": issue.estimate.high,
            }
            for issue in self.issues
        ]

    def of(self, model: str) -> dict[str, Issue]:
        """A model's issues by kind."""
        return {issue.kind: issue for issue in self.issues if issue.model == model}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one model's labels turn out to be.

    Attributes:
        kind: Of which kind (the table of the module's docstring).
        model: Whose labels; empty where there are no answers.
        evidence: The estimates that it was judged from, by measure; those without a value say why.
        factor: The factor of the prompt that moves a label's share furthest, where one does beyond chance;
            else empty. Prompts are compared within a decoding, which so explains no flip between them.
        shifts: How far each factor moves the share of a label.
    """

    kind: Kind
    model: str = ""
    evidence: Mapping[str, Estimate] = field(default_factory=dict)
    factor: str = ""
    shifts: tuple[Estimate, ...] = ()

    @property
    def shift(self) -> Estimate | None:
        """That of the factor."""
        return next((estimate for estimate in self.shifts if estimate.cell["factor"] == self.factor), None)

    @property
    def clear(self) -> list[Estimate]:
        """The shifts that go further than chance."""
        return [estimate for estimate in self.shifts if beyond_chance(estimate)]

    @property
    def top(self) -> Estimate | None:
        """The shift to speak of: that of the factor, else the largest that goes further than chance."""
        return self.shift or max(self.clear, key=lambda estimate: estimate.number, default=None)


def quality(estimates: Iterable[Estimate]) -> Quality:
    """The gate.

    >>> share = Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"})
    >>> [(one.kind, one.severity) for one in quality([share]).issues]
    [('failed_calls', 'caution')]
    """
    estimates = list(estimates)
    known = of_measures(defined(estimates), *_ISSUES)
    models = tuple(dict.fromkeys(estimate.cell["model"] for estimate in known))
    return Quality(
        tuple(
            Issue(estimate.measure, model, _severity(estimate.number), estimate)
            for model in models
            for estimate in known
            if estimate.cell["model"] == model and estimate.number >= _NOTED
        ),
        models,
        clusters(estimates),
    )


def _severity(share: float) -> Literal["note", "caution", "stop"]:
    return "stop" if share >= _HALF else "caution" if share >= _CAUTION else "note"


def verdicts(estimates: Sequence[Estimate]) -> tuple[Verdict, ...]:
    """A verdict for each model; one of no model where there are no answers."""
    gate = quality(estimates)
    if not gate.models:
        return (Verdict("no answers"),)
    return tuple(
        _verdict(model, [estimate for estimate in estimates if estimate.cell.get("model") == model])
        for model in gate.models
    )


def _verdict(model: str, estimates: Sequence[Estimate]) -> Verdict:
    evidence = {estimate.measure: estimate for estimate in estimates if estimate.measure in _EVIDENCE}
    shifts = tuple(of_measures(defined(estimates), "label_shift"))
    asked = [
        estimate for estimate in shifts if beyond_chance(estimate) and estimate.cell["factor"] != "decoding"
    ]
    top = max(asked, key=_excess, default=None)
    kind = _stopped(evidence) or _judged(evidence, top)
    return Verdict(kind, model, evidence, "" if top is None else top.cell["factor"], shifts)


_EVIDENCE = {
    *_ISSUES,
    *("flips_repeats", "flips_prompts", "flips_chance", "flips_agreement", "flips_noise"),
    *("label_in_use", "wrong_labels", "gold_agreement", "gold_bias", "reader_disagreement"),
}


def _stopped(evidence: Mapping[str, Estimate]) -> Kind | None:
    """What keeps the labels from being judged."""
    failed, bare = (_value(evidence, kind) for kind in _ISSUES[:2])
    if failed >= _HALF:
        return "failed"
    if failed + bare >= _HALF:
        return "unreadable"
    used = evidence["label_in_use"]
    if used.value is None or used.n < _FEW_ITEMS:
        return "too few items"
    if used.details["labels"] == 1:
        return "one label"
    return "one prompt" if evidence["flips_prompts"].value is None else None


def _judged(evidence: Mapping[str, Estimate], top: Estimate | None) -> Kind:
    low, high = ends_of(evidence["flips_agreement"])
    if low >= STEADY:
        return "steady and wrong" if _differ(evidence) else "steady"
    if low > _HALF:
        return "follows the item"
    if _value(evidence, "label_in_use") >= _NEARLY_ALL:
        return "one label"
    if high >= _HALF:
        return "undecided"
    if ends_of(evidence["flips_noise"])[0] > _HALF:
        return "flips on repetition"
    if top is not None and top.details["directed"] >= _HALF:
        return "follows the prompt"
    return "flips without a direction"


def _differ(evidence: Mapping[str, Estimate]) -> bool:
    """Whether too many labels differ from the gold labels; on a scale, whether they differ too far."""
    if "gold_bias" in evidence and evidence["gold_bias"].value is not None:
        return ends_of(evidence["gold_agreement"])[1] < ON_A_SCALE
    return ends_of(evidence["wrong_labels"])[0] > _WRONG


def beyond_chance(shift: Estimate) -> bool:
    """Whether a factor moves the share of a label further than its levels would by chance."""
    return float(shift.details.get("p_holm", 1.0)) < _CHANCE


def _excess(estimate: Estimate) -> float:
    """How far a shift is beyond what chance gives on average."""
    return estimate.number - float(estimate.details.get("floor", 0.0))


def _value(evidence: Mapping[str, Estimate], name: str) -> float:
    return evidence[name].number if name in evidence else 0.0


def ends_of(estimate: Estimate | None) -> tuple[float, float]:
    """The interval's ends; without an interval nothing is known, and it lies anywhere."""
    known = None if estimate is None or estimate.value is None else estimate.interval
    return known or (float("-inf"), float("inf"))
