"""The tables of prompt stability scores: every cell equals a few lines of NumPy on planted answers."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.papers.planted import alpha, alphas, asked, by_rows, chance, grid, items, noisy, rows_drawn, tabled

from quaver import import_annotations
from quaver.collect.run.progress import Price
from quaver.core.seeds import derive
from quaver.papers import catalogue, printed, stability_tables, table

STUDY = """\
name: sides
task: {labels: [left, right]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}
prompt: {instruction: Which side is it?, postfix: Answer left or right.}
variants: [{use: paraphrases, engine: file, path: words.csv}]
models: [{name: one, use: function}, {name: two, use: function}]
decoding:
  again: {temperature: 0.1, repeats: 6, only: {paraphrase: original}}
  reworded: {temperature: 0.1, repeats: 2}
"""
WORDS = """\
paraphrase,temperature
Left or right?,0.5
Name the side.,0.5
"=What, <b>side</b> | is_this & 100%?",5.0
{Hard} to say which?,5.0
"""
CODES = {"left": 0, "right": 1}
NA = 2


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    items(folder)
    (folder / "words.csv").write_text(WORDS, encoding="utf-8")
    models = {"one": noisy("one", harder="{Hard}"), "two": noisy("two", wrong=0.3)}
    return asked(folder / "sides.yaml", STUDY, **models)


def of(study, model, decoding):
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    return frame.filter(pl.col("model") == model, pl.col("decoding") == decoding)


def repeats(study, model, missing=NA):
    return grid(of(study, model, "again"), "item", ["repeat"], CODES, missing)


def wordings(study, model, heat=None, missing=NA):
    """Items × paraphrases in each repeat, the original among them."""
    frame = of(study, model, "reworded")
    if heat is not None:
        frame = frame.filter((pl.col("paraphrase_temperature") == heat) | pl.col("original"))
    return [grid(frame.filter(pl.col("repeat") == n), "item", ["variant"], CODES, missing) for n in (0, 1)]


def balanced(study, model, decoding):
    """Of each repeat's answers with a label as many as the repeat with the fewest has, by a seeded draw."""
    frame = of(study, model, decoding).filter(pl.col("label").is_not_null())
    others = [name for name in frame.columns if not frame[name].dtype.is_nested()]
    frame = frame.sort("repeat", pl.col("item").cast(pl.Int64), *others)
    draw = np.random.default_rng(derive(study.spec.seed, "balance")).random(frame.height)
    fewest = frame.group_by("repeat").len()["len"].min()
    place = pl.col("draw").rank("ordinal").over("repeat")
    return frame.with_columns(draw=pl.Series(draw)).filter(place <= fewest)


def test_the_same_prompt_again(study):
    made = table(study, "intra-stability")
    assert made.columns == (
        *("data set", "model", "n", "repeats", "PSS", "package's interval", "final width"),
        *("repeats to settle", "repeats to precision", "largest deviation"),
        *("adjacent mean", "adjacent SD", "adjacent IQR", "adjacent minimum", "adjacent maximum"),
        *("adjacent below 0.8", "adjacent mean width", "Quaver's PSS", "95% interval"),
    )
    rows = made.rows()
    assert [(row["data set"], row["model"], row["n"], row["repeats"]) for row in rows] == [
        ("sides", "one", 24, 6),
        ("sides", "two", 24, 6),
    ]
    for row in rows:
        given = repeats(study, row["model"])
        curve = np.array([alpha(given[:, :k]) for k in range(2, 7)])
        near = np.array([alpha(given[:, k : k + 2]) for k in range(5)])
        settled = next(k for k in range(2, 7) if (np.abs(curve[k - 2 :] - curve[-1]) <= 0.01).all())
        package = np.array([by_rows(given[:, :k], study.spec.seed) for k in range(2, 7)])
        steps = np.array([by_rows(given[:, k : k + 2], study.spec.seed) for k in range(5)])
        assert row["PSS"] == pytest.approx(curve[-1])
        ends = [row[f"package's interval {end}"] for end in ("low", "high")]
        assert ends == pytest.approx(package[-1])
        assert row["final width"] == pytest.approx(np.diff(package[-1])[0])
        assert row["repeats to settle"] == settled
        assert np.diff(package)[-1, 0] > 0.02
        assert row["repeats to precision"] is None
        assert row["largest deviation"] == pytest.approx(np.abs(curve - curve[-1]).max())
        assert row["Quaver's PSS"] == pytest.approx(alpha(repeats(study, row["model"], -1)))
        assert row["95% interval low"] < row["Quaver's PSS"] < row["95% interval high"]
        assert row["adjacent mean"] == pytest.approx(near.mean())
        assert row["adjacent SD"] == pytest.approx(np.sqrt(((near - near.mean()) ** 2).sum() / 4))
        assert row["adjacent IQR"] == pytest.approx(np.sort(near)[3] - np.sort(near)[1])
        assert [row["adjacent minimum"], row["adjacent maximum"]] == pytest.approx([near.min(), near.max()])
        assert row["adjacent below 0.8"] == pytest.approx(np.mean(near < 0.8))
        assert row["adjacent mean width"] == pytest.approx(np.diff(steps).mean())


def test_other_words(study):
    for row in tabled(study, "inter-stability"):
        each = {heat: np.mean([alpha(r) for r in wordings(study, row["model"], heat)]) for heat in (0.5, 5.0)}
        worst = min(each, key=lambda heat: each[heat])
        assert row["temperatures"] == 2
        scores = np.array(list(each.values()))
        assert row["mean PSS"] == pytest.approx(scores.mean())
        assert row["SD"] == pytest.approx(np.abs(np.diff(scores))[0] / np.sqrt(2))  # of two
        assert row["maximum PSS"] == pytest.approx(scores.max())
        assert row["range"] == pytest.approx(np.ptp(scores))
        assert row["minimum PSS"] == pytest.approx(each[worst])
        assert row["at temperature"] == worst
        assert row["temperatures below 0.8"] == np.mean([one < 0.8 for one in each.values()])
        whole = [alpha(r) for r in wordings(study, row["model"])]
        assert row["all paraphrases"] == pytest.approx(np.mean(whole))
        own, theirs = (
            row[f"{kind} high"] - row[f"{kind} low"] for kind in ("95% interval", "package's interval")
        )
        assert theirs < own
        drawn = [rows_drawn(one, study.spec.seed) for one in wordings(study, row["model"], worst)]
        ends = [row[f"package's interval {end}"] for end in ("low", "high")]
        assert ends == pytest.approx(np.percentile(np.mean(drawn, 0), [2.5, 97.5]))


def test_by_temperature_with_the_papers_interval(study):
    rows = tabled(study, "inter-by-temperature")
    assert [(row["model"], row["temperature"]) for row in rows] == [
        (model, heat) for model in ("one", "two") for heat in ("0.5", "5")
    ]
    for row in rows:
        heat = float(row["temperature"])
        given = wordings(study, row["model"], heat)
        assert row["PSS"] == pytest.approx(np.mean([alpha(r) for r in given]))
        filtered = wordings(study, row["model"], heat, missing=-1)
        assert row["filtered PSS"] == pytest.approx(np.mean([alpha(r) for r in filtered]))
        assert row["Quaver's PSS"] == pytest.approx(row["filtered PSS"])  # no answer has more than a code
        drawn = np.mean([rows_drawn(one, study.spec.seed) for one in given], 0)
        half = 1.96 * drawn.std() / np.sqrt(2)
        ends = [row[f"appendix A's interval {end}"] for end in ("low", "high")]
        assert ends == pytest.approx([row["PSS"] - half, row["PSS"] + half])
        assert row["distinct answers"] == 3
    wide = printed(study, "inter-by-temperature")[0].rows()
    assert wide[0]["sides, one, PSS"] == pytest.approx(rows[0]["PSS"])


def test_by_repeat_with_the_papers_interval(study):
    first, *rows = tabled(study, "intra-by-repeat")
    assert (first["repeats"], first["PSS"]) == ("1", None)
    assert first["distinct answers"] == len(np.unique(repeats(study, first["model"])[:, 0]))
    for row in rows:
        k = int(row["repeats"])
        if k == 1:  # of the second model
            continue
        given = repeats(study, row["model"])[:, :k]
        half = 1.96 * rows_drawn(given, study.spec.seed).std() / np.sqrt(k)
        assert row["PSS"] == pytest.approx(alpha(given))
        assert row["filtered PSS"] == pytest.approx(alpha(repeats(study, row["model"], -1)[:, :k]))
        assert row["Quaver's PSS"] == pytest.approx(row["filtered PSS"])
        ends = [row[f"appendix A's interval {end}"] for end in ("low", "high")]
        assert ends == pytest.approx([row["PSS"] - half, row["PSS"] + half])


def test_original_filtered_and_balanced(study):
    for row in tabled(study, "stability-views"):
        model = row["model"]
        assert row["intra original"] == pytest.approx(alpha(repeats(study, model)))
        assert row["intra filtered"] == pytest.approx(alpha(repeats(study, model, -1)))
        assert row["inter original"] == pytest.approx(np.mean([alpha(r) for r in wordings(study, model)]))
        filtered = [alpha(r) for r in wordings(study, model, missing=-1)]
        assert row["inter filtered"] == pytest.approx(np.mean(filtered))
        again, reworded = (balanced(study, model, decoding) for decoding in ("again", "reworded"))
        assert again.height < (repeats(study, model) != NA).sum()
        assert row["intra balanced"] == pytest.approx(alpha(grid(again, "item", ["repeat"], CODES)))
        each = [grid(reworded.filter(pl.col("repeat") == n), "item", ["variant"], CODES) for n in (0, 1)]
        assert row["inter balanced"] == pytest.approx(np.mean([alpha(one) for one in each]))
        every = [repeats(study, model), *wordings(study, model)]
        valid = sum((one != NA).sum() for one in every) / sum(one.size for one in every)
        assert row["answers with a label"] == row["exact answers"] == pytest.approx(valid)


SPELLED = {"1": ("1", "1.0", "1 - right", " 1\n"), "0": ("0", "0", "It is 0.", "0")}


def spelled(text, time):
    """Right in four cases of five, in one of the spellings."""
    label = "01"[text.endswith("right")]
    label = label if chance("spelled", text, time) > 0.2 else {"0": "1", "1": "0"}[label]
    return SPELLED[label][int(4 * chance("spelling", text, time))]


def test_answers_as_written_exact_codes_and_what_quaver_reads(tmp_path):
    """Each spelling is a category of its own; a code alone (or its number) is exact; Quaver reads more."""
    times = dict[str, int]()

    def model(text, prompt):
        times[text] = times.get(text, -1) + 1
        return spelled(text, times[text])

    items(tmp_path)
    study = STUDY.partition("variants:")[0] + "models: [{name: one, use: function}]\nrepeats: 5\n"
    study = study.replace("[left, right]", "['0', '1']").replace(", gold: gold", "")
    texts = [f"text {at} is {['right', 'left'][at % 2]}" for at in range(24)]
    written = np.array([[spelled(text, time) for time in range(5)] for text in texts])
    raw = np.unique(written, return_inverse=True)[1].reshape(24, 5)
    alone = np.array([[one.strip() in ("0", "1", "1.0") for one in row] for row in written])
    exact = np.where(alone, [["1" in one for one in row] for row in written], -1)
    answers = asked(tmp_path / "sides.yaml", study, one=model)
    read = grid(answers.annotations(), "item", ["repeat"], {"0": 0, "1": 1})
    assert (read[written == "1 - right"] == 1).all()
    (row,) = tabled(answers, "stability-views")
    assert row["intra original"] == pytest.approx(alpha(raw))
    assert row["intra filtered"] == pytest.approx(alpha(exact))
    assert row["intra, Quaver's"] == pytest.approx(alpha(read))
    assert row["exact answers"] == alone.mean()
    first, *rows = tabled(answers, "intra-by-repeat")
    assert first["distinct answers"] == len(np.unique(written[:, 0]))
    for row in rows:
        k = int(row["repeats"])
        assert row["PSS"] == pytest.approx(alpha(raw[:, :k]))
        assert row["filtered PSS"] == pytest.approx(alpha(exact[:, :k]))
        assert row["Quaver's PSS"] == pytest.approx(alpha(read[:, :k]))
        assert row["distinct answers"] == len(np.unique(written[:, k - 1]))
    (row,) = tabled(answers, "intra-stability")
    assert (row["PSS"], row["Quaver's PSS"]) == (pytest.approx(alpha(raw)), pytest.approx(alpha(read)))


def test_labels_that_were_imported_without_answers_are_what_was_written(tmp_path):
    rows = [f"{at},{n},{['a', 'b'][(at + n * (at % 3 == 0)) % 2]}" for at in range(12) for n in range(4)]
    (tmp_path / "labels.csv").write_text("id,repeat,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    study, _ = import_annotations(tmp_path / "labels.csv", tmp_path / "study")
    (row,) = tabled(study, "stability-views")
    assert row["intra original"] == row["intra filtered"] == row["intra, Quaver's"]
    assert row["exact answers"] == 1


def test_subsamples_are_the_seeded_draws(study):
    """Items whose keys are smallest, 1,000 times, without replacement; alpha of the labels of those alone."""
    made = tabled(study, "subsamples")
    rows = {
        tuple(row[name] for name in ("share of items", "model", "prompts", "temperature")): row
        for row in made
    }
    for model in ("one", "two"):
        blocks = {("intra", "all"): [repeats(study, model, -1)]}
        blocks |= {("inter", "all"): wordings(study, model, missing=-1)}
        blocks |= {("inter", f"{heat:g}"): wordings(study, model, heat, -1) for heat in (0.5, 5.0)}
        for share in ("0.1", "0.25", "0.5", "0.75"):
            size = round(float(share) * 24)
            rng = np.random.default_rng(derive(study.spec.seed, "subsample", "item", share))
            chosen = np.zeros((1000, 24))
            np.put_along_axis(chosen, np.argsort(rng.random((1000, 24)), 1)[:, :size], 1.0, 1)
            for (kind, heat), given in blocks.items():
                counts = [(one[..., None] == np.arange(2)).sum(1) * chosen[..., None] for one in given]
                with np.errstate(invalid="ignore", divide="ignore"):
                    scores = np.array([alphas(one) for one in counts])
                paired = np.array([(one.sum(-1) >= 2).sum(-1) for one in counts])
                known = np.isfinite(scores) & (paired > 1)  # of one item with several labels, α says nothing
                drawn = np.where(known, scores, 0).sum(0)[known.any(0)] / known.sum(0)[known.any(0)]
                row = rows[share, model, kind, heat]
                assert row["mean PSS"] == pytest.approx(drawn.mean())
                ends = [row[f"middle 95% {end}"] for end in ("low", "high")]
                assert ends == pytest.approx(np.percentile(drawn, [2.5, 97.5]))


def test_two_models(study):
    (row,) = tabled(study, "models")
    one, two = repeats(study, "one"), repeats(study, "two")
    between = [alpha(np.stack([one[:, k], two[:, k]], 1)) for k in range(6)]
    assert row["inter-model α"] == pytest.approx(np.mean(between))
    assert row["difference"] == pytest.approx(alpha(one) - alpha(two))
    kept = [np.arange(24) != at for at in range(24)]
    left = np.array([alpha(one[some]) - alpha(two[some]) for some in kept])
    half = 2.0687 * np.sqrt(23 / 24 * ((left - left.mean()) ** 2).sum())  # Student's t, 23 degrees of freedom
    ends = [row[f"difference 95% interval {end}"] for end in ("low", "high")]
    assert ends == pytest.approx([row["difference"] - half, row["difference"] + half], abs=0.05)
    assert (row["p"] < 0.05) == (ends[0] > 0 or ends[1] < 0)
    assert (row["first PSS"], row["second PSS"]) == (pytest.approx(alpha(one)), pytest.approx(alpha(two)))


def test_poor_prompts_with_their_words_worst_first(study):
    rows = tabled(study, "poor-prompts")
    values = [row["α with the original"] for row in rows]
    assert values == sorted(values)
    assert all(value < 0.8 for value in values)
    texts = {one.instruction: one.id for one in study.experiment.variants}
    for row in rows:
        both = [texts[row["prompt"]], "paraphrase=original"]
        frame = of(study, row["model"], "reworded").filter(pl.col("variant").is_in(both))
        repeat = [frame.filter(pl.col("repeat") == n) for n in (0, 1)]
        each = [alpha(grid(one, "item", ["variant"], CODES, NA)) for one in repeat]
        assert row["α with the original"] == pytest.approx(np.mean(each))


TOKENS = {"prompt_tokens": 2000, "cached_tokens": 0, "completion_tokens": 500}
SPENT = {"model": "one", "paraphrases": False, "calls": 400, **TOKENS, "money": 3.0}


def test_costs_are_split_into_what_is_read_and_written():
    """3 dollars of a batch: 2,000 tokens read at 1 and 500 written at 4 dollars a million cost alike."""
    prices = {"one": Price(input=1.0, output=4.0, cached=0.1)}
    source = SimpleNamespace(study=SimpleNamespace(source=SimpleNamespace(prices=prices)))
    assert stability_tables._money(source, SPENT) == (1.5, 1.5, 3.0)
    assert stability_tables._money(source, {**SPENT, "model": "two"}) == (None, None, 3.0)


def test_costs_of_a_part_of_the_items():
    """Of 400 calls for 3 dollars, a quarter is 100 calls and 0.75 dollars."""
    prices = {"one": Price(input=1.0, output=4.0, cached=0.1)}
    own = SimpleNamespace(name="sides", study=SimpleNamespace(source=SimpleNamespace(prices=prices)))
    own.costs = lambda: pl.DataFrame([SPENT])
    row, total = catalogue.kind_of("cost-shares").make([own]).rows()
    assert [row[name] for name in ("input cost", "output cost", "total cost")] == [1.5, 1.5, 3.0]
    assert [row[name] for name in ("2%", "5%", "10%", "25%", "50%", "75%")] == [8, 20, 40, 100, 200, 300]
    assert total["25%"] == 0.75
