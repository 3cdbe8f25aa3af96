"""``quaver repair``: save what is left of damaged answers."""

from __future__ import annotations

from quaver.cli.console import say, screen
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Save what is left of damaged answers.

    The damaged file is kept, and the next run asks for the rest.

    Examples:
      quaver repair study.yaml
    """
    from quaver.study.merging import repair  # loads the study's parts

    found = repair(open_study(study, function))
    if found.kept is None:
        screen.print(f"Nothing is damaged: all {found.saved:,} stored answers are intact.")
        return
    screen.print(f"{found.saved:,} answers were saved, {found.lost:,} are lost.")
    if found.prompts:
        screen.print(f"{found.prompts:,} prompts were lost and written again from the study's plan.")
    if found.without_prompt:
        screen.print(f"{found.without_prompt:,} answers were saved without their prompt.")
    say(f"The damaged file is kept as {found.kept}")
    if found.lost:
        screen.print("`quaver run` asks for what is missing.")
