"""The papers' recipes: written, planned in full, and small on a function in place of the model."""

import json
import re

import polars as pl
import pytest
from tests.samples import drawn
from tests.spreadsheets import write_xlsx
from typer.testing import CliRunner

from quaver import Study, open_studies
from quaver.cli.main import app
from quaver.design.spec.yaml_file import read_yaml
from quaver.design.study_kinds import KINDS, PAPERS, study_of_kind
from quaver.errors import SpecError, UnknownName
from quaver.papers import catalogue
from quaver.papers.paper_answers import answers_of
from quaver.papers.published_table import FORMATS

pytestmark = pytest.mark.long

CALLS = {
    "barrie-2025": (2 * 500 * (30 + 3 * 251), 2 * 6 * (10 + 5)),
    "errica-2025": (100 * 3 * 30, 5 * 3 * 3),
    "karmakar-2026": (500 * 5 * (1 + 1 + 1 + 2), 6 * 5 * (1 + 1 + 1 + 2)),
    "choices-and-temperature": (10 * 6 * 3 * 3, 4 * 6 * 2 * 2),
    "atreja-2025": (200 * 16, 3 * 16),
}
"""In full and small, by hand."""


@pytest.mark.parametrize("code", PAPERS)
def test_a_recipe_is_written_and_planned(code, tmp_path):
    path = tmp_path / f"{code}.yaml"
    done = CliRunner().invoke(app(["init"]), ["init", code, str(path)])
    assert done.exit_code == 0, done.output
    planned = [
        sum(study.plan().calls for study in open_studies(path, small=small).values())
        for small in (False, True)
    ]
    assert tuple(planned) == CALLS[code]


def of_a_function(recipe):
    """A recipe that asks a function, which has no log-probabilities, no follow-up and no held labels."""
    text = re.sub("use: llamacpp, model: smollm2-135m-instruct, context: [0-9]+", "use: function", recipe)
    text = text.replace("top_p: 0.95, repeat_penalty: 1.1, ", "").replace(", constraint: labels", "")
    without = ("logprob", "constrained", "verbal", "stated")
    return "\n".join(line for line in text.splitlines() if not any(name in line for name in without))


@pytest.mark.parametrize("code", PAPERS)
def test_every_table_of_a_recipe_is_made_of_its_small_version(code, tmp_path):
    path = tmp_path / f"{code}.yaml"
    path.write_text(of_a_function(study_of_kind(code)), encoding="utf-8")
    studies = open_studies(
        path, small=True, functions={"first": lambda text, prompt: "FINAL: A\nClinton 0.9, Dole 0.1"}
    )
    for study in studies.values():
        study.run()
    answers = answers_of(studies)
    for one in (kind for kind in catalogue.TABLES.values() if kind.paper == code):
        made = one.make(answers)
        assert made.table.columns, one.name
        assert all(len(row) == len(made.columns) for row in made.table.rows), one.name
        assert all(made.as_(form) for form in FORMATS)


def test_every_paper_has_tables_and_a_wrong_name_is_one():
    assert {kind.paper for kind in catalogue.TABLES.values()} == {*PAPERS}
    with pytest.raises(UnknownName, match="intra-stability"):
        catalogue.kind_of("intra-stabilty")


def test_kinds_and_papers_are_listed_with_what_they_are_about():
    shown = CliRunner().invoke(app(["init"]), ["init", "--list"], env={"COLUMNS": "300"})
    assert shown.exit_code == 0, shown.output
    for name in (*KINDS, *PAPERS):
        (line,) = (line for line in shown.output.splitlines() if line.split()[:1] == [name])
        assert len(line.split()) > 5


def test_the_command_lists_them_and_prints_one(tmp_path):
    path = digits(tmp_path)
    listed = CliRunner().invoke(app(["table"]), ["table", str(path)], env={"COLUMNS": "200"})
    assert listed.exit_code == 0, listed.output
    assert all(name in listed.output for name in catalogue.tables())
    unknown = CliRunner().invoke(app(["table"]), ["table", "nowhere.yaml", "nothing"])
    assert isinstance(unknown.exception, UnknownName)
    nowhere = CliRunner().invoke(app(["table"]), ["table", str(tmp_path / "nowhere.yaml")])
    assert isinstance(nowhere.exception, SpecError)


def digits(folder):
    """A study of six texts."""
    rows = "".join(f"{at},text {at},{at % 2}\n" for at in range(6))
    (folder / "items.csv").write_text(f"id,text,gold\n{rows}", encoding="utf-8")
    path = folder / "digits.yaml"
    path.write_text(
        "task: {labels: ['0', '1']}\n"
        'items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}\n'
        "prompt: {instruction: Which?}\nmodels: [{name: one, use: function}]\nrepeats: 3\n",
        encoding="utf-8",
    )
    return path


def test_the_command_prints_every_format(tmp_path):
    path = digits(tmp_path)
    study = Study.open(path, functions={"one": lambda text, prompt: "1"})
    study.run()
    for form in FORMATS:
        done = CliRunner().invoke(app(["table"]), ["table", str(path), "intra-stability", "--format", form])
        assert done.exit_code == 0, done.output
        expected = catalogue.table(study, "intra-stability").as_(form)
        assert done.output.splitlines() == expected.rstrip("\n").splitlines()


def uncommented(code):
    """A recipe with the studies that wait for the reader's data."""
    head, _, studies = study_of_kind(code).partition("\nstudies:\n")
    lines = []
    for line in studies.splitlines():
        waits = re.match(r"  # (  .*|[a-z-]+:( #.*)?)$", line)
        lines.append(f"  {waits[1]}" if waits else line)
    return f"{head}\nstudies:\n" + "\n".join(lines)


WAITING = {
    "barrie-2025": 12,
    "errica-2025": 5,
    "karmakar-2026": 5,
    "choices-and-temperature": 1,
    "atreja-2025": 4,
}
"""How many outcomes, data sets, benchmarks and tasks each paper has that Quaver cannot pass on."""


def data_of(study, table):
    """Rows with every column that a study reads; no text is in both of its tables."""
    items, labels = study["items"], study["task"]["labels"]
    codes = [one["code"] if isinstance(one, dict) else one for one in labels]
    options = study["task"].get("options", [])
    fields = set(re.findall(r"{{ (\w+) }}", items["text"])) | ({items["id"]} if "id" in items else set())
    fields |= set() if isinstance(options, str) else set(options)
    gold = items.get("gold", {})
    column, values = (
        (gold.get("column"), list(gold.get("map", ()))) if isinstance(gold, dict) else (gold, codes)
    )
    rows = []
    for at in range(60):
        row = {name: f"{name} {at} of {table}" for name in fields}
        if isinstance(options, str):
            row[options] = [f"option {n}" for n in range(len(codes) - (at % 6 == 5))]  # some have one less
        rows.append(row | ({column: values[at % len(values)]} if column else {}))
    return rows


def write_table(path, rows):
    """Rows in the form that a file's ending names."""
    match path.suffix:
        case ".jsonl":
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        case ".parquet":
            pl.DataFrame(rows).write_parquet(path)
        case ".xlsx":
            write_xlsx(path, [list(rows[0]), *(list(row.values()) for row in rows)])
        case _:
            pl.DataFrame(rows).write_csv(path)


@pytest.mark.parametrize("code", WAITING)
def test_the_studies_that_wait_for_data_are_planned_once_it_is_there(code, tmp_path):
    path = tmp_path / f"{code}.yaml"
    recipe = re.sub(r"sample: \d+", "sample: 20", uncommented(code))
    path.write_text(of_a_function(recipe), encoding="utf-8")
    waiting = {
        name: study
        for name, study in read_yaml(path)["studies"].items()
        if study["items"]["source"] != "anes96"
    }
    assert len(waiting) == WAITING[code]
    for study in waiting.values():
        for name in {"source", "examples"} & set(study["items"]):
            named = study["items"][name]
            source = named["source"] if isinstance(named, dict) else named
            write_table(tmp_path / source, data_of(study, name))
    for small in (False, True):
        studies = open_studies(path, small=small, functions={"first": lambda text, prompt: ""})
        assert all(studies[name].plan().calls > 0 for name in waiting)


@pytest.mark.parametrize("code", drawn(("choices-and-temperature", "karmakar-2026", "atreja-2025"), 3))
def test_the_embedded_model_labels_half_of_a_small_version_or_more(code, tmp_path):
    """Two items, of another recipe each day; half of the answers or more have a label."""
    path = tmp_path / f"{code}.yaml"
    path.write_text(
        re.sub(r"(  small:\n(?:.*\n)*?    items: {sample: )\d+", r"\g<1>2", study_of_kind(code)),
        encoding="utf-8",
    )
    studies = open_studies(path, small=True)
    for study in studies.values():
        study.run()
    (one,) = answers_of(studies)
    assert one.items == 2
    assert one.frame["label"].drop_nulls().len() >= one.frame.height / 2
