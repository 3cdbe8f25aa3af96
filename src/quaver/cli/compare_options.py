"""The arguments and options of ``quaver compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.study_options import one_of_plugins, studies

Before = Annotated[
    Path, typer.Argument(help="A study or collection: its file, folder or bundle.", autocompletion=studies)
]
After = Annotated[
    Path | None,
    typer.Argument(
        help="Another version of the same items; without it, one study's prompts are compared.",
        autocompletion=studies,
    ),
]
By = Annotated[
    str | None,
    typer.Option(help="Compare the levels of this column in one study: model, variant, a factor."),
]
Reference = Annotated[
    str | None, typer.Option(help="The level to compare the others with; by default the original or first.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        help="A measure; by default the studies' own. May be repeated.",
        autocompletion=one_of_plugins("measures"),
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        help="Exit with 1 if the whole interval is beyond this: 'accuracy < 0'; loss: if any users lose.",
        metavar="BOUND",
    ),
]
FailUnless = Annotated[
    list[str] | None,
    typer.Option(help="Exit with 1 unless the whole interval is: 'accuracy > -0.02'.", metavar="BOUND"),
]
Margin = Annotated[
    float | None,
    typer.Option(min=0, help="The largest loss that you take for none; by default 0.03: three points."),
]
MustSee = Annotated[
    float | None,
    typer.Option(min=0, help="Exit with 1, too, if a loss of this size could have gone unseen: 0.05."),
]
Anytime = Annotated[
    bool,
    typer.Option(
        "--anytime", help="Judge so that versions can be compared with this baseline at every commit."
    ),
]
PlannedLooks = Annotated[
    int | None, typer.Option(min=1, help="With --anytime: how many comparisons you plan (100).")
]
InRounds = Annotated[
    bool,
    typer.Option("--in-rounds", help="Ask the second study, and no more once the verdict is clear."),
]
Level = Annotated[float, typer.Option(help="Level of the intervals.")]
Resamples = Annotated[int, typer.Option(min=100, help="Random draws, where a measure needs them.")]
Flips = Annotated[int, typer.Option(min=0, help="How many flipped items to show.")]
Texts = Annotated[bool, typer.Option("--texts", help="Quote the texts of flipped items in the Markdown.")]
Markdown = Annotated[
    Path | None,
    typer.Option(help="Write Markdown for a pull request's comment to this file.", metavar="FILE"),
]
JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.", metavar="FILE")]
Annotations = Annotated[
    bool, typer.Option("--annotations", help="Also print annotations for GitHub Actions.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]
