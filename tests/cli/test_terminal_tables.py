"""Estimates as tables on the terminal."""

from rich.console import Console

from quaver.cli.console import texts
from quaver.cli.terminal_tables import conclusion_tables, estimates_tables
from quaver.core.records import Estimate
from quaver.study.collection.study_status import StudyStatus


def test_the_unit_says_which_prompts_an_interval_holds_for() -> None:
    rows = [
        Estimate(
            "accuracy",
            0.66,
            0.58,
            0.73,
            n=100,
            unit="item and prompt",
            cell={"model": "m"},
            estimand="population",
            details={"prompts": 5},
        )
    ]
    screen = Console(width=80)
    with screen.capture() as shown:
        for one in estimates_tables(rows):
            screen.print(one)
    lines = shown.get().splitlines()
    assert lines[1].split() == ["value", "95%", "interval", "n", "unit"]
    assert lines[2].rstrip().endswith("item and prompt, for prompts like these 5")


def concluded(measure: str, **details: object) -> Estimate:
    cell = {"conclusion": "claim", "variant": "paraphrase=plain"}
    return Estimate(measure, 0.1, 0.05, 0.2, n=12, cell=cell, details={"effect": "x > 0", **details})


def test_a_conclusion_says_what_it_claims_and_of_which_labels() -> None:
    drawn = concluded("conclusion", verdict="holds")
    corrected = concluded("conclusion_corrected", verdict="holds", gold=1200, effective_gold=1234.5)
    counted = concluded("conclusion_holds", count=2)
    screen = Console(width=120)
    with screen.capture() as shown:
        for some in ([drawn, counted], [drawn, corrected]):
            screen.print(*conclusion_tables(some))
    lines = [line.rstrip() for line in shown.get().splitlines()]
    assert lines[:3] == [
        "claim",
        "claimed: x > 0, in these labels",
        "holds under 2 of 12 variants, 10% (5% to 20%)",
    ]
    assert "claimed: x > 0, in the true labels: 1,200 gold labels, as precise as 1,234 alone" in lines


def test_a_line_of_a_text_may_be_written_in_several() -> None:
    status = StudyStatus(5, 4, sent=7, received=6, discarded=1, discarded_tokens=30.0)
    lines = texts("status", REACHED={})("progress", status)
    assert lines[0] == "4 of 5 calls are answered."
    assert lines[1].startswith("7 requests were sent and 6 replies came; 1 became no answer and took 30 of")
    assert len(lines) == 2
