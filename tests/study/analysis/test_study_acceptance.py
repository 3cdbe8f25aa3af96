"""Which of a study's labels may be accepted: from its folder to its report and its bundle."""

import json
import random
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location

import polars as pl
import pytest
from tests.cli.commands import here
from tests.designed_gold import designed
from tests.gold_study import filled, labelled_study, truths
from tests.studies import written

from quaver.bundles.packing import bundle
from quaver.errors import MeasureError, StoreError, UnknownName
from quaver.study.session import Study

STUDY = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth, groups: [party]}
prompt:
  instruction: Is this positive or negative?
variants:
  - {use: instructions, texts: {curt: "Positive?", kind: "Please, positive?"}}
models:
  - {name: fake, use: function}
measures: [accuracy]
"""
N = 400
FUNCTION = """
import random

def label(text, prompt):
    ease, truth = text.split()[1:]
    right = random.Random(prompt + text).random() < float(ease)
    return truth if right else {"positive": "negative", "negative": "positive"}[truth]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study whose gold labels of 150 items were drawn by design."""
    home = tmp_path_factory.mktemp("accepted")
    draw = random.Random(1)
    rows = ["id,party,text,truth"]
    for n in range(N):
        truth = draw.choice(["positive", "negative"])
        rows.append(f"i{n},{draw.choice('xy')},t{n} {draw.betavariate(6, 0.4):.3f} {truth},{truth}")
    path = written(home, STUDY, "\n".join(rows) + "\n")
    (home / "functions.py").write_text(FUNCTION)
    study = opened(path)
    study.run()
    study.source.files.write_annotations(designed(study.annotations(), 150, 3))
    return home


def opened(path):
    home = path if path.is_dir() else path.parent
    spec = spec_from_file_location("functions", home / "functions.py")
    functions = module_from_spec(spec)
    spec.loader.exec_module(functions)
    return Study.open(path, functions={"fake": functions.label})


def test_a_study_accepts_labels_keeps_how_and_reports_it(folder):
    study = opened(folder)
    found = study.gold.accept(error=0.1)
    assert found.table.height == N
    assert set(found.table["decision"]) <= {"accept", "person", "gold"}
    assert 0 < found.share <= 1
    assert {one.column for one in found.groups} == {"label", "party"}
    kept = json.loads((folder / "accepted.json").read_text())
    assert (kept["asked"]["error"], kept["found"]["headline"]) == (0.1, found.headline)
    text = study.report().read_text()
    assert 'id="accepted"' in text
    assert found.headline in text
    assert pl.read_csv(folder / "tables" / "accepted.csv").height == len(found.curve)
    for options in ({"by": "age"}, {"evaluator": "nobody"}):
        with pytest.raises(UnknownName):
            study.gold.accept(**options)


def test_without_a_gold_sample_or_with_answers_of_another_function_nothing_is_accepted(tmp_path):
    path = written(tmp_path, STUDY, "id,party,text,truth\ni1,x,t 1.0 positive,positive\n")
    (tmp_path / "functions.py").write_text(FUNCTION)
    study = opened(path)
    study.run()
    with pytest.raises(MeasureError) as raised:
        study.gold.accept()
    assert "quaver gold" in str(raised.value.fix)
    with pytest.raises(StoreError) as raised:
        Study.open(path, functions={"fake": lambda text, prompt: "positive"}).gold.accept()
    assert "3 answers of “fake” before its code or options changed" in str(raised.value.found)


def test_the_command_writes_the_items(folder, monkeypatch, capsys):
    run = partial(here, monkeypatch=monkeypatch, capsys=capsys)
    done = run(folder, "accept", "study.yaml", "--error", "0.1", "--function", "fake=functions:label")
    assert done.returncode == 0, done.stderr
    found = opened(folder).gold.accept(error=0.1)
    assert found.headline in done.stdout
    rows = pl.read_csv(folder / "accepted.csv")
    assert rows.filter(pl.col("decision") == "accept").height == found.accepted
    shown = run(folder, "accept", "--json", "--function", "fake=functions:label")
    assert json.loads(shown.stdout)["promise"] == 0.05
    refused = run(folder, "accept", "--by", "luck", "--function", "fake=functions:label")
    assert refused.returncode == 2


def test_labels_that_came_back_from_people_decide(tmp_path):
    study = labelled_study(tmp_path / "coded", items=600)
    drawn = study.gold.draw(n=200, coders=["ada"], form="csv", design="simple")
    study.gold.take(filled(drawn.files[0], truths(600)))
    found = study.gold.accept(error=0.1)
    truth = truths(600)
    taken = found.table.filter(pl.col("decision") == "accept")
    wrong = sum(label != truth[item] for item, label in taken.select("item", "label").iter_rows())
    assert taken.height == found.accepted > 200
    assert wrong <= 0.1 * taken.height
    assert {one.column for one in found.groups} == {"label", "party"}
    checked = found.table.filter(pl.col("decision") == "gold")
    assert dict(checked.select("item", "label").iter_rows()).items() <= truth.items()


@pytest.mark.long
def test_a_bundle_carries_what_was_accepted(tmp_path):
    study = labelled_study(tmp_path / "coded", items=300)
    drawn = study.gold.draw(n=120, coders=["ada"], form="csv", design="simple")
    study.gold.take(filled(drawn.files[0], truths(300)))
    found = study.gold.accept(error=0.15)
    path, _ = bundle(study, tmp_path / "s.zip")
    opened = Study.open(path)
    again = opened.gold.accept(error=0.15)
    assert again.table.equals(found.table)
    assert again.headline in opened.report(tmp_path / "report").read_text()


@pytest.mark.long
def test_a_bundle_packs_what_todays_gold_labels_accept(tmp_path):
    study = labelled_study(tmp_path / "coded", items=300)
    first = study.gold.draw(n=120, form="csv", design="simple").files[0]
    study.gold.take(filled(first, truths(300)))
    study.gold.accept(error=0.15)
    more = study.gold.draw(n=150, form="csv").files[0]
    study.gold.take(filled(more, truths(300)))
    path, _ = bundle(study, tmp_path / "s.zip")
    assert Study.open(path).gold.accept(error=0.15).table["decision"].to_list().count("gold") == 150
