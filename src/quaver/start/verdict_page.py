"""The sixth step: whether the labels can be used, why, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from nicegui import ui

from quaver.report.findings.first_screen import screen_html
from quaver.report.findings.verdict_card import Card
from quaver.report.page_words import visible
from quaver.start.page_frame import (
    StepPage,
    main_button,
    other_button,
    words,
)
from quaver.study.collection.study_status import StudyStatus

_MOST_PROMPTS: Final = 20


async def verdict(page: StepPage) -> None:
    """The sixth step."""
    folder = page.begun.folder
    place = ui.element("div")
    with place:
        words("p", "Judging …").props('role="status"')

    def judged() -> tuple[Card, StudyStatus]:
        study = page.site.here.study(folder)
        return study.verdict(), study.status()

    judgement = await page.do(judged)
    place.clear()
    if judgement is None:
        other_button("To the run", lambda: page.go("run"))
        return
    card, now = judgement
    await page.do(lambda: page.begun.noun)
    with place:
        _show_card(card)
        _show_next(page, card, unfinished=now.answered < now.total)
    lines = [shlex.join(["quaver", command, folder.name]) for command in ("report", "view")]
    if before := page.begun.options.get("before"):
        lines.append(shlex.join(["quaver", "compare", before, folder.name]))
    page.command(*lines)


def _show_card(card: Card) -> None:
    """The report's first screen; its texts are escaped by the template."""
    ui.html(visible(screen_html(card.screen)), sanitize=False).classes("qv-verdict")


def _show_next(page: StepPage, card: Card, *, unfinished: bool) -> None:
    """What can be done, the recommended step first."""
    begun, here = page.begun, page.site.here

    async def edit() -> None:
        if (second := await page.do(here.again, begun)) is not None:
            page.go("codebook", second)

    def more() -> None:
        begun.give(prompts=_MOST_PROMPTS)
        page.go("plan")

    async def judge() -> None:
        await open_viewer(page, begun.folder, "#/judge?what=items&blind=1")

    async def look() -> None:
        await open_viewer(page, begun.folder)

    steps = {
        "label": (page.about("Label all texts"), lambda: page.go("labels")),
        "prompts": ("Ask more prompts", more),
        "texts": (page.about("Ask about more texts"), lambda: page.go("plan")),
        "codebook": ("Edit the codebook and ask again", edit),
        "judge": (page.about("Judge texts by hand"), judge),
        "run": ("Go on asking", lambda: page.go("run")),
        "reader": ("Read the answers with another evaluator", lambda: page.go("plan")),
    }
    first = _BEST.get(card.step, "codebook")
    if not unfinished and first != "run":
        del steps["run"]
    with ui.row():
        for name in sorted(steps, key=lambda step: step != first):
            (main_button if name == first else other_button)(*steps[name])
        other_button("See every answer", look)


_BEST: Final = {
    "run": "run",
    "ask again": "run",
    "choose the evaluator": "reader",
    "add items": "texts",
    "add prompts": "prompts",
    "label by hand": "judge",
    "label more by hand": "judge",
    "keep this prompt": "label",
    "label the rest": "label",
}
"""What is done on these pages for a next step; for all others the codebook is edited."""


async def open_viewer(page: StepPage, path: Path, at: str = "") -> None:
    """Open the viewer of a study, which this server has too, in another window."""
    if (place := await page.do(page.site.viewer, path)) is not None:
        host = ui.context.client.request.headers["host"]
        ui.navigate.to(f"http://{host}{place}{at}", new_tab=True)
