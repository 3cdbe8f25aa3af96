"""``quaver rescore``: read the stored answers with evaluators; asks nothing."""

from __future__ import annotations

from quaver.cli.console import say, screen, table
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(
    study: StudyArgument = HERE,
    evaluator: list[str] | None = None,
    function: FunctionOption = None,
) -> None:
    """Read the stored answers again, with these evaluators or others.

    Asks nothing.

    Options:
      evaluator: An evaluator's name; by default the study's own.

    Examples:
      quaver rescore study.yaml
      quaver rescore study.yaml --evaluator exact --evaluator marked_label
    """
    from quaver.study.analysis.annotation_frame import rescored  # loads polars

    opened = open_study(study, function)
    opened.source.require("has_answers")
    annotations = rescored(opened.source, evaluator)  # never held as a whole
    places = ("evaluator", "field") if opened.fields else ("evaluator",)
    counts = annotations.group_by(*places, "status").len().sort("len", descending=True)
    rows = counts.sort(places, maintain_order=True).collect().rows()
    screen.print(table((*places, "status", "answers"), rows))
    if opened.source.owns_folder:  # a bundle stays as it is
        say(f"Wrote {opened.folder / 'annotations.parquet'}")
