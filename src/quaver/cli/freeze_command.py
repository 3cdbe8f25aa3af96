"""``quaver freeze``: write the design down before the results are known."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.console import JsonOption, print_json, say, screen, table
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(
    study: StudyArgument = HERE,
    rule: str | None = None,
    because: Annotated[str, typer.Option(metavar="REASON")] = "",
    as_json: JsonOption = False,
    function: FunctionOption = None,
) -> None:
    """Write the design down before the results are known.

    Keeps items, prompts, models, conclusions and decision rule with their hashes in frozen.json. The report
    then says what is as frozen and what was changed. Run it again to see that now.

    Options:
      rule: How you will decide, in words; with conclusions, Quaver's own rule.
      because: Why you freeze a study again that has changed since.

    Examples:
      quaver freeze study.yaml
      quaver freeze study.yaml --rule "Publish if the claim holds."
      quaver freeze study.yaml --because "A misspelt prompt."
    """
    from quaver.study.freezing import freeze  # loads the study's parts

    frozen = freeze(open_study(study, function), rule=rule, because=because)
    if as_json:
        print_json(frozen.document() | {"digest": frozen.digest})
        return
    say(frozen.headline)
    rows = [(row["part"], f"{row['size']:,}", row["state"], row["what"]) for row in frozen.rows()]
    screen.print(table(("part", "how many", "state", "what changed"), rows))
    say(f"Decision rule: {frozen.rule}")
    for line in frozen.broken:
        say(f"Warning: {line}")
    say(f"SHA-256 {frozen.digest}")
    say("Publish this digest now (in a preregistration, a commit, a letter): it proves the date to others.")
