"""The seventh step: all texts get a label, and what there is to take away."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse
from nicegui import events, ui

from quaver.bundles.packing import pack_study
from quaver.core.number_format import count
from quaver.core.replaced_file import replace_bytes, replace_text
from quaver.start.asking_pages import RunPanel, cost_of
from quaver.start.begun_check import BegunCheck
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
from quaver.start.verdict_page import origin
from quaver.study.checking.check_design import left_to_ask, spends
from quaver.study.labelling.labelling import Labelled, Labelling
from quaver.study.session import Study

_MADE: Final = "study.labels.yaml"
"""The study of all texts, beside the check's."""

_MOST_BYTES: Final = 50 << 20
_DOUBTFUL: Final = 20


def install(site: Site, server: FastAPI) -> None:
    """Declare what is downloaded: files that this page has written, and no others."""

    @server.get("/study/{name}/file/{number}")
    def taken(name: str, number: int) -> FileResponse:
        files = _Taken.of(site.here.folder / name).files
        if not 0 <= number < len(files) or not files[number].is_file():
            raise HTTPException(404)
        return FileResponse(files[number], filename=files[number].name, media_type="application/octet-stream")


class _Taken:
    """The files of a study that can be taken away."""

    _known: Final[dict[Path, _Taken]] = {}

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.error: Any = None

    @classmethod
    def of(cls, folder: Path) -> _Taken:
        """Those of one study."""
        return cls._known.setdefault(folder, cls())


async def labels(page: StepPage) -> None:
    """The seventh step."""
    begun = page.begun
    source = begun.source
    page.title(
        "Label all texts",
        "Each text gets the most frequent label of as many prompts as the check shows to be worth it.",
    )
    error = ui.number(
        label="Accept labels of which at most this share is wrong, in %", min=0.1, max=50, step=0.5
    )
    error.props("outlined dense").classes("qv-wide")
    error.value = begun.options.get("error")
    returned: list[Path] = []
    words(
        "p",
        "Leave it empty for labels without a promise. With it, people label a sample that is drawn for them.",
    ).classes("qv-small")
    anyway = ui.checkbox("Label although the check says “do not use”")
    place = ui.element("div").classes("qv-place")

    def work() -> Labelling:
        begun.give(error=error.value or None)
        given: dict[str, Any] = {"check": begun.folder, "anyway": bool(anyway.value), "returned": returned}
        if error.value:
            given["error"] = f"{error.value:g}%"
        return Labelling(source, given)  # type: ignore[arg-type]

    async def prepare() -> None:
        made = await page.do(lambda: _prepared(work()))
        if made is None:
            return
        place.clear()
        with place:
            _show_price(page, made, place, finish)

    async def take(event: events.UploadEventArguments) -> None:
        path = begun.folder / f"returned-{Path(event.file.name).name}"
        content = await event.file.read()

        def keep() -> list[Path]:
            replace_bytes(path, content)
            return [path]

        returned[:] = await page.do(keep) or []
        if returned:
            await finish()

    async def finish() -> None:
        labelled = await page.do(lambda: _labelled(work(), begun))
        if labelled is None:
            return
        place.clear()
        with place:
            _show_labelled(page, labelled)
            if labelled.sheets or error.value:
                words("p", "Sheets that people have filled in come back here; then the promise is made.")
                upload_box("Take back a sheet", take, _MOST_BYTES, page)

    with place:
        main_button("Prepare the labels of all texts", prepare)
    if (begun.folder / _MADE).is_file():
        await prepare()
    page.command(f"quaver label {source.name} --check {begun.folder.name}")


def _prepared(work: Labelling) -> tuple[Labelling, Any, bool]:
    return work, left_to_ask(work.study), spends(work.study)


def _show_price(page: StepPage, made: Any, place: Any, finish: Any) -> None:
    work, plan, money = made
    path = page.begun.folder / _MADE
    words(
        "p",
        f"Each text is asked about with {count(len(work.choice.variants), 'prompt')}: {work.choice.reason}.",
    )
    left = plan.calls - plan.stored
    if not left:
        main_button("Write the labelled table", finish)
        return
    words("p", f"{left:,} of {plan.calls:,} answers are missing: {cost_of(plan, money)}.")

    async def ask() -> None:
        page.ask(path)
        await _follow(page, path, place, finish)

    if page.site.asking.runs(path):
        ui.timer(0.1, lambda: _follow(page, path, place, finish), once=True)
    else:
        price = f", and spend {cost_of(plan, True)}" if money else ""
        main_button(f"Ask {left:,} times{price}", ask)


async def _follow(page: StepPage, path: Path, place: Any, finish: Any) -> None:
    place.clear()
    with place:
        await RunPanel(page, path, lambda: main_button("Write the labelled table", finish)).build()


def _labelled(work: Labelling, begun: BegunCheck) -> Labelled:
    """Write the labelled table, the report, the methods paragraph and the bundle."""
    labelled = work.labelled()
    check = work.check
    report = check.report()
    methods = begun.folder / "methods.md"
    replace_text(methods, check.paper().methods_as("markdown"))
    packed = pack_study(check)[0]
    taken = _Taken.of(begun.folder)
    taken.files = [*filter(None, [labelled.file, *labelled.sheets]), report, methods, Path(packed)]
    return labelled


def _show_labelled(page: StepPage, labelled: Labelled) -> None:
    heading("Take away", 2)
    words("p", labelled.state).classes("qv-state")
    with ui.element("ul").classes("qv-files"):
        for number, file in enumerate(_Taken.of(page.begun.folder).files):
            with ui.element("li"):
                link = ui.link(f"Download {file.name}", f"/study/{page.begun.name}/file/{number}")
                link.props["download"] = file.name
    facts_table(("what", "said in the table"), [note for note in labelled.notes if note[1]])
    doubtful = labelled.table.filter(labelled.table["needs_person"].is_not_null()).sort(
        "agreement", nulls_last=False
    )
    if doubtful.height:
        heading("Look at these first", 2)
        study, texts = labelled.study, _texts(labelled.study)
        rows = [
            (texts.get(row["item"], row["item"])[:200], row["label"] or "none", row["needs_person"])
            for row in doubtful.head(_DOUBTFUL).iter_rows(named=True)
        ]
        facts_table(("text", "label", "why"), rows, f"{doubtful.height:,} texts need a person")

        async def judge() -> None:
            where = study.source.positions.path or study.folder
            if (path := await page.do(page.site.viewer, Path(where))) is not None:
                ui.navigate.to(f"{origin()}{path}#/judge?what=items&sort=instability", new_tab=True)

        other_button("Judge them in the viewer", judge)


def _texts(study: Study) -> dict[str, str]:
    from quaver.design.prompts.rendering import PromptWriter

    writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
    return {item.id: writer.text(item) for item in study.experiment.items}
