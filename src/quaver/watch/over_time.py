"""A watch over time: the page that shows every look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10

from quaver.agreement import krippendorff_alpha
from quaver.core.number_format import count
from quaver.core.replaced_file import replace_text
from quaver.report.page.watch_page import Point, WatchedModel, WatchPage
from quaver.watch.alarms import Looked, ModelLook
from quaver.watch.canary import Canary
from quaver.watch.drift import SHARES

PAGE = "watch.html"

_MOST_CHANGES = 500


def write_page(looked: Looked, canary: Canary) -> None:
    """Write the page into the watch's folder."""
    page = WatchPage(
        looked.study,
        looked.text.splitlines(),
        [_shown(time) for time in looked.times],
        [_watched(model, looked.times, canary) for model in looked.models],
        list(_how(canary)),
    )
    text = page.html()
    replace_text(looked.folder / PAGE, text)


def _watched(model: ModelLook, times: Sequence[str], canary: Canary) -> WatchedModel:
    changes = [
        (
            _shown(times[at]),
            one.item,
            one.variant,
            one.before,
            one.after,
            f"{one.again[0]} of {one.again[1]}",
        )
        for at, occasion in enumerate(model.occasions)
        for one in occasion.changes
    ]
    error = canary.options.error
    return WatchedModel(
        model.model,
        [(_shown(one.since), one.words) for one in model.alarms],
        [
            Point(at, name, log10(max(1e-6, value * error * SHARES[name])))
            for at, one in enumerate(model.occasions)
            for name, value in one.evidence.items()
        ],
        [
            Point(at, label, one.labels[label] / one.labels.total())
            for at, one in enumerate(model.occasions)
            for label in sorted({label for other in model.occasions for label in other.labels})
            if one.labels.total()
        ],
        list(_agreement(model)),
        changes[-_MOST_CHANGES:],
    )


def _agreement(model: ModelLook) -> Iterator[Point]:
    """Alpha between each look's labels and the first ones, where labels vary at all."""
    for at, one in enumerate(model.occasions):
        value = krippendorff_alpha(list(one.pairs)).value if at and len(one.pairs) > 1 else None
        if value is not None:
            yield Point(at, "alpha", float(value))


def _how(canary: Canary) -> Iterator[str]:
    options = canary.options
    asked = (
        f"a look asks {count(len(canary.parts[0]), 'prompt')}, and {count(len(canary.parts), 'look')} ask all"
    )
    yield (
        f"The canary is {count(len(canary.pool), 'prompt')} of the study, drawn at random and locked. "
        f"On the first occasion each was asked {options.first} times; {asked}. "
        f"Prompts with another answer are asked again at once, up to {options.confirmed} times in a look."
    )
    yield (
        "Each line of evidence is an e-process: while the model stays what it was, any of them reaches the "
        f"level of an alarm in at most {options.error:.1%} of all watches, however long they go on. Quaver "
        "takes answers to different prompts to waver independently of each other while nothing changes."
    )


def _shown(time: str) -> str:
    return time.replace("T", " ").partition("+")[0]
