"""The second step: the labels, what they mean, the question, and the prompt as the model will see it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, HTTPException, Response
from nicegui import events, ui

from quaver.core.replaced_file import replace_bytes
from quaver.design.items.item_media import medium_named
from quaver.errors import QuaverError
from quaver.start.page_frame import (
    Site,
    StepPage,
    facts_table,
    main_button,
    menu,
    other_button,
    picture,
    upload_box,
    words,
)
from quaver.study.checking.check_design import instruction_texts, language_of_prompts
from quaver.study.checking.coding_sheet import coding_sheet, fields_shown, prompt_shown

_MOST_BYTES = 10 << 20
_TEXTS = 50


def install(site: Site, server: FastAPI) -> None:
    """Declare the pictures of a study's table: only what is one by its bytes, of the table's own folder."""

    @server.get("/study/{study}/picture")
    def shown(study: str, name: str) -> Response:
        try:
            folder = site.here.begun(study).source.parent
        except QuaverError as error:
            raise HTTPException(404) from error
        medium = medium_named(name, "images", folder)
        if not medium.type:
            raise HTTPException(404)
        return Response(medium.content(), media_type=medium.type)


async def codebook(page: StepPage) -> None:
    """The second step."""
    await page.do(lambda: page.begun.table)
    page.title("What do the labels mean?", "The model sees these words, and so do people who label by hand.")
    _Codebook(page).build()
    page.command(page.begun.command())


class _Codebook:
    """The question, what the values mean, and beside them the prompt as the model will see it.

    Of a table with several variables, the question alone is given; else the labels and their definitions.
    """

    def __init__(self, page: StepPage) -> None:
        self.page, self.begun = page, page.begun
        self.fields, columns = self.begun.fields, [self.begun.column_of(role) for role in ("title", "text")]
        shown = ([row.text(name) for name in columns if name] for row in self.begun.table.rows[:_TEXTS])
        self.texts = ["\n\n".join(filter(None, texts)) for texts in shown]
        self.pictures = self.begun.column_of("images")
        self.inputs: list[tuple[Any, Any]] = []

    def build(self) -> None:
        """The page's two halves."""
        with ui.element("div").classes("qv-halves"):
            with ui.element("section"):
                own = self.begun.options.get("instruction", "")
                self.question = ui.textarea(
                    label=self.page.about("Your question about each text"), value=own, on_change=self._show
                )
                self.question.props("outlined autogrow").classes("qv-wide")
                with self.page.reporting():
                    self.question.props["placeholder"] = self._instruction()
                if self.fields:
                    rows = [(field.name, field.why) for field in self.fields]
                    facts_table(("variable", "what it is taken for"), rows, "One answer gives them all")
                else:
                    self.place = ui.element("div")
                    other_button("Add a label", lambda: self._show_labels([*self._typed(), ("", "")]))
                    upload_box("Take a coding sheet", self._take_sheet, _MOST_BYTES, self.page)
            with ui.element("section").classes("qv-preview"):
                words("h2", "What the model sees")
                named = [text or ", ".join(self._pictures_of(at)) for at, text in enumerate(self.texts)]
                numbered = {index: f"{index + 1}: {text[:60]}" for index, text in enumerate(named)}
                label = "Picture" if self.pictures else "Text"
                self.text = menu(numbered, value=0, label=label, on_change=self._turn)
                self.text.props("outlined dense").classes("qv-wide")
                self.seen = ui.element("div")
                self.shown = words("pre", "").classes("qv-prompt")
        if not self.fields:
            self._show_labels([*self._known().items()])
        self._turn()
        main_button("Next: the model", self._next)

    def _instruction(self) -> str:
        """The template of the question, or of the plain one."""
        own = self.question.value.strip() or None
        of_fields, of_pictures, language = bool(self.fields), bool(self.pictures), self._language()
        texts = instruction_texts(own, 1, fields=of_fields, images=of_pictures, language=language)
        return texts["original"]

    def _pictures_of(self, at: int) -> list[str]:
        """The pictures that a row names."""
        cell = self.begun.table.rows[at].text(self.pictures) if self.pictures else ""
        return [*filter(None, map(str.strip, cell.splitlines()))]

    def _turn(self) -> None:
        """Show another text, or picture."""
        self.seen.clear()
        with self.seen:
            for name in self._pictures_of(self.text.value):
                picture(name)
        self._show()

    def _language(self) -> str:
        """The language of the words around the user's own."""
        own = self.question.value.strip() or None
        return language_of_prompts(self.begun.options.get("language"), own, self.texts)

    def _known(self) -> dict[str, str]:
        """The labels so far: those that were given, or those in the table."""
        try:
            return self.begun.definitions or dict.fromkeys(self.begun.found.labels, "")
        except QuaverError:  # none are known yet: they are what this page is for
            return {}

    def _show_labels(self, rows: list[tuple[str, str]]) -> None:
        rows = rows + [("", "")] * max(0, 2 - len(rows))
        self.place.clear()
        self.inputs = []
        with self.place:
            for number, (label, meaning) in enumerate(rows, 1):
                with ui.element("div").classes("qv-label-row"):
                    name = ui.input(label=f"Label {number}", value=label, on_change=self._show)
                    meant = ui.input(
                        label=f"Definition of label {number}", value=meaning, on_change=self._show
                    )
                    name.props("outlined dense")
                    meant.props("outlined dense").classes("qv-grow")
                    self.inputs.append((name, meant))
        self._show()

    def _typed(self) -> list[tuple[str, str]]:
        """The labels and definitions on the page."""
        return [(name.value.strip(), meant.value.strip()) for name, meant in self.inputs]

    @property
    def _definitions(self) -> dict[str, str]:
        """The definitions by label, of the rows that have a label."""
        return {label: meaning for label, meaning in self._typed() if label}

    async def _take_sheet(self, event: events.UploadEventArguments) -> None:
        ending = event.file.name.rpartition(".")[2]
        path = self.begun.folder / f"coding-sheet.{ending if ending.isalnum() else 'csv'}"
        content = await event.file.read()

        def read() -> dict[str, str]:
            replace_bytes(path, content)
            return coding_sheet(path)

        if (labels := await self.page.do(read)) is not None:
            self._show_labels([*labels.items()])

    def _show(self) -> None:
        """The prompt with the labels and definitions now on the page."""
        text = self.texts[self.text.value]
        with self.page.reporting():
            if self.fields:
                self.shown.text = fields_shown(self._instruction(), self.fields, text, self._language())
            else:
                self.shown.text = prompt_shown(self._instruction(), self._definitions, text, self._language())

    async def _next(self) -> None:
        if await self.page.do(self._keep):
            self.page.go("model")

    def _keep(self) -> bool:
        """Give the question and the labels."""
        definitions = self._definitions
        if not self.fields and len(definitions) < 2:
            raise QuaverError("too few labels", expected="two or more", found=str(len(definitions)))
        self.begun.give(instruction=self.question.value.strip())
        if not self.fields:
            self.begun.define(definitions)
            _ = self.begun.found  # the labels must be those that people gave
        return True
