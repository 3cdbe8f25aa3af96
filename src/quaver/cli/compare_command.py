"""``quaver compare``: what differs between two studies, or between the conditions of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.compared_arguments import open_sides
from quaver.cli.comparison_display import show_comparison
from quaver.cli.completions import one_of_plugins, studies
from quaver.cli.console import print_command, print_json
from quaver.cli.study_options import FunctionOption, study_file
from quaver.errors import StoreError

_MOST_FLIPS = 20


def command(
    before: Annotated[
        Path,
        typer.Argument(help="A study or collection: its file, folder or bundle.", autocompletion=studies),
    ],
    after: Annotated[
        Path | None,
        typer.Argument(
            help="Another version of the same items; without it, one study's prompts are compared.",
            autocompletion=studies,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Compare the levels of this column in one study: model, variant, a factor."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="The level to compare the others with; by default the original or first."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="A measure; by default the studies' own. May be repeated.",
            autocompletion=one_of_plugins("measures"),
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if the whole interval is beyond this: 'accuracy < 0'.", metavar="BOUND"
        ),
    ] = None,
    fail_unless: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 unless the whole interval is: 'accuracy > -0.02'.", metavar="BOUND"),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(min=0, help="The largest loss that you take for none; by default 0.03: three points."),
    ] = None,
    anytime: Annotated[
        bool,
        typer.Option(
            "--anytime", help="Judge so that versions can be compared with this baseline at every commit."
        ),
    ] = False,
    looks: Annotated[
        int | None, typer.Option(min=1, help="With --anytime: how many comparisons you plan (100).")
    ] = None,
    confidence_level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    resamples: Annotated[int, typer.Option(min=100, help="Random draws, where a measure needs them.")] = 2000,
    flips: Annotated[int, typer.Option(min=0, help="How many flipped items to show.")] = _MOST_FLIPS,
    texts: Annotated[
        bool, typer.Option("--texts", help="Quote the texts of flipped items in the Markdown.")
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Write Markdown for a pull request's comment to this file.", metavar="FILE"),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.", metavar="FILE")] = None,
    annotations: Annotated[
        bool, typer.Option("--annotations", help="Also print annotations for GitHub Actions.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    function: FunctionOption = None,
) -> None:
    """Compare two studies, models or prompts on the same items.

    Differences are paired by item. Exits with 1 if a bound fails, so that it can guard a prompt in CI.
    Without a second study and --by, a study's prompts are compared with the original. Of two collections,
    each study is compared with the one of its name.

    Examples:
      quaver compare before.quaver.zip study.yaml
      quaver compare study.yaml
      quaver compare study.yaml --by model
      quaver compare old new --fail-unless 'accuracy > -0.02'
      quaver compare old new --anytime --fail-if 'accuracy < 0'
      quaver compare old new --fail-if 'accuracy < 0' --markdown comment.md
    """
    from quaver.comparison import junit_report
    from quaver.comparison import pull_request_comment as comment
    from quaver.comparison.difference_verdict import MARGIN
    from quaver.comparison.github_annotations import workflow_commands
    from quaver.comparison.kept_looks import PLANNED

    both = open_sides(before, after, function)
    found = both.compare(
        by=by,
        reference=reference,
        measures=measure,
        fail_if=fail_if or (),
        fail_unless=fail_unless or (),
        margin=MARGIN if margin is None else margin,
        confidence_level=confidence_level,
        resamples=resamples,
        looks=(looks or PLANNED) if anytime or looks else None,
    )
    if markdown is not None:
        shown = both.texts(set(found.flips["item"].head(flips))) if texts else None
        _write(markdown, comment.markdown(found, flips=flips, texts=shown))
    file = study_file(after or before)
    if junit is not None:
        _write(junit, junit_report.junit(found, file=file))
    if as_json:
        print_json(found.document())
    else:
        show_comparison(found, flips)
    for line in workflow_commands(found, file=file) if annotations else ():
        print_command(line)
    if not found.held:
        raise typer.Exit(1)


def _write(path: Path, text: str) -> None:
    """Write a file about a comparison.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None
