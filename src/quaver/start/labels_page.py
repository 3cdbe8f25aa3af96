"""The seventh step: all texts get a label, and what there is to take away."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl
from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse
from nicegui import events, ui

from quaver.bundles.packing import pack_study
from quaver.collect.store.store_lock import who_collects
from quaver.core.number_format import count, enumeration
from quaver.core.replaced_file import replace_bytes, replace_text
from quaver.report.page_templates import quoted
from quaver.start.asking_pages import RunPanel, ask_for, cost_of
from quaver.start.page_frame import (
    Site,
    StepPage,
    facts_table,
    heading,
    main_button,
    other_button,
    upload_box,
    words,
)
from quaver.start.verdict_page import open_viewer
from quaver.study.checking.check_design import left_to_ask, spends
from quaver.study.collection.forecast import Forecast
from quaver.study.labelling.label_options import LabelOptions
from quaver.study.labelling.labelling import Labelled, Labelling

_MADE: Final = "study.labels.yaml"
"""The study of all texts, beside the check's."""

_MOST_BYTES: Final = 50 << 20


def install(site: Site, server: FastAPI) -> None:
    """Declare what is downloaded: files that this page has written, and no others."""

    @server.get("/study/{name}/file/{number}")
    def taken(name: str, number: int) -> FileResponse:
        files = site.written.get(name, [])
        if not 0 <= number < len(files) or not files[number].is_file():
            raise HTTPException(404)
        return FileResponse(files[number], filename=files[number].name, media_type="application/octet-stream")


async def labels(page: StepPage) -> None:
    """The seventh step."""
    await _Labelling(page).build()


class _Labelling:
    """The page on labelling: its price, the run, the downloads, the sheets that come back."""

    def __init__(self, page: StepPage) -> None:
        self.page, self.begun = page, page.begun
        self.texts = self.begun.texts_file or self.begun.source
        self.made = self.begun.folder / _MADE
        self.returned: list[Path] = []

    async def build(self) -> None:
        """The page."""
        await self.page.do(lambda: self.begun.noun)
        self.page.title(
            self.page.about("Label all texts"),
            self.page.about(
                "Each text gets the most frequent label of the prompts that the check recommends."
            ),
        )
        self.error = ui.number(
            label="Largest share of wrong labels to accept, in %", min=0.1, max=50, step=0.5
        )
        self.error.props("outlined dense").classes("qv-wide")
        self.error.value = self.begun.options.get("error")
        words(
            "p",
            "Leave it empty for labels without a promise. "
            "If you fill it in, people label a sample that is drawn for them.",
        ).classes("qv-small")
        self.anyway = ui.checkbox("Label even though the check says “do not use”")
        self.place = ui.element("div").classes("qv-place")
        self.page.command(self._typed())
        with self.place:
            main_button(self.page.about("Prepare the labels of all texts"), self._prepare)
        if self.made.is_file():
            await self._prepare()

    @contextmanager
    def _anew(self) -> Iterator[None]:
        """Show something else below the options."""
        self.place.clear()
        with self.place:
            yield

    def _typed(self) -> str:
        """The command that does the same."""
        line = ["quaver", "label", self.begun.typed(self.texts), "--check", self.begun.folder.name]
        if self.error.value:
            line += ["--error", f"{self.error.value:g}%"]
        if self.anyway.value:
            line.append("--anyway")
        for path in self.returned:
            line += ["--returned", f"{self.begun.folder.name}/{path.name}"]
        return shlex.join(line)

    def _work(self) -> Labelling:
        self.begun.give(error=self.error.value or None)
        given: LabelOptions = {
            "check": self.begun.folder,
            "anyway": bool(self.anyway.value),
            "returned": self.returned,
        }
        if self.error.value:
            given["error"] = f"{self.error.value:g}%"
        return Labelling(self.texts, given)

    async def _prepare(self) -> None:
        """Say what all texts would cost, where some are left to ask about; who asks already is followed."""
        if self.made.is_file() and await self.page.do(self._is_asked):
            await self._follow()
            return

        def priced() -> tuple[Labelling, Forecast, bool]:
            work = self._work()
            return work, left_to_ask(work.study), spends(work.study)

        if (price := await self.page.do(priced)) is None:
            return
        self.page.retell(self._typed())
        with self._anew():
            self._show_price(*price)

    def _show_price(self, work: Labelling, plan: Forecast, money: bool) -> None:
        for name, choice in work.choices.items():
            each = f"{quoted(name)}: each" if name else "Each"
            asked = count(len(choice.variants), "prompt")
            words("p", f"{each} {self.begun.noun} is asked about with {asked}: {choice.reason}.")
        if work.left_out:
            left_out = enumeration(map(quoted, work.left_out))
            words("p", f"No labels of {left_out}: the check says “do not use”.").classes("qv-doubt")
        left = plan.calls - plan.stored
        if not left:
            self._show_finish()
            return
        words("p", f"{left:,} of {plan.calls:,} answers are missing: {cost_of(plan, money)}.")
        main_button(ask_for(plan, money), self._ask)

    def _is_asked(self) -> bool:
        return who_collects(self.page.site.here.study(self.made).folder) is not None

    async def _ask(self) -> None:
        self.page.ask(self.made)
        await self._follow()

    async def _follow(self) -> None:
        """Show how far the asking is."""
        with self._anew():
            await RunPanel(self.page, self.made, self._show_finish).build()

    def _show_finish(self) -> None:
        main_button("Write the labelled table", self._finish)

    async def _take(self, event: events.UploadEventArguments) -> None:
        """Take back a sheet that people have filled in."""
        path = self.begun.folder / f"returned-{Path(event.file.name).name}"
        content = await event.file.read()

        def keep() -> bool:
            replace_bytes(path, content)
            return True

        if await self.page.do(keep):
            self.returned = [path]
            await self._finish()

    async def _finish(self) -> None:
        """Write what is taken away, and show it."""
        with self._anew():
            words("p", "Writing the labelled table, the report and the bundle …").props('role="status"')
        labelled = await self.page.do(self._write)
        if labelled is None:
            with self._anew():
                self._show_finish()
            return
        self.page.retell(self._typed())
        with self._anew():
            _show_labelled(self.page, labelled)
            if labelled.sheets or self.error.value:
                words(
                    "p",
                    "Upload the sheets that people filled in, to see which labels can be accepted.",
                )
                upload_box("Take back a sheet", self._take, _MOST_BYTES, self.page)

    def _write(self) -> Labelled:
        """Write the labelled table, the report, the methods paragraph and the bundle."""
        work = self._work()
        labelled, check = work.labelled(), work.check
        report, methods = check.report(), self.begun.folder / "methods.md"
        texts = []
        for name, study in (labelled.study.fields or {"": labelled.study}).items():
            text = study.paper().methods_as("markdown")
            texts.append(f"# {name}\n\n{text}" if name else text)
        replace_text(methods, "\n\n".join(texts))
        packed = Path(pack_study(check)[0])
        tables = [labelled.file] if labelled.file else []
        self.page.site.written[self.begun.name] = [*tables, *labelled.sheets, report, methods, packed]
        return labelled


def _show_labelled(page: StepPage, labelled: Labelled) -> None:
    heading("Files to download", 2)
    words("p", labelled.state).classes("qv-state")
    with ui.element("ul").classes("qv-files"):
        for number, file in enumerate(page.site.written[page.begun.name]):
            with ui.element("li"):
                link = ui.link(f"Download {file.name}", f"/study/{page.begun.name}/file/{number}")
                link.props["download"] = file.name
    facts_table(("what", "in the table"), [note for note in labelled.notes if note[1]])
    doubtful = labelled.table.filter(pl.col("needs_person").is_not_null())["item"].n_unique()
    if not doubtful:
        return
    words("p", f"{count(doubtful, page.begun.noun)}: a person should look at them.").classes("qv-doubt")
    where = labelled.study.source.positions.path or labelled.study.folder
    judge = "#/judge?what=items&sort=instability"
    other_button("Judge them in the viewer", lambda: open_viewer(page, Path(where), judge))
