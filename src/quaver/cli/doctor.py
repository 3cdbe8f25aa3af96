"""``quaver doctor``: what the engine itself does to an answer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaver import registry
from quaver.cli.screen import FunctionOption, open_study, screen, table

if TYPE_CHECKING:
    from quaver.collect.noise import Noise


class Setting(StrEnum):
    """The embedded engine's settings."""

    repeatable = "repeatable"
    fast = "fast"


def command(
    target: Annotated[
        str, typer.Argument(help="A study, a GGUF file, or a bundled model's name.", metavar="STUDY|MODEL")
    ],
    prompts: Annotated[int, typer.Option(min=2, help="Prompts to ask, about eight times each.")] = 6,
    setting: Annotated[Setting, typer.Option(help="For a model, not a study.")] = Setting.repeatable,
    function: FunctionOption = None,
) -> None:
    """Ask the same calls cold, again, reordered and together, and say what differs."""
    path = Path(target)
    if path.is_dir() or path.suffix in (".yaml", ".yml", ".zip"):
        found = open_study(path, function).noise(prompts)
    else:
        from quaver.collect.noise import engine_noise, probes

        model = registry.load("models", "llamacpp")(model=target, setting=setting.value)
        found = {target: engine_noise(model, probes(prompts))}
    rows = [(model, row.way, *_cells(row)) for model, ways in found.items() for row in ways]
    heads = ("model", "asked", "answers", "other text", "other likeliest token", "same bits", "largest shift")
    screen.print(table(heads, rows, "Against a cold engine, greedily:"))


def _cells(row: Noise) -> tuple[object, ...]:
    unknown = "no log-probabilities"
    shift = unknown if row.largest is None else f"{row.largest:.4f}"
    tops = [unknown if value is None else value for value in (row.other_top, row.identical)]
    return (row.answers, row.other_text, *tops, shift)
