"""``quaver report``: one HTML file that says what was found."""

from __future__ import annotations

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, screen


def command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Write report.html, estimates.csv and figures/ from the stored answers."""
    path = open_study(study, function).report()
    screen.print(f"Wrote {path}", soft_wrap=True)
