"""Where hardly any item has another label than most, every agreement says so, whatever it is made of."""

import polars as pl
import pytest

from quaver.measures import expected_intra_pss, generalizability, intra_pss, missing_bounds

NAMES = ("expected_intra_pss", "generalizability_component", "intra_pss", "missing_bounds_alpha_least")


def labelled(few: int) -> pl.DataFrame:
    """Forty items, three repeats each; so many items are mostly ``b``, and a few answers have no label."""
    rows = [
        (item, repeat, "b" if item < few and repeat < 2 else None if item > 35 and repeat == 0 else "a")
        for item in range(40)
        for repeat in range(3)
    ]
    frame = pl.DataFrame(rows, schema=["item", "repeat", "label"], orient="row")
    sure = pl.when(pl.col("item") < few).then(0.2).otherwise(0.9)
    return frame.with_columns(probabilities=pl.concat_list(sure, 1 - sure))


def warned(few: int) -> dict[str, bool]:
    """Of each name, whether any of its estimates warns of the rare label."""
    measures = (expected_intra_pss, generalizability, intra_pss, missing_bounds)
    found = [one for measure in measures for one in measure(labelled(few))]
    return {
        name: any("rarest label" in why for one in found if one.measure == name for why in one.warnings)
        for name in NAMES
    }


@pytest.mark.parametrize(("few", "expected"), [(3, True), (12, False)])
def test_a_label_that_few_items_have_is_warned_of_everywhere(few, expected):
    assert warned(few) == dict.fromkeys(NAMES, expected)
