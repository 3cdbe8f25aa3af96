"""Estimates as tables on the terminal."""

from rich.console import Console

from quaver.cli.terminal_tables import estimates_tables
from quaver.core.records import Estimand, Estimate

ESTIMANDS: tuple[Estimand, ...] = ("population", "next")


def test_the_unit_says_which_prompts_an_interval_holds_for() -> None:
    rows = [
        Estimate(
            "accuracy",
            0.66,
            0.58,
            0.73,
            n=100,
            unit="item and prompt",
            cell={"model": "m", "estimand": estimand},
            estimand=estimand,
            details={"prompts": 5},
        )
        for estimand in ESTIMANDS
    ]
    screen = Console(width=80)
    with screen.capture() as shown:
        for one in estimates_tables(rows):
            screen.print(one)
    lines = shown.get().splitlines()
    assert lines[1].split() == ["value", "95%", "interval", "n", "unit"]
    assert lines[2].rstrip().endswith("item and prompt, for prompts like these 5")
    assert lines[3].rstrip().endswith("item and prompt, for the next prompt")
