"""``quaver variants``: every way in which a study puts its question, and the table to edit them in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, plain, say_made, screen

if TYPE_CHECKING:
    from quaver.core.variant_display import Change
    from quaver.study.session import Study


def command(
    study: StudyArgument = HERE,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the texts that vary to a CSV file, to be edited.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Take over the edits made in such a file.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Have the paraphrases made anew that a model makes; forget edits.")
    ] = False,
    function: FunctionOption = None,
) -> None:
    """Show every variant: its id, origin and prompt, with what differs from the original marked."""
    opened = open_study(study, function)
    if again or opened.source.can_ask:
        opened.variants.make(again=again, watch=say_made)
    if import_ is not None:
        edits = opened.variants.edit(import_)
        for one in edits:
            screen.print(f"{one.factor}={one.level}: {one.part} edited")
        screen.print(f"{len(edits):,} texts edited; paraphrases.json has them with what stood before.")
    if export is not None:
        count = opened.variants.export(export)
        screen.print(f"{count:,} texts are in {export}; edit the column text, then --import it.")
    if import_ is None and export is None:
        _show(opened)


def _show(study: Study) -> None:
    count = 0
    for shown in study.variants:
        count += 1
        screen.print(Text.assemble((plain(shown.id).plain, "bold")), soft_wrap=True)
        for line in shown.origin:
            screen.print(f"  {line}", style="dim", soft_wrap=True)
        for role, pieces in shown.messages:
            screen.print(_indented(role, pieces), soft_wrap=True)
        screen.print()
    told = f"{count:,} variants, each filled in with the first item. Marked is what differs from the study "
    from quaver.core.variant_display import Change

    marks = _marked([Change("gone", "gone"), Change("new", "new")])
    screen.print(Text.assemble(f"{told}file's own prompt: ", marks, "."), soft_wrap=True)


def _indented(role: str, pieces: list[Change]) -> Text:
    marked = _marked(pieces)
    lines = marked.split("\n", allow_blank=True)
    head = Text(f"  {role}: ", style="dim")
    return Text("\n" + " " * (len(role) + 4)).join([head + lines[0], *lines[1:]])


def _marked(pieces: list[Change]) -> Text:
    """Colours where there are any, else signs."""
    coloured = screen.is_terminal and not screen.no_color
    signs = {"gone": ("[-", "-]", "red strike"), "new": ("{+", "+}", "green bold")}
    text = Text()
    for kind, piece in pieces:
        if kind == "same":
            text.append_text(plain(piece))
            continue
        opening, closing, style = signs[kind]
        shown = plain(piece).plain
        text.append(shown if coloured else f"{opening}{shown}{closing}", style=style if coloured else "")
    return text
