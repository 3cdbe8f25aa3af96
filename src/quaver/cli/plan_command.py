"""``quaver plan``: what a study will take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaver.cli.console import printer, say_study, screen, table
from quaver.cli.run_display import say_making
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, studies_of
from quaver.core.number_format import duration

if TYPE_CHECKING:
    from quaver.study.forecasts.forecast import Forecast
    from quaver.study.session import Study

_HEADS = (
    "model",
    "calls",
    "prompts",
    "prompt tokens",
    "read once",
    "answers, at most",
    "time left",
    "cost left",
)


def command(
    study: StudyArgument = HERE,
    pilot: int = 0,
    small: bool = False,
    function: FunctionOption = None,
) -> None:
    """Estimate calls, tokens, time and cost.

    Asks nothing, except with --pilot. Paraphrases that a model has yet to make count as long as the
    original.

    Options:
      pilot: First ask this many requests, spread over the study, to measure time and tokens.
      small: Plan the small version that the study file describes.

    Examples:
      quaver plan study.yaml
      quaver plan study.yaml --pilot 20
    """
    for name, opened in studies_of(study, function, small=small).items():
        say_study(name)
        if pilot:
            opened.variants.make(watch=say_making)
        _show_plan(opened, pilot)


def _show_plan(study: Study, pilot: int) -> None:
    plan, tell = study.plan(pilot=pilot), printer("plan")
    tell("head", plan)
    _show_models(plan)
    tell("batches", plan)
    tell("notes", plan)
    tell("doubts", plan)


def _show_models(plan: Forecast) -> None:
    rows = [
        (
            model.model,
            model.calls,
            model.prompts,
            model.prompt_tokens,
            model.new_tokens,
            model.answer_tokens,
            "done" if model.stored == model.calls else duration(model.seconds),
            "unknown" if model.cost is None else str(model.cost),
        )
        for model in plan.models
    ]
    screen.print(table(_HEADS, rows))
