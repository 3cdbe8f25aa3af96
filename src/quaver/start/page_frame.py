"""What all pages have in common: the steps, one main action, the command at the foot, errors in words."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar, get_args
from urllib.parse import quote

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from quaver.core.options import options_in
from quaver.design.items.table_files import FORMATS
from quaver.errors import QuaverError
from quaver.report.page_words import of_items
from quaver.start.asking_process import AskingProcesses
from quaver.start.begun_check import BegunCheck, Here
from quaver.study.checking.check_options import CheckOptions
from quaver.view.guard import MARK

ValueT = TypeVar("ValueT")

STEPS: Final = {
    "texts": "Texts",
    "codebook": "Codebook",
    "model": "Model",
    "plan": "Plan",
    "run": "Run",
    "verdict": "Can I use the labels?",
    "labels": "Label and take away",
}
"""The steps by the last part of their addresses."""


class Site:
    """What the pages are about.

    Args:
        folder: The folder with the studies.
        viewer: Opens a viewer of a study, and gives its address on this server.

    Attributes:
        here: The folder.
        asking: The processes that ask.
        written: The files of a study that can be taken away, by its name.
    """

    def __init__(self, folder: Path, viewer: Callable[[Path], str]) -> None:
        self.here, self.viewer, self.asking = Here(folder), viewer, AskingProcesses()
        self.written: dict[str, list[Path]] = {}


@contextmanager
def framed(step: str, name: str = "") -> Iterator[None]:
    """A page's head with the steps, around what is inside."""
    with ui.element("header").classes("qv-head"):
        ui.link("Quaver", "/").classes("qv-brand")
        if name:
            words("span", name).classes("qv-name")
        ui.link("All studies", "/").classes("qv-all")
    if name:
        with ui.element("nav").props('aria-label="Steps"').classes("qv-steps"), ui.element("ol"):
            for number, (step_name, title) in enumerate(STEPS.items(), 1):
                with ui.element("li"):
                    link = ui.link(f"{number}. {title}", address(name, step_name))
                    if step_name == step:
                        link.props('aria-current="step"')
    with ui.element("div").classes("qv-page"):
        yield


def address(name: str, step: str) -> str:
    """The address of a step of a study."""
    return f"/study/{quote(name, safe='')}/{step}"


class StepPage:
    """One page of a study, with places for errors and for what is going on.

    Attributes:
        site: What the pages are about.
        step: Which step.
        reported: The error that is shown, if any.
        begun: The study.
    """

    def __init__(self, site: Site, step: str) -> None:
        self.site, self.step = site, step
        self.reported = ""
        self._turn = Lock()
        self.begun: BegunCheck

    def area(self) -> None:
        """Make the place for errors."""
        self._said = ui.element("div").props('role="alert"').classes("said")

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Say in the page what a user can fix."""
        try:
            yield
        except QuaverError as error:
            self.tell(error)

    def tell(self, error: QuaverError) -> None:
        """Show an error in words."""
        self._said.clear()
        self.reported = str(error)
        parts = (
            ("Where", error.where),
            ("Expected", error.expected),
            ("Found", error.found),
            ("To do", error.fix),
        )
        with self._said, ui.element("div").classes("qv-error"):
            words("p", f"{error.problem[:1].upper()}{error.problem[1:]}.").classes("qv-problem")
            for name, text in parts:
                if text:
                    words("p", f"{name}: {text}")

    def clear(self) -> None:
        """Take an error away."""
        self._said.clear()

    async def do(self, work: Callable[..., ValueT], *given: Any, **more: Any) -> ValueT | None:
        """Have something done beside the page, in its turn; None if an error was shown."""
        try:
            async with self._turn:
                done = await run.io_bound(work, *given, **more)
        except QuaverError as error:
            self.tell(error)
            return None
        self.clear()
        return done

    def ask(self, path: Path, *, retry_errors: bool = False) -> None:
        """Ask what is left of a study."""
        with self.reporting():
            self.site.asking.begin(path, self.site.here.study(path), retry_errors=retry_errors)

    def go(self, step: str, begun: BegunCheck | None = None) -> None:
        """Open another step."""
        ui.navigate.to(address((begun or self.begun).name, step))

    def title(self, text: str, lead: str = "") -> None:
        """The page's heading, and a sentence below it."""
        heading(text)
        if lead:
            words("p", lead).classes("qv-lead")

    def about(self, sentence: str) -> str:
        """A sentence about texts, as it is about what the study's table holds."""
        return of_items(sentence, self.begun.noun)

    def command(self, *lines: str) -> None:
        """The small print: what to type in a terminal for the same."""
        with ui.element("footer").classes("qv-typed"):
            words("p", "The same in a terminal:")
            self._typed = list(map(self._line, lines))

    def retell(self, *lines: str) -> None:
        """Change the small print."""
        for place, line in zip(self._typed, lines, strict=True):
            place.text = line

    def _line(self, line: str) -> TextElement:
        with ui.element("div").classes("qv-line"):
            place = words("code", line).classes("qv-command")
            copy = ui.button("Copy", on_click=lambda: ui.clipboard.write(place.text), color=None)
            copy.props("flat dense no-caps").classes("qv-copy")
        return place


def words(tag: str, text: str) -> TextElement:
    """An element with a text, which is never markup."""
    return TextElement(tag=tag, text=text)


def picture(name: str) -> None:
    """A picture that a table names, whichever page of a study shows it."""
    image = ui.element("img").classes("qv-picture")
    is_data = name.startswith("data:")
    image.props["src"] = name if is_data else f"picture?name={quote(name, safe='')}"
    image.props["alt"] = "Picture" if is_data else f"Picture {name}"


def heading(text: str, level: int = 1) -> None:
    """A heading."""
    words(f"h{level}", text)


def main_button(text: str, action: Callable[[], Any]) -> ui.button:
    """The one thing to do on a page."""
    return ui.button(text, on_click=action, color=None).props("no-caps unelevated").classes("main-action")


def other_button(text: str, action: Callable[[], Any]) -> ui.button:
    """Something else that can be done."""
    return ui.button(text, on_click=action, color=None).props("no-caps outline").classes("other-action")


def menu(options: Any, **given: Any) -> ui.select:
    """A menu whose choices are a named part of the page once it is open, with no focus around them."""
    chosen = ui.select(options, **given)
    chosen.on("popup-show", js_handler=_NAMED_MENU)
    return chosen


_NAMED_MENU: Final = """() => setTimeout(() => document.querySelectorAll('[id^=q-portal--menu]').forEach(
part => {
    part.setAttribute('role', 'region');
    part.setAttribute('aria-label', 'Choices');
    part.querySelectorAll('.q-virtual-scroll__content').forEach(inside => inside.removeAttribute('tabindex'));
}))"""
"""The library has no option for this."""


def option_field(
    begun: BegunCheck,
    name: str,
    change: Callable[..., Any],
    *,
    most: float | None = None,
    choices: Sequence[str] = (),
) -> None:
    """A field for an option of a check, as the options' own record declares it.

    Args:
        begun: The check.
        name: The option.
        change: Called with the option and its value once it was changed.
        most: The largest number; a slider then.
        choices: The values to choose from, the default first.
    """
    kind, option = options_in(CheckOptions)[name]
    value = begun.options.get(name, option.default)
    label = option.help.rstrip(".")
    field: Any
    if choices:
        field = menu([*choices], value=value or choices[0], label=label)
    elif most is not None:
        field = ui.slider(min=1, max=max(2, most), value=min(value or 2, most))
        field.props["aria-label"] = label
    elif kind in (int | None, float | None, int, float):
        field = ui.number(label=label, value=value, min=option.least)
    else:
        field = ui.input(label=label, value=value)
    if most is None:
        field.props("outlined dense").classes("qv-wide")
    else:
        title = words("p", f"{label}: {field.value:,}")
        field.on_value_change(lambda event: setattr(title, "text", f"{label}: {int(event.value):,}"))

    async def changed() -> None:
        shown = field.value
        is_whole = most is not None or (shown and int in (kind, *get_args(kind)))
        await change(**{name: int(shown) if is_whole else shown or None})

    if choices:
        field.on_value_change(changed)
    else:
        field.on("change", changed)


def facts_table(heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> None:
    """A table; what does not fit is scrolled to."""
    region = ui.element("div").classes("qv-scrolled").props('tabindex="0" role="region"')
    region.props["aria-label"] = caption or ", ".join(heads)
    with region, ui.element("table"):
        if caption:
            words("caption", caption)
        with ui.element("thead"), ui.element("tr"):
            for head in heads:
                words("th", head).props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for cell in row:
                        words("td", str(cell))


def upload_box(button: str, taken: Callable[[Any], Any], most: int, page: StepPage) -> ui.upload:
    """A place for a table: dropped on it, or chosen with a button."""

    def refuse() -> None:
        endings = ", ".join(FORMATS)
        page.tell(QuaverError("this file is not taken", expected=f"{endings}, at most {most >> 20} MB"))

    with ui.element("div").classes("qv-upload"):
        box = ui.upload(
            auto_upload=True, max_files=1, max_file_size=most, on_upload=taken, on_rejected=refuse
        )
        box.props["accept"] = ",".join(FORMATS)
        box.props(f""":headers="[{{name: '{MARK.decode()}', value: '1'}}]\" flat""")
        choose = ui.button(button, color=None).props("no-caps outline").classes("other-action")
        choose.on(
            "click", js_handler=f"() => getHtmlElement({box.id}).querySelector('input[type=file]').click()"
        )
        words("p", "or drop it here").classes("qv-small")
    return box
