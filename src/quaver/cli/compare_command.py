"""``quaver compare``: what differs between two studies, or between the conditions of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quaver.cli import compare_options as options
from quaver.cli.compared_arguments import Collections, Studies, open_sides
from quaver.cli.comparison_display import show_comparison
from quaver.cli.console import print_command, print_json
from quaver.cli.study_options import FunctionOption, study_file
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison

_MOST_FLIPS = 20


def command(
    before: options.Before,
    after: options.After = None,
    by: options.By = None,
    reference: options.Reference = None,
    measure: options.Measures = None,
    fail_if: options.FailIf = None,
    fail_unless: options.FailUnless = None,
    margin: options.Margin = None,
    must_see: options.MustSee = None,
    anytime: options.Anytime = False,
    looks: options.PlannedLooks = None,
    in_rounds: options.InRounds = False,
    confidence_level: options.Level = 0.95,
    resamples: options.Resamples = 2000,
    flips: options.Flips = _MOST_FLIPS,
    texts: options.Texts = False,
    markdown: options.Markdown = None,
    junit: options.JUnit = None,
    annotations: options.Annotations = False,
    as_json: options.Json = False,
    function: FunctionOption = None,
) -> None:
    """Compare two studies, models or prompts on the same items.

    Differences are paired by item. Exits with 1 if a bound fails, so that it can guard a prompt in CI.
    Without a second study and --by, a study's prompts are compared with the original, and each of two
    collections' studies with the one of its name.

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
