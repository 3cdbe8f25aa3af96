"""``quaver repair``: a damaged store put right."""

from __future__ import annotations

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, screen


def command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Save what can be read of damaged answers; the next run asks for the rest."""
    found = open_study(study, function).repair()
    if found.kept is None:
        screen.print(f"Nothing is damaged: all {found.saved:,} stored answers are as they were stored.")
        return
    screen.print(f"{found.saved:,} answers were saved, {found.lost:,} are lost.")
    if found.prompts:
        screen.print(f"{found.prompts:,} prompts were lost and written anew by the study's plan.")
    if found.without_prompt:
        screen.print(f"{found.without_prompt:,} answers were saved without their prompt.")
    screen.print(f"The damaged file is kept as {found.kept}", soft_wrap=True)
    if found.lost:
        screen.print("`quaver run` asks for what is missing.")
