"""The page of a watch: what was answered at each look, the evidence of a change, and what changed when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup, escape

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
    """A chart with its words."""

    title: str
    words: str
    picture: Markup


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
        return template("watch.html").render(page=self, shown=shown)


def _charts(model: WatchedModel) -> list[_Drawn]:
    drawn = [
        _drawn(
            "Evidence of a change",
            "Powers of ten below or above what an alarm takes (0); without a change the lines stay low.",
            model.evidence,
            (-3.0, 1.0),
        ),
        _drawn(
            "Labels",
            "The share of each label among the prompts of a look. Looks ask different prompts in turn.",
            _frequent(model.labels),
            (0.0, 1.0),
        ),
        _drawn(
            "Agreement with the first occasion",
            "Krippendorff’s alpha between each look’s labels and the first ones; 1 is the same labels.",
            model.alpha,
            (0.0, 1.0),
        ),
    ]
    return [one for one in drawn if one is not None]


def _drawn(title: str, words: str, points: Sequence[Point], ends: tuple[float, float]) -> _Drawn | None:
    """Lines over looks; drawn here, since a look should not wait for a library of charts."""
    looks = sorted({one.look for one in points})
    if len(looks) < 2:
        return None
    low = min(ends[0], *(one.value for one in points))
    high = max(ends[1], *(one.value for one in points))
    step = max(1, len(looks) // _MOST_POINTS)
    kept = {*looks[::step], looks[-1]}

    def place(look: int, value: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - 10) * (look - looks[0]) / (looks[-1] - looks[0])
        return x, 10 + (_HEIGHT - 20) * (high - value) / (high - low)

    parts = [_ruled(value, place(looks[0], value)[1]) for value in (low, (low + high) / 2, high, 0.0)]
    names = list(dict.fromkeys(one.series for one in points))
    for at, name in enumerate(names):
        line = [place(one.look, one.value) for one in points if one.series == name and one.look in kept]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        look = (
            f'fill="none" stroke="var(--data-{at % 7})" stroke-width="2" stroke-dasharray="{_DASHES[at % 3]}"'
        )
        y = _HEIGHT + 18 * (at + 1)
        said = f'font-size="13" fill="currentColor">{escape(shortened(name, 60))}'
        parts += [
            f'<polyline points="{path}" {look}/>',
            f'<line x1="{_LEFT}" x2="{_LEFT + 30}" y1="{y - 4}" y2="{y - 4}" {look}/>',
            f'<text x="{_LEFT + 38}" y="{y}" {said}</text>',
        ]
    box = f"0 0 {_WIDTH} {_HEIGHT + 18 * len(names) + 10}"
    alternative = escape(f"{title}. {words}")
    picture = f'<svg viewBox="{box}" role="img" aria-label="{alternative}">{"".join(parts)}</svg>'
    return _Drawn(title, words, Markup(picture))


def _ruled(value: float, y: float) -> str:
    """A value's line across, with its number."""
    words = f'text-anchor="end" font-size="12" fill="currentColor">{value:.2g}'
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--rule)"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" {words}</text>'
    )


def _frequent(points: Sequence[Point]) -> list[Point]:
    """The labels that are frequent at some look."""
    most: dict[str, float] = {}
    for one in points:
        most[one.series] = max(most.get(one.series, 0.0), one.value)
    kept = sorted(most, key=lambda name: -most[name])[:_MOST_LABELS]
    return [one for one in points if one.series in kept]
