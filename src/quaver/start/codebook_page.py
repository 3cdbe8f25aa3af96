"""The second step: the labels, what they mean, the question, and the prompt as the model will see it."""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from quaver.core.replaced_file import replace_bytes
from quaver.errors import QuaverError
from quaver.start.page_frame import StepPage, facts_table, main_button, other_button, upload_box, words
from quaver.study.checking.check_design import instruction_texts
from quaver.study.checking.coding_sheet import coding_sheet, fields_shown, prompt_shown

_MOST_BYTES = 10 << 20
_TEXTS = 50


async def codebook(page: StepPage) -> None:
    """The second step."""
    begun = page.begun
    await page.do(lambda: begun.table)
    page.title("What do the labels mean?", "The model sees these words, and so do people who label by hand.")
    (_Variables if begun.fields else _Labels)(page).build()
    page.command(begun.command())


class _Asked:
    """The question, what the values mean, and beside them the prompt as the model will see it."""

    def __init__(self, page: StepPage) -> None:
        self.page, self.begun = page, page.begun

    def build(self) -> None:
        """The page's two halves."""
        with ui.element("div").classes("qv-halves"):
            with ui.element("section"):
                own = self.begun.options.get("instruction", "")
                question = ui.textarea(label="Your question about each text", value=own, on_change=self.show)
                self.question = question.props("outlined autogrow").classes("qv-wide")
                self.question.props["placeholder"] = self.instruction(None)
                self.meaning()
            with ui.element("section").classes("qv-preview"):
                words("h2", "What the model sees")
                texts = self._texts()
                self.text = ui.select(texts, value=0, label="Text", on_change=self.show)
                self.text.props("outlined dense").classes("qv-wide")
                self.shown = words("pre", "").classes("qv-prompt")
        self.show()
        main_button("Next: the model", self._next)

    def _texts(self) -> dict[int, str]:
        try:
            column = self.begun.found.text
        except QuaverError:
            column = next((one.name for one in self.begun.columns() if one.role == "text"), "")
        rows = self.begun.table.rows[:_TEXTS]
        self._full = [row.text(column) if column else "" for row in rows]
        return {index: f"{index + 1}: {text[:60]}" for index, text in enumerate(self._full)}

    def show(self) -> None:
        """The prompt with what stands in the page now."""
        if hasattr(self, "shown"):
            with self.page.reporting():
                instruction = self.instruction(self.question.value.strip() or None)
                self.shown.text = self.prompt(instruction, self._full[self.text.value])

    async def _next(self) -> None:
        if await self.page.do(self.keep):
            self.page.go("model")

    def instruction(self, own: str | None) -> str:
        """The template of a question, or of the plain one."""
        return instruction_texts(own, 1)["original"]

    def meaning(self) -> None:
        """What the values mean, below the question."""
        raise NotImplementedError

    def prompt(self, instruction: str, text: str) -> str:
        """The prompt of a text."""
        raise NotImplementedError

    def keep(self) -> bool:
        """Give what stands in the page."""
        raise NotImplementedError


class _Variables(_Asked):
    """Of a table with several variables, which answers have the values of: the question alone is given."""

    def instruction(self, own: str | None) -> str:
        """The template of a question, or of the plain one."""
        return instruction_texts(own, 1, fields=True)["original"]

    def meaning(self) -> None:
        """What each variable is taken for."""
        rows = [(one.name, one.why) for one in self.begun.fields]
        facts_table(("variable", "what it is taken for"), rows, "One answer gives them all")

    def prompt(self, instruction: str, text: str) -> str:
        """The prompt of a text."""
        return fields_shown(instruction, self.begun.fields, text)

    def keep(self) -> bool:
        """Give the question."""
        self.begun.give(instruction=self.question.value.strip())
        return True


class _Labels(_Asked):
    """Of a table with one label for each text: the labels with their definitions, and examples."""

    def __init__(self, page: StepPage) -> None:
        super().__init__(page)
        self.rows = [*self._known().items()]
        self.rows += [("", "")] * max(0, 2 - len(self.rows))
        self.inputs: list[tuple[Any, Any]] = []

    def _known(self) -> dict[str, str]:
        """The labels so far: those that were given, or those in the table."""
        try:
            return self.begun.definitions or dict.fromkeys(self.begun.found.labels, "")
        except QuaverError:  # none are known yet: they are what this page is for
            return {}

    def meaning(self) -> None:
        """The labels, examples, and a coding sheet that has them."""
        self.place = ui.element("div")
        self._show_labels()
        with ui.row():
            other_button("Add a label", self._add)
        self._examples()
        upload_box("Take a coding sheet", self._sheet, _MOST_BYTES, self.page)

    def _examples(self) -> None:
        """The hand-labelled texts that the prompt shows, which are then no test."""
        self.labelled = self.begun.labelled
        shown = {one: f"{label}: {text[:60]}" for one, (text, label) in self.labelled.items()}
        chosen = [one for one in self.begun.options.get("examples", ()) if one in shown]
        self.examples = ui.select(
            shown,
            multiple=True,
            value=chosen,
            label="Show hand-labelled texts as examples",
            on_change=self.show,
        )
        self.examples.props("outlined dense use-chips options-dense").classes("qv-wide qv-examples")
        self.examples.set_visibility(bool(shown))
        words("p", "What the prompt shows is no test any more: these texts are not asked about.").classes(
            "qv-small"
        ).set_visibility(bool(shown))

    def _show_labels(self) -> None:
        self.place.clear()
        self.inputs = []
        with self.place:
            for number, (label, meaning) in enumerate(self.rows, 1):
                with ui.element("div").classes("qv-label-row"):
                    name = ui.input(label=f"Label {number}", value=label, on_change=self.show).props(
                        "outlined dense"
                    )
                    meant = ui.input(
                        label=f"Definition of label {number}", value=meaning, on_change=self.show
                    )
                    meant.props("outlined dense").classes("qv-grow")
                    self.inputs.append((name, meant))

    def _add(self) -> None:
        self.rows = [(one.value, two.value) for one, two in self.inputs] + [("", "")]
        self._show_labels()

    async def _sheet(self, event: events.UploadEventArguments) -> None:
        ending = event.file.name.rpartition(".")[2]
        path = self.begun.folder / f"coding-sheet.{ending if ending.isalnum() else 'csv'}"
        content = await event.file.read()

        def read() -> dict[str, str]:
            replace_bytes(path, content)
            return coding_sheet(path)

        if (found := await self.page.do(read)) is not None:
            self.rows = [*found.items()]
            self._show_labels()
            self.show()

    @property
    def definitions(self) -> dict[str, str]:
        """What stands in the page."""
        return {name.value.strip(): meant.value.strip() for name, meant in self.inputs if name.value.strip()}

    def prompt(self, instruction: str, text: str) -> str:
        """The prompt of a text."""
        examples = [self.labelled[one] for one in self.examples.value]
        return prompt_shown(instruction, self.definitions, text, examples)

    def keep(self) -> bool:
        """Give the question, the examples and the labels."""
        definitions = self.definitions
        if len(definitions) < 2:
            raise QuaverError("too few labels", expected="two or more", found=str(len(definitions)))
        self.begun.give(instruction=self.question.value.strip(), examples=self.examples.value)
        self.begun.define(definitions)
        _ = self.begun.found  # the labels must be those that people gave
        return True
