"""Mistakes that people make: each is one error that says where, and names what to write instead.

In Python it is one `QuaverError`; at the prompt, the same message on standard error and exit status 2.
"""

import os
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import polars as pl
import pytest
from ruamel.yaml import YAML
from tests.cli.commands import FUNCTIONS, here
from tests.spreadsheets import write_xlsx
from tests.studies import STUDY, changed, written

import quaver
from quaver.errors import QuaverError

_WITHOUT_ITEMS = STUDY.partition("items:")[0] + "prompt:" + STUDY.partition("prompt:")[2]

_CASES = YAML(typ="safe").load(Path(__file__).with_name("data") / "mistakes.yaml")
STUDIES = {
    one["mistake"]: (one.get("more") or (one["old"], one["new"]), one["where"], one["names"])
    for one in _CASES
}
ANYWHERE = {one["mistake"] for one in _CASES if one.get("anywhere")}
"""Mistakes whose error may name them in its problem alone, and may say what is expected, not what to do."""
STUDIES |= {
    "no models": ((STUDY, STUDY.partition("models:")[0]), "study.yaml: models", "models: ["),
    "no items": ((STUDY, _WITHOUT_ITEMS), "study.yaml: items", 'items: {"source"'),
    "items as a text": ((STUDY, _WITHOUT_ITEMS + "items: a.csv\n"), "7: items", 'items: {"source"'),
    "an empty file": ((STUDY, ""), "study.yaml", "quaver init"),
    "a list for a study": ((STUDY, "- a\n- b\n"), "study.yaml", "quaver init"),
}
"""What is added to the study file, or is changed in it; where the error points to; what it names."""


def opened(path, study):
    functions = {"fake": _positive} if "name: fake, use: function" in study else None
    return quaver.Study.open(path, functions=functions)


def _positive(text, prompt):
    return "positive"


@pytest.mark.parametrize("mistake", STUDIES)
def test_a_mistake_in_a_study_file(mistake, tmp_path, monkeypatch, capsys):
    change, where, names = STUDIES[mistake]
    study = changed(change)
    path = written(tmp_path, study)
    with pytest.raises(QuaverError) as caught:
        opened(path, study).plan()
    error = caught.value
    assert (f"study.yaml:{where}" if where[:1].isdigit() else where) in str(error.where)
    assert error.where
    assert error.fix or mistake in ANYWHERE, str(error)
    said = str(error) if mistake in ANYWHERE else f"{error.expected} {error.found} {error.fix}"
    assert names in said, str(error)
    assert str(error).count("to do: ") == bool(error.fix)
    assert "(and" not in error.problem or "key does not fit" in error.problem, "one mistake, one complaint"
    assert "pydantic" not in str(error)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    function = ("--function", "fake=functions:same") if "name: fake, use: function" in study else ()
    done = here(tmp_path, "plan", "study.yaml", *function, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("to do: ") == bool(error.fix)
    assert error.problem in done.stderr
    assert not (tmp_path / "responses.db").exists()


@cache
def ran():
    """A study with answers, in a folder beside a table and a spreadsheet."""
    folder = Path(mkdtemp())
    study = STUDY + 'variants: [{use: instructions, texts: {curt: "Positive?"}}]\nmeasures: [accuracy]\n'
    found = opened(written(folder, study), study)
    found.run()
    TABLE.write_csv(folder / "texts.csv")
    write_xlsx(folder / "two.xlsx", {"one": [{"a": 1}], "two": [{"a": 2}]})
    return found


TABLE = pl.DataFrame(
    {"tweet": ["I like it", "I hate it", "no", "ok"], "label": ["good", "bad", "good", "bad"]}
)


def spec(**items):
    """A study in Python over the table."""
    return {
        "task": {"labels": ["good", "bad"]},
        "items": {"source": TABLE, "text": "{{ tweet }}", **items},
        "prompt": {"instruction": "Good or bad?"},
        "models": [{"name": "fake", "use": "function"}],
    }


def of(**items):
    return quaver.Study.open(spec(**items), folder=mkdtemp(), functions={"fake": _positive})


def beside(name):
    return ran().folder / name


def checked(data=TABLE, **options):
    return quaver.check(data, **{"model": _positive, "to": mkdtemp(), **options})


CALLS = {
    # opening
    "no study": (lambda: quaver.Study.open("nowhere/study.yaml"), "nowhere/study.yaml", "quaver init"),
    "a number": (lambda: quaver.Study.open(3), "Study.open(study)", "a path"),
    "a table": (lambda: quaver.Study.open(beside("texts.csv")), "texts.csv", "quaver check texts.csv"),
    "a spreadsheet": (lambda: quaver.Study.open(beside("two.xlsx")), "two.xlsx", "quaver check two.xlsx"),
    "an argument": (lambda: quaver.Study.open("study.yaml", function={}), "Study.open", "'functions'?"),
    "a function's model": (
        lambda: quaver.Study.open(ran().folder, functions={"fak": _positive}),
        "functions",
        "'fake'?",
    ),
    "no function": (
        lambda: quaver.Study.open(ran().folder, functions={"fake": "positive"}),
        "Study.open(functions)",
        "a function",
    ),
    "a class that is called": (lambda: quaver.Study("study.yaml"), "Study", "quaver.Study.open"),
    # frames and lists
    "a frame's column": (lambda: of(text="{{ twet }}"), "items.text", "'tweet'?"),
    "a frame's gold labels": (lambda: of(gold="labl"), "items.gold", "'label'?"),
    "a frame's filter": (lambda: of(where={"lang": "en"}), "items.where.lang", "label, tweet"),
    "a sheet": (lambda: of(source=str(beside("two.xlsx")), sheet="three"), "two.xlsx", "one, two"),
    "which of two sheets": (lambda: of(source=str(beside("two.xlsx"))), "two.xlsx", "sheet: one"),
    "numbers for texts": (lambda: of(source=[1, 2]), "items.source", "columns"),
    "one mapping among texts": (lambda: of(source=["a", {"b": 1}]), "items.source", "a text"),
    # measuring
    "an unknown measure": (lambda: ran().measure("accuracie"), "measures", "'accuracy'?"),
    "an unknown measure of many": (lambda: ran().estimates("acuracy"), "measure", "'accuracy'?"),
    "an unknown option": (lambda: ran().measure("accuracy", missng="drop"), "missng", "'missing'?"),
    "an unknown value": (lambda: ran().measure("accuracy", missing="keep"), "missing", "'drop'"),
    "an unknown column": (lambda: ran().measure("accuracy", by=["modle"]), "by", "'model'?"),
    "an unknown evaluator": (
        lambda: ran().measure("accuracy", evaluator="frist"),
        "measures",
        "marked_label",
    ),
    "which estimates": (lambda: ran().estimates(of="all"), "Study.estimates(of)", "'audit'"),
    "fewer than no requests": (lambda: ran().run(requests=-1), "Study.run(requests)", "0 or more"),
    "a run's argument": (lambda: ran().run(retry=True), "Study.run", "'retry_errors'?"),
    "a pilot in words": (lambda: ran().plan(pilot="many"), "Study.plan(pilot)", "a whole number"),
    "a chart's width": (lambda: ran().charts(width="wide"), "Study.charts(width)", "a whole number"),
    "an evaluator to rescore with": (lambda: ran().rescore(["exct"]), "evaluators[0]", "'exact'?"),
    "names that are no texts": (lambda: ran().rescore([1]), "Study.rescore(evaluators)", "text"),
    "less than none": (lambda: ran().plan(pilot=-1), "Study.plan(pilot)", "0 or more"),
    "a comparison with nothing": (lambda: quaver.compare(ran(), 3), "compare(after)", ""),
    "a format": (lambda: ran().export("calls.xls"), "calls.xls", ".parquet"),
    "a file for a folder": (lambda: ran().report(beside("texts.csv")), "texts.csv", "name a folder"),
    "no frame": (lambda: quaver.measures.accuracy([1, 2]), "annotations", "DataFrame"),
    "a frame without labels": (
        lambda: quaver.measures.accuracy(ran().annotations().drop("label")),
        "annotations",
        "columns={'label'",
    ),
    "a percentage for a level": (
        lambda: quaver.measures.accuracy(ran().annotations(), confidence_level=95),
        "confidence_level",
        "0.95",
    ),
    "a column of raters": (
        lambda: quaver.measure_agreement(TABLE, item="tweet", rater="codr", label="label"),
        "rater",
        "label, tweet",
    ),
    "a level of measurement": (
        lambda: quaver.measure_agreement(TABLE, item="tweet", rater="label", label="label", level="rank"),
        "measure_agreement(level)",
        "'ordinal'",
    ),
    "ratings of unequal length": (
        lambda: quaver.agreement.krippendorff_alpha([[1, 1], [1]]),
        "ratings",
        "items × raters",
    ),
    # comparing, sharing
    "a column to compare by": (lambda: quaver.compare(ran(), by="modle"), "by=", "'model'?"),
    "a path to compare": (
        lambda: quaver.compare("study.yaml"),
        "compare(before)",
        "Study.open('study.yaml')",
    ),
    "a level to compare with": (
        lambda: quaver.compare(ran(), by="variant", reference="crt"),
        "reference=",
        "paraphrase=curt",
    ),
    "a bound": (
        lambda: quaver.compare(ran(), by="variant", fail_if=["accuracy << 0"]),
        "fail_if=",
        "accuracy < -0.02",
    ),
    "no bundle": (lambda: quaver.verify("none.zip"), "none.zip", "quaver bundle"),
    "a table for a bundle": (lambda: quaver.verify(beside("texts.csv")), "texts.csv", "quaver bundle"),
    "a column to import": (
        lambda: quaver.import_annotations(beside("texts.csv"), mkdtemp() + "/in", item="twet", label="label"),
        "item=",
        "'tweet'?",
    ),
    "no file to import": (lambda: quaver.import_annotations("none.csv"), "none.csv", "CSV"),
    # quaver.check
    "a column to check": (lambda: checked(text="twet"), "text", "'tweet'?"),
    "gold labels to check": (lambda: checked(text="tweet", gold="labl"), "gold", "'label'?"),
    "a coder to check": (
        lambda: checked(text="tweet", coders=["anna"], labels=["good", "bad"]),
        "coders",
        "tweet",
    ),
    "one label to check": (lambda: checked(text="tweet", labels=["good"]), "labels", "two labels"),
    "labels in a text": (
        lambda: checked(text="tweet", labels="good, bad"),
        "check(labels)",
        "['good', 'bad']",
    ),
    "no labels to check": (lambda: checked(TABLE.drop("label")), "", "labels="),
    "gold labels beside the labels": (
        lambda: checked(text="tweet", labels=["favor", "against"], gold="label"),
        "label",
        "favor",
    ),
    "a provider to check": (
        lambda: checked(text="tweet", model="opneai/gpt-5"),
        "model",
        "openai/gpt-5-mini",
    ),
    "a model without a provider": (
        lambda: checked(text="tweet", model="gpt-5"),
        "model=",
        "openai/gpt-5-mini",
    ),
    "no file to check": (lambda: checked("none.csv"), "none.csv", "check the path"),
    "a number to check": (lambda: checked(5), "data", "a data frame"),
    "no texts to check": (lambda: checked(n=0), "check(n)", "1 or more"),
    "an argument of check": (lambda: checked(txt="tweet"), "check", "'text'?"),
}
"""What is called; where the error points to; what it names."""


@pytest.fixture(autouse=True)
def _at_home(tmp_path):
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)


@pytest.mark.parametrize(("call", "where", "names"), CALLS.values(), ids=CALLS)
def test_a_mistake_in_python(call, where, names):
    with pytest.raises(QuaverError) as caught:
        call()
    error = caught.value
    assert error.where
    assert where in error.where
    assert error.fix or error.expected
    assert names in f"{error.expected} {error.found} {error.fix}", str(error)


COMMANDS = {
    "a command": (("mesure", "study.yaml"), "measure"),
    "an option": (("run", "study.yaml", "--smal"), "--small"),
    "an option's value": (("compare", "study.yaml", "--flips", "many"), "--flips"),
    "no argument": (("measure",), "study"),
    "one argument too many": (("status", "study.yaml", "other.yaml"), "other.yaml"),
    "a kind of study": (("init", "stabilty"), "'stability'?"),
    "half a function": (("run", "study.yaml", "--function", "fake"), "NAME=MODULE:FUNCTION"),
    "a list": (("import", "texts.csv", "--coders", "anna,,ben"), "separated by commas"),
    "a level": (
        ("agreement", "a.csv", "--item", "i", "--rater", "r", "--label", "l", "--level", "rank"),
        "ordinal",
    ),
    "a file to check": (("check", "none.csv"), "check the path"),
}
"""What is typed, and what the error names."""


@pytest.mark.parametrize(("words", "names"), COMMANDS.values(), ids=COMMANDS)
def test_a_mistake_at_the_prompt(words, names, tmp_path, monkeypatch, capsys):
    done = here(tmp_path, *words, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("Error") == 1
    assert "Traceback" not in done.stderr
    assert names in done.stderr
