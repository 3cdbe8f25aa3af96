from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.calls import Response, Token
from quaver.core.records import Condition, Decoding, Item, Variant
from quaver.errors import SpecError, StoreError
from quaver.score.annotation import Annotator, annotate
from quaver.score.evaluators.named_label import Exact, FirstLabel
from quaver.score.evaluators.stated_confidence import LogProb
from quaver.score.parsing.evaluator import no_label
from quaver.testing.tasks import TASKS

LABELS, _ = TASKS["names"]


def _variant(name, answers, **factors):
    return Variant(name, factors, "", "", "", "", "", answers)


VARIANTS = {
    "n": _variant("n", {"clinton": "Clinton", "dole": "Dole"}, format="names"),
    "s": _variant("s", {"clinton": "B", "dole": "A"}, format="letters", swapped="yes"),
}
CONDITIONS = [Condition("small", "n", "greedy", 2), Condition("small", "s", "greedy", 1)]
ITEMS = [Item("i1", {}, gold="dole", groups={"party": "D"}), Item("i2", {})]
ROWS = [
    (0, 0, 0, Response("Dole"), None),
    (0, 0, 1, Response("I say Clinton or Dole", finish="length"), None),
    (0, 1, 0, Response("", finish="error", error="no answer"), None),
    (1, 0, 0, Response("A"), None),
    (1, 1, 0, Response("B", tokens=(Token("B", -1.0, (("A", -0.5), ("B", -1.0))),)), None),
]


def annotator(*, conditions=CONDITIONS, items=ITEMS, variants=VARIANTS, decodings=None, **evaluators):
    return Annotator(
        conditions=conditions,
        items=items,
        variants=variants,
        labels=LABELS,
        evaluators=evaluators,
        decodings=decodings or {},
    )


def test_a_row_for_each_response_and_evaluator():
    frame = annotate([ROWS], annotator(first=FirstLabel(), whole=Exact(), tokens=LogProb())).collect()
    assert frame.columns == [*ANNOTATION_COLUMNS, "format", "swapped", "party"]
    assert [frame.schema[name] for name in ANNOTATION_COLUMNS] == [
        pl.DataFrame(schema={"x": kind}).schema["x"] for kind in ANNOTATION_COLUMNS.values()
    ]
    rows = frame.select("evaluator", "variant", "item", "repeat", "label", "status", "truncated").rows()
    assert rows == [
        ("first", "n", "i1", 0, "dole", "valid", False),
        ("first", "n", "i1", 1, "clinton", "valid", True),
        ("first", "n", "i2", 0, None, "error", False),
        ("first", "s", "i1", 0, "dole", "valid", False),
        ("first", "s", "i2", 0, "clinton", "valid", False),
        ("whole", "n", "i1", 0, "dole", "valid", False),
        ("whole", "n", "i1", 1, None, "no_label", True),
        ("whole", "n", "i2", 0, None, "error", False),
        ("whole", "s", "i1", 0, "dole", "valid", False),
        ("whole", "s", "i2", 0, "clinton", "valid", False),
        ("tokens", "n", "i1", 0, None, "no_label", False),
        ("tokens", "n", "i1", 1, None, "no_label", True),
        ("tokens", "n", "i2", 0, None, "error", False),
        ("tokens", "s", "i1", 0, None, "no_label", False),
        ("tokens", "s", "i2", 0, "dole", "valid", False),
    ]
    assert frame["gold"].to_list()[:5] == ["dole", "dole", None, "dole", None]
    assert frame["swapped"].to_list()[:5] == [None, None, None, "yes", "yes"]
    assert frame["party"].to_list()[:5] == ["D", "D", None, "D", None]
    last = frame.row(-1, named=True)
    assert last["probabilities"] == pytest.approx([0.3775, 0.6225], abs=1e-4)  # 1 / (1 + e^0.5) is Clinton's
    assert last["confidence"] == pytest.approx(0.6225, abs=1e-4)


def test_in_memory_and_on_disk_are_alike(tmp_path):
    chunks = [ROWS[:2], [], ROWS[2:]]
    path = tmp_path / "annotations.parquet"
    stored = annotate(iter(chunks), annotator(first=FirstLabel()), path).collect()
    assert stored.equals(annotate(chunks, annotator(first=FirstLabel())).collect())
    assert pl.read_parquet(path).equals(stored)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("chunks", [[], [[]]])
def test_no_responses_make_an_empty_frame_with_its_columns(chunks, tmp_path):
    for path in (None, tmp_path / "a.parquet"):
        frame = annotate(chunks, annotator(first=FirstLabel()), path).collect()
        assert frame.height == 0
        assert frame.schema == annotator().schema


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("label", {"variants": {"n": _variant("n", {}, label="x")}, "conditions": CONDITIONS[:1]}),
        ("format", {"items": [Item("i", {}, groups={"format": "x"})]}),
    ],
)
def test_a_factor_may_not_be_named_as_a_column(name, changes):
    with pytest.raises(SpecError, match=f"'{name}'"):
        annotator(**changes)


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path):
    with pytest.raises(StoreError, match="cannot be written"):
        annotate([ROWS], annotator(first=FirstLabel()), tmp_path / "no" / "annotations.parquet")


def test_what_a_grid_varies_is_a_column_of_numbers():
    decodings = {
        name: Decoding(name, temperature=heat, grid=("temperature",))
        for name, heat in (("hot,temperature=0.5", 0.5), ("hot,temperature=1", 1.0))
    }
    conditions = [Condition("small", "n", name, 1) for name in decodings]
    made = annotator(conditions=conditions, decodings=decodings, first=FirstLabel())
    frame = annotate([[(0, 0, 0, Response("Dole"), None), (1, 0, 0, Response("Dole"), None)]], made).collect()
    assert frame["temperature"].to_list() == [0.5, 1.0]
    assert frame.schema["temperature"] == pl.Float64


def test_covariates_keep_their_types():
    told = {"distance": np.float64(0.25), "original": False, "flags": "lost labels: dole"}
    variants = {**VARIANTS, "s": replace(VARIANTS["s"], covariates=told)}
    frame = annotate([ROWS], annotator(variants=variants, first=FirstLabel())).collect()
    assert frame.select("distance", "original").dtypes == [pl.Float64, pl.Boolean]
    assert frame.select(*told).row(0) == (None, None, None)
    assert frame.select(*told).row(-1) == (0.25, False, "lost labels: dole")


class Looking:
    """Reads what it is shown beside the text."""

    def __init__(self, reads):
        self.reads = reads
        self.seen = []

    def reader(self, labels, variant):
        def read(answer):
            self.seen.append(answer.response)
            return no_label(f"{answer.response.latency} {answer.thought}")

        return read


@pytest.mark.parametrize(("reads", "times"), [("text", 2), ("tokens", 3), ("response", 6)])
def test_what_an_evaluator_is_shown_decides_what_is_read_once(reads, times):
    token = (Token("D", -0.1, (("D", -0.1),)),)
    said = [
        Response("Dole", latency=at, thinking=thinking, tokens=tokens, raw={"at": at})
        for at, (thinking, tokens) in enumerate(
            [(None, ()), (None, token), ("Hm.", token), ("Hm?", token), (None, ()), ("Hm.", token)]
        )
    ]
    one = Looking(reads)
    frame = annotator(one=one).frame([(0, 0, at, response, None) for at, response in enumerate(said)])
    assert len(one.seen) == times
    whole = reads == "response"
    assert [shown.raw is not None for shown in one.seen] == [whole] * times
    assert any(shown.tokens for shown in one.seen) == (reads != "text")
    assert frame["reason"].to_list() == [
        f"{at if whole else None} {response.thinking is not None}" for at, response in enumerate(said)
    ]
