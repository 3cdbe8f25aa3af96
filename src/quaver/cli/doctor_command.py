"""``quaver doctor``: what an engine itself does to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quaver.cli.console import say, screen, table
from quaver.cli.study_options import FunctionOption, open_study
from quaver.core import registry
from quaver.core.model import Model, Steadied

if TYPE_CHECKING:
    from quaver.collect.run.model_answers import Noise


Mode = Literal["repeatable", "fast"]
"""The embedded engine's modes."""


def command(
    target: Annotated[str, typer.Argument(metavar="STUDY|MODEL")],
    prompts: Annotated[int, typer.Option(min=2)] = 6,
    mode: Mode = "repeatable",
    function: FunctionOption = None,
) -> None:
    """Show what the engine itself does to an answer.

    Asks the same calls cold, again, reordered and together, and shows what differs.

    Options:
      target: A study, a GGUF file, or a bundled model's name.
      prompts: Prompts to ask, each about eight times.
      mode: For a model, not a study.

    Examples:
      quaver doctor study.yaml
      quaver doctor smollm2-135m-instruct
    """
    path = Path(target)
    asked: dict[str, Model]
    if path.is_dir() or path.suffix in (".yaml", ".yml", ".zip"):
        from quaver.study.sources.study_file_source import asking

        study = open_study(path, function)
        found, asked = study.noise(prompts), dict(asking(study.source).models)
    else:
        from quaver.collect.run.model_answers import engine_noise, probes

        model = registry.load("models", "llamacpp")(model=target, mode=mode)
        found, asked = {target: engine_noise(model, probes(prompts))}, {target: model}
    rows = [(model, row.way, *_cells(row)) for model, ways in found.items() for row in ways]
    heads = (
        "model",
        "asked",
        "answers",
        "other text",
        "other top token",
        "same bits",
        "largest shift",
    )
    screen.print(table(heads, rows, "Compared with a cold engine, greedy:"))
    for name, ways in found.items():
        if how := _steadied_by(asked[name], ways):
            say(f"To have {name} give the same answer to the same call: {how}")


def _steadied_by(model: Model, ways: Sequence[Noise]) -> str:
    """What would make a model's answers the same, if they were not."""
    differ = any(row.other_text or row.identical not in (None, row.answers) for row in ways)
    return model.steadied_by() if differ and isinstance(model, Steadied) else ""


def _cells(row: Noise) -> tuple[object, ...]:
    unknown = "no log-probabilities"
    shift = unknown if row.largest is None else f"{row.largest:.4f}"
    tops = [unknown if value is None else value for value in (row.other_top, row.identical)]
    return (row.answers, row.other_text, *tops, shift)
