"""``quaver plan``: what a study will take."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, duration, open_study, screen, table

_SHOWN = 40
"""Levels of factors that are listed."""


def command(
    study: StudyArgument = HERE,
    pilot: Annotated[int, typer.Option(help="Ask this many requests first, to measure the time.")] = 0,
    function: FunctionOption = None,
) -> None:
    """Say what a study will take: calls, tokens, time, cost. Asks nothing, unless --pilot does."""
    plan = open_study(study, function).plan(pilot=pilot)
    screen.print(
        f"{plan.items:,} items × {plan.variants:,} variants × {plan.decodings:,} decodings: "
        f"{plan.calls:,} calls, {plan.stored:,} of them answered.",
        highlight=False,
    )
    rows = [
        (
            model.model,
            model.calls,
            model.prompts,
            model.prompt_tokens,
            model.new_tokens,
            model.answer_tokens,
            "done" if model.stored == model.calls else duration(model.seconds),
            "unknown" if model.cost is None else f"${model.cost:.2f}",
        )
        for model in plan.models
    ]
    heads = (
        "model",
        "calls",
        "prompts",
        "prompt tokens",
        "read once",
        "answers, at most",
        "time left",
        "cost",
    )
    screen.print(table(heads, rows))
    if plan.parts:
        shown = [(p.factor, p.level, p.calls, p.prompt_tokens, p.answer_tokens) for p in plan.parts[:_SHOWN]]
        screen.print(table(("factor", "level", "calls", "prompt tokens", "answers, at most"), shown))
        if len(plan.parts) > _SHOWN:
            screen.print(f"… and {len(plan.parts) - _SHOWN:,} levels more.", highlight=False)
    for note in plan.notes:
        screen.print(note, highlight=False, markup=False)
    if not all(model.counted for model in plan.models):
        screen.print("Tokens are reckoned at four characters each where a model cannot count them.")
    if plan.seconds is None:
        screen.print("The time is known once some calls are answered: try --pilot 20.", highlight=False)
