"""``quaver compare``: what differs between two studies, or between the conditions of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.compared_arguments import Collections, Studies, open_sides
from quaver.cli.comparison_display import show_comparison
from quaver.cli.console import JsonOption, print_command, print_json
from quaver.cli.study_options import FunctionOption, one_of_plugins, studies, study_file
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison

_MOST_FLIPS = 20


def command(
    before: Annotated[Path, typer.Argument(autocompletion=studies)],
    after: Annotated[Path | None, typer.Argument(autocompletion=studies)] = None,
    by: str | None = None,
    reference: str | None = None,
    measure: Annotated[list[str] | None, typer.Option(autocompletion=one_of_plugins("measures"))] = None,
    fail_if: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    fail_unless: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    margin: Annotated[float | None, typer.Option(min=0)] = None,
    must_see: Annotated[float | None, typer.Option(min=0)] = None,
    anytime: bool = False,
    looks: Annotated[int | None, typer.Option(min=1)] = None,
    in_rounds: bool = False,
    confidence_level: float = 0.95,
    resamples: Annotated[int, typer.Option(min=100)] = 2000,
    flips: Annotated[int, typer.Option(min=0)] = _MOST_FLIPS,
    texts: bool = False,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    annotations: bool = False,
    as_json: JsonOption = False,
    function: FunctionOption = None,
) -> None:
    """Compare two studies, models or prompts on the same items.

    Differences are paired by item. Exits with 1 if a bound fails, so that it can guard a prompt in CI.
    Without a second study and --by, a study's prompts are compared with the original, and each of two
    collections' studies with the one of its name.

    Options:
      before: A study or collection: its file, folder or bundle.
      after: Another version of the same items; without it, one study's prompts are compared.
      by: Compare the levels of this column in one study: model, variant, a factor.
      reference: The level to compare the others with; by default the original or first.
      measure: A measure; by default the studies' own. May be repeated.
      fail_if: Exit with 1 if the whole interval is beyond this: 'accuracy < 0'; loss: if any users
        lose.
      fail_unless: Exit with 1 unless the whole interval is: 'accuracy > -0.02'.
      margin: The largest loss that you take for none; by default 0.03: three points.
      must_see: Exit with 1, too, if a loss of this size could have gone unseen: 0.05.
      anytime: Judge so that versions can be compared with this baseline at every commit.
      looks: With --anytime: how many comparisons you plan (100).
      in_rounds: Ask the second study, and no more once the verdict is clear.
      confidence_level: Level of the intervals.
      resamples: Random draws, where a measure needs them.
      flips: How many flipped items to show.
      texts: Quote the texts of flipped items in the Markdown.
      markdown: Write Markdown for a pull request's comment to this file.
      junit: Write JUnit XML to this file.
      annotations: Also print annotations for GitHub Actions.

    Examples:
      quaver compare before.quaver.zip study.yaml
      quaver compare study.yaml --by model
      quaver compare old new --in-rounds --fail-unless 'accuracy > -0.03'
      quaver compare old new --anytime --fail-if loss --junit x.xml
    """
    from quaver.comparison.difference_verdict import MARGIN
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
        in_rounds=in_rounds,
        must_see=must_see,
    )
    _write(markdown, lambda: _comment(found, flips, both if texts else None))
    _write(junit, lambda: _junit(found, study_file(after or before)))
    if as_json:
        print_json(found.document())
    else:
        show_comparison(found, flips)
    if annotations:
        _annotate(found, study_file(after or before))
    if not found.held:
        raise typer.Exit(1)


def _comment(found: Comparison, flips: int, quoted: Studies | Collections | None) -> str:
    """Markdown for a pull request, with the texts of flipped items, where they may be quoted."""
    from quaver.comparison.pull_request_comment import markdown

    texts = None if quoted is None else quoted.texts(set(found.flips["item"].head(flips)))
    return markdown(found, flips=flips, texts=texts)


def _junit(found: Comparison, file: str) -> str:
    from quaver.comparison.pull_request_comment import junit

    return junit(found, file=file)


def _annotate(found: Comparison, file: str) -> None:
    from quaver.comparison.pull_request_comment import workflow_commands

    for line in workflow_commands(found, file=file):
        print_command(line)


def _write(path: Path | None, text: Callable[[], str]) -> None:
    """Write a file about a comparison, if one is asked for."""
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None
