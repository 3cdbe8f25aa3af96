"""The tables of sensitivity and consistency: every cell equals a few lines of NumPy on planted answers."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from tests.papers.planted import asked, items, noisy, tabled

from quaver.core.seeds import derive
from quaver.errors import QuaverError, UnknownName
from quaver.papers import catalogue, figure, paper_figures, printed, table
from quaver.papers.paper_answers import answers_of
from quaver.papers.paper_figures import save

STUDY = """\
name: sides
task:
  labels:
    - {code: left, name: Left, definition: On the left.}
    - {code: right, name: Right, definition: On the right.}
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}
prompt: {instruction: Which side is it?, postfix: Answer Left or Right.}
variants:
  - {use: prompts, factor: strategy, prompts: {simple: {}, detailed: {definitions: true}}}
  - {use: paraphrases, engine: file, path: words.csv}
models: [{name: one, use: function}]
"""
WORDS = "paraphrase\nLeft or right?\nName the side.\nWhich side do you see?\n"
SIZE, WAYS = 14, 4


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    items(folder, SIZE)
    (folder / "words.csv").write_text(WORDS, encoding="utf-8")
    model = noisy("sides", wrong=0.25, silent=0.1, harder="On the left")
    return asked(folder / "sides.yaml", STUDY, one=model)


def block(study, strategy):
    """Items × paraphrases: 0 and 1 for the labels, 2 for none; and the true labels."""
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    frame = frame.filter(pl.col("strategy") == strategy)
    frame = frame.with_columns(pl.col("item").cast(pl.Int64)).sort("item", "paraphrase")
    codes = {"left": 0, "right": 1, None: 2}
    labels = np.array([codes[one] for one in frame["label"]]).reshape(SIZE, WAYS)
    return labels, np.array([codes[one] for one in frame["gold"]]).reshape(SIZE, WAYS)[:, 0]


def shares(labels):
    return np.stack([(labels == code).mean(1) for code in (0, 1, 2)], 1)


def sensitivities(labels):
    p = shares(labels)
    return np.asarray(-(p * np.log(np.where(p > 0, p, 1))).sum(1) / np.log(3))


def pairs(labels, gold, code=None):
    """1 less the total variation of all pairs of items of one class, each with itself among them."""
    p = shares(labels)
    alike = 1 - np.abs(p[:, None] - p[None]).sum(2) / 2
    kept = gold[:, None] == gold[None]
    return alike[kept if code is None else kept & (gold[:, None] == code)]


def recommended(labels, gold):
    """The mean over classes of all pairs of two items, by the answers that have a label."""
    known = np.stack([(labels == code).sum(1) for code in (0, 1)], 1)
    p = known / known.sum(1, keepdims=True)
    alike = 1 - np.abs(p[:, None] - p[None]).sum(2) / 2
    upper = np.triu(np.ones_like(alike, bool), 1)
    return float(np.mean([alike[upper & (gold[:, None] == c) & (gold[None] == c)].mean() for c in (0, 1)]))


def known_alone(labels):
    """Sensitivity of the answers that have a label, over ln 2."""
    known = np.stack([(labels == code).sum(1) for code in (0, 1)], 1)
    p = known / known.sum(1, keepdims=True)
    return float((-(p * np.log(np.where(p > 0, p, 1))).sum(1) / np.log(2)).mean())


def pooled_f1(labels, gold):
    """Micro-F1 of all answers: an answer without a label is a miss, and no false alarm."""
    hits = (labels == gold[:, None]).sum()
    return float(2 * hits / ((labels < 2).sum() + labels.size))


def baselined(study, strategy, kind):
    """The block with half of its labels swapped, or with all drawn, as the study's seed draws them."""
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    frame = frame.filter(pl.col("strategy") == strategy).with_row_index("place")
    labels = np.array([{"left": 0, "right": 1, None: 2}[one] for one in frame["label"]])
    given = np.flatnonzero(labels < 2)
    rng = np.random.default_rng(derive(study.spec.seed, "baseline", kind))
    if kind == "random":
        labels = rng.integers(0, 3, labels.size)  # no label at all is drawn like a label
    else:
        swapped = rng.choice(given, round(given.size / 2), replace=False)
        labels[swapped] = 1 - labels[swapped]  # of two labels, the other one
    order = frame.with_columns(pl.col("item").cast(pl.Int64)).sort("item", "paraphrase")["place"]
    return labels[order.to_numpy()].reshape(SIZE, WAYS)


def test_strategies_with_their_deviations(study):
    made = table(study, "strategies")
    assert made.columns[:10] == (
        *("data set", "model", "strategy", "paraphrases", "S", "S SD over items"),
        *("C", "C SD over pairs", "micro-F1", "micro-F1 SD over paraphrases"),
    )
    rows = made.rows()
    assert [(row["strategy"], row["paraphrases"]) for row in rows] == [("simple", 4), ("detailed", 4)]
    for row in rows:
        labels, gold = block(study, row["strategy"])
        s, c = sensitivities(labels), pairs(labels, gold)
        right = (labels == gold[:, None]).mean(0)  # with N/A a class, micro-F1 is accuracy
        assert row["S"] == pytest.approx(s.mean())
        assert row["S SD over items"] == pytest.approx(s.std(ddof=1))
        assert row["C"] == pytest.approx(c.mean())
        assert row["C SD over pairs"] == pytest.approx(c.std(ddof=1))
        assert row["micro-F1"] == pytest.approx(right.mean())
        assert row["micro-F1 SD over paraphrases"] == pytest.approx(right.std(ddof=1))
        assert row["Quaver's C"] == pytest.approx(recommended(labels, gold))
        assert row["Quaver's S"] == pytest.approx(known_alone(labels))
        assert row["Quaver's micro-F1"] == pytest.approx(pooled_f1(labels, gold))
        assert row["Quaver's S 95% interval low"] <= row["Quaver's S"] <= row["Quaver's S 95% interval high"]


def test_the_plane_by_item(study):
    rows = tabled(study, "items")
    assert len(rows) == 2 * SIZE
    for row in rows:
        labels, gold = block(study, row["strategy"])
        at = int(row["item"])
        p = shares(labels)
        mine = np.flatnonzero(gold == gold[at])
        alike = 1 - np.abs(p[at] - p[mine]).sum(1) / 2
        assert row["S"] == pytest.approx(sensitivities(labels)[at])
        assert row["C"] == pytest.approx(alike.mean())
        assert row["class"] == ["left", "right"][gold[at]]
        assert row["text"] == f"text {at} is {row['class']}"
        for kind in ("noisy", "random"):
            p = shares(baselined(study, row["strategy"], kind))
            assert row[f"{kind} S"] == pytest.approx(
                sensitivities(baselined(study, row["strategy"], kind))[at]
            )
            assert row[f"{kind} C"] == pytest.approx((1 - np.abs(p[at] - p[mine]).sum(1) / 2).mean())


def test_items_that_move_are_listed_by_their_consistency(study):
    every = {(row["strategy"], row["item"]): row for row in tabled(study, "items")}
    rows = tabled(study, "inconsistent-items")
    assert {(row["strategy"], row["item"]) for row in rows} == {k for k, row in every.items() if row["S"] > 0}
    for before, row in pairwise(rows):
        assert before["strategy"] != row["strategy"] or before["C"] <= row["C"]
    assert all(
        (row["S"], row["C"]) == (own["S"], own["C"])
        for row in rows
        for own in [every[row["strategy"], row["item"]]]
    )


def test_worst_items_and_classes_in_each_data_set(study):
    rows = table({"before": study, "after": study}, "before-and-after").rows()
    for strategy in ("simple", "detailed"):
        labels, gold = block(study, strategy)
        s, right = sensitivities(labels), (labels == gold[:, None]).mean(1)
        mine = [row for row in rows if row["strategy"] == strategy]
        for code, name in enumerate(("left", "right")):
            row = next(one for one in mine if (one["class"], one["item"]) == (name, "all"))
            for side in ("before", "after"):
                assert row[f"S, {side}"] == pytest.approx(s[gold == code].mean())
                assert row[f"C, {side}"] == pytest.approx(pairs(labels, gold, code).mean())
                assert row[f"right, {side}"] == pytest.approx(right[gold == code].mean())
        items = [row for row in mine if row["item"] != "all"]
        assert {int(row["item"]) for row in items} >= set(np.argsort(-s, kind="stable")[:5])
        for row in items:
            own = int(row["item"])
            assert (row["S, before"], row["right, after"]) == pytest.approx((s[own], right[own]))


def test_classes_have_the_mean_of_their_items(study):
    kind = catalogue.figure_of("errica-2025:3-classes")
    panels = paper_figures.class_sensitivities(kind, answers_of({"sides": study}), ())
    items = tabled(study, "items")
    assert len(panels.rows) == 2 * 2
    for row in panels.rows:
        own = [
            one["S"]
            for one in items
            if (one["strategy"], one["class"]) == (row["series"], row["row"].lower())
        ]
        assert row["value"] == pytest.approx(np.mean(own))


def test_what_has_no_figure_or_format_says_so(study, tmp_path):
    with pytest.raises(UnknownName, match="errica-2025:6"):
        figure(study, "errica-2025:7")
    with pytest.raises(QuaverError, match="nothing to draw"):
        figure(study, "barrie-2025:2")
    with pytest.raises(QuaverError, match="not written in this format"):
        save(figure(study, "errica-2025:6"), tmp_path / "drawn.gif")


def test_strategies_as_the_paper_prints_them(study):
    """A row a data set, S, C and F1 of each model and strategy, the best of each in bold."""
    first, second = printed(study, "strategies")
    long = {row["strategy"]: row for row in tabled(study, "strategies")}
    (row,) = first.rows()
    for strategy, own in long.items():
        for name, head in (("S", "S"), ("C", "C"), ("micro-F1", "F1")):
            assert row[f"one, {strategy} {head}"] == pytest.approx(own[name])
    (cells,) = first.table.rows
    for at, (name, best) in enumerate({"S": min, "C": max, "micro-F1": max}.items(), start=1):
        values = [own[name] for own in long.values()]
        bold = ["<b>" in cell for cell in cells[at::3]]
        assert bold == [value == best(values) and min(values) < max(values) for value in values]
    assert any("<b>" in cell for cell in cells)
    for form, sign in {"latex": r"\textbf{", "html": "<td><b>", "markdown": "| **"}.items():
        assert first.as_(form).count(sign) == sum("<b>" in cell for cell in cells)
    assert len(second.rows()) == 1
    assert first.table.groups == ("", *["one"] * 6)
    assert r"\multicolumn{6}{c}{one}" in first.as_("latex")
    assert '<th colspan="6">one</th>' in first.as_("html")


def test_labels_of_items_over_paraphrases(study):
    labels, _ = block(study, "simple")
    rows = [
        row for row in table(study, "label-shares", items=["3", "5"]).rows() if row["strategy"] == "simple"
    ]
    assert [(row["item"], row["label"]) for row in rows] == [
        (item, label) for item in ("3", "5") for label in ("left", "right", "N/A")
    ]
    for row in rows:
        code = ["left", "right", "N/A"].index(row["label"])
        assert row["share"] == pytest.approx((labels[int(row["item"])] == code).mean())


def test_pairs_of_items_by_id(study):
    made = table(study, "matrix", items=["3", "0", "7"])
    assert made.columns == ("data set", "model", "strategy", "no.", "item", "class", "3", "0", "7")
    for row in made.rows():
        p = shares(block(study, row["strategy"])[0])
        for other in ("3", "0", "7"):
            expected = 1 - np.abs(p[int(row["item"])] - p[int(other)]).sum() / 2
            assert row[other] == pytest.approx(expected)
    with pytest.raises(UnknownName, match="99"):
        table(study, "matrix", items=["3", "99"])


def test_each_strategy_has_its_own_items_in_the_columns(study):
    rows = table(study, "matrix").rows()
    for level in ("simple", "detailed"):
        labels = block(study, level)[0]
        own = [row for row in rows if row["strategy"] == level]
        ids = [int(row["item"]) for row in own]
        moved = sorted(range(SIZE), key=lambda at: (-sensitivities(labels)[at], str(at)))
        assert ids == moved[:10]
        p = shares(labels)
        for row, item in zip(own, ids, strict=True):
            for number, other in enumerate(ids, start=1):
                assert row[str(number)] == pytest.approx(1 - np.abs(p[item] - p[other]).sum() / 2)
