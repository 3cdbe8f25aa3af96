"""The alternative annotator test, against its definition written out a second time."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures.validity.alternative_annotator import alternative_annotator

CODERS = ["ana", "ben", "cleo", "dan"]


def frame(seed=0, items=120, *, model=0.8, people=0.8, gaps=0.1):
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, items)

    def labelled(right, gone):
        said = np.where(draw.random(items) < right, truth, draw.integers(0, 3, items))
        return [None if draw.random() < gone else "abc"[one] for one in said]

    columns = {"item": list(range(items)), "label": labelled(model, 0.05)}
    columns |= {name: labelled(people, gaps) for name in CODERS}
    return pl.DataFrame(columns)


def by_definition(rows, coder, epsilon):
    """Advantage of the model and of a coder, and the p value."""
    model, person = [], []
    for row in rows.iter_rows(named=True):
        others = [row[name] for name in CODERS if name != coder and row[name] is not None]
        if row[coder] is None or not others:
            continue
        of_model = sum(one == row["label"] for one in others) / len(others)
        of_coder = sum(one == row[coder] for one in others) / len(others)
        model.append(float(of_model >= of_coder))
        person.append(float(of_coder >= of_model))
    apart = np.array(person) - np.array(model)
    return (
        float(np.mean(model)),
        float(np.mean(person)),
        float(stats.ttest_1samp(apart, epsilon, alternative="less").pvalue),
    )


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_it_is_as_it_is_defined(seed, epsilon):
    rows = frame(seed)
    found = {
        (e.measure, e.cell["coder"]): e for e in alternative_annotator(rows, coders=CODERS, epsilon=epsilon)
    }
    wanted = {name: by_definition(rows, name, epsilon) for name in CODERS}
    adjusted = stats.false_discovery_control([p for *_, p in wanted.values()], method="by")
    for (name, (model, person, _)), p in zip(wanted.items(), adjusted, strict=True):
        one = found["alternative_annotator", name]
        assert one.value == pytest.approx(model)
        assert one.details["coder_advantage"] == pytest.approx(person)
        assert one.details["p"] == pytest.approx(p)
        assert one.low < one.value < one.high
    won = found["alternative_annotator_won", "all"]
    assert won.value == pytest.approx(np.mean(adjusted <= 0.05))
    assert won.details["passes"] is bool(won.value >= 0.5)
    mean = found["alternative_annotator", "all"]
    assert mean.value == pytest.approx(np.mean([model for model, *_ in wanted.values()]))


def test_prompts_vote_and_an_answer_without_a_label_agrees_with_nobody():
    rows = pl.DataFrame(
        {
            "item": [item for item in range(60) for _ in range(3)],
            "repeat": [0, 1, 2] * 60,
            "label": ["a", "a", "b", None, None, None] * 30,
            **dict.fromkeys(CODERS[:3], ["a"] * 180),
        }
    )
    whole = alternative_annotator(rows, coders=CODERS[:3])
    assert whole[0].value == 0.5
    assert whole[0].excluded == {"item without a label of the model": 30}
    dropped = alternative_annotator(rows, coders=CODERS[:3], missing="drop")
    assert (dropped[0].value, dropped[0].n) == (1.0, 30)


def test_numbers_are_compared_by_their_distance():
    labels = LabelSet(tuple(Label(str(n), str(n)) for n in range(1, 6)), "interval")
    rows = pl.DataFrame(
        {
            "item": range(60),
            "label": ["3", "1"] * 30,
            "ana": ["5", "1"] * 30,
            "ben": ["2", "1"] * 30,
            "cleo": ["2", "2"] * 30,
        }
    )
    found = {
        e.cell["coder"]: e
        for e in alternative_annotator(rows, labels=labels, coders=CODERS[:3])
        if e.measure == "alternative_annotator"
    }
    assert found["ana"].value == 1.0  # 3 is nearer to 2 and 2 than 5 is; both say 1
    assert found["ben"].details["coder_advantage"] == 0.5  # of 5 and 2, 3 is nearer on the whole than 2


def test_groups_are_the_units_of_the_test():
    rows = frame(4, 60)
    thrice = pl.concat(
        [
            rows.with_columns(item=pl.col("item") + 1000 * n, group=pl.col("item").cast(pl.String))
            for n in range(3)
        ]
    )
    alone = [e.details["p"] for e in alternative_annotator(rows, coders=CODERS, resamples=0)[:4]]
    grouped = [
        e.details["p"] for e in alternative_annotator(thrice, coders=CODERS, group="group", resamples=0)[:4]
    ]
    assert grouped == pytest.approx(alone)


@pytest.mark.parametrize("coders", [["ana"], ["ana", "ben"]])
def test_it_takes_three_coders(coders):
    assert {e.reason for e in alternative_annotator(frame(), coders=coders)} == {"fewer than three coders"}


def test_coders_who_share_no_item():
    rows = pl.DataFrame(
        {
            "item": range(90),
            "label": ["a"] * 90,
            "ana": ["a", None, None] * 30,
            "ben": [None, "a", None] * 30,
            "cleo": [None, None, "a"] * 30,
        }
    )
    assert all(e.value is None for e in alternative_annotator(rows, coders=CODERS[:3]))
    with pytest.raises(MeasureError):
        alternative_annotator(rows, coders=CODERS[:3], epsilon=2.0)


@pytest.mark.parametrize(("items", "tested"), [(29, CODERS[:3]), (30, CODERS)])
def test_a_coder_with_fewer_than_thirty_items_is_not_left_out_in_turn(items, tested):
    rows = frame(5, gaps=0.0).with_columns(dan=pl.when(pl.col("item") < items).then("dan"))
    found = alternative_annotator(rows, coders=CODERS, resamples=0)
    each = {
        e.cell["coder"]: e for e in found if e.measure == "alternative_annotator" and e.cell["coder"] != "all"
    }
    assert [name for name in CODERS if each[name].value is not None] == tested
    assert found[-1].details["coders"] == len(tested)
    # Dan's labels still count where another is left out.
    assert each["ana"].value == pytest.approx(by_definition(rows, "ana", 0.2)[0])
    assert tested == CODERS or "29 items" in each["dan"].reason
