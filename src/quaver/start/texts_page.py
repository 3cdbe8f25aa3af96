"""The first page, with all studies of the folder, and the first step: the texts and what each column is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from nicegui import events, run, ui
from nicegui.elements.mixins.text_element import TextElement

from quaver.collect.store.store_lock import who_collects
from quaver.core.label_decisions import Decision
from quaver.core.number_format import count
from quaver.design.items.item_media import medium_named
from quaver.design.items.spreadsheet_files import sheets_of
from quaver.design.items.table_files import FORMATS, SPREADSHEETS
from quaver.errors import QuaverError
from quaver.start.begun_check import MOST_BYTES, ROLES, BegunCheck, Here
from quaver.start.page_frame import (
    Site,
    StepPage,
    address,
    framed,
    heading,
    main_button,
    menu,
    option_field,
    other_button,
    picture,
    upload_box,
    words,
)
from quaver.study.checking.text_table import doubts_about
from quaver.study.collection.study_status import answered_calls
from quaver.study.imports.columns import PICTURE

_CELLS: Final = 5
"""Different filled cells of a column that are shown, wherever they stand in it."""
_WRITTEN: Final = ("encoding", "separator")
_TEXT_FILES: Final = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson")
_FIRST: Final = 8
"""Cells of a sheet's first row that are shown."""
_LONGEST: Final = 90
_LOOKED_AT: Final = 50
"""Pictures that are looked for before anything is asked."""
_DRAWN: Final = {
    "random": "yes, from all texts",
    "chosen": "no, they were chosen",
    "": "I don’t know: compare them with the others",
}
EXAMPLE: Final = "night-buses.csv"


def install(site: Site) -> None:
    """Declare the first page."""

    @ui.page("/", title="Quaver", response_timeout=60)
    async def home() -> None:
        page = StepPage(site, "")
        with framed(""):
            page.area()
            page.title(
                "Can you trust the labels?",
                "Begin with a table of texts. If people have labelled some of them, all the better.",
            )
            _ways_in(page)
            await _studies(site.here)
            page.command("quaver start")


def _ways_in(page: StepPage) -> None:
    here = page.site.here

    async def begin(name: str, content: bytes) -> None:
        if (begun := await page.do(here.take, name, content)) is not None:
            page.go("texts" if begun.is_begun_here else _state(here, begun.name)[0], begun)

    async def uploaded(event: events.UploadEventArguments) -> None:
        await begin(event.file.name, await event.file.read())

    async def example() -> None:
        await begin(EXAMPLE, (files("quaver.start") / EXAMPLE).read_bytes())

    with ui.element("section").classes("qv-ways"):
        box = upload_box("Choose a table", uploaded, MOST_BYTES, page)
        words(
            "p",
            f"You can upload {', '.join(FORMATS)}. The table stays on this machine. To label pictures, "
            "upload a .zip with the pictures and a table that names them.",
        ).classes("qv-small")
        with ui.expansion("Or paste cells from a spreadsheet, with their headings"):
            # This textarea tells nobody what is typed: a message holds a megabyte, a file all of it.
            area = ui.element("textarea").props('rows="6" aria-label="Cells"').classes("qv-cells-pasted")
            begin_pasted = ui.button("Begin with these cells", color=None).props("no-caps outline")
            begin_pasted.classes("other-action").on("click", js_handler=_as_file(area.id, box.id))
        other_button("Try it with the example", example)


def _as_file(area: int, box: int) -> str:
    """A script that hands over what is in a textarea as if it were a chosen file."""
    file = f"new File([getHtmlElement({area}).value], 'pasted.tsv')"
    return f"() => runMethod({box}, 'addFiles', [[{file}]])"


async def _studies(here: Here) -> None:
    names = here.names()
    if not names:
        return
    heading("Studies in this folder", 2)
    with ui.element("ul").classes("qv-studies"):
        lines = [_line(name) for name in names]
    await ui.context.client.connected()  # how far they are may take a while to say
    states = await run.io_bound(lambda: [_state(here, name) for name in names])
    for name, (link, said), (step, state) in zip(names, lines, states or (), strict=True):
        link.props["href"] = address(name, step)
        link.update()
        said.text = state


def _line(name: str) -> tuple[ui.link, TextElement]:
    with ui.element("li"):
        return ui.link(name, address(name, "texts")), words("span", "…")


def goes_on_at(here: Here, path: Path) -> str:
    """The address of the page that goes on with a table or a check's folder."""
    begun = here.check_of(path)
    return address(begun.name, _state(here, begun.name)[0])


def _state(here: Here, name: str) -> tuple[str, str]:
    """Where a study goes on, and how far it is."""
    try:
        begun = here.begun(name)
    except QuaverError as error:
        return "texts", error.problem
    if not (begun.folder / "study.yaml").is_file():
        return ("codebook" if "text" in begun.options else "texts"), "begun"
    try:
        study = here.study(begun.folder)
        answered, total = answered_calls(study.source)
    except QuaverError as error:
        return "plan", error.problem
    if who_collects(study.folder) is not None:
        return "run", f"running: {answered:,} of {total:,} answers"
    if not answered:
        return "plan", "nothing is asked yet"
    if answered < total:
        return "run", f"{answered:,} of {total:,} answers"
    return "verdict" if begun.is_begun_here else "labels", f"all {total:,} answers are there"


async def texts(page: StepPage) -> None:
    """The first step."""
    begun = page.begun
    table = await page.do(lambda: begun.table)
    rows = f": {count(len(table.rows), 'row')}" if table else ""
    page.title("What is in your table?", f"{begun.source.name}{rows}.")
    if begun.source.suffix.lower() in SPREADSHEETS:
        _sheets(page, *(await page.do(sheets_of, begun.source) or ({}, "")))
    elif begun.source.suffix.lower() in _TEXT_FILES:
        _how_written(page)
    if table is None:
        return
    await page.do(_read, begun)

    async def fill() -> None:
        problem = await page.do(_read, begun)
        lost = await page.do(_lost_pictures, begun)
        for column in begun.columns():
            cards[column.column].tell(column)
        shown.clear()
        with shown:
            _how_drawn(page)
            if lost:
                words("p", lost).classes("qv-doubt")
            for doubt in doubts_about(begun.table, begun.column_of("text"), begun.column_of("gold")):
                words("p", f"{doubt.column}: {doubt.why}.").classes("qv-doubt")
            if problem is not None:
                words(
                    "p", f"{problem.problem[:1].upper()}{problem.problem[1:]}. {problem.fix or ''}"
                ).classes("qv-doubt")

    with ui.element("div").classes("qv-columns"):
        cards = {column.column: _Card(page, column, fill) for column in begun.columns()}
    shown = ui.element("div")
    await fill()
    main_button("Next: the codebook", lambda: page.go("codebook"))
    page.command(begun.command())


def _sheets(page: StepPage, sheets: Mapping[str, Sequence[str]], read: str) -> None:
    """Which sheet has the texts, where several have a table."""
    if len(sheets) < 2:
        return
    begun = page.begun

    def take(event: events.ValueChangeEventArguments[str]) -> None:
        begun.give(sheet=event.value)
        ui.navigate.reload()

    if not (chosen := begun.options.get("sheet") or read):
        page.clear()
    words("p", "Which sheet holds the texts?").props["id"] = "which-sheet"
    named = {sheet: f"{sheet}: {', '.join(filter(None, first[:_FIRST]))}" for sheet, first in sheets.items()}
    ui.radio(named, value=chosen or None, on_change=take).props('aria-labelledby="which-sheet"')


def _how_written(page: StepPage) -> None:
    """The form fields for how to read a text file, where that is not clear."""

    async def read(**option: Any) -> None:
        page.begun.give(**option)
        ui.navigate.reload()

    with ui.expansion("Another encoding or separator", value=bool(page.reported)):
        for name in _WRITTEN:
            option_field(page.begun, name, read)


def _lost_pictures(begun: BegunCheck) -> str:
    """Which of the first pictures cannot be used, and what to do; empty where all can."""
    names = begun.table.values(column) if (column := begun.column_of("images")) else []
    paths = [*filter(None, (name.strip() for cell in names[:_LOOKED_AT] for name in cell.splitlines()))]
    home = begun.source.parent
    lost = [medium for name in paths if not (medium := medium_named(name, "images", home)).type]
    if not lost:
        return ""
    return (
        f"{len(lost):,} of the first {count(len(paths), 'picture')} cannot be used. {lost[0].name}: "
        f"{lost[0].problem}. Copy the pictures to {home}, or upload a .zip with the table and the pictures."
    )


def _read(begun: BegunCheck) -> QuaverError | None:
    """Read what the columns are; what is missing is no error of this step where the codebook can say it."""
    try:
        _ = begun.found
    except QuaverError as error:
        if (begun.column_of("text") or begun.column_of("images")) and "label" in error.problem:
            return None
        return error
    return None


def _how_drawn(page: StepPage) -> None:
    """How the texts with hand labels were picked, where others have none."""
    begun = page.begun
    try:
        known, rows = begun.found.known, begun.found.rows
    except QuaverError:  # the codebook says what is missing
        return
    if not 0 < known < rows:
        return

    async def take(event: events.ValueChangeEventArguments[str]) -> None:
        await page.do(lambda: begun.give(hand_labels=event.value))
        page.retell(begun.command())

    some = f"{known:,} of {count(rows, 'text')} have hand labels."
    words("p", f"{some} Were these texts drawn at random?").props["id"] = "how-drawn"
    chosen = ui.radio(dict(_DRAWN), value=begun.options.get("hand_labels", ""), on_change=take)
    chosen.props('inline aria-labelledby="how-drawn"')


class _Card:
    """What a column is, and some of its cells; the card stays while what it says changes.

    Args:
        page: The page.
        column: The column, with what it is taken for.
        fill: Says anew what all columns are.
    """

    def __init__(self, page: StepPage, column: Decision, fill: Callable[[], Awaitable[None]]) -> None:
        self.page, self.column, self.fill = page, column, fill
        table, name, home = page.begun.table, column.column, page.begun.source.parent
        with ui.element("section").classes("qv-column"):
            words("h2", name)
            self.chosen = menu(dict(ROLES), value=column.role, on_change=self._take)
            self.chosen.props("outlined dense options-dense").props["aria-label"] = f"What {name} is"
            self.why = words("p", "").classes("qv-small")
            with ui.element("ul").classes("qv-cells"):
                cells = table.values(name) or [str(row[name]) for row in table.rows if row[name]]  # sets
                for text in cells[:_CELLS]:
                    with words("li", text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"):
                        if PICTURE.fullmatch(text) and medium_named(text, "images", home).type:
                            picture(text)

    def tell(self, column: Decision) -> None:
        """Say what the column is now, and why."""
        self.column = column
        self.chosen.value, self.why.text = column.role, column.why
        self.why.set_visibility(bool(column.why))

    async def _take(self, event: events.ValueChangeEventArguments[str]) -> None:
        if event.value == self.column.role:
            return
        begun = self.page.begun
        await self.page.do(begun.take_column, self.column.column, event.value)
        await self.fill()
        self.page.retell(begun.command())
