"""A command that is interrupted at any change of a file comes out as if it had run whole, when run again."""

import os

import pytest
from tests.interrupted import interruptions

pytestmark = pytest.mark.long

MOST = 10**6 if os.environ.get("QUAVER_CONFORMANCE") == "all" else int(os.environ.get("QUAVER_POINTS", "3"))
"""Changes at which a command is interrupted here; ``QUAVER_CONFORMANCE=all`` takes every one."""

PARTS = 1 if "QUAVER_POINTS" in os.environ else 4
"""Of three ways at three changes a day takes two or three, no two of a way nor of a change."""

SEED = os.environ.get("QUAVER_CONFORMANCE_SEED", "")
"""Draws them; without it they are spread evenly."""

OTHERS = ("Run", "Check", "Import", "Bundle", "Watch", "Marks", "Rescored", "Begun")
SCENARIOS = ["gold_fields", "labelled_table", *(f"other_commands:{name}" for name in OTHERS)]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_command_that_is_killed_or_refused_goes_on(scenario, tmp_path):
    found = interruptions(f"tests.interruptions.{scenario}", tmp_path, MOST, SEED, PARTS)
    assert found["wrong"] == {}
    assert found["changes"] > 5
    print(f"\n{scenario}: {found['points']} interruptions, {found['changes']} changes")
