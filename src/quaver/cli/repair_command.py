"""``quaver repair``: save what is left of damaged answers."""

from __future__ import annotations

from quaver.cli.run_display import print_status
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Save what is left of damaged answers.

    The damaged file is kept, and the next run asks for the rest.

    Examples:
      quaver repair study.yaml
    """
    from quaver.study.repairing import repair  # loads the study's parts

    print_status("repaired", repair(open_study(study, function)))
