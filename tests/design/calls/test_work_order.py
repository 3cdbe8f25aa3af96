"""A study dealt into shares: every call in one of them, and calls that share a prompt in the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies import resolved, written

from quaver.design.calls.call_plan import Plan
from quaver.design.calls.work_order import Dealt, Share

STUDY = """\
task: {labels: [yes, no]}
items: {source: items.csv, id: id, text: "{{ text }}"}
prompt: {instruction: Is it so?}
variants:
  - use: instructions
    texts: {a: Is this so?, b: Would you say so?, c: So?}
models: [{name: fake, use: function}]
repeats: 2
"""


@pytest.mark.parametrize(("items", "shares", "by_item"), [(100, 7, True), (5, 3, False), (3, 8, False)])
def test_every_call_is_in_one_share(tmp_path: Path, items: int, shares: int, by_item: bool) -> None:
    rows = "".join(f"{n},Text {n}.\n" for n in range(items))
    experiment = resolved(written(tmp_path, STUDY, f"id,text\n{rows}"))
    found: list[bytes] = []
    items_of: list[set[int]] = []
    sizes = []
    for number in range(1, shares + 1):
        dealt = Dealt(Share(shares, number), experiment, 1)
        plan = Plan(experiment, {"fake": "weights"}, has=dealt.has)
        calls = [call for request in plan.requests("fake") for call in request.calls]
        assert len(calls) == dealt.calls
        found += [call.key for call in calls]
        items_of.append({call.item for call in calls})
        sizes.append(len(calls))
    whole = [c.key for r in Plan(experiment, {"fake": "weights"}).requests("fake") for c in r.calls]
    assert sorted(found) == sorted(whole)
    unit = 2 * (len(experiment.variants) if by_item else 1)
    assert max(sizes) - min(sizes) <= unit
    assert (sum(map(len, items_of)) == items) is by_item


def test_amounts_add_up() -> None:
    assert sum(Share(7, number).amount(100) for number in range(1, 8)) == 100
