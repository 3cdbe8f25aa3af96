"""Paraphrases that a model makes, kept, edited and measured: the whole way through a study's folder."""

import json
import re

import polars as pl
import pytest

from quaver.errors import ModelError, QuaverError, SpecError, UnknownName
from quaver.models.python_function import Function
from quaver.study.session import Study

ASKED = {
    "task": {"labels": ["good", "bad"]},
    "items": {"source": "items.csv", "id": "id", "text": "{{ text }}"},
    "prompt": {"instruction": "Is this good or bad?", "postfix": "Say good or bad."},
    "variants": [{"use": "paraphrases", "engine": "llm", "model": "mine", "temperatures": [0.5, 1], "k": 2}],
    "models": [{"name": "mine", "use": "function"}],
    "measures": ["inter_pss"],
}
REWORDED = [
    "Good or bad, which of them is this?",
    "Tell whether this is <b>good</b> or bad.",
    "Is it fine?",  # both labels are lost
    "=Is this bad or good?",  # what a spreadsheet would take for a formula
]


class Model:
    """A function that rewords what it is told to reword, and labels what it is to label."""

    def __init__(self):
        self.reworded = 0
        self.labelled = 0

    def __call__(self, text, prompt):
        if prompt.startswith("Put the instruction"):
            self.reworded += 1
            return REWORDED[(self.reworded - 1) % len(REWORDED)]
        self.labelled += 1
        return "bad" if ("hate" in text) != ("fine" in prompt) else "good"


def written(folder, **changes):
    (folder / "items.csv").write_text("id,text\na,I like it.\nb,I hate it.\nc,I love it.\n", encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(json.dumps({**ASKED, **changes}), encoding="utf-8")
    return path


def opened(folder, model=None, **changes):
    return Study.open(written(folder, **changes), functions={"mine": model or Model()})


def document(folder, name="paraphrases.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_a_plan_reckons_with_paraphrases_that_have_not_been_made_and_makes_none(tmp_path):
    model = Model()
    own = [{"name": "mine", "use": "function", "price": {"input": 1, "output": 5}}]
    before = opened(tmp_path, model, models=own).plan()
    (left,) = before.paraphrases
    assert left.startswith("4 calls of mine or more are to make paraphrases")
    assert f"at most {4 * 48} written" in left, "48 tokens are the least room"
    read = int(re.findall(r"about ([\d,]+) tokens read", left)[0].replace(",", ""))
    assert left.endswith(f"to ${(read * 1.25 + 5 * 4 * 48) / 1e6:.2g}")
    assert model.reworded == 0
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".csv"] == ["study.yaml"]
    assert any("not been made" in note for note in before.notes)
    assert model.reworded == 0
    opened(tmp_path, model).variants.make()
    after = opened(tmp_path, model).plan()
    assert (before.calls, before.variants, before.items) == (after.calls, after.variants, after.items)
    assert not any("not been made" in note for note in after.notes)


def test_paraphrases_are_made_once_and_used_by_every_later_command(tmp_path):
    model = Model()
    study = opened(tmp_path, model)
    made = [set(one.split()) for one in study.variants.make()]
    assert len(made) == 2
    assert all({"2", "mine", temperature} <= one for one, temperature in zip(made, ("0.5", "1"), strict=True))
    assert model.reworded == 4
    assert study.variants.make() == []
    later = opened(tmp_path, model)
    later.run()
    assert [variant.id for variant in later.experiment.variants] == [
        "paraphrase=original",
        "paraphrase=t0.5-1",
        "paraphrase=t0.5-2",
        "paraphrase=t1-1",
        "paraphrase=t1-2",
    ]
    assert (model.reworded, model.labelled) == (4, 5 * 3)
    (made,) = document(tmp_path)["drafts"]
    assert made["by"]["mine"]["engine"] == "function"
    assert [one["text"] for one in made["paraphrases"]] == REWORDED
    lock = document(tmp_path, "study.lock.json")
    assert lock["variants"][1]["origin"]["paraphrase"]["engine"] == "llm"
    assert lock["paraphrases"]["made"][0]["answers"] == {"0.5": 2, "1": 2}


def test_looking_makes_nothing_and_says_what_does(tmp_path):
    model = Model()
    study = opened(tmp_path, model)
    with pytest.raises(SpecError, match="not been made") as raised:
        study.status()
    assert "`quaver variants STUDY`" in str(raised.value)
    with pytest.raises(UnknownName, match="unknown measure"):
        opened(tmp_path, model, measures=["inter_ps"]).run()
    assert model.reworded == 0
    opened(tmp_path, model).variants.make()
    assert len(opened(tmp_path, model).variants.make(again=True)) == 2
    assert model.reworded == 8, "made anew"


def test_what_came_is_kept_where_too_few_came(tmp_path):
    model = Model()
    family = {**ASKED["variants"][0], "temperatures": [1], "k": 5, "tries": 1}
    with pytest.raises(ModelError, match="4 of 5"):
        opened(tmp_path, model, variants=[family]).run()
    assert model.labelled == 0
    assert len(document(tmp_path)["drafts"][0]["paraphrases"]) == 4
    fewer = opened(tmp_path, model, variants=[{**family, "k": 4}])
    assert fewer.variants.make() == []


@pytest.mark.long
def test_a_model_beside_the_studys_own_rewords_and_nothing_else(tmp_path):
    price = {"input": 1, "output": 2}
    beside = {"use": "llamacpp", "model": "smollm2-135m-instruct", "context": 512, "price": price}
    family = {**ASKED["variants"][0], "model": beside, "temperatures": [1], "k": 1, "max_tokens": 32}
    model = Model()
    own = [{"name": "mine", "use": "function", "price": 0}]
    study = opened(tmp_path, model, variants=[family], models=own)
    study.variants.make()
    assert len(study.experiment.variants) == 2
    assert model.reworded == 0
    (by,) = document(tmp_path)["drafts"][0]["by"].values()
    assert by["engine"] == "llamacpp"
    (spent,) = study.plan().paraphrases
    calls, read, written = (
        int(n.replace(",", "")) for n in re.findall(r"[\d,]+(?= (?:calls|tokens|written))", spent)
    )
    assert read > calls * 20, "its request is longer than that"
    study.run()
    later = opened(tmp_path, model, variants=[family], models=own)
    now = later.status()
    assert (now.paraphrases, now.tokens) == (calls, read + written)
    assert now.money == pytest.approx((read + 2 * written) / 1e6)
    later.report()
    costs = (tmp_path / "tables" / "cost.csv").read_text()
    assert f"smollm2-135m-instruct (paraphrases),{calls}," in costs


def test_calls_that_make_paraphrases_count_in_the_budget(tmp_path):
    model = Model()
    study = opened(tmp_path, model, budget={"calls": 6})
    study.variants.make()
    (spent,) = study.plan().paraphrases
    assert spent.startswith("4 calls of mine made paraphrases: 0 tokens read, 0 written, cost unknown")
    outcome = study.run()
    assert (outcome.ended, outcome.done, model.labelled) == ("calls", 2, 2)
    assert study.run().done == 0
    assert study.status().paraphrases == 4
    study = opened(tmp_path, model, budget={"calls": 7})
    assert study.run().done == 1
    with pytest.raises(SpecError, match="already spent"):
        opened(tmp_path, model, budget={"calls": 6}).run()
    assert opened(tmp_path, model).run().ended == "finished"


@pytest.mark.parametrize(
    ("budget", "made"), [({"calls": 3}, 2), ({"tokens": 400}, 2), ({"money": 0.2}, 2), ({"money": 0.01}, 0)]
)
def test_paraphrases_that_the_budget_has_no_room_for_are_not_asked_for(tmp_path, budget, made, monkeypatch):
    """Two answers take 220 tokens and $0.04; before they are in, up to 48 tokens written each and $0.19."""
    answer = Function.answer_groups

    def counted(self, requests):
        for group in answer(self, requests):
            yield [
                (request, [one._replace(prompt_tokens=100, completion_tokens=10) for one in responses])
                for request, responses in group
            ]

    monkeypatch.setattr(Function, "answer_groups", counted)
    model, own = Model(), [{"name": "mine", "use": "function", "price": {"input": 0, "output": 2000}}]
    with pytest.raises(SpecError, match="too small") as raised:
        opened(tmp_path, model, budget=budget, models=own).run()
    (cap,) = budget
    assert f"budget.{cap}" in str(raised.value)
    assert model.reworded == made
    assert model.labelled == 0
    opened(tmp_path, model, models=own).variants.make()
    assert model.reworded == 4, "what came before was kept"


# --------------------------------------------------------------------------- edits


def test_a_paraphrase_is_edited_in_the_file_that_keeps_it(tmp_path):
    opened(tmp_path).variants.make()
    path = tmp_path / "paraphrases.json"
    kept = {name: value for name, value in document(tmp_path).items() if name != "checksum"}
    path.write_text(json.dumps(kept).replace("Is it fine?", "Is it good, or is it bad?"), encoding="utf-8")
    study = opened(tmp_path)
    changed = {variant.id: variant for variant in study.experiment.variants}["paraphrase=t1-1"]
    assert changed.instruction == "Is it good, or is it bad?"
    assert changed.covariates["flagged"] is False  # what stands there now is looked at
    assert study.variants.make() == []


# ---------------------------------------------------------------------- measuring


def test_the_original_is_one_of_the_set_at_every_temperature(tmp_path):
    study = opened(tmp_path, measures=["original_agreement"])
    study.run()
    found = study.measure("inter_pss", by=["paraphrase_temperature"])
    assert [one.details["variants"] for one in found] == [3, 3]
    assert [float(one.cell["paraphrase_temperature"]) for one in found] == [0.5, 1.0]
    agreement = {one.cell["variant"]: one.value for one in study.estimates()}
    assert agreement["paraphrase=t0.5-1"] == 1.0
    assert agreement["paraphrase=t1-1"] < 0


def test_each_model_answers_the_original_and_what_it_reworded_itself(tmp_path):
    own = [{"name": name, "use": "function"} for name in ("mine", "other")]
    each = {"use": "paraphrases", "engine": "llm", "each": ["mine", "other"], "temperatures": [1], "k": 2}
    asked = written(tmp_path, models=own, variants=[each], measures=["compliance"])
    models = {"mine": Model(), "other": Model()}
    study = Study.open(asked, functions=models)
    assert [left.split()[:4] for left in study.plan().paraphrases] == [
        ["2", "calls", "of", "mine"],
        ["2", "calls", "of", "other"],
    ]
    study.run()
    assert [model.reworded for model in models.values()] == [2, 2]
    frame = study.annotations().select("model", "paraphrase", "rephraser").cast(pl.String)
    own_two = {(model, f"{model} t1-{n}", model) for model in models for n in (1, 2)}
    assert set(frame.rows()) == own_two | {(model, "original", None) for model in models}
    assert [model.labelled for model in models.values()] == [9, 9]


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"each": ["mine"], "model": "mine"}, "each"),
        ({"each": []}, "each"),
        ({"each": ["mine", "mine"]}, "each"),
        ({"each": ["nobody"]}, "each"),
        ({"model": "mien"}, "study.yaml:1: variants[0]"),
    ],
)
def test_models_that_reword_are_those_of_the_study(tmp_path, given, where):
    variants = [{"use": "paraphrases", "engine": "llm", **given}]
    for work in (Study.run, Study.plan):
        with pytest.raises(QuaverError) as error:
            work(opened(tmp_path, variants=variants))
        assert where in str(error.value.where)
