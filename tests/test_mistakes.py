"""Mistakes that people make: each is one error that says where, and names what to write instead.

In Python it is one `QuaverError`; at the prompt, the same message on standard error and exit status 2.
"""

import os
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import polars as pl
import pytest
from tests.cli.commands import FUNCTIONS, here
from tests.spreadsheets import write_xlsx
from tests.studies import STUDY, changed, written

import quaver
from quaver.errors import QuaverError

ITEM, MODEL, LABELS = "gold: truth", "{name: fake, use: function}", "[positive, negative]"
TEXT = '"{{ text }}"'
_WITHOUT_ITEMS = STUDY.partition("items:")[0] + "prompt:" + STUDY.partition("prompt:")[2]

STUDIES = {
    # columns
    "a column of the text": (("{{ text }}", "{{ txt }}"), "6: items.text", "'text'?"),
    "a column without braces": ((TEXT, "text"), "6: items.text", '"{{ text }}"'),
    "single braces": ((TEXT, '"{text}"'), "6: items.text", '"{{ text }}"'),
    "braces without quotation marks": ((TEXT, "{{ text }}"), "6: items.text", '"{{'),
    "half a pair of braces": (("{{ text }}", "{{ text }"), "6: items.text", "{{ column }}"),
    "the ids": (("id: id", "id: idd"), "5: items.id", "'id'?"),
    "the gold labels": ((ITEM, "gold: truht"), "7: items.gold", "'truth'?"),
    "a column of groups": ((ITEM, "groups: [txet]"), "7: items.groups[0]", "'text'?"),
    "the groups that are resampled": ((ITEM, "group: autor"), "7: items.group", "id, text"),
    "a filter's column": ((ITEM, "where: {lang: en}"), "7: items.where.lang", "id, text"),
    "a filter's value": ((ITEM, "where: {truth: good}"), "7: items.where", "positive (1)"),
    "a coder": ((ITEM, "coders: [anna, ben]"), "7: items.coders[0]", "id, text"),
    "the separator": ((ITEM, 'separator: ";"'), "5: items.id", "separator: ','"),
    "two signs to separate": ((ITEM, 'separator: "::"'), "7: items.separator", "1 or fewer"),
    "the encoding": ((ITEM, "encoding: utf-9"), "items.encoding", "UTF-8"),
    # labels
    "a gold label outside the set": ((LABELS, "[positive, neutral]"), "items.csv:3", "add the label"),
    "no label": ((LABELS, "[positive, null]"), "2: task.labels[1]", '"null"'),
    "a tilde for a label": ((LABELS, "[positive, ~]"), "2: task.labels[1]", "YAML reads"),
    "a dash alone": ((LABELS, "\n    - positive\n    -"), "4: task.labels[1]", "YAML reads"),
    "true and false": ((LABELS, "[true, false]"), "2: task.labels[0]", '"true"'),
    "a broken number": ((LABELS, "[1.5, 2.5]"), "2: task.labels[0]", '"1.5"'),
    "a date": ((LABELS, "[2024-01-01, no]"), "2: task.labels[0]", '"2024-01-01"'),
    "a label's code": ((LABELS, "[{code: null}, b]"), "2: task.labels[0].code", '"null"'),
    "labels in one text": ((LABELS, "positive, negative"), "2: task.labels", "[positive, neg"),
    "a single label": ((LABELS, "[positive]"), "2: task.labels", "2 or more"),
    "a label twice": ((LABELS, "[a, a]"), "2: task.labels[1]", "remove one"),
    "an answer for no label": (
        ("instruction:", "answers: {positve: P}\n  instruction:"),
        "9: prompt.answers.positve",
        "'positive'?",
    ),
    "the level": (("task:", "task:\n  level: ranked"), "2: task.level", "'ordinal'"),
    # keys
    "a misspelt key": ("repeates: 2", "12: repeates", "'repeats'?"),
    "temperature": ("temperature: 0.7", "12: temperature", "decoding: {greedy: {temper"),
    "max_tokens": ("max_tokens: 5", "12: max_tokens", "decoding: {greedy: {max_tokens: 5}}"),
    "labels at the top": ("labels: [a, b]", "12: labels", 'task: {labels: ["a", "b"]}'),
    "text at the top": ("text: tweet", "12: text", "items: {text:"),
    "gold at the top": ("gold: truth", "12: gold", "items: {gold:"),
    "instruction at the top": ("instruction: A?", "12: instruction", "prompt: {instr"),
    "a model at the top": ("model: gpt-5", "12: model", "models: [openai/"),
    "another tool's key": ("metrics: [accuracy]", "12: metrics", "measures: ["),
    "a budget's key": ("budget: {dollars: 5}", "12: budget.dollars", "money"),
    "a key twice": ("task: {labels: [a, b]}", "12", "remove one"),
    "no models": ((STUDY, STUDY.partition("models:")[0]), "study.yaml: models", "models: ["),
    "no items": ((STUDY, _WITHOUT_ITEMS), "study.yaml: items", 'items: {"source"'),
    # types
    "a prompt as a text": (
        ("prompt:\n  instruction: Is", "prompt: Is"),
        "8: prompt",
        'prompt: {"instruction"',
    ),
    "items as a text": ((STUDY, _WITHOUT_ITEMS + "items: a.csv\n"), "7: items", 'items: {"source"'),
    "a word for a number": ("repeats: three", "12: repeats", "repeats: 1"),
    "none at all": ("repeats: 0", "12: repeats", "1 or more"),
    "half a repeat": ("repeats: 2.5", "12: repeats", "a whole number"),
    "a comma in a number": ('decoding: {hot: {temperature: "0,7"}}', "12", "a number"),
    "a percent": ("decoding: {hot: {top_p: 50%}}", "12: decoding.hot.top_p", "a number"),
    "a decoding without a name": ("decoding: {temperature: 1}", "12", "{greedy: {temper"),
    "a list of decodings": ("decoding: [0.7]", "12: decoding", '"greedy"'),
    "measures as a text": ("measures: accuracy", "12: measures", "[accuracy]"),
    "variants without a dash": ("variants: {use: label_order}", "12: variants", "dash"),
    "a budget as a number": ("budget: 5", "12: budget", '"money": 5'),
    # files
    "a file of items": (("items.csv", "itmes.csv"), "itmes.csv", "'items.csv'?"),
    "a folder of items": (("items.csv", "."), "", "name a file"),
    "a source of items": (("items.csv", "anes69"), "4: items.source", "anes96"),
    "examples": ((ITEM, "examples: train.csv"), "train.csv", "relative to the study file"),
    "a study to reuse": ("reuse: [../nowhere]", "12: reuse[0]", "has been run"),
    # models
    "an engine": (("use: function", "use: llamacp"), "11: models[0].use", "'llamacpp'?"),
    "a provider as an engine": (("use: function", "use: opneai"), "11", "openai/MODEL"),
    "a provider": ((MODEL, "opneai/gpt-5"), "11: models[0]", "openai/gpt-5-mini"),
    "no engine": ((MODEL, "{name: fake}"), "11: models[0].use", "llamacpp"),
    "no name": ((MODEL, "{use: function}"), "11: models[0].name", "name:"),
    "two of one name": ("  - {name: fake, use: function}", "10: models", "a `name` of its own"),
    "weights": ((MODEL, "none.gguf"), "11: models[0]", "check the path"),
    "an engine's option": (
        ("function}", "llamacpp, model: smollm2-135m-instruct, modle: x}"),
        "11: models[0].modle",
        "'mode'?",
    ),
    "a value of its option": (
        ("function}", "llamacpp, model: x, mode: quick}"),
        "11: models[0].mode",
        "'fast'",
    ),
    "a list for a version": (("function}", "function, version: [1]}"), "11: models[0].version", ""),
    "a preset": (("function}", "openai_compatible, preset: opneai, model: m}"), "11: models[0]", "'openai'?"),
    "a key": (
        ("function}", "openai_compatible, model: m, key: sk-proj-abcdefghijklmnopqrstuvwxyz01234567}"),
        "11: models[0].key",
        "names the variable",
    ),
    "half a price": (("function}", "function, price: {input: 1}}"), "11", "output: 0.6"),
    "a price": (("function}", "function, price: gpt-99}"), "11: models[0].price", "genai-prices"),
    "a model's factor": (("function}", "function, only: {tone: curt}}"), "11", "remove it"),
    # plug-ins
    "a measure": ("measures: [accuracie]", "12: measures[0]", "'accuracy'?"),
    "a measure's option": ("measures: [{use: f1, missng: drop}]", "12", "'missing'?"),
    "a measure's value": ("measures: [{use: accuracy, missing: keep}]", "12", "'drop'"),
    "a measure's column": ("measures: [{use: f1, by: [modle]}]", "12", "'model'?"),
    "a measure's model": ("measures: [{use: f1, only: {model: gpt}}]", "12", "fake"),
    "a measure's evaluator": ("measures: [{use: f1, evaluator: frist}]", "12", "marked_label"),
    "an evaluator": ("evaluators: [first_lable]", "12: evaluators[0]", "'first_label'?"),
    "an evaluator's option": ("evaluators: [{use: json_field, feild: x}]", "12", "'field'?"),
    "a family": ("variants: [paraphrase]", "12: variants[0]", "'paraphrases'?"),
    "an engine of paraphrases": ("variants: [{use: paraphrases, engine: gpt}]", "12: variants[0]", "surface"),
    "a follow-up": ("follow_ups: [why]", "12: follow_ups[0]", "verbal"),
    "a conclusion's column": (
        "conclusions: [{formula: share(positive) ~ age, effect: age > 0}]",
        "12: conclusions[0]",
        "id, text",
    ),
    "a conclusion's label": (
        "conclusions: [{formula: share(good) ~ id, effect: id > 0}]",
        "12: conclusions[0]",
        "positive",
    ),
    # YAML
    "a tab": (("  labels", "\tlabels"), "2", "indent with spaces"),
    "a colon": (("Is this positive", "Is this: positive"), "9", "quote texts that hold a colon"),
    "an empty file": ((STUDY, ""), "study.yaml", "quaver init"),
    "a list for a study": ((STUDY, "- a\n- b\n"), "study.yaml", "quaver init"),
}
"""What is added to the study file, or is changed in it; where the error points to; what it names."""


def opened(path, study):
    functions = {"fake": _positive} if "name: fake, use: function" in study else None
    return quaver.Study.open(path, functions=functions)


def _positive(text, prompt):
    return "positive"


@pytest.mark.parametrize(("change", "where", "names"), STUDIES.values(), ids=STUDIES)
def test_a_mistake_in_a_study_file(change, where, names, tmp_path, monkeypatch, capsys):
    study = changed(change)
    path = written(tmp_path, study)
    with pytest.raises(QuaverError) as caught:
        opened(path, study).plan()
    error = caught.value
    assert (f"study.yaml:{where}" if where[:1].isdigit() else where) in str(error.where)
    assert error.where
    assert error.fix, str(error)
    assert names in f"{error.expected} {error.found} {error.fix}", str(error)
    assert str(error).count("to do: ") == 1
    assert "(and" not in error.problem or "key does not fit" in error.problem, "one mistake, one complaint"
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    function = ("--function", "fake=functions:same") if "name: fake, use: function" in study else ()
    done = here(tmp_path, "plan", "study.yaml", *function, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("to do: ") == 1
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
    "a list": (("import", "texts.csv", "--coders", "anna,,ben"), "commas between"),
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
