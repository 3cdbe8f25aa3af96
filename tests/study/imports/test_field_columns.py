"""``quaver check`` of tables with several variables: what each column is, and what becomes of it."""

import csv
import json
import random
import re

import pytest
from tests.cli.commands import here
from tests.studies import checked

from quaver import measure_agreement
from quaver.errors import ItemError, QuaverError
from quaver.study.checking.check_options import CheckOptions
from quaver.study.checking.text_table import read_text_table
from quaver.study.imports.columns import table_of

_NAMES = ["tone", "topics", "stance", "cost"]
_TOPICS = ["tax", "war", "health", "schools"]


def _speeches():
    draw, rows = random.Random(5), []
    for at in range(140):
        own, tone = draw.sample(_TOPICS, draw.choice([0, 1, 1, 2, 2, 3])), draw.choice(["angry", "calm"])
        stance, cost = draw.randint(1, 5), round(draw.lognormvariate(3, 1), 1)
        said = (
            f"I am {tone} about {' and '.join(own) or 'nothing'}; support {stance}; it costs {cost} million."
        )
        rows.append(
            {
                "nr": at,
                "speech": f"Speech {at}: {said} And so on, and so on.",
                "tone": tone,
                "topics": own,
                "stance": stance,
                "cost": cost,
            }
        )
    return rows


_WRITTEN = {
    "semicolons": lambda own: "; ".join(own) or "[]",
    "commas": lambda own: ", ".join(own) or "[]",
    "json": json.dumps,
    "python": str,
}


def _table(folder, written):
    path = folder / "speeches.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, list(_speeches()[0]))
        rows.writeheader()
        rows.writerows({**row, "topics": written(row["topics"])} for row in _speeches())
    return path


def _read(path, **options):
    return read_text_table(table_of(path, {}), CheckOptions(**options))


def test_lists_of_json_lines_and_a_column_for_each_label_are_sets(tmp_path):
    path = tmp_path / "speeches.jsonl"
    path.write_text("\n".join(map(json.dumps, _speeches())))
    assert {one.name: one.kind for one in _read(path, fields=_NAMES).fields}["topics"] == "set"
    wide = tmp_path / "wide.jsonl"
    rows = [
        {**row, **{f"about_{one}": int(one in row["topics"]) for one in _TOPICS}, "topics": ""}
        for row in _speeches()
    ]
    wide.write_text("\n".join(map(json.dumps, rows)))
    about = next(one for one in _read(wide, fields=["about"]).fields if one.name == "about")
    assert about.document == {
        "labels": _TOPICS,
        "several": True,
        "gold": {"columns": {one: f"about_{one}" for one in _TOPICS}},
    }


@pytest.mark.parametrize("form", _WRITTEN)
def test_each_column_is_taken_for_what_it_is(form, tmp_path):
    path = _table(tmp_path, _WRITTEN[form])
    found = _read(path, fields=_NAMES)
    kinds = {one.name: (one.kind, one.level, one.labels) for one in found.fields}
    assert kinds == {
        "tone": ("label", "nominal", ("angry", "calm")),
        "topics": ("set", "nominal", ("health", "schools", "tax", "war")),
        "stance": ("scale", "ordinal", ("1", "2", "3", "4", "5")),
        "cost": ("number", "ratio", ()),
    }
    assert [one.name for one in _read(path, fields=("cost", "tone")).fields] == ["cost", "tone"]
    assert _read(path, gold="tone").fields == (), "one variable stays one"
    with pytest.raises(QuaverError, match="no variable"):
        _read(path, fields=("speech",), text="tone")


def annotate(text, prompt):
    """Right about all but the stance, which it invents."""
    cost = re.search(r"costs ([\d.]+) ", text)
    stance = random.Random(text + prompt).choice("12345")
    said = {"tone": "angry" if "angry" in text else "calm", "stance": stance, "cost": cost and cost[1]}
    return json.dumps(said | {"topics": [one for one in _TOPICS if one in text]})


@pytest.mark.parametrize("wide", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_table_goes_through_without_an_edit_and_no_field_that_fails_is_green(wide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = _speeches()
    if wide:
        rows = [{**row, **{f"topics_{one}": int(one in row["topics"]) for one in _TOPICS}} for row in rows]
        rows = [{name: value for name, value in row.items() if name != "topics"} for row in rows]
    found = checked(rows, model=annotate, n=140, prompts=3, fields=_NAMES)
    kinds = {one.field: one.kind for one in found.verdict.recommendations}
    assert kinds == dict.fromkeys(("tone", "topics", "cost"), "use") | {"stance": "do not use"}
    assert found.verdict.kind == "do not use"


def test_the_command_shows_what_each_column_is(tmp_path, monkeypatch, capsys):
    def quaver(*words):
        return here(tmp_path, *words, monkeypatch=monkeypatch, capsys=capsys)

    (tmp_path / "spoken.py").write_text(
        "import json\n\ndef say(text, prompt):\n    return json.dumps({'tone': 'calm', 'cost': 1})\n"
    )
    path = _table(tmp_path, _WRITTEN["commas"])
    options = "--fields tone,cost --function spoken:say --n 20 --prompts 2"
    done = quaver("check", str(path), *options.split())
    assert done.returncode == 0, done.stderr
    assert "a number (ratio)" in done.stdout
    assert "Do not use" in done.stdout
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("Next: "))
    assert "--field" in line
    folder = str(path.with_name("speeches-check"))
    compared = ("compare", folder, folder, "--field", "tone", "--function", "say=spoken:say")
    assert "accuracy" in quaver(*compared).stdout


def test_a_mark_that_says_neither_yes_nor_no_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from quaver import Study

    rows = [{"id": "1", "text": "a", "t_tax": "1", "t_war": "maybe"}, {"id": "2", "text": "b"}]
    gold = {"columns": {"tax": "t_tax", "war": "t_war"}}
    asked = {
        "name": "Marks",
        "task": {"held": False, "fields": {"t": {"labels": ["tax", "war"], "several": True, "gold": gold}}},
        "items": {"source": rows, "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Code this."},
        "models": [{"name": "m", "use": "function"}],
    }
    with pytest.raises(ItemError, match="maybe"):
        Study.open(asked, folder=tmp_path, functions={"m": annotate})
    rows[0]["t_war"] = ""
    study = Study.open(asked, folder=tmp_path, functions={"m": annotate})
    assert [dict(item.golds) for item in study.experiment.items] == [{"t": "tax"}, {}]
    listed = {**asked["task"]["fields"]["t"], "gold": ["t_tax"]}
    rows[0]["t_tax"], rows[1]["t_tax"] = "war", "tax"
    asked["task"] = {"held": False, "fields": {"t": listed}}
    study = Study.open(asked, folder=tmp_path, functions={"m": annotate})
    assert [dict(item.golds) for item in study.experiment.items] == [{"t": "war"}, {"t": "tax"}]


@pytest.mark.parametrize("form", _WRITTEN)
def test_coders_sets_agree_however_a_cell_separates_labels(form, tmp_path):
    path = tmp_path / "coded.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "rater", "label"])
        for at, row in enumerate(_speeches()[:20]):
            own = row["topics"]
            rows.writerow([at, "anna", _WRITTEN[form](own)])
            rows.writerow([at, "ben", _WRITTEN[form]([*own, "war"] if at % 4 == 0 else own[::-1])])
    alpha = measure_agreement(path, level="jaccard", resamples=0)[0]
    sets = [[{*row["topics"]}] * 2 for row in _speeches()[:20]]
    sets = [[one, {*one, "war"} if at % 4 == 0 else other] for at, (one, other) in enumerate(sets)]
    every = [own for pair in sets for own in pair]

    def apart(one, other):
        return 1 - len(one & other) / len(one | other) if one | other else 0.0

    observed = sum(apart(*pair) for pair in sets) / len(sets)
    expected = sum(apart(one, other) for one in every for other in every) / (len(every) * (len(every) - 1))
    assert alpha.value == pytest.approx(1 - observed / expected, abs=1e-9)


def test_a_column_of_the_named_labels_holds_the_true_ones_whatever_it_is_called(tmp_path):
    def of(cells):
        path = tmp_path / "texts.csv"
        path.write_text(
            "text,what I think\n" + "".join(f"Text {at},{cell}\n" for at, cell in enumerate(cells))
        )
        return _read(path, labels=["calm", "angry"])

    found = of(["calm", "Angry", "", "angry"] * 5)
    assert (found.gold, found.known, found.counts["angry"]) == ("what I think", 15, 10)
    assert ("gold label", "what I think") in {(one.role, one.column) for one in found.taken}
    found = of(["calm", "angry", "", "furious", "angry"] * 5)
    assert (found.gold, found.few) == (None, ())
    (said,) = (one.why for one in found.taken if one.role == "gold label?")
    assert "15 of 20" in said
    assert "furious" in said
    assert "--gold 'what I think'" in said
