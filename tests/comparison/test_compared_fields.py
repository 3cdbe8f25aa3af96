"""Comparing one field of two studies: numbers, sets of labels, and what a guard says of them."""

import json

from quaver import Study
from quaver.comparison.paired_comparison import compare

_TOPICS = ("tax", "war", "health")
_GOLD = [at * 1.5 for at in range(60)]


def _rows():
    return [
        {"id": f"i{at:02}", "text": f"Text {at}", "amount": str(_GOLD[at]), "topics": _TOPICS[at % 3]}
        for at in range(60)
    ]


def _said(name, topics=_TOPICS):
    """A study file with a field of numbers and one of sets."""
    fields = {
        "amount": {"level": "ratio", "gold": "amount", "definition": "How many euros."},
        "topics": {"labels": list(topics), "several": True, "gold": "topics"},
    }
    return {
        "name": name,
        "task": {"held": False, "fields": fields},
        "items": {"source": _rows(), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Code this text."},
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy", "compliance"],
    }


def field_study(folder, field, value, *, topics=_TOPICS, asked=None, run=True):
    """One field of a study whose model gives it these values."""
    other = {"amount": 0, "topics": []}

    def answer(text, prompt):
        at = int(text.split()[-1])
        if asked is not None:
            asked.append(at)
        return json.dumps(other | {field: value(at)})

    said = _said(folder.name, topics)
    if run:
        Study.open(said, folder=folder, functions={"m": answer}).run()
    return Study.open(said, folder=folder, functions={"m": answer}, field=field)


def _found(comparison, measure):
    (one,) = [one for one in comparison.differences if one.measure == measure]
    return round(one.details["before"], 9), round(one.details["after"], 9)


def test_numbers_that_one_side_gives_are_numbers_of_both(tmp_path):
    before = field_study(tmp_path / "before", "amount", lambda at: _GOLD[at] + 10)
    after = field_study(tmp_path / "after", "amount", lambda at: _GOLD[at] + 0.25)
    found = compare(before, after, resamples=200)
    assert found.left_out == ()
    assert _found(found, "compliance") == (1.0, 1.0)
    assert _found(found, "accuracy") == (0.0, 0.0)
    assert _found(found, "accuracy_mean_error") == (10.0, 0.25)
    assert _found(found, "accuracy_bias") == (10.0, 0.25)
    assert not [one for one in found.losses if "label" in one.estimate.cell]  # a number is no class
    assert {kind.estimate.measure for kind in found.losses} == {
        "accuracy",
        "accuracy_mean_error",
        "compliance",
    }


def test_sets_that_one_side_gives_are_sets_of_both(tmp_path):
    right = field_study(tmp_path / "right", "topics", lambda at: [_TOPICS[at % 3]])
    many = field_study(
        tmp_path / "many", "topics", lambda at: ["war", "tax"] if at % 3 == 0 else [_TOPICS[at % 3]]
    )
    found = compare(right, many, resamples=200, fail_if=["loss"])
    assert found.left_out == ()
    assert _found(found, "compliance") == (1.0, 1.0)
    assert _found(found, "accuracy") == (1.0, 0.666666667)
    assert _found(found, "accuracy_hamming") == (0.0, 0.111111111)  # a third of sets, one label of three
    gone = {verdict.estimate.cell.get("label") for verdict in found.losses if verdict.is_lost}
    assert "tax" not in gone  # it is answered still, never alone
    assert not found.held
    back = compare(many, right, resamples=200, fail_if=["loss"])
    assert back.held  # fewer labels that differ from the gold set are no loss


def test_a_label_that_no_set_has_any_more_is_lost(tmp_path):
    before = field_study(tmp_path / "before", "topics", lambda at: ["tax", _TOPICS[at % 2 + 1]])
    after = field_study(tmp_path / "after", "topics", lambda at: [_TOPICS[at % 2 + 1]])
    lost = [one.estimate.cell["label"] for one in compare(before, after, resamples=200).losses if one.of_part]
    assert "tax" in lost
    assert compare(before, after, resamples=200).losses[0].is_lost


def test_sets_are_the_same_whatever_the_order_of_a_study_s_labels(tmp_path):
    before = field_study(tmp_path / "before", "topics", lambda at: ["war", "tax"])
    after = field_study(tmp_path / "after", "topics", lambda at: ["war", "tax"], topics=_TOPICS[::-1])
    found = compare(before, after, resamples=200)
    assert found.flips.is_empty()
    assert _found(found, "accuracy") == (0.0, 0.0)


def test_numbers_that_are_nearer_to_the_gold_numbers_are_no_loss(tmp_path):
    far = field_study(tmp_path / "far", "amount", lambda at: _GOLD[at] + (6 if at % 3 == 0 else 0))
    near = field_study(tmp_path / "near", "amount", lambda at: _GOLD[at] + (6 if at % 10 == 0 else 0))
    found = compare(far, near, fail_if=["loss"], resamples=200)
    assert found.held
    verdicts = {one.estimate.measure: one.kind for one in found.verdicts}
    assert (verdicts["accuracy_mean_error"], verdicts["accuracy_bias"]) == ("gain", "change")
    back = compare(near, far, fail_if=["loss", "accuracy_mean_error > 0"], resamples=200)
    failed = [{one.measure for one in judgement.failed} for judgement in back.judgements]
    assert failed == [{"accuracy", "accuracy_mean_error"}, {"accuracy_mean_error"}]


def test_numbers_farther_off_are_a_loss_where_none_was_exact(tmp_path):
    before = field_study(tmp_path / "before", "amount", lambda at: _GOLD[at] + 0.5)
    after = field_study(tmp_path / "after", "amount", lambda at: _GOLD[at] + 2)
    found = compare(before, after, fail_if=["loss"], resamples=200)
    assert [one.measure for one in found.judgements[0].failed] == ["accuracy_mean_error"]
