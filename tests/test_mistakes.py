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
from tests.studies import STUDY, written

import quaver
from quaver.errors import QuaverError


def changed(old, new):
    assert STUDY.count(old) == 1
    return STUDY.replace(old, new)


ITEM, MODEL, LABELS = "gold: truth", "{name: fake, use: function}", "[positive, negative]"
_WITHOUT_ITEMS = STUDY.partition("items:")[0] + "prompt:" + STUDY.partition("prompt:")[2]

STUDIES = {
    # columns
    "a column of the text": (changed("{{ text }}", "{{ txt }}"), "study.yaml:6: items.text", "'text'?"),
    "a column without braces": (changed('"{{ text }}"', "text"), "study.yaml:6: items.text", '"{{ text }}"'),
    "single braces": (changed('"{{ text }}"', '"{text}"'), "study.yaml:6: items.text", '"{{ text }}"'),
    "braces without quotation marks": (
        changed('"{{ text }}"', "{{ text }}"),
        "study.yaml:6: items.text",
        '"{{',
    ),
    "half a pair of braces": (changed("{{ text }}", "{{ text }"), "study.yaml:6: items.text", "{{ column }}"),
    "the ids": (changed("id: id", "id: idd"), "study.yaml:5: items.id", "'id'?"),
    "the gold labels": (changed(ITEM, "gold: truht"), "study.yaml:7: items.gold", "'truth'?"),
    "a column of groups": (changed(ITEM, "groups: [txet]"), "study.yaml:7: items.groups[0]", "'text'?"),
    "the groups that are resampled": (changed(ITEM, "group: autor"), "study.yaml:7: items.group", "id, text"),
    "a filter's column": (changed(ITEM, "where: {lang: en}"), "study.yaml:7: items.where.lang", "id, text"),
    "a filter's value": (changed(ITEM, "where: {truth: good}"), "study.yaml:7: items.where", "positive (1)"),
    "a coder": (changed(ITEM, "coders: [anna, ben]"), "study.yaml:7: items.coders[0]", "id, text"),
    "the separator": (changed(ITEM, 'separator: ";"'), "study.yaml:5: items.id", "separator: ','"),
    "two signs to separate": (
        changed(ITEM, 'separator: "::"'),
        "study.yaml:7: items.separator",
        "1 or fewer",
    ),
    "the encoding": (changed(ITEM, "encoding: utf-9"), "items.encoding", "UTF-8"),
    # labels
    "a gold label outside the set": (changed(LABELS, "[positive, neutral]"), "items.csv:3", "add the label"),
    "no label": (changed(LABELS, "[positive, null]"), "study.yaml:2: task.labels[1]", '"null"'),
    "a tilde for a label": (changed(LABELS, "[positive, ~]"), "study.yaml:2: task.labels[1]", "YAML reads"),
    "a dash alone": (
        changed(LABELS, "\n    - positive\n    -"),
        "study.yaml:4: task.labels[1]",
        "YAML reads",
    ),
    "true and false": (changed(LABELS, "[true, false]"), "study.yaml:2: task.labels[0]", '"true"'),
    "a broken number": (changed(LABELS, "[1.5, 2.5]"), "study.yaml:2: task.labels[0]", '"1.5"'),
    "a date": (changed(LABELS, "[2024-01-01, no]"), "study.yaml:2: task.labels[0]", '"2024-01-01"'),
    "a label's code": (changed(LABELS, "[{code: null}, b]"), "study.yaml:2: task.labels[0].code", '"null"'),
    "labels in one text": (
        changed(LABELS, "positive, negative"),
        "study.yaml:2: task.labels",
        "[positive, neg",
    ),
    "a single label": (changed(LABELS, "[positive]"), "study.yaml:2: task.labels", "2 or more"),
    "a label twice": (changed(LABELS, "[a, a]"), "study.yaml:2: task.labels[1]", "remove one"),
    "an answer for no label": (
        changed("instruction:", "answers: {positve: P}\n  instruction:"),
        "study.yaml:9: prompt.answers.positve",
        "'positive'?",
    ),
    "the level": (changed("task:", "task:\n  level: ranked"), "study.yaml:2: task.level", "'ordinal'"),
    # keys
    "a misspelt key": (STUDY + "repeates: 2\n", "study.yaml:12: repeates", "'repeats'?"),
    "temperature": (STUDY + "temperature: 0.7\n", "study.yaml:12: temperature", "decoding: {greedy: {temper"),
    "max_tokens": (
        STUDY + "max_tokens: 5\n",
        "study.yaml:12: max_tokens",
        "decoding: {greedy: {max_tokens: 5}}",
    ),
    "labels at the top": (STUDY + "labels: [a, b]\n", "study.yaml:12: labels", 'task: {labels: ["a", "b"]}'),
    "text at the top": (STUDY + "text: tweet\n", "study.yaml:12: text", "items: {text:"),
    "gold at the top": (STUDY + "gold: truth\n", "study.yaml:12: gold", "items: {gold:"),
    "instruction at the top": (STUDY + "instruction: A?\n", "study.yaml:12: instruction", "prompt: {instr"),
    "a model at the top": (STUDY + "model: gpt-5\n", "study.yaml:12: model", "models: [openai/"),
    "another tool's key": (STUDY + "metrics: [accuracy]\n", "study.yaml:12: metrics", "measures: ["),
    "a budget's key": (STUDY + "budget: {dollars: 5}\n", "study.yaml:12: budget.dollars", "money"),
    "a decoding's key": (STUDY + "decoding: {hot: {temprature: 1}}\n", "study.yaml:12", "'temperature'?"),
    "a key twice": (STUDY + "task: {labels: [a, b]}\n", "study.yaml:12", "remove one"),
    "no models": (STUDY.partition("models:")[0], "study.yaml: models", "models: ["),
    "no items": (_WITHOUT_ITEMS, "study.yaml: items", 'items: {"source"'),
    # types
    "a prompt as a text": (
        changed("prompt:\n  instruction: Is", "prompt: Is"),
        "study.yaml:8: prompt",
        'prompt: {"instruction"',
    ),
    "items as a text": (_WITHOUT_ITEMS + "items: a.csv\n", "study.yaml:7: items", 'items: {"source"'),
    "a word for a number": (STUDY + "repeats: three\n", "study.yaml:12: repeats", "repeats: 1"),
    "none at all": (STUDY + "repeats: 0\n", "study.yaml:12: repeats", "1 or more"),
    "half a repeat": (STUDY + "repeats: 2.5\n", "study.yaml:12: repeats", "a whole number"),
    "a comma in a number": (STUDY + 'decoding: {hot: {temperature: "0,7"}}\n', "study.yaml:12", "a number"),
    "a percent": (STUDY + "decoding: {hot: {top_p: 50%}}\n", "study.yaml:12: decoding.hot.top_p", "a number"),
    "below zero": (STUDY + "decoding: {hot: {temperature: -1}}\n", "study.yaml:12", "0 or more"),
    "a decoding without a name": (
        STUDY + "decoding: {temperature: 1}\n",
        "study.yaml:12",
        "{greedy: {temper",
    ),
    "a list of decodings": (STUDY + "decoding: [0.7]\n", "study.yaml:12: decoding", '"greedy"'),
    "measures as a text": (STUDY + "measures: accuracy\n", "study.yaml:12: measures", "[accuracy]"),
    "variants without a dash": (STUDY + "variants: {use: position}\n", "study.yaml:12: variants", "dash"),
    "a budget as a number": (STUDY + "budget: 5\n", "study.yaml:12: budget", '"money": 5'),
    # files
    "a file of items": (changed("items.csv", "itmes.csv"), "itmes.csv", "'items.csv'?"),
    "a folder of items": (changed("items.csv", "."), "", "name a file"),
    "a source of items": (changed("items.csv", "anes69"), "study.yaml:4: items.source", "anes96"),
    "examples": (changed(ITEM, "examples: train.csv"), "train.csv", "relative to the study file"),
    "a study to reuse": (STUDY + "reuse: [../nowhere]\n", "study.yaml:12: reuse[0]", "has been run"),
    # models
    "an engine": (changed("use: function", "use: llamacp"), "study.yaml:11: models[0].use", "'llamacpp'?"),
    "a provider as an engine": (changed("use: function", "use: opneai"), "study.yaml:11", "openai/MODEL"),
    "a provider": (changed(MODEL, "opneai/gpt-5"), "study.yaml:11: models[0]", "openai/gpt-5-mini"),
    "no engine": (changed(MODEL, "{name: fake}"), "study.yaml:11: models[0].use", "llamacpp"),
    "no name": (changed(MODEL, "{use: function}"), "study.yaml:11: models[0].name", "name:"),
    "two of one name": (STUDY + f"  - {MODEL}\n", "study.yaml:10: models", "a `name` of its own"),
    "weights": (changed(MODEL, "none.gguf"), "study.yaml:11: models[0]", "check the path"),
    "an engine's option": (
        changed("function}", "llamacpp, model: smollm2-135m-instruct, modle: x}"),
        "study.yaml:11: models[0].modle",
        "'mode'?",
    ),
    "a preset": (
        changed("function}", "openai_compatible, preset: opneai, model: m}"),
        "study.yaml:11: models[0]",
        "'openai'?",
    ),
    "a key": (
        changed("function}", "openai_compatible, model: m, key: sk-proj-abcdefghijklmnopqrstuvwxyz01234567}"),
        "study.yaml:11: models[0].key",
        "names the variable",
    ),
    "half a price": (changed("function}", "function, price: {input: 1}}"), "study.yaml:11", "output: 0.6"),
    "a price": (
        changed("function}", "function, price: gpt-99}"),
        "study.yaml:11: models[0].price",
        "genai-prices",
    ),
    "a model's factor": (changed("function}", "function, only: {tone: curt}}"), "study.yaml:11", "remove it"),
    # plug-ins
    "a measure": (STUDY + "measures: [accuracie]\n", "study.yaml:12: measures[0]", "'accuracy'?"),
    "a measure's option": (STUDY + "measures: [{use: f1, missng: drop}]\n", "study.yaml:12", "'missing'?"),
    "a measure's value": (STUDY + "measures: [{use: accuracy, missing: keep}]\n", "study.yaml:12", "'drop'"),
    "a measure's column": (STUDY + "measures: [{use: f1, by: [modle]}]\n", "study.yaml:12", "'model'?"),
    "a measure's model": (STUDY + "measures: [{use: f1, only: {model: gpt}}]\n", "study.yaml:12", "fake"),
    "a measure's evaluator": (
        STUDY + "measures: [{use: f1, evaluator: frist}]\n",
        "study.yaml:12",
        "marked_label",
    ),
    "an evaluator": (STUDY + "evaluators: [first_lable]\n", "study.yaml:12: evaluators[0]", "'first_label'?"),
    "an evaluator's option": (
        STUDY + "evaluators: [{use: json_field, feild: x}]\n",
        "study.yaml:12",
        "'field'?",
    ),
    "a family": (STUDY + "variants: [paraphrase]\n", "study.yaml:12: variants[0]", "'paraphrases'?"),
    "a family's option": (
        STUDY + "variants: [{use: instructions, text: {a: b}}]\n",
        "study.yaml:12",
        "'texts'?",
    ),
    "an engine of paraphrases": (
        STUDY + "variants: [{use: paraphrases, engine: gpt}]\n",
        "study.yaml:12: variants[0]",
        "surface",
    ),
    "a follow-up": (STUDY + "follow_ups: [why]\n", "study.yaml:12: follow_ups[0]", "verbal"),
    "a conclusion's column": (
        STUDY + "conclusions: [{formula: share(positive) ~ age, effect: age > 0}]\n",
        "study.yaml:12: conclusions[0]",
        "id, text",
    ),
    "a conclusion's label": (
        STUDY + "conclusions: [{formula: share(good) ~ id, effect: id > 0}]\n",
        "study.yaml:12: conclusions[0]",
        "positive",
    ),
    # YAML
    "a tab": (changed("  labels", "\tlabels"), "study.yaml:2", "indent with spaces"),
    "a colon": (
        changed("Is this positive", "Is this: positive"),
        "study.yaml:9",
        "quote texts that hold a colon",
    ),
    "an empty file": ("", "study.yaml", "quaver init"),
    "a list for a study": ("- a\n- b\n", "study.yaml", "quaver init"),
}
"""What the study file says; where the error points to; what it names."""


def opened(path, study):
    functions = {"fake": _positive} if "name: fake, use: function" in study else None
    return quaver.Study.open(path, functions=functions)


def _positive(text, prompt):
    return "positive"


@pytest.mark.parametrize(("study", "where", "names"), STUDIES.values(), ids=STUDIES)
def test_a_mistake_in_a_study_file(study, where, names, tmp_path, monkeypatch, capsys):
    path = written(tmp_path, study)
    with pytest.raises(QuaverError) as caught:
        opened(path, study).plan()
    error = caught.value
    assert where in str(error.where)
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


def test_there_are_enough_of_them():
    assert len(STUDIES) + len(CALLS) + len(COMMANDS) >= 150
