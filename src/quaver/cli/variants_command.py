"""``quaver variants``: every prompt variant of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from quaver.cli.console import plain, say, say_study, screen
from quaver.cli.run_display import say_making
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, studies_of

if TYPE_CHECKING:
    from quaver.core.variant_display import Change
    from quaver.study.session import Study


def command(study: StudyArgument = HERE, again: bool = False, function: FunctionOption = None) -> None:
    """Show every prompt, and what differs from the original.

    Options:
      again: Let the model make its paraphrases again.

    Examples:
      quaver variants study.yaml
      quaver variants study.yaml --again
    """
    for name, each in studies_of(study, function).items():
        say_study(name)
        _make(each, again=again)
        _show(each)


def _make(study: Study, *, again: bool) -> None:
    """Have the paraphrases made that are missing."""
    if again or study.source.can_ask:
        study.variants.make(again=again, watch=say_making)


def _show(study: Study) -> None:
    count = 0
    for shown in study.variants:
        count += 1
        say(plain(shown.id), style="bold")
        for line in shown.origin:
            say(f"  {line}", style="dim")
        for role, pieces in shown.messages:
            say(_indented(role, pieces))
        screen.print()
    from quaver.core.variant_display import Change

    marks = _marked([Change("gone", "gone"), Change("new", "new")])
    about = (
        f"{count:,} variants, shown with the first item. Marks show what differs from the original prompt: "
    )
    say(Text.assemble(about, marks, "."))


def _indented(role: str, pieces: list[Change]) -> Text:
    marked = _marked(pieces)
    lines = marked.split("\n", allow_blank=True)
    head = Text(f"  {role}: ", style="dim")
    return Text("\n" + " " * (len(role) + 4)).join([head + lines[0], *lines[1:]])


def _marked(pieces: list[Change]) -> Text:
    """Differences between signs."""
    signs = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}
    return Text("".join(f"{signs[kind][0]}{plain(piece).plain}{signs[kind][1]}" for kind, piece in pieces))
