"""The page of a watch: what was answered at each look, the evidence of a change, and what changed when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from quaver.report.page_templates import template
from quaver.report.page_words import shortened

_WIDTH, _HEIGHT, _LEFT = 760, 220, 60
_DASHES = ("none", "6 3", "2 2")
_MOST_POINTS, _MOST_LABELS = 150, 6


class Point(NamedTuple):
    """A value at a look, of one line of a chart."""

    look: int
    series: str
    value: float


@dataclass(frozen=True, slots=True)
class WatchedModel:
    """What a page shows of one model.

    Attributes:
        name: Its name in the study.
        alarms: When, what, in words.
        evidence: Of each aspect at each look, as a share of what an alarm takes, on a scale of tens: 0 is an
            alarm.
        labels: Each label's share of the answers at each look.
        alpha: Krippendorff's alpha between the labels of a look and those of the first occasion.
        changes: When, item, prompt, before, after, how many answers on that occasion differed.
    """

    name: str
    alarms: Sequence[tuple[str, str]]
    evidence: Sequence[Point]
    labels: Sequence[Point]
    alpha: Sequence[Point]
    changes: Sequence[tuple[str, ...]]


class _Drawn(NamedTuple):
    """A chart with its words: values ruled across, with their heights, and each line by its name."""

    title: str
    words: str
    rules: Sequence[tuple[float, float]]
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class WatchPage:
    """The whole page.

    Attributes:
        study: The study's name.
        verdict: What the looks say, a paragraph each.
        looks: When each look was taken.
        models: The models.
        how: How the canary is asked, in sentences.
    """

    study: str
    verdict: Sequence[str]
    looks: Sequence[str]
    models: Sequence[WatchedModel]
    how: Sequence[str]

    def html(self) -> str:
        """It as one file that opens anywhere."""
        shown = [(model, _charts(model)) for model in self.models]
        sizes = {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "dashes": _DASHES}
        return template("watch.html").render(page=self, shown=shown, **sizes)


_CHARTS: Final = {
    "Evidence of a change": (
        "Powers of ten below or above what an alarm takes (0); without a change the lines stay low.",
        (-3.0, 1.0),
    ),
    "Labels": (
        "The share of each label among the prompts of a look. Looks ask different prompts in turn.",
        (0.0, 1.0),
    ),
    "Agreement with the first occasion": (
        "Krippendorff’s alpha between each look’s labels and the first ones; 1 is the same labels.",
        (0.0, 1.0),
    ),
}
"""The charts of a model: what each shows, and the least that its axis spans."""


def _charts(model: WatchedModel) -> list[_Drawn]:
    """The charts of what was seen at two looks or more."""
    drawn = []
    every = (model.evidence, _frequent(model.labels), model.alpha)
    for (title, (words, ends)), points in zip(_CHARTS.items(), every, strict=True):
        if len({point.look for point in points}) > 1:
            drawn.append(_drawn(title, words, points, ends))
    return drawn


def _drawn(title: str, words: str, points: Sequence[Point], ends: tuple[float, float]) -> _Drawn:
    """Lines over looks; drawn here, since a look should not wait for a library of charts."""
    looks = sorted({point.look for point in points})
    values = [point.value for point in points]
    low, high = min(ends[0], *values), max(ends[1], *values)
    kept = {*looks[:: max(1, len(looks) // _MOST_POINTS)], looks[-1]}

    def height(value: float) -> float:
        return 10 + (_HEIGHT - 20) * (high - value) / (high - low)

    paths: dict[str, list[str]] = {}
    for point in points:
        line = paths.setdefault(point.series, [])
        if point.look in kept:
            x = _LEFT + (_WIDTH - _LEFT - 10) * (point.look - looks[0]) / (looks[-1] - looks[0])
            line.append(f"{x:.1f},{height(point.value):.1f}")
    rules = [(value, height(value)) for value in (low, (low + high) / 2, high, 0.0)]
    return _Drawn(
        title, words, rules, [(shortened(name, 60), " ".join(line)) for name, line in paths.items()]
    )


def _frequent(points: Sequence[Point]) -> list[Point]:
    """The labels that are frequent at some look."""
    most: dict[str, float] = {}
    for point in points:
        most[point.series] = max(most.get(point.series, 0.0), point.value)
    kept = sorted(most, key=lambda name: -most[name])[:_MOST_LABELS]
    return [point for point in points if point.series in kept]
