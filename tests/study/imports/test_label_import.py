"""Files of existing labels become studies, and nothing about them is guessed silently."""

import json

import polars as pl
import pytest
from tests.spreadsheets import write_xlsx
from typer.testing import CliRunner

import quaver
from quaver.cli.main import app
from quaver.errors import ItemError, QuaverError, SpecError, StoreError, UnknownName
from quaver.study.analysis.study_acceptance import accept
from quaver.study.imports.label_import import import_annotations

INTRA = """\
id,text,annotation,iteration,ka_mean,ka_lower,ka_upper
0,Covid,48.0,0,,,
1,Jobs,12.0,0,,,
2,Roads,12.0,0,,,
0,Covid,48.0,1,,,
1,Jobs,,1,,,
2,Roads,48.0,1,,,
"""

INTER = """\
id,text,annotation,prompt_id,prompt,original,temperature,ka_mean,ka_lower,ka_upper
0,One.,1,0,Is it left?,True,0.1,0.9,0.8,1.0
1,Two.,0,0,Is it left?,True,0.1,0.9,0.8,1.0
0,One.,1,1,Left?,False,0.1,0.9,0.8,1.0
1,Two.,1,1,Left?,False,0.1,0.9,0.8,1.0
0,One.,1,0,Is it left?,True,0.5,,,
1,Two.,0,0,Is it left?,True,0.5,,,
"""

WIDE = "unit,anna,ben,party\n1,a,b,x\n2,a,a,y\n3,b,,x\n"

LONG = "doc,who,code,truth\n1,p,a,a\n1,q,a,a\n2,p,b,a\n2,q,a,a\n3,p,b,b\n3,q,b,b\n"


def imported(folder, text, roles=None, **options):
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return import_annotations(path, folder / "study", **(roles or {}), **options)


def test_repeats_as_promptstability_writes_them(tmp_path):
    study, taken = imported(tmp_path, INTRA)
    assert [(one.role, one.column) for one in taken] == [
        ("label", "annotation"),
        ("item", "id"),
        ("text", "text"),
        ("repeat", "iteration"),
        ("labels", "12, 48"),
        ("same", "'12.0'"),
        ("same", "'48.0'"),
        ("missing", "(an empty cell)"),
        ("field", "ka_mean, ka_lower, ka_upper"),
    ]
    frame = study.annotations()
    assert frame.height == 6
    assert frame.filter(pl.col("status") == "empty")["item"].cast(pl.String).to_list() == ["1"]
    # Items 0 and 2 alone have two labels: pairs 48-48 and 12-48. alpha = 1 - (n - 1)·o / Σ n_c·n_k
    # = 1 - 3·2 / (2·(1·3)) = 0 by hand.
    (estimate,) = study.measure("intra_pss")
    assert (estimate.value, estimate.n) == (pytest.approx(0.0), 2)


def test_prompts_as_promptstability_writes_them(tmp_path):
    """Each with its text, and the original one marked; a prompt for each item is nobody's paraphrase."""
    study, taken = imported(tmp_path, INTER)
    columns = {
        role: [one.column for one in taken if one.role == role] for role in ("variant", "prompt", "original")
    }
    assert columns == {
        "variant": ["prompt_id", "temperature"],
        "prompt": ["prompt"],
        "original": ["original"],
    }
    assert {variant.id: variant.system for variant in study.experiment.variants} == {
        "prompt_id=0,temperature=0.1": "Is it left?",
        "prompt_id=1,temperature=0.1": "Left?",
        "prompt_id=0,temperature=0.5": "Is it left?",
    }
    assert study.experiment.items[0].fields == {"id": "0", "text": "One."}
    shares = {(one.cell["variant"], one.cell["label"]): one.value for one in study.measure("label_shares")}
    assert shares["prompt_id=1,temperature=0.1", "1"] == 1.0
    assert shares["prompt_id=0,temperature=0.5", "1"] == 0.5
    assert study.annotations().filter("original")["prompt_id"].cast(pl.String).unique().to_list() == ["0"]
    assert "original_agreement" in [one.use for one in study.spec.measures]
    (tmp_path / "two").mkdir()
    plain, taken = imported(
        tmp_path / "two", INTER.replace("1,Two.,0,0,Is it left?", "1,Two.,0,0,Is Two. left?", 1)
    )
    assert "prompt" not in [one.role for one in taken]
    assert plain.experiment.variants[0].system == ""
    with pytest.raises(ItemError, match="'prompt'"):
        import_annotations(tmp_path / "two" / "labels.csv", tmp_path / "named", prompt="prompt")


def test_a_column_a_coder(tmp_path):
    study, taken = imported(tmp_path, WIDE, {"coders": ("anna", "ben"), "compare": ("party",)})
    assert {one.role for one in taken if one.why == "named"} == {"coders", "groups"}
    frame = study.annotations()
    assert frame.height == 5  # ben has not labelled unit 3, which is no answer of his
    assert frame.filter(pl.col("item") == "1")["label"].cast(pl.String).to_list() == ["a", "b"]
    assert frame["party"].cast(pl.String).unique().sort().to_list() == ["x", "y"]
    assert "inter_model" in [one.use for one in study.spec.measures]


def test_coders_that_nobody_named_are_told(tmp_path):
    study, taken = imported(tmp_path, WIDE)  # party shares no value with them, and is a field of the items
    assert [one.column for one in taken if one.role == "coders"] == ["anna", "ben"]
    assert all(one.why.startswith("recognised") for one in taken if one.role == "coders")
    assert ("field", "party") in {(one.role, one.column) for one in taken}
    assert study.status().total == 5
    (tmp_path / "apart.csv").write_text("unit,anna,party\n1,a,x\n2,b,y\n")
    with pytest.raises(QuaverError, match="column of labels"):
        import_annotations(tmp_path / "apart.csv", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_long_table_with_columns_of_any_name(tmp_path):
    roles = {"item": "doc", "coder": "who", "label": "code"}
    study, taken = imported(tmp_path, LONG, roles)
    assert ("gold", "truth") in [(one.role, one.column) for one in taken]
    accuracy = {one.cell["model"]: one.value for one in study.measure("accuracy")}
    assert accuracy == {"p": pytest.approx(2 / 3), "q": 1.0}


def test_parquet_with_numbers(tmp_path):
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"item": [1, 1, 2, 2], "coder": ["p", "q"] * 2, "label": [0, 1, 1, 1]}).write_parquet(path)
    study, _ = import_annotations(path)
    assert study.folder == tmp_path / "labels"
    assert study.annotations()["label"].cast(pl.String).to_list() == ["0", "1", "1", "1"]
    study.report()
    assert (study.folder / "report.html").exists()
    again = quaver.Study.open(study.folder)  # the study's own annotations.parquet stands beside the file
    assert again.annotations().equals(study.annotations())
    assert pl.read_parquet(study.folder / "annotations.parquet").equals(study.annotations())
    (study.folder / "imported.parquet").rename(study.folder / "annotations.parquet")
    text = (study.folder / "study.yaml").read_text()
    (study.folder / "study.yaml").write_text(text.replace("imported.parquet", "annotations.parquet"))
    with pytest.raises(SpecError, match="rename the file"):
        quaver.Study.open(study.folder).annotations()


def test_whole_numbers_with_a_point_are_told_to_be_the_same(tmp_path):
    text = LONG.replace(",a", ",1").replace(",b", ",2").replace("q,1,", "q,1.0,")
    study, taken = imported(tmp_path, text, {"item": "doc", "coder": "who"})
    assert ("same", "'1' and '1.0'") in [(one.role, one.column) for one in taken]
    assert study.experiment.labels.codes == ("1", "2")
    accuracy = {one.cell["model"]: one.value for one in study.measure("accuracy")}
    assert accuracy == {"p": pytest.approx(2 / 3), "q": 1.0}
    (tmp_path / "codes").mkdir()
    codes, _ = imported(tmp_path / "codes", "item,label\n1,1.1\n2,1.10\n")
    assert codes.experiment.labels.codes == ("1.1", "1.10")


def test_a_sheet_as_spreadsheets_save_it(tmp_path):
    sheet = 'Nr;Text;Müller;Schäfer\r\n1;"Steuern; senken";links;rechts\r\n2;Schulen;links;\r\n;;;\r\n'
    path = tmp_path / "sheet.csv"
    for encoding in ("utf-8-sig", "cp1252", "utf-16"):
        path.write_bytes(sheet.encode(encoding))
        if encoding != "utf-8-sig":
            with pytest.raises(ItemError, match=f"encoding={encoding}"):
                import_annotations(path, tmp_path / encoding)
        known = encoding.removesuffix("-sig")
        with pytest.raises(ItemError, match='separator=";"'):
            import_annotations(path, tmp_path / encoding, encoding=known)
        study, taken = import_annotations(
            path, tmp_path / encoding, coders=("Müller", "Schäfer"), encoding=known, separator=";"
        )
        (why,) = [one.why for one in taken if one.role == "item"]
        assert why == "no column was recognised"
        assert study.annotations().height == 3
        assert study.experiment.items[0].fields["Text"] == "Steuern; senken"


@pytest.mark.parametrize("prompts", [True, False])
def test_its_report_claims_nothing_that_is_not_known(tmp_path, prompts):
    study, _ = imported(tmp_path, INTER, {"ignore": () if prompts else ("prompt", "original")})
    report = " ".join(study.report().read_text(encoding="utf-8").split())
    if prompts:
        assert "6 labels in all" in report
        assert "prompts were imported" in report
        assert "Is it left?" in report
    else:
        assert "the prompts, and how" in report
        assert "were not imported" in report
    for claim in (
        "greedily",
        "calls in all",
        "as the model saw it",
        "quaver doctor",
        "whole design was collected",
    ):
        assert claim not in report


def test_repeats_that_no_column_numbers_are_counted(tmp_path):
    rows = [
        f"{item},{'ab'[(item + again) % 2 if item else 0]},0.5" for again in range(3) for item in range(4)
    ]
    text = "id,annotation,temperature\n" + "\n".join(rows)
    with pytest.raises(ItemError, match="one place"):  # nobody said that these are no mistake
        imported(tmp_path, text)
    study, taken = imported(tmp_path, text, {"twice": "repeat"})
    assert any(one.role == "repeat" and "order" in one.column for one in taken)
    assert study.annotations()["repeat"].to_list() == [0] * 4 + [1] * 4 + [2] * 4
    assert quaver.Study.open(study.folder).annotations().equals(study.annotations())
    (tmp_path / "large").mkdir()
    text = "id,repeat,annotation\n1,9223372036854775808,a\n2,20261123101500,b\n3,4,a"
    study, _ = imported(tmp_path / "large", text)
    assert study.annotations()["repeat"].to_list() == [0, 1, 2], "too large to be numbers"


def test_a_label_that_holds_a_comma(tmp_path):
    text = 'item,label\n1,"right, far"\n2,left\n3,left\n4,"right, far"\n'
    (tmp_path / "labels.csv").write_text(text)
    words = ["import", str(tmp_path / "labels.csv"), str(tmp_path / "study"), "--labels", 'left,"right, far"']
    result = CliRunner().invoke(app(), words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert quaver.Study.open(tmp_path / "study").experiment.labels.codes == ("left", "right, far")
    assert (
        CliRunner().invoke(app(), ["measure", str(tmp_path / "study")], catch_exceptions=False).exit_code == 0
    )
    split = CliRunner().invoke(app(), [*words[:2], str(tmp_path / "other"), "--labels", "left,right, far"])
    assert isinstance(split.exception, ItemError)
    assert isinstance(
        CliRunner().invoke(app(), [*words[:3], "--labels", 'left,"right']).exception, QuaverError
    )
    assert not (tmp_path / "other").exists()


def test_it_asks_nothing_and_is_not_written_over(tmp_path):
    study, _ = imported(tmp_path, INTRA)
    for work in (study.run, study.plan, study.variants.make, study.rescore):
        with pytest.raises(StoreError) as caught:
            work()
        assert (caught.value.where, caught.value.found) == (str(study.folder), study.source.kind)
    with pytest.raises(QuaverError, match="already a study"):
        imported(tmp_path, INTRA)
    path = study.folder / "study.yaml"
    path.write_text(path.read_text() + "repeats: 3\n")
    with pytest.raises(SpecError, match="remove 'repeats'"):
        quaver.Study.open(path)


def test_labels_outside_the_set_are_one_error_that_names_the_line(tmp_path):
    with pytest.raises(ItemError) as caught:
        imported(tmp_path, INTRA, labels=("12.0", "47.0"))
    assert caught.value.where == "labels.csv:2: annotation"
    assert "did you mean '47.0'?" in str(caught.value)
    assert not (tmp_path / "study").exists()


def test_a_sheet_of_coders_is_imported_and_read_again(tmp_path):
    rows = [line.split(",") for line in WIDE.splitlines()]
    path = write_xlsx(tmp_path / "coders.xlsx", {"read me": [["x"]], "coding": rows})
    study, _ = import_annotations(path, coders=("anna", "ben"), item="unit", sheet="coding")
    assert study.annotations().height == 5
    assert quaver.Study.open(study.folder).annotations().height == 5
    args = ["import", str(path), str(tmp_path / "again"), "--coders", "anna,ben", "--sheet", "coding"]
    assert CliRunner().invoke(app(), args).exit_code == 0


def _answers():
    """As many different long answers as rows, with the label at the end."""
    head = "id,text,annotation,iteration"
    rows = [
        f'{item},Text {item}.,"<think>{"thought " * 20}{item} {repeat}</think>{item % 2}",{repeat}'
        for repeat in range(4)
        for item in range(10)
    ]
    return "\n".join([head, *rows, ""])


def test_a_column_of_answers_is_not_taken_for_labels(tmp_path):
    study, taken = imported(tmp_path, _answers(), labels=["0", "1"])
    assert ("raw", "annotation") in [(one.role, one.column) for one in taken]
    assert study.annotations()["label"].cast(pl.String).to_list()[:4] == ["0", "1", "0", "1"]
    with pytest.raises(QuaverError, match="fewer than two labels") as caught:
        import_annotations(tmp_path / "labels.csv", tmp_path / "other")
    assert "labels=" in (caught.value.fix or "")


def test_many_labels_are_labels_where_their_column_is_named(tmp_path):
    """And a column that has one value, whatever it is called, holds the name of the data."""
    rows = [
        f"{item},{'12' if item % 3 else '48' if item % 2 else f'own {item}'},{r},MII"
        for r in (0, 1)
        for item in range(240)
    ]
    text = "\n".join(["id,annotation,iteration,label", *rows, ""])
    with pytest.raises(QuaverError, match="different labels") as caught:
        imported(tmp_path, text)
    assert "label= annotation" in (caught.value.fix or "")
    study, _ = imported(tmp_path, text, {"label": "annotation"})
    assert len(study.experiment.labels.labels) == 42


PEOPLE_AND_MODELS = "id,h1,h2,h3,gpt,llama,c1,c2\n"
for at in range(40):
    same, third, llama = "ab"[at % 2], "ab"[at % 5 // 4], "ab"[at % 3 // 2]
    PEOPLE_AND_MODELS += f"t{at},{same},{same},{third},{same},{llama},0.9,{at / 40}\n"
BOTH = {"coders": ("h1", "h2", "h3"), "models": ("gpt", "llama"), "confidence": ("c1", "c2")}


def test_people_and_models_of_one_table_are_compared_with_each_other(tmp_path):
    """Items 0 to 39: gpt agrees with h1 and h2, who are the majority."""
    study, _ = imported(tmp_path, PEOPLE_AND_MODELS, **BOTH)
    frame = study.annotations()
    assert frame.group_by("model").len().sort("model")["len"].to_list() == [40, 40]
    assert frame.filter(model="llama").sort("confidence")["confidence"].to_list() == [
        at / 40 for at in range(40)
    ]
    accuracy = {one.cell["model"]: one.value for one in study.measure("accuracy")}
    assert accuracy["gpt"] == 1
    assert accuracy["llama"] == sum((at % 2 == 1) == (at % 3 == 2) for at in range(40)) / 40
    calibration = {one.cell["model"]: one.value for one in study.measure("ece")}
    assert calibration["gpt"] == pytest.approx(0.1)
    won = {one.cell["model"] for one in study.measure("alternative_annotator")}
    assert won == {"gpt", "llama"}
    measured = {one.measure.partition("_")[0] for one in study.estimates()}
    assert {"accuracy", "alternative", "brier", "coder", "ece", "inter"} <= measured


@pytest.mark.parametrize("named", [{"coders": ("h*",)}, {"label": "h*"}])
def test_a_pattern_names_several_peoples_columns(named, tmp_path):
    study, _ = imported(tmp_path, PEOPLE_AND_MODELS, models=("gpt", "llama"), ignore=("c*",), **named)
    assert study.source.spec.annotations.coders == BOTH["coders"]


def test_what_people_drew_at_random_says_which_models_labels_to_accept(tmp_path):
    """Of 400 items people labelled 200, of which the model has 20 wrong."""
    text = "id,h1,h2,gpt\n"
    for at in range(400):
        people = "ab"[at % 2] * (at < 200)
        text += f"t{at},{people},{people},{'ab'[(at % 2) ^ (at % 10 == 3)]}\n"
    study, _ = imported(tmp_path, text, coders=("h1", "h2"), models=("gpt",), hand_labels="random")
    found = accept(study.source, error=0.2)
    assert (found.accepted, found.found[0].checked, found.found[0].wrong) == (200, 200, 20)
    assert {group.column for group in found.groups} == {"label"}  # people's columns are no groups


NAMED = {"item": "doc", "coder": "who", "label": "code"}


@pytest.mark.parametrize(
    ("text", "roles", "error", "said"),
    [
        (LONG, {"item": "dok", "label": "code"}, UnknownName, "did you mean 'doc'?"),
        (LONG.replace("1,q", "1,p"), {"item": "doc", "label": "code"}, ItemError, "one place"),
        (LONG, {"label": "code"}, QuaverError, "no column of items"),
        (LONG.replace("1,q,a,a", "1,q,a,b"), {**NAMED, "gold": "truth"}, ItemError, "two values of 'truth'"),
        (
            LONG,
            {"item": "doc", "label": "code", "gold": "who"},
            QuaverError,
            "of code and of who hardly overlap",
        ),
        (PEOPLE_AND_MODELS, {**BOTH, "confidence": ("c1",)}, QuaverError, "one column for each"),
        (PEOPLE_AND_MODELS, {**BOTH, "confidence": ("c1", "h1")}, QuaverError, "named twice"),
        (PEOPLE_AND_MODELS, {**BOTH, "confidence": ("c1", "id")}, QuaverError, "not a confidence"),
        (PEOPLE_AND_MODELS, {**BOTH, "gold": "labels.csv"}, UnknownName, "is a file: join its rows"),
        ("item,label,code\n1,a,b\n2,b,a\n", None, QuaverError, "several columns could be the label"),
        ("item,label\n1,a\n2,a\n", None, QuaverError, "fewer than two labels"),
        ("item,label\n,a\n2,b\n", None, ItemError, "no item"),
        ("item,label\n", None, ItemError, "no annotations"),
        (INTRA.replace(",,,", ",,", 1), None, ItemError, "differ in length"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path, monkeypatch, text, roles, error, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        imported(tmp_path, text, roles)
    assert said in str(caught.value)


def test_logs_of_other_programs_are_read_as_they_are(tmp_path):
    """Two filters of lm-evaluation-harness are variants, not repeats; evals log several events a sample."""
    harness = [
        {
            "doc_id": at,
            "doc": {"question": f"{at}?"},
            "target": "a",
            "filter": kind,
            "filtered_resps": ["ab"[at % 2]],
        }
        for at in range(4)
        for kind in ("strict", "loose")
    ]
    evals = [{"spec": {"completion_fns": ["m"]}}]
    for at in range(4):
        sampled = {"sampled": ["a"], "prompt": [{"content": f"{at}?"}]}
        evals.append({"sample_id": f"s{at}", "type": "sampling", "data": sampled})
        for kind, data in (("sampling", {"sampled": ["b"]}), ("match", {"expected": "ab"[at % 2]})):
            evals.append({"sample_id": f"s{at}", "type": kind, "data": data})  # a grader's, the true label
    for name, log, rows in (("harness", harness, 8), ("evals", [*evals, {"final_report": {}}], 4)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, log)))
        study, _ = import_annotations(path, raw="answer", labels=("a", "b"))
        frame = study.annotations()
        assert (frame.height, frame["status"].unique().to_list()) == (rows, ["valid"])
        assert (frame["label"].cast(str) == frame["gold"].cast(str)).mean() == 0.5
        assert frame["repeat"].unique().to_list() == [0]


def test_scores_of_inspect_ai_that_are_no_numbers_are_no_labels(tmp_path):
    rows = [{"sample_id": at, "epoch": 1, "score": [1.0, 0.0, float("nan")][at % 3]} for at in range(6)]
    pl.DataFrame(rows).write_parquet(tmp_path / "logs.parquet")
    (tmp_path / "logs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for ending in ("parquet", "jsonl"):
        named = {"label": "score", "item": "sample_id", "repeat": "epoch"}
        frame = import_annotations(tmp_path / f"logs.{ending}", tmp_path / ending, **named)[0].annotations()
        assert frame["label"].cast(str).to_list() == ["1", "0", None] * 2
    (tmp_path / "log.json").write_text(json.dumps({"eval": {}, "samples": rows, "reductions": [{}]}))
    with pytest.raises(ItemError, match="a log of inspect-ai"):
        import_annotations(tmp_path / "log.json", **named)
