"""The tables of the reliability audit: every cell equals a few lines of NumPy on planted annotations."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.papers.planted import chance, items

from quaver import Study
from quaver.errors import QuaverError
from quaver.papers import catalogue, reliability_tables
from quaver.papers.paper_answers import StoredAnswers

STUDY = """\
name: sides
task: {labels: [left, right]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold, sample: 40}
prompt: {instruction: Which side is it?, postfix: Answer left or right.}
variants:
  - use: prompts
    factor: perturbation
    prompts:
      original: {}
      paraphrase: {instruction: Left or right?}
      moved: {layout: "{{ question }}\\n\\n{{ text }}"}
      examples: {examples: 3}
      reasoning: {postfix: "Reason first. Then write Answer: left or right.", max_tokens: 256}
      bare: {layout: "{{ text }}\\n{{ postfix }}", instruction: "", postfix: "Label (left, right):"}
models:
  - {name: small, use: function}
  - {name: middle, use: function}
  - {name: large, use: function}
evaluators:
  - answer_markers
  - first_character
  - {use: logprob, of: first_token}
  - {use: logprob, of: first_token, name: raw, normalised: false}
  - {use: verbal_confidence, name: decimal, label: answer_markers}
  - {use: verbal_confidence, name: percentage, label: answer_markers, of: verbal_percentage}
measures:
  - {use: spread, by: [model], sizes: {small: 1, middle: 3, large: 8}}
  - {use: readiness, by: [model], second: first_character, token: logprob, stated: decimal,
     thresholds: {accuracy: 0.5}}
"""
PROMPTS = ("original", "paraphrase", "moved", "examples", "reasoning", "bare")
PAPER = ("paraphrase", "moved", "examples", "bare")
"""The four prompts that section 3 takes the spread over."""
MODELS = {"small": 0.35, "middle": 0.25, "large": 0.1}
SIZE = 40


def rows():
    """Two rules of reading, of which one fails on reasoning; two confidences from tokens, two from words."""
    for model, wrong in MODELS.items():
        for prompt in PROMPTS:
            for item in range(SIZE):
                gold = ["right", "left"][item % 2]
                draw = chance("audit", model, prompt, item)
                hard = 1.5 if prompt == "moved" else 1
                label = ["left", "right"][gold == "left"] if draw < wrong * hard else gold
                sure = round(0.5 + 0.5 * chance("sure", model, prompt, item), 2)
                mass = 0.6 if prompt == "moved" else 0.9
                said = [0.8, None][
                    chance("said", model, prompt, item) < (0.5 if prompt == "reasoning" else 0.1)
                ]
                unread = label if chance("unread", model, prompt, item) < 0.8 else None
                shared = {"model": model, "variant": f"perturbation={prompt}", "perturbation": prompt}
                shared |= {"decoding": "greedy", "item": str(item), "repeat": 0, "gold": gold}
                read = label if prompt != "reasoning" else None
                for name, found, confidence in (
                    ("answer_markers", label, None),
                    ("first_character", read, None),
                    ("logprob", label, sure),
                    ("raw", label, sure * mass),
                    ("decimal", unread, said),
                    ("percentage", unread, None if said is None else 0.6),
                ):
                    seen = {"label_coverage": 0.5 if item % 4 == 0 else 1.0, "mass_coverage": mass}
                    yield shared | {
                        "evaluator": name,
                        "label": found,
                        "status": "valid" if found else "no_label",
                        "confidence": confidence,
                        **(seen if name in ("logprob", "raw") else dict.fromkeys(seen)),
                    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    items(folder, 60)
    path = folder / "sides.yaml"
    path.write_text(STUDY, encoding="utf-8")
    every = pl.DataFrame(list(rows()), infer_schema_length=None)
    first = every.filter(pl.col("evaluator") == "answer_markers")
    functions = dict.fromkeys(MODELS, lambda text, prompt: "left")
    return [StoredAnswers("sides", Study.open(path, functions=functions), first, every)]


def part(answers, evaluator, model, prompt=None):
    mine = (pl.col("evaluator") == evaluator) & (pl.col("model") == model)
    return answers[0].every.filter(mine if prompt is None else mine & (pl.col("perturbation") == prompt))


def right(frame):
    return np.array([a == b for a, b in frame.select("label", "gold").iter_rows()], float)


def ece(confidence, correct):
    """Ten bins (a, b], 0 in the first."""
    at = np.clip(np.ceil(np.round(confidence * 10, 9)) - 1, 0, 9).astype(int)
    each = [abs((confidence - correct)[at == k].sum()) for k in range(10)]
    return float(sum(each) / confidence.size)


def made_of(answers, name):
    """A table of stored answers."""
    return catalogue.kind_of(name).make(answers)


def test_token_confidence_raw_and_normalised(answers):
    made = made_of(answers, "token-ece").rows()
    assert [(row["model"], row["prompt"]) for row in made] == [(m, p) for m in MODELS for p in PROMPTS]
    for row in made:
        own = part(answers, "logprob", row["model"], row["prompt"])
        sure, hit = own["confidence"].to_numpy(), right(own)
        raw = ece(sure * own["mass_coverage"].to_numpy(), hit)
        assert row["ECE normalised"] == pytest.approx(ece(sure, hit))
        assert row["ECE raw"] == pytest.approx(raw)
        assert row["absolute shift"] == pytest.approx(abs(raw - ece(sure, hit)))
        assert row["label coverage"] == pytest.approx(own["label_coverage"].to_numpy().mean())
        assert row["answers with all labels"] == pytest.approx(0.75)
        assert row["mass coverage"] == pytest.approx(0.6 if row["prompt"] == "moved" else 0.9)


def cell(answers, name, model, prompt):
    """Parse rate and verbal calibration of one cell, whatever the parse rate."""
    own, token = part(answers, name, model, prompt), part(answers, "logprob", model, prompt)
    said = np.array([np.nan if one is None else one for one in own["confidence"]])
    known = ~np.isnan(said)
    hit, sure = right(own)[known], token["confidence"].to_numpy()[known]
    return {
        "parse rate": known.mean(),
        "verbal ECE": ece(said[known], hit),
        "verbal minus accuracy": said[known].mean() - hit.mean(),
        "ECE gap": ece(said[known], hit) - ece(sure, hit),
        "verbal minus token": said[known].mean() - sure.mean(),
    }


@pytest.mark.long
def test_stated_confidence_where_enough_is_parsed(answers):
    made = made_of(answers, "verbal").rows()
    assert len(made) == 3 * len(PROMPTS) * 2
    for row in made:
        own = part(answers, row["phrasing"], row["model"], row["prompt"])
        parsed = own.filter(pl.col("confidence").is_not_null())
        assert row["n"] == parsed.height
        assert parsed["label"].null_count()  # unreadable answers are among them, and wrong
        expected = cell(answers, row["phrasing"], row["model"], row["prompt"])
        assert row["parse rate"] == pytest.approx(expected["parse rate"])
        for name, value in list(expected.items())[1:]:
            if expected["parse rate"] >= 0.8:
                assert row[name] == pytest.approx(value), name
            else:
                assert row[name] is None
    assert any(row["verbal ECE"] is None for row in made)


@pytest.mark.long
def test_prompts_pooled_as_in_table_2(answers):
    """Over the cells that state enough, the answers of a model taken together."""
    made = made_of(answers, "verbal-pooled").rows()
    assert [(row["model"], row["phrasing"]) for row in made] == [
        (m, e) for m in MODELS for e in ("decimal", "percentage")
    ]
    for row in made:
        model, name = row["model"], row["phrasing"]
        each = {prompt: cell(answers, name, model, prompt)["parse rate"] for prompt in PAPER}
        kept = [prompt for prompt, rate in each.items() if rate >= 0.8]
        assert (row["prompts kept"], row["prompts"]) == (len(kept), 4)
        own = pl.concat([part(answers, name, model, prompt) for prompt in kept])
        token = pl.concat([part(answers, "logprob", model, prompt) for prompt in kept])
        said = np.array([np.nan if one is None else one for one in own["confidence"]])
        known = ~np.isnan(said)
        hit, sure = right(own)[known], token["confidence"].to_numpy()[known]
        assert row["n"] == known.sum()
        assert row["verbal ECE"] == pytest.approx(ece(said[known], hit))
        assert row["token ECE"] == pytest.approx(ece(sure, hit))
        assert row["ECE gap"] == pytest.approx(row["verbal ECE"] - row["token ECE"])
        every = pl.concat([part(answers, name, model, prompt) for prompt in PAPER])
        assert row["accuracy"] == pytest.approx(right(every).mean())


@pytest.mark.long
def test_thresholds_and_both_phrasings(answers):
    for row in made_of(answers, "thresholds").rows():
        each = [cell(answers, row["phrasing"], row["model"], prompt) for prompt in PAPER]
        kept = [one for one in each if one["parse rate"] >= float(row["threshold"])]
        assert (row["cells kept"], row["cells"]) == (len(kept), len(PAPER))
        if kept:
            assert row["mean verbal ECE"] == pytest.approx(np.mean([one["verbal ECE"] for one in kept]))
            over = [one["verbal minus accuracy"] for one in kept]
            assert row["mean verbal minus accuracy"] == pytest.approx(np.mean(over))
            assert row["cells overconfident"] == pytest.approx(np.mean(np.array(over) > 0))
    for row in made_of(answers, "phrasings").rows():
        one, two = (cell(answers, name, row["model"], row["prompt"]) for name in ("decimal", "percentage"))
        for name in ("parse rate", "verbal ECE", "verbal minus accuracy"):
            assert row[f"{name}, first"] == pytest.approx(one[name])
            assert row[f"{name}, second"] == pytest.approx(two[name])
            assert row[f"{name}, shift"] == pytest.approx(two[name] - one[name])
        same = one["verbal minus accuracy"] * two["verbal minus accuracy"] > 0
        assert row["same sign"] == ("yes" if same else "no")


def accuracies(answers, model, evaluator="answer_markers"):
    return {prompt: float(right(part(answers, evaluator, model, prompt)).mean()) for prompt in PROMPTS}


def test_spread_without_and_with_what_the_paper_leaves_out(answers):
    made = made_of(answers, "spreads")
    assert made.columns[:9] == ("data set", "model", "size (billions)", *PROMPTS)
    for row, size in zip(made.rows(), (1, 3, 8), strict=True):
        each = accuracies(answers, row["model"])
        assert row["size (billions)"] == size
        assert {prompt: row[prompt] for prompt in PROMPTS} == pytest.approx(each)
        assert row["mean accuracy"] == pytest.approx(np.mean(list(each.values())))
        assert row["spread, all prompts"] == pytest.approx(max(each.values()) - min(each.values()))
        assert row["spread, paper"] == pytest.approx(spread_of(each, PAPER))


def spread_of(each, prompts):
    some = [each[prompt] for prompt in prompts]
    return max(some) - min(some)


def test_size_and_spread_are_correlated_by_rank(answers):
    for row in made_of(answers, "size-and-spread").rows():
        kept = PAPER if row["prompts"] == "paper" else PROMPTS
        spread = [spread_of(accuracies(answers, model), kept) for model in MODELS]
        assert row["ρ"] == pytest.approx(stats.spearmanr([1, 3, 8], spread).statistic)


def test_repairs_and_the_paired_drop(answers):
    for row in made_of(answers, "repairs").rows():
        first = accuracies(answers, row["model"], "first_character")
        second = accuracies(answers, row["model"])
        prompt = row["prompt"]
        others = np.mean([first[name] for name in PAPER if name != prompt])
        assert row["mean of the four"] == pytest.approx(np.mean([first[name] for name in PAPER]))
        assert row["accuracy by first_character"] == pytest.approx(first[prompt])
        assert row["accuracy by answer_markers"] == pytest.approx(second[prompt])
        if prompt == "paraphrase":
            assert row["paired drop"] is None
        else:
            assert row["paired drop"] == pytest.approx(first[prompt] - first["paraphrase"])
        if prompt == "reasoning":
            expected = (second[prompt] - first[prompt]) / (others - first[prompt])
            assert row["recovered by answer_markers"] == pytest.approx(expected)
        elif row["mean of the four"] - first[prompt] < 0.01:
            assert row["recovered by answer_markers"] is None  # the suspect rule lost nothing


def test_the_curve_of_token_confidence_bin_by_bin(answers):
    """Means and shares of each bin, with Wilson's interval of single answers."""
    for model in MODELS:
        frame = part(answers, "logprob", model, "moved")
        sure, hit = frame["confidence"].to_numpy(), right(frame)
        at = np.ceil(np.round(sure * 10, 9)).astype(int)
        made = reliability_tables.reliability(frame)
        assert [one["n"] for one in made] == [int((at == k).sum()) for k in np.unique(at)]
        for one, k in zip(made, np.unique(at), strict=True):
            assert one["confidence"] == pytest.approx(sure[at == k].mean())
            assert one["right"] == pytest.approx(hit[at == k].mean())
            n, share, z = (one["n"], one["right"], stats.norm.ppf(0.975))
            middle = (share + z**2 / 2 / n) / (1 + z**2 / n)
            half = z * np.sqrt(share * (1 - share) / n + z**2 / 4 / n**2) / (1 + z**2 / n)
            assert [one["right_low"], one["right_high"]] == pytest.approx([middle - half, middle + half])


def shifts(answers, prompt):
    """How far normalising moves ECE of each model at a prompt."""
    found = []
    for model in MODELS:
        own = part(answers, "logprob", model, prompt)
        sure, hit = own["confidence"].to_numpy(), right(own)
        found.append(abs(ece(sure * own["mass_coverage"].to_numpy(), hit) - ece(sure, hit)))
    return np.array(found)


def test_what_normalising_moves_by_prompt(answers):
    rows = {row["prompt"]: row for row in made_of(answers, "ece-shifts").rows()}
    assert list(rows) == [*PROMPTS, "all cells"]
    for prompt, row in rows.items():
        some = PROMPTS if prompt == "all cells" else (prompt,)
        values = np.concatenate([shifts(answers, one) for one in some])
        assert row["cells"] == values.size
        assert [row["mean"], row["median"], row["maximum"]] == pytest.approx(
            [values.mean(), np.median(values), values.max()]
        )
        assert row["over 0.05"] == pytest.approx((values > 0.05).mean())
        assert row["over 0.20"] == pytest.approx((values > 0.2).mean())
        assert row["95% interval low"] <= row["mean"] <= row["95% interval high"]


def test_labels_among_the_likeliest_tokens(answers):
    (row,) = made_of(answers, "coverage").rows()
    assert row["cells with full coverage"] == f"0 / {len(MODELS) * len(PROMPTS)}"
    assert row["answers with full coverage"] == pytest.approx(0.75)


def test_overconfidence_of_each_model_by_phrasing(answers):
    names = ("verbal minus accuracy", "verbal minus token", "ECE gap")
    for row in made_of(answers, "phrasing-means").rows():
        each = [cell(answers, row["phrasing"], row["model"], prompt) for prompt in PAPER]
        kept = [one for one in each if one["parse rate"] >= 0.8]
        assert row["prompts kept"] == len(kept)
        for name in names:
            assert row[name] == pytest.approx(np.mean([one[name] for one in kept]))


def test_repairs_as_the_paper_prints_them(answers):
    """A row a model at the prompt that asks for reasoning, and the mean of each column."""
    kind = catalogue.kind_of("repairs")
    (made,) = kind.printed(kind.make(answers))
    rows = made.rows()
    assert [row["model"] for row in rows] == [*MODELS, ""]
    for head in ("mean of the others", "answer_markers", "first_character"):
        assert rows[-1][head] == pytest.approx(np.mean([row[head] for row in rows[:-1]]))


def test_what_these_answers_lack_is_a_reason_and_a_wrong_option_an_error(answers):
    frame = part(answers, "decimal", "small")
    (without,) = answers[0].take("ece", frame.drop("gold"), by=[])
    assert without.value is None
    assert "gold" in without.reason
    prompts = answers[0].frame.with_columns(original=pl.lit(value=True))
    assert (
        answers[0].take("original_agreement", prompts)[0].reason
        == "several variants are marked as the original"
    )
    for wrong in ({"threshold": 2.0}, {"by": ["nothing"]}, {"bin": 3}):
        with pytest.raises(QuaverError):
            answers[0].take("verbal_calibration", frame, **wrong)
