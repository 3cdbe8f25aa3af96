"""``quaver view``: every answer of a study in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.completions import studies
from quaver.cli.console import say
from quaver.cli.study_options import HERE


def command(
    study: Annotated[
        list[Path] | None,
        typer.Argument(help="Study files, their folders, or bundles.", autocompletion=studies),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Where to listen; a free port by default.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address.")] = False,
    at: Annotated[str, typer.Option(help="The part of an address after #: what to show first.")] = "",
) -> None:
    """Look at every answer of a study in the browser.

    You can do so while the study runs. The server listens on this machine alone, and answers nobody who
    does not have its address. It changes no answer; Ctrl-C ends it.

    Examples:
      quaver view study.yaml
      quaver view study.yaml other.quaver.zip --no-open
    """
    from quaver.view.serving import serve

    def begun(address: str) -> None:
        shown = f"{address}#{at.removeprefix('#')}" if at else address
        say(f"Open {shown}")
        say("Ctrl-C ends it.", style="dim")
        if not no_open:
            webbrowser.open(shown)

    serve(study or [HERE], port=port, begun=begun)
