"""A study whose items were given as data: its folder opens, and goes on, without them."""

import re

import polars as pl
import pytest

import quaver
from quaver.errors import ItemError, QuaverError, SpecError

FRAME = pl.DataFrame({"id": [1, 2, 3], "text": ["Great!", "Bad", "Good!"], "judged": ["pos", "neg", "pos"]})


def study(items, **more):
    return {
        "name": "Own data",
        "task": {"labels": ["pos", "neg"]},
        "items": items,
        "prompt": {"instruction": "Which?"},
        "models": [{"name": "mine", "use": "function"}],
        "measures": ["accuracy"],
        **more,
    }


def annotate(text, prompt):
    return "pos" if "!" in text else "neg"


def opened(folder, items, **more):
    return quaver.Study.open(study(items, **more), folder=folder, functions={"mine": annotate})


@pytest.mark.parametrize(
    "items", [["Great!", "Bad"], [{"text": "Great!"}], FRAME["text"], {"source": ["Bad"]}]
)
def test_texts_alone_need_no_template(tmp_path, items):
    one = opened(tmp_path / "s", items)
    assert one.experiment.items[0].fields["text"] in ("Great!", "Bad")
    assert one.spec.items.text == {"text": "{{ text }}"}


def test_the_column_of_texts_is_not_guessed(tmp_path):
    with pytest.raises(SpecError, match="'text' is missing"):
        opened(tmp_path / "s", FRAME.rename({"text": "My text"}))
    assert not (tmp_path / "s").exists()
    one = opened(tmp_path / "s", FRAME.select(pl.col("text").alias("My text")))
    assert one.run().done == 3


def test_changed_data_are_another_file_and_the_answers_stay(tmp_path):
    opened(tmp_path / "s", FRAME).run()
    more = pl.concat([FRAME, FRAME.with_columns(id=pl.lit(4, pl.Int64), text=pl.lit("New"))[:1]])
    second = opened(tmp_path / "s", more)
    assert second.run().done == 1
    assert len(list((tmp_path / "s").glob("items-*.jsonl"))) == 2
    assert len(quaver.Study.open(tmp_path / "s").experiment.items) == 4


def test_a_study_file_of_the_users_own_is_left_alone(tmp_path):
    opened(tmp_path, FRAME)
    own = tmp_path / "study.yaml"
    own.write_text("# mine\n" + own.read_text().split("\n", 2)[2])
    opened(tmp_path, FRAME[:2])
    assert own.read_text().startswith("# mine")
    assert len(quaver.Study.open(tmp_path).experiment.items) == 3


def test_nothing_is_written_where_the_study_has_a_mistake_or_the_data_a_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-abcdefghijklmnop1234")
    with pytest.raises(QuaverError):
        opened(tmp_path / "s", FRAME, repeets=2)
    with pytest.raises(ItemError):
        opened(tmp_path / "s", [1, 2])
    with pytest.raises(QuaverError, match="OPENAI_API_KEY"):
        opened(tmp_path / "s", ["sk-proj-abcdefghijklmnop1234"])
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("wrapped", [False, True])
def test_examples_may_be_data_too(tmp_path, wrapped):
    pool = pl.DataFrame({"text": ["Fine!", "Poor"], "judged": ["pos", "neg"]})
    examples = {"source": pool, "where": {"judged": ["pos", "neg"]}} if wrapped else pool
    items = {"source": FRAME, "gold": "judged", "where": {"id": {"at_most": 2}}, "examples": examples}
    shots = [{"use": "shots", "k": 2}]
    one = opened(tmp_path / "s", items, variants=shots)
    assert one.run().done == 2
    again = quaver.Study.open(tmp_path / "s", functions={"mine": annotate})
    assert {item.fields["text"] for item in again.experiment.variants[0].examples} == {"Fine!", "Poor"}
    assert again.run().done == 0
    path, _ = quaver.bundle(again, tmp_path / "b.zip")
    assert len(quaver.Study.open(path).experiment.items) == 2


def test_a_frame_is_kept_and_the_folder_opens_without_it(tmp_path):
    first = opened(tmp_path / "s", {"source": FRAME, "id": "id", "gold": "judged"})
    assert [item.id for item in first.experiment.items] == ["1", "2", "3"]
    first.run()
    again = quaver.Study.open(tmp_path / "s", functions={"mine": annotate})
    assert again.run().done == 0
    assert again.annotations().equals(first.annotations())
    assert [e.value for e in again.estimates()] == [1.0]
    without = quaver.Study.open(tmp_path / "s")
    assert without.annotations().height == 3
    source = first.source.lock()["study"]["items"]["source"]
    assert (tmp_path / "s" / source).is_file()
    assert re.fullmatch(r"items-[0-9a-f]{12}\.jsonl", source), "no folder of this machine"
    quaver.bundle(first, tmp_path / "b.zip")  # which verifies it
