"""What another host changes is told from chance, and from the prompts that it happened to answer."""

import numpy as np
import polars as pl
import pytest

from quaver.measures import served_flips

ITEMS, PROMPTS = 40, 6


def answers(seed, other, noise=0.1, repeats=1, by_prompt=False):
    """Labels of two hosts; the second gives another label than the first to a share of the items.

    With ``by_prompt`` the second half of the prompts, which ask something else, is mostly its.
    """
    rng = np.random.default_rng(seed)
    item, prompt, repeat = (one.ravel() for one in np.indices((ITEMS, PROMPTS, repeats)))
    second = rng.random(item.size) < np.where(
        by_prompt & (prompt >= PROMPTS // 2), 0.8, 0.2 if by_prompt else 0.5
    )
    truth = rng.integers(0, 2, ITEMS)
    moved = rng.random(ITEMS) < other
    turned = rng.random(ITEMS) < 0.4
    label = truth[item] ^ (second & moved[item]) ^ (by_prompt & (prompt >= PROMPTS // 2) & turned[item])
    label ^= rng.random(item.size) < noise
    named = {"item": item, "variant": prompt, "repeat": repeat, "label": label}
    columns = {name: pl.Series(values).cast(pl.String) for name, values in named.items()}
    return pl.DataFrame(columns | {"served_host": np.where(second, "Together", "DeepInfra")})


@pytest.mark.parametrize("repeats", [1, 4])
def test_what_a_host_changes(repeats):
    (found,) = served_flips(answers(1, 0.5, noise=0.0, repeats=repeats))
    share = found.value
    assert found.low > 0.2
    assert 0.35 < share < 0.65  # half of the items
    assert found.details["sources"] == 2
    assert found.details["explained"] == pytest.approx(1, abs=0.01)  # nothing else changes a label


@pytest.mark.parametrize("by_prompt", [False, True])
def test_a_host_that_changes_nothing_seldom_seems_to(by_prompt):
    found = [served_flips(answers(seed, 0.0, by_prompt=by_prompt))[0] for seed in range(60)]
    assert np.mean([one.value for one in found]) == pytest.approx(0, abs=0.02)
    assert sum(not one.low <= 0 <= one.high for one in found) <= 9  # 3 expected


def test_one_host_is_no_comparison():
    frame = answers(1, 0.5).with_columns(served_host=pl.lit("Together"))
    assert served_flips(frame)[0].reason == "one host answered"
    assert served_flips(frame.drop("served_host"))[0].reason == "no host is known"
    apart = frame.with_columns(served_host=pl.col("item"))
    assert served_flips(apart)[0].reason == "no two answers to compare within one and between two"
