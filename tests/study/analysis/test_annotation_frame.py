"""Answers that are scored in chunks are scored as each alone; what cannot be scored leaves what was kept."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies import written

from quaver.collect.store.response_store import Store
from quaver.errors import StoreError
from quaver.study.analysis.annotation_frame import annotator_of
from quaver.study.session import Study

STUDY = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: instructions, factor: wording, texts: {other: "Positive, or negative?"}}
models:
  - {name: fake, use: function}
repeats: 3
decoding: {warm: {temperature: 1.0}}
evaluators: [first_label, exact]
"""
ITEMS = "id,text,truth\n" + "".join(f"i{n},Text {n}.,{'positive' if n % 2 else ''}\n" for n in range(20))
ANSWERS = 120


HOSTILE = (
    "",
    "\x00",
    "\x1b[31m",
    "<think>positive</think>",
    "not ",
    "“",
    "\u200b",
    "'" * 9,
    "{",
    "\ud800",
    "so " * 400,
)


def answer(text, prompt):
    odd = HOSTILE[sum(map(ord, text)) % len(HOSTILE)]
    return f"{odd}positive" if len(prompt) % 2 else f"I say {odd} negative to {text}"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    opened = Study.open(written(tmp_path_factory.mktemp("parts"), STUDY, ITEMS), functions={"fake": answer})
    opened.run()
    return opened


def one_by_one(study):
    """Each answer alone, by an annotator that remembers nothing."""
    evaluators = study.source.plugins.evaluators(["first_label"])
    with study.source.answers() as store:
        rows = [row for some in store.read() for row in some]
    return pl.concat([annotator_of(study.source, evaluators).frame([row]) for row in rows])


@pytest.mark.long
def test_whatever_the_chunks_the_annotations_are_the_same(study):
    whole = one_by_one(study)

    @settings(max_examples=8, deadline=None)
    @given(chunk=st.integers(1, ANSWERS + 20))
    def scored(chunk):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Store.read, "__defaults__", (0, None, chunk))
            assert study.rescore(["first_label"]).equals(whole)

    scored()


def test_a_changed_answer_is_an_error_and_the_old_annotations_stay(study):
    kept = study.source.files.annotations
    before = study.rescore(["first_label"])
    with study.source.answers() as store:
        store.db.execute("UPDATE responses SET text = text || '!' WHERE id = 90")
    try:
        with pytest.raises(StoreError, match="has changed"):
            study.rescore(["exact"])
    finally:
        with study.source.answers() as store:
            store.db.execute("UPDATE responses SET text = rtrim(text, '!') WHERE id = 90")
    assert pl.read_parquet(kept).equals(before)
    assert [path.name for path in kept.parent.glob("annotations*")] == ["annotations.parquet"]


def test_a_new_gold_sample_is_in_the_annotations(study):
    assert not study.annotations()["gold_drawn"].any()
    study.gold.draw(n=10, design="simple")
    frame = study.annotations()
    assert frame.filter("gold_drawn")["item"].n_unique() == 10
    assert frame.equals(study.rescore())
