"""``quaver status``: what is stored, also while it runs."""

from __future__ import annotations

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, screen


def command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Say how much of a study is answered."""
    counts, total = open_study(study, function).status()
    screen.print(f"{counts.answered:,} of {total:,} calls are answered", end="", highlight=False)
    screen.print(f", {counts.errors:,} with an error." if counts.errors else ".", highlight=False)
    if counts.unplaced:
        screen.print(
            f"{counts.unplaced:,} stored answers fit no call of the study as it is.", highlight=False
        )
