"""The page of a watch: what was answered at each look, how much speaks for a change, and what changed when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.charts.svg import inline_svg, svg_text, unchecked
from quaver.report.plain_text import shortened, slug

_WIDTH = 760
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
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("quaver.report", "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        shown = [(model, _charts(model)) for model in self.models]
        return environment.get_template("watch.html").render(page=self, shown=shown)


def _charts(model: WatchedModel) -> list[_Drawn]:
    alarm = (Guide("alarm", 0.0),)
    drawn = [
        _drawn(
            model,
            "Evidence of a change",
            "Powers of ten below (or above) what an alarm takes; while nothing changes, the lines stay low.",
            Plane(_spots(model.evidence), "look", "evidence (powers of ten)", joined=True, guides=alarm),
        ),
        _drawn(
            model,
            "Labels",
            "The share of each label among the prompts that a look asked. Looks ask different prompts in turn.",
            Plane(_spots(_frequent(model.labels)), "look", "share", joined=True, y_ends=(0, 1), percent="y"),
        ),
        _drawn(
            model,
            "Agreement with the first occasion",
            "Krippendorff’s alpha between each look’s labels and the first ones; 1 is the same labels.",
            Plane(_spots(model.alpha), "look", "alpha", joined=True, y_ends=(0, 1)),
        ),
    ]
    return [one for one in drawn if one is not None]


def _drawn(model: WatchedModel, title: str, words: str, plane: Plane) -> _Drawn | None:
    if len({spot.x for spot in plane.spots}) < 2:
        return None
    with unchecked():
        picture = svg_text(draw(plane, width=_WIDTH))
    return _Drawn(
        title, words, inline_svg(picture, slug(f"{model.name} {title}"), f"{title}. {words}", _WIDTH)
    )


def _spots(points: Sequence[Point]) -> list[Spot]:
    """The points; of very many looks, evenly chosen ones and the last."""
    looks = sorted({one.look for one in points})
    step = max(1, len(looks) // _MOST_POINTS)
    kept = {*looks[::step], *looks[-1:]}
    return [Spot(one.look, one.value, series=shortened(one.series, 30)) for one in points if one.look in kept]


def _frequent(points: Sequence[Point]) -> list[Point]:
    """The labels that are frequent at some look."""
    most: dict[str, float] = {}
    for one in points:
        most[one.series] = max(most.get(one.series, 0.0), one.value)
    kept = sorted(most, key=lambda name: -most[name])[:_MOST_LABELS]
    return [one for one in points if one.series in kept]
