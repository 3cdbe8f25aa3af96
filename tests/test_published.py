"""The recipes of published data sets: each can be read, is listed, and says where its data are."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.papers.planted import alpha as alpha_of
from tests.papers.planted import alphas

from quaver.errors import SpecError, UnknownName

PUBLISHED = Path(__file__).parents[1] / "examples" / "published"
RECIPES = sorted(path.parent.name for path in PUBLISHED.glob("*/published.yaml"))


@pytest.fixture(name="run", scope="module")
def _run():
    """The script that computes all figures again."""
    sys.path.insert(0, str(PUBLISHED))
    spec = importlib.util.spec_from_file_location("published_run", PUBLISHED / "run.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    sys.path.remove(str(PUBLISHED))
    return script


def test_every_recipe_is_run(run):
    assert sorted(run.SETS) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_can_be_read(run, name):
    spec, _ = run.read_published(PUBLISHED / name)
    file = run.SETS[name][1]
    assert file in spec.files
    assert spec.source
    has_numbers = bool(spec.numbers) or any(one.scores is not None for one in spec.files.values())
    assert has_numbers == (name != "relevance")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_where_its_data_are(run, name):
    text = (PUBLISHED / name / "published.yaml").read_text(encoding="utf-8")
    assert re.search(rf"Get them: clone github\.com/[\w-]+/{run.SETS[name][0]}\b", text)


def test_a_set_is_computed_again_from_its_data(run, tmp_path):
    data = tmp_path / "FluffFinder" / "Data_LLM"
    data.mkdir(parents=True)
    spec, _ = run.read_published(PUBLISHED / "fluff")
    columns = ",".join(f"score {n}" for n in range(1, 21))
    for number, file in enumerate(spec.files.values()):
        rows = [f"{text},{','.join(str(1 + (text + number) % 5) for _ in range(20))}" for text in range(10)]
        (tmp_path / "FluffFinder" / file.file).write_text("\n".join([f"T,{columns}", *rows]))
    text, verdicts = run.section("fluff", tmp_path / "FluffFinder", run.SETS["fluff"][1])
    assert verdicts == {"differs": len(spec.numbers)}  # these alphas are 1
    assert "1.000 [" in text


def test_data_that_are_not_there_are_said_to_be_missing(run, tmp_path):
    text, verdicts = run.section("moves", tmp_path / "nowhere", "steps_100_times")
    assert not verdicts
    assert "Not computed: nowhere is not in the folder of data." in text


LABELS = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("a", "a"), ("b", "a"), ("a", "a"), ("b", "b")]
PUBLISHED_FILE = """\
source: Somebody (2024)
files:
  repeats:
    file: repeats.csv
    import: {item: id, label: annotation, repeat: iteration, gold: truth}
numbers:
  - {of: repeats, measure: accuracy, value: '0.88', low: 0.8, high: 0.9, where: Table 1}
  - {of: repeats, measure: accuracy, value: 80%, where: Table 2}
  - {of: repeats, measure: intra_pss, value: ALPHA, where: in the text}
"""


def alpha():
    """Krippendorff's alpha of two raters, by hand: 1 - (n - 1) Σ o_ck / Σ n_c n_k over unlike pairs."""
    flat = [label for pair in LABELS for label in pair]
    observed = sum(one != two for one, two in LABELS) * 2
    n, of_a = len(flat), flat.count("a")
    return 1 - (n - 1) * observed / (2 * of_a * (n - of_a))


def written(folder, text=PUBLISHED_FILE):
    rows = [
        f"i{at},{label},{repeat},{pair[0]}"
        for at, pair in enumerate(LABELS)
        for repeat, label in enumerate(pair)
    ]
    (folder / "repeats.csv").write_text("id,annotation,iteration,truth\n" + "\n".join(rows), encoding="utf-8")
    (folder / "published.yaml").write_text(text.replace("ALPHA", f"{alpha():.2f}"), encoding="utf-8")
    return folder


def test_each_number_is_judged_by_its_rounding(run, tmp_path):
    (first, second, third), absent = run.recomputed(written(tmp_path))
    assert [one.verdict for one in (first, second, third)] == ["reproduced", "differs", "reproduced"]
    assert not absent
    assert (first.published, first.digits, first.estimate.value) == (0.88, 2, 14 / 16)
    assert (second.published, second.digits) == (0.8, 2)
    assert third.estimate.value == pytest.approx(alpha())
    assert first.times_as_wide == pytest.approx((first.estimate.high - first.estimate.low) / 0.1)
    assert second.times_as_wide is None


def scored(folder, name, scores):
    """A file as promptstability writes it: three repeats of LABELS, the last two alike, and its scores."""
    rows = [
        f"{at},text {at},{pair[min(repeat, 1)]},{repeat},"
        + ",".join(map(str, scores.get(repeat, ("", "", ""))))
        for repeat in range(3)
        for at, pair in enumerate(LABELS)
    ]
    head = "id,text,annotation,iteration,ka_mean,ka_lower,ka_upper\n"
    (folder / name).write_text(head + "\n".join(rows), encoding="utf-8")


def three_repeats():
    counts = [[[pair[0], pair[1], pair[1]].count(label) for label in "ab"] for pair in LABELS]
    return float(alphas(np.array([counts], float))[0])


def test_the_scores_in_promptstabilitys_files_are_published_numbers(run, tmp_path):
    whole = three_repeats()
    scored(tmp_path, "within.csv", {1: (alpha() + 0.004, 0.3, 0.5), 2: (whole + 0.02, 0.2, 0.4)})
    text = "files: {within: {file: within.csv, scores: 2}, gone: {file: gone.csv, scores: 2}}\n"
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    (first, second), absent = run.recomputed(tmp_path)
    assert absent == ["gone.csv"]
    assert [one.where for one in (first, second)] == ["within.csv, iteration 1", "within.csv, iteration 2"]
    assert first.estimate.value == pytest.approx(alpha())
    assert second.estimate.value == pytest.approx(whole)
    assert [first.verdict, second.verdict] == ["reproduced", "differs"]
    assert (first.low, first.high) == (0.3, 0.5)
    assert first.times_as_wide > 1


def test_scores_that_stand_in_a_table_of_their_own(run, tmp_path):
    scored(tmp_path, "within.csv", {1: (0.1, 0.0, 0.2)})
    rows = f"1,{alpha()!r},a,Filtered\n2,{three_repeats()!r},a,Filtered\n1,0.5,b,Filtered\n"
    (tmp_path / "all.csv").write_text(f"iteration,ka_mean,dataset,type\n{rows}", encoding="utf-8")
    text = "files: {a: {file: within.csv, scores: 12, scores_in: {file: all.csv, only: {dataset: a}}}}\n"
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    numbers, _ = run.recomputed(tmp_path)
    assert [one.verdict for one in numbers] == ["reproduced", "reproduced"]


def test_answers_as_they_were_written_are_measured_as_such(run, tmp_path):
    said = [("a", "a."), ("a", "a"), ("b", "It is b"), ("b", "b"), ("a", "b")]
    rows = [f"{at},{n},{pair[n]}" for at, pair in enumerate(said) for n in range(2)]
    (tmp_path / "raw.csv").write_text("id,iteration,answer\n" + "\n".join(rows) + "\n", encoding="utf-8")
    kinds = {text: at for at, text in enumerate(sorted({text for pair in said for text in pair}))}
    expected = alpha_of(np.array([[kinds[text] for text in pair] for pair in said]))
    reading = "{item: id, raw: answer, repeat: iteration, labels: [a, b]}"
    number = f"{{of: raw, measure: intra_pss, options: {{by: []}}, value: {expected:.6f}}}"
    text = f"files: {{raw: {{file: raw.csv, written: true, import: {reading}}}}}\nnumbers: [{number}]\n"
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    ((one,), _) = run.recomputed(tmp_path)
    assert one.verdict == "reproduced"


def test_scores_by_temperature(run, tmp_path):
    rows = [
        f"{at},text {at},{label},{prompt},{heat},{alpha() if heat == '0.5' else ''},0.1,0.6"
        for heat in ("0.5", "5.0")
        for prompt in range(2)
        for at, pair in enumerate(LABELS)
        for label in [pair[prompt]]
    ]
    head = "id,text,annotation,prompt_id,temperature,ka_mean,ka_lower,ka_upper\n"
    (tmp_path / "between.csv").write_text(head + "\n".join(rows), encoding="utf-8")
    text = "files: {between: {file: between.csv, scores: 2}}\n"
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    ((one,), _) = run.recomputed(tmp_path)
    assert (one.verdict, one.estimate.value) == ("reproduced", pytest.approx(alpha()))
    assert one.estimate.cell["factor_temperature"] == "0.5"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("of: repeats", "of: repeat"), UnknownName),
        (("value: '0.88'", "value: many"), SpecError),
        (("gold: truth", "golden: truth"), UnknownName),
        (("measure: accuracy, value: '0.88'", "measure: acuracy, value: '0.88'"), UnknownName),
        (("measure: accuracy, value: '0.88'", "measure: f1, estimate: f3, value: '0.88'"), SpecError),
    ],
)
def test_a_mistake_is_one_error(run, tmp_path, change, kind):
    with pytest.raises(kind):
        run.recomputed(written(tmp_path, PUBLISHED_FILE.replace(*change, 1)))


def test_numbers_are_read_with_their_decimals(run):
    read = sys.modules["recompute"].read_number
    texts = ("0.90", 0.9, "94%", "94.5 %", "−.12", 1, "1e-3")
    expected = [(0.9, 2), (0.9, 1), (0.94, 2), (0.945, 3), (-0.12, 2), (1.0, 0), (0.001, 3)]
    assert [read(text, "") for text in texts] == expected
    for wrong in ("many", "", "%", "0.9.1", "1e999"):
        with pytest.raises(SpecError, match="no number"):
            read(wrong, "")


def test_labels_in_several_files_are_one_table_with_true_labels_of_another(run, tmp_path):
    for prompt, labels in (("0", "1012"), ("1", "1116")):
        lines = [f"q{at // 2} 0 p{at % 2} {label}" for at, label in enumerate(labels)]
        path = tmp_path / "gpt" / f"graded_{prompt}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([*lines, "q0 0 p0 0"]))  # the first row of a place counts
    (tmp_path / "qrels.txt").write_text("q0 0 p0 1\nq0 0 p1 0\nq1 0 p0 2\n")
    reading = {
        "name": "gpt/graded_{variant}.txt",
        "columns": ["query", "_", "passage", "label"],
        "item": ["query", "passage"],
        "labels": [0, 1, 2],
        "outside": "no-label",
        "twice": "first",
        "gold": "qrels.txt",
        "gold_columns": ["query", "_", "passage", "gold"],
    }
    study = run.imported(tmp_path / "gpt" / "*.txt", tmp_path / "study", reading, tmp_path)
    frame = study.annotations()
    rows = {(row["variant"], row["item"]): row for row in frame.iter_rows(named=True)}
    assert (frame.height, rows["variant=1", "q0/p1"]["label"]) == (8, "1")
    assert (rows["variant=0", "q0/p0"]["label"], rows["variant=0", "q0/p0"]["gold"]) == ("1", "1")
    assert (rows["variant=1", "q1/p1"]["label"], rows["variant=1", "q1/p1"]["gold"]) == (None, None)
