"""``quaver watch``: ask a part of a study again, and say whether the model has changed."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.console import JsonOption, print_json, say
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study
from quaver.errors import QuaverError

if TYPE_CHECKING:
    from quaver.watch.occasions import CanaryOptions

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def command(
    study: StudyArgument = HERE,
    prompts: Annotated[int | None, typer.Option(min=1)] = None,
    parts: Annotated[int | None, typer.Option(min=1)] = None,
    first: Annotated[int | None, typer.Option(min=2)] = None,
    whole: bool = False,
    every: str = "",
    looks: Annotated[int | None, typer.Option(min=1)] = None,
    renew: bool = False,
    as_json: JsonOption = False,
    function: FunctionOption = None,
) -> None:
    """Notice when the model behind a name has changed.

    Asks some of the study's prompts again. The first look locks them, and later looks are compared with it.
    Exits with 1 at an alarm.

    Options:
      prompts: Prompts of a look (20).
      parts: Looks that it takes to ask every prompt of the canary (10).
      first: How often each prompt is asked on the first occasion (6).
      whole: Ask for whole answers, not for one token.
      every: Look again and again, this long apart: 30m, 2h, 1d. Ends at an alarm.
      looks: With --every: how many looks.
      renew: Begin a new watch; the old one stays beside it.

    Examples:
      quaver watch study.yaml
      quaver watch study.yaml --every 2h
      quaver watch study.yaml --json > message.json
    """
    from quaver.watch.watching import watch

    pause = _seconds(every) if every else 0.0
    options = _options(prompts, parts, first, whole=whole)
    taken = 0
    while True:
        found = watch(open_study(study, function), options, renew=renew and not taken)
        taken += 1
        if as_json:
            print_json(found.document())
        else:
            say(found.text)
        if found.alarms:
            raise typer.Exit(1)
        if not every or taken == looks:
            return
        time.sleep(pause)


def _options(
    prompts: int | None, parts: int | None, first: int | None, *, whole: bool
) -> CanaryOptions | None:
    """How a canary is asked, as the options say; None where they say nothing."""
    from quaver.watch.occasions import FIRST, PARTS, PROMPTS, CanaryOptions

    if prompts is parts is first is None and not whole:
        return None
    return CanaryOptions(prompts or PROMPTS, parts or PARTS, first or FIRST, whole=whole)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", text.strip())
    if match is None:
        raise QuaverError("not a length of time", where="--every", expected="30m, 2h or 1d", found=text)
    return float(match[1]) * _UNITS[match[2]]
