"""``quaver gold``: items drawn by design for people to label, their sheets, and their labels taken back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typing_extensions import Unpack

from quaver.cli.console import JsonOption, print_json, say, screen
from quaver.cli.label_file_options import with_options
from quaver.cli.study_options import HERE, FieldOption, FunctionOption, StudyArgument, open_study
from quaver.errors import QuaverError
from quaver.study.gold_sample.gold_options import GoldOptions

if TYPE_CHECKING:
    from quaver.study.gold_sample.gold_plan import GoldRound
    from quaver.study.gold_sample.study_gold import StudyGold


@with_options(GoldOptions)
def command(
    study: StudyArgument = HERE,
    *,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT")] = "xlsx",
    forecast: bool = False,
    sheets: bool = False,
    take: list[Path] | None = None,
    known: bool = False,
    coder: str | None = None,
    apart: str | None = None,
    replace: bool = False,
    adjudicate: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    rule: str | None = None,
    as_json: JsonOption = False,
    field: FieldOption = None,
    function: FunctionOption = None,
    **options: Unpack[GoldOptions],
) -> None:
    """Draw items for people to label, and take their labels back.

    Each item's probability of being drawn is known and recorded, so that estimates can be corrected with the
    labels. Sheets never show a model's label. Without a size or a file, says where the sample stands.

    Options:
      form: The sheets: xlsx or csv.
      forecast: Only say what the sample would take and bring.
      sheets: Write sheets anew, of what is not labelled yet.
      take: Take back a file of labels.
      known: Take the gold labels that the drawn items came with.
      coder: Who labelled, where the file does not say.
      apart: Why these items were chosen, if not by the design; they are kept apart.
      replace: Let labels kept apart take the place of the gold labels that the items came with.
      adjudicate: Who decides where coders disagree; writes their sheet.
      rule: majority: the label of more than half of the coders holds; or adjudicator.

    Examples:
      quaver gold study.yaml --n 200 --forecast
      quaver gold study.yaml --n 200 --coders ada,ben
      quaver gold study.yaml --n 200 --format csv
      quaver gold study.yaml --take gold/round-1-ada.xlsx
      quaver gold study.yaml --adjudicate carla
      quaver gold study.yaml --n 300
      quaver gold study.yaml --take hard.csv --apart "hardest items"
    """
    gold = open_study(study, function, field=field).gold
    draws = forecast or any(value is not None for value in options.values())
    settles = adjudicate is not None or rule is not None
    _check_one(draws, sheets, bool(take), known, settles)
    files: list[Path] = []
    found: GoldRound | None = None
    if forecast:
        found = gold.forecast(**options)
    elif draws:
        made = gold.draw(**options, form=form)  # type: ignore[arg-type]
        found, files = made, list(made.files)
        if made.known and not as_json:
            say(
                f"Your table has true labels of {made.known:,} of the {made.drawn:,} drawn items: they count."
            )
    elif sheets:
        files = gold.sheets(form)  # type: ignore[arg-type]
    elif settles:
        files = gold.adjudicate(adjudicate, rule=rule, form=form)  # type: ignore[arg-type]
    if known:
        gold.take_known()
    left_out = False
    for path in take or ():
        taken = gold.take(path, coder=coder, apart=apart, replace=replace)
        left_out |= bool(taken.left_out)
        if not as_json:
            say(f"{path}: {taken}")
    if left_out and not as_json:
        say("With --replace, these labels count in the place of those that the items came with.")
    _report(gold, found, files, as_json=as_json)
    if files and not as_json:
        is_sheet = len(files) == 1 and form == "xlsx"  # other forms have a list of codes beside
        words = ["quaver", "gold", str(study), "--take", str(files[0]) if is_sheet else "FILE"]
        words += ["--field", field] if field else []
        for one in function or ():
            words += ["--function", one]
        say(f"Next: once it is filled in, {shlex.join(words)}")


def _check_one(*asked: bool) -> None:
    if sum(asked) > 1:
        raise QuaverError(
            "this asks for several things at once",
            where="quaver gold",
            expected="a size, --sheets, --take, --known, or --adjudicate and --rule",
            found="more than one of them",
            fix="run the command once for each",
        )


def _report(gold: StudyGold, found: GoldRound | None, files: list[Path], *, as_json: bool) -> None:
    """Say what was done, and where the sample stands."""
    status = gold.status()
    if as_json:
        forecast = found.rows()[0] if found else None
        names = [str(path) for path in files]
        print_json(status.document() | {"forecast": forecast, "files": names})
        return
    if found is not None:
        say(str(found))
    for path in files:
        say(f"Wrote {path}")
    if found is None or files:
        screen.print(str(status))
