"""The fourth and the fifth step: what will be asked and what it takes; how far it is."""

from __future__ import annotations

import shlex
from math import sqrt
from pathlib import Path
from typing import Any, Final

from nicegui import ui

from quaver.collect.run.progress import to_do_about
from quaver.core.number_format import count, duration
from quaver.report.page_words import capital
from quaver.start.begun_check import BegunCheck
from quaver.start.page_frame import (
    StepPage,
    facts_table,
    main_button,
    option_field,
    other_button,
    words,
)
from quaver.study.checking.check_design import MOST, Check, left_to_ask, spends
from quaver.study.checking.check_options import BUNDLED, READERS
from quaver.study.collection.forecast import Forecast
from quaver.study.collection.study_status import StudyStatus

_SECONDS: Final = 1.0
"""Between two looks at a run."""


def assumed_width(items: int) -> float:
    """The width of a 95% interval of a share, from end to end, in the widest case: 2 · 1.96 √(0.25 / n)."""
    return 2 * 1.96 * sqrt(0.25 / max(1, items))


async def plan(page: StepPage) -> None:
    """The fourth step."""
    begun = page.begun
    await page.do(lambda: begun.table)
    rows = len(begun.table.rows)
    page.title(
        "What will be asked?",
        page.about(
            "Each text is asked about with paraphrases, in other orders of the labels, and repeatedly."
        ),
    )

    async def show() -> None:
        planned = await page.do(_plan, begun)
        shown.clear()
        if planned is None:
            return
        with shown:
            await _show_plan(page, change, *planned)
        page.retell(begun.command())

    async def change(**options: Any) -> None:
        begun.give(**options)
        await show()

    with ui.element("div").classes("qv-sliders"):
        for name, most in (("n", min(rows, 1000)), ("prompts", 2 * MOST), ("repeats", 5)):
            option_field(begun, name, change, most=most)
        option_field(begun, "budget", change)
        option_field(begun, "evaluator", change, choices=READERS)
    shown = ui.element("div")
    page.command(begun.command())
    await show()


def _plan(begun: BegunCheck) -> tuple[Check, Forecast, bool]:
    """The check, what is left to ask, and whether that costs money."""
    prepared = begun.prepared()
    return prepared, left_to_ask(prepared.study), spends(prepared.study)


def cost_of(forecast: Forecast, money: bool) -> str:
    """What is left costs, in words."""
    return forecast.costs if money else "free"


def ask_for(forecast: Forecast, money: bool) -> str:
    """The label of the button that starts asking."""
    price = f", and spend {cost_of(forecast, True)}" if money else ""
    return f"Ask {forecast.calls - forecast.stored:,} times{price}"


async def _show_plan(page: StepPage, change: Any, prepared: Check, forecast: Forecast, money: bool) -> None:
    if not _show_questions(page, change, prepared):
        return
    items = prepared.study.experiment.items
    beside, by_hand = sum(item.beside for item in items), sum(bool(item.known_gold) for item in items)
    drawn = forecast.items - beside
    more = f", and {beside:,} more that have a gold label, for accuracy alone" if beside else ""
    asked = f"{forecast.items:,} {prepared.table.noun}s × {count(forecast.variants, 'prompt')}, repeated"
    time = "known after the first answers" if forecast.seconds is None else duration(forecast.seconds)
    rows = {
        capital(f"{prepared.table.noun}s"): f"{drawn:,}{more}",
        "Questions": f"{asked}: {forecast.calls:,} answers",
        "Answered already": f"{forecast.stored:,}",
        "Price of the rest": cost_of(forecast, money),
        "Time": time,
        "Expected width": f"the 95% interval of a share is at most {assumed_width(drawn):.2f} wide",
    }
    if by_hand:
        width = assumed_width(by_hand)
        rows["With a gold label"] = (
            f"{by_hand:,} {prepared.table.noun}s: that of accuracy is at most {width:.2f} wide"
        )
    facts_table(("what", "how much"), rows.items())
    with ui.expansion("What each column is used for, and why"):
        taken = [(decision.role, decision.column, decision.why) for decision in prepared.taken]
        facts_table(("taken for", "what", "why"), taken)

    async def ask() -> None:
        page.ask(page.begun.folder)
        page.go("run")

    if forecast.stored == forecast.calls:
        main_button("All answers are in: see the verdict", lambda: page.go("verdict"))
    else:
        main_button(ask_for(forecast, money), ask)


def _show_questions(page: StepPage, change: Any, prepared: Check) -> bool:
    """Offer to have a model put the question in other words, and show these; whether there are any to ask."""
    study, design = prepared.study, prepared.design
    if not design["writer"]:
        if design["is_own"] and design["forms"] > 1:
            model = page.begun.options.get("model", BUNDLED)
            other_button("Have the model reword your question", lambda: change(paraphrase_with=model))
        return True
    other_button("Vary only what comes before your question", lambda: change(paraphrase_with=None))
    if study.source.lacks_paraphrases:

        async def write() -> None:
            if await page.do(study.variants.make) is not None:
                await change()

        main_button(f"Have {count(design['written'], 'paraphrase')} written", write)
        return False
    texts = {
        variant.instruction: str(variant.covariates.get("flags", "")) for variant in study.experiment.variants
    }
    facts_table(
        ("question", "what it lacks"), texts.items(), "The model’s paraphrases of your question: read them"
    )
    return True


class RunPanel:
    """How far a study is, kept up to date.

    Args:
        page: The page that it is on.
        path: The study.
        ended: What is done once all is answered.
    """

    def __init__(self, page: StepPage, path: Path, ended: Any) -> None:
        self.page, self.path, self.ended = page, path, ended
        self._state: tuple[Any, ...] = ()

    async def build(self) -> None:
        """Show it, and begin to look."""
        with ui.element("section").classes("qv-run"):
            self.bar = ui.linear_progress(0, show_value=False).props('aria-label="Answered"')
            self.line = words("p", "").classes("qv-progress").props('role="status"')
            self.buttons = ui.row()
            self.tables = ui.element("div")
        await self.look()
        ui.timer(_SECONDS, self.look)

    async def look(self) -> None:
        """Look once."""
        progress = await self.page.do(self._found)
        if progress is None:
            return
        status, runs, failure = progress
        self.bar.value = status.answered / max(1, status.total)
        self.line.text = self._line(status, runs)
        state = (runs, status.answered, status.errors, failure)
        if state == self._state:
            return
        if state[:1] != self._state[:1] or status.answered == status.total or failure:
            self._show_buttons(status, runs, failure)
        self._state = state
        self.tables.clear()
        with self.tables:
            _show_tables(status)

    def _found(self) -> tuple[StudyStatus, bool, str]:
        study = self.page.site.here.study(self.path)
        status = study.status()
        runs = status.process is not None or self.page.site.asking.runs(self.path)
        return status, runs, self.page.site.asking.failure(self.path)

    def _show_buttons(self, status: StudyStatus, runs: bool, failure: str) -> None:
        asking, here, page, path = self.page.site.asking, self.page.site.here, self.page, self.path
        self.buttons.clear()
        with self.buttons:
            if failure:
                words("pre", failure).classes("qv-doubt")
            if runs:
                other_button("Pause", lambda: asking.pause(path, here.study(path)))
            elif status.answered < status.total:
                main_button("Go on asking", lambda: page.ask(path))
            else:
                self.ended()
            if status.errors and not runs:
                other_button(
                    f"Ask again for the {status.errors:,} that failed",
                    lambda: page.ask(path, retry_errors=True),
                )

    def _line(self, status: StudyStatus, runs: bool) -> str:
        parts = [f"{status.answered:,} of {status.total:,} answers"]
        if status.money:
            parts.append(f"${status.money:,.4f} spent")
        if runs:
            parts.append(f"{status.rate:,.1f} a second" if status.rate else "beginning")
            if status.left is not None:
                parts.append(f"about {duration(status.left)} left")
            if not self.page.site.asking.runs(self.path):
                parts.append(f"asked by process {status.process}, which was started elsewhere")
        elif status.answered < status.total:
            parts.append("paused")
        return ", ".join(parts)


def _show_tables(status: StudyStatus) -> None:
    if status.by_kind:
        rows = [(number, kind, to_do_about(kind)) for kind, number in status.by_kind.most_common(10)]
        facts_table(("failed", "why", "what to do"), rows)
    for warning in status.warnings:
        words("p", warning).classes("qv-doubt")


async def asked(page: StepPage) -> None:
    """The fifth step."""
    folder = page.begun.folder
    page.title(
        "Asking", "You can close this page: asking continues. No question that was answered is asked again."
    )
    panel = RunPanel(page, folder, lambda: main_button("See the verdict", lambda: page.go("verdict")))
    await panel.build()
    page.command(shlex.join(["quaver", "run", folder.name]), shlex.join(["quaver", "status", folder.name]))
