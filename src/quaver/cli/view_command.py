"""``quaver view``: every answer of a study in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say
from quaver.cli.study_options import HERE, FieldOption


def command(
    study: Annotated[list[Path] | None, typer.Argument()] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535)] = None,
    no_open: bool = False,
    at: str = "",
    field: FieldOption = None,
) -> None:
    """Look at every answer of a study in the browser.

    You can do so while the study runs. The server listens on this machine alone, and answers nobody who
    does not have its address. It changes no answer; Ctrl-C ends it. Where the task has several fields, each
    is shown as a study.

    Options:
      study: Study files, files that list studies, their folders, or bundles.
      port: Where to listen; a free port by default.
      no_open: Only print the address.
      at: The part of an address after #: what to show first.

    Examples:
      quaver view study.yaml
      quaver view study.yaml --field tone
      quaver view study.yaml other.quaver.zip --no-open
    """
    from quaver.study.sources.listed_studies import list_of_studies, studies_in
    from quaver.view import serving

    lists = {path: list_of_studies(path) for path in study or [HERE]}
    studies = [
        file for path, listed in lists.items() for file in (studies_in(listed).values() if listed else [path])
    ]

    def begun(address: str) -> None:
        shown = f"{address}#{at.removeprefix('#')}" if at else address
        say(f"Open {shown}")
        say("Ctrl-C ends it.", style="dim")
        if not no_open:
            webbrowser.open(shown)

    serving.serve(studies, port=port, field=field, begun=begun)
