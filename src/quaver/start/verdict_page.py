"""The sixth step: whether the labels can be used, why, and what to do next."""

from __future__ import annotations

import base64
from typing import Any, Final

from nicegui import ui

from quaver.comparison.comparison_result import Comparison, rows_of
from quaver.comparison.paired_comparison import compare
from quaver.core.number_format import decimals, short_name, span
from quaver.report.charts.svg import svg_text
from quaver.report.findings.verdict_card import Card
from quaver.start.page_frame import (
    StepPage,
    facts_table,
    heading,
    main_button,
    other_button,
    words,
)

_MOST_PROMPTS: Final = 20


async def verdict(page: StepPage) -> None:
    """The sixth step."""
    folder = page.begun.folder
    place = ui.element("div")
    with place:
        words("p", "Judging …").props('role="status"')
    card = await page.do(lambda: page.site.here.study(folder).verdict())
    place.clear()
    if card is None:
        other_button("To the run", lambda: page.go("run"))
        return
    with place:
        _show_card(card)
        _show_next(page, card)
        chart = ui.element("div").classes("qv-chart")
        if page.begun.options.get("before"):
            await _show_before(page)
    page.command(f"quaver report {folder.name}", f"quaver view {folder.name}")
    ui.timer(0.1, lambda: _show_chart(page, chart), once=True)


def _show_card(card: Card) -> None:
    with ui.element("section").classes("qv-verdict"):
        words("p", card.reading)
        words("h1", card.recommendation)
        for line in (card.verdict, *card.misread):
            words("p", line)
    rows = [
        (
            short_name(recommendation.model),
            recommendation.field or "label",
            recommendation.kind,
            recommendation.reason,
            recommendation.next_step,
        )
        for recommendation in card.recommendations
    ]
    facts_table(("model", "field", "what to do with its labels", "what decided", "next"), rows)
    evidence = [
        (
            recommendation.field or "label",
            estimate.measure,
            "undefined" if estimate.value is None else f"{estimate.value:.3f}",
            _interval(estimate),
            estimate.n,
        )
        for recommendation in card.recommendations
        for estimate in recommendation.evidence
    ]
    with ui.expansion("What moves the labels, and the numbers that decided"):
        words("p", card.moves)
        facts_table(("field", "measure", "estimate", "95% interval", "n"), evidence)
    words("p", " · ".join(f"{name}: {value}" for name, value in card.facts)).classes("qv-small")


async def _show_chart(page: StepPage, place: Any) -> None:
    """The first chart of the report, of each field, as a picture in which nothing runs."""

    def drawn() -> list[tuple[str, str]]:
        result = []
        whole = page.site.here.study(page.begun.folder)
        for field, study in (whole.fields or {"": whole}).items():
            for name, one in [*study.charts().items()][:1]:
                picture = base64.b64encode(svg_text(one).encode()).decode()
                result.append((f"{name}, {field}" if field else name, picture))
        return result

    for name, drawing in await page.do(drawn) or ():
        with place:
            picture = ui.element("img")
            picture.props["src"] = f"data:image/svg+xml;base64,{drawing}"
            picture.props["alt"] = f"The report’s chart of {name}; the table above has its numbers"


def _interval(one: Any) -> str:
    return span(one.low, one.high, decimals)


def _show_next(page: StepPage, card: Card) -> None:
    """What can be done, the recommended step first."""
    begun, here = page.begun, page.site.here
    heading("What to do next", 2)
    words("p", card.next_step)

    async def edit() -> None:
        if (second := await page.do(here.again, begun)) is not None:
            page.go("codebook", second)

    def more() -> None:
        begun.give(prompts=_MOST_PROMPTS)
        page.go("plan")

    async def judge() -> None:
        if (path := await page.do(page.site.viewer, begun.folder)) is not None:
            ui.navigate.to(f"{origin()}{path}#/judge?what=items&blind=1", new_tab=True)

    async def look() -> None:
        if (path := await page.do(page.site.viewer, begun.folder)) is not None:
            ui.navigate.to(f"{origin()}{path}", new_tab=True)

    steps = {
        "label": ("Label all texts", lambda: page.go("labels")),
        "prompts": ("Ask more prompts", more),
        "texts": ("Ask about more texts", lambda: page.go("plan")),
        "codebook": ("Edit the codebook and ask again", edit),
        "judge": ("Judge texts by hand", judge),
        "run": ("Go on asking", lambda: page.go("run")),
        "reader": ("Read the answers in another way", lambda: page.go("plan")),
    }
    first = _BEST.get(card.step, "codebook")
    with ui.row():
        for name in sorted(steps, key=lambda one: one != first):
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


def origin() -> str:
    """The address of this server, as the browser knows it."""
    return f"http://{ui.context.client.request.headers['host']}"


async def _show_before(page: StepPage) -> None:
    """The same measures before and after the codebook was edited, paired by text."""
    here, before = page.site.here, page.begun.options["before"]

    def compared() -> Comparison:
        return compare(here.study(here.begun(before).folder), here.study(page.begun.folder))

    comparison = await page.do(compared)
    if comparison is None:
        return
    heading(f"Compared with {before}", 2)
    rows = [
        (row.measure, *row[1:6])
        for row in rows_of(comparison.verdicts)
        if row.verdict.estimate.value is not None
    ]
    heads = ("measure", "of", "before", "after", "difference", "95% interval")
    facts_table(heads, rows, f"{comparison.items:,} texts that both have, paired")
