"""``quaver start``: from a spreadsheet to trusted labels, in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say


def command(
    folder: Annotated[Path, typer.Argument()] = Path(),
    port: Annotated[int | None, typer.Option(min=1, max=65535)] = None,
    no_open: bool = False,
) -> None:
    """Go from a spreadsheet to trusted labels in the browser.

    Seven pages lead there; each shows the command that does the same. Everything is kept in the folder, one
    folder a study, and the pages go on where you left them. The server listens on this machine alone, and
    answers nobody who does not have its address; Ctrl-C ends it.

    Options:
      folder: Where your tables and studies are; the present folder by default.
      port: Where to listen; a free port by default.
      no_open: Only print the address.

    Examples:
      quaver start
      quaver start ~/tweets --no-open
    """
    from quaver.start import start_server

    def begun(address: str) -> None:
        say(f"Open {address}")
        say("Ctrl-C ends it.", style="dim")
        if not no_open:
            webbrowser.open(address)

    start_server.serve(folder, port=port, begun=begun)
