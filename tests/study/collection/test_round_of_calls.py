"""A study's runs: budgets, answers taken over, rounds, the log, and how it stands."""

import csv
import json
import re

import polars as pl
import pytest
from tests.studies import STUDY, asked, written

from quaver.core import registry
from quaver.core.calls import Response
from quaver.core.model import Abilities
from quaver.errors import QuaverError, SpecError, StoreError
from quaver.study.analysis import call_export
from quaver.study.session import Study

ITEMS = "id,text,truth\n" + "".join(
    f"{n},Number {n} is what it says.,{'positive' if n % 2 else 'negative'}\n" for n in range(40)
)


class Served:
    """A served model: ten tokens read and one written, from as many configurations as are wanted."""

    abilities = Abilities()

    def __init__(self, *, model="m", broken=-1, configurations=1):
        self._model, self._broken, self._configurations = model, broken, configurations

    def identity(self):
        return f"served {self._model}"

    def provenance(self):
        return {"engine": "served"}

    def prepare(self, repeats): ...

    def answer(self, requests):
        for request in requests:
            responses = []
            for call in request.calls:
                number = int(request.prompt.text.split()[1])
                response = Response(
                    "positive" if (number + call.repeat // 3) % 2 else "negative",
                    prompt_tokens=10,
                    cached_tokens=0,
                    completion_tokens=1,
                    thinking="=1+1",
                    served_model=self._model,
                    fingerprint=f"fp_{number % self._configurations}",
                )
                if number == self._broken:
                    response = Response("", finish="error", error="HTTP 503: sk-abcdefghijklmnop is no key")
                responses.append(response)
            yield request, responses

    def count_tokens(self, prompts):
        return None

    def close(self): ...


@pytest.fixture(autouse=True)
def _served(monkeypatch):
    load = registry.load

    def loaded(group, name, **about):
        return Served if (group, name) == ("models", "served") else load(group, name, **about)

    names = registry.names
    monkeypatch.setattr(registry, "load", loaded)
    monkeypatch.setattr(registry, "names", lambda group: (*names(group), *(["served"] * (group == "models"))))


def study(folder, more="", model="", items=ITEMS):
    text = STUDY.replace("use: function}", f"use: served{model}}}") + more
    return Study.open(written(folder, text, items))


def test_a_budget_of_tokens_holds_over_all_runs(tmp_path):
    one = study(tmp_path, "budget: {tokens: 300}\n")
    outcome = one.run()
    assert outcome.ended == "tokens"
    assert 300 - 50 < outcome.tokens <= 300, "what is left is less than another call may take"
    assert outcome.tokens == 11 * outcome.done
    assert outcome.missing == 40 - outcome.done
    assert study(tmp_path, "budget: {tokens: 300}\n").run().tokens <= 300
    assert study(tmp_path, "budget: {tokens: 400}\n").run().done > 4
    assert study(tmp_path).run().ended == "finished"
    assert study(tmp_path, "budget: {tokens: 200}\n").run().ended == "finished"


@pytest.mark.parametrize("cap", ["calls: 10", "tokens: 50", "money: 0.01"])
def test_a_cap_below_what_is_spent_is_an_error(tmp_path, cap):
    priced = ", price: {input: 1000, output: 1000}"
    study(tmp_path, "budget: {calls: 20}\n", priced).run()
    with pytest.raises(SpecError, match="already spent") as caught:
        study(tmp_path, f"budget: {{{cap}}}\n", priced).run()
    assert str(caught.value).startswith("study.yaml:12: budget.")


def test_what_another_study_was_answered_is_taken_over(tmp_path):
    first = study(tmp_path / "first", "budget: {calls: 25}\n")
    first.run()
    second = study(tmp_path / "second", "reuse: [../first]\nrepeats: 2\nbudget: {calls: 60}\n")
    outcome = second.run()
    assert (outcome.ended, outcome.reused, outcome.done, outcome.missing) == ("finished", 25, 55, 0)
    now = second.status()
    assert now.reused == {"../first": 25}
    assert now.tokens == 55 * 11
    assert second.run().before == 80
    assert "25 answers" in second.report().read_text()


def test_errors_of_one_model_let_the_other_finish_and_are_asked_again(tmp_path):
    one = study(tmp_path, model=", broken: 3}\n  - {name: other, use: served, model: n")
    outcome = one.run()
    assert (outcome.ended, outcome.done, outcome.errors) == ("finished", 80, 1)
    assert one.status().by_kind == {"HTTP 503": 1}
    again = study(tmp_path, model="}\n  - {name: other, use: served, model: n").run(retry_errors=True)
    assert (again.done, again.errors) == (1, 0)
    assert one.status().errors == 0


def test_the_log_tells_what_happened_and_no_key(tmp_path):
    one = study(tmp_path, model=", broken: 3, configurations: 2")
    one.run()
    log = (tmp_path / "run.log").read_text()
    assert re.search(r"error \(model fake.* item 3\): HTTP 503", log)
    assert "run: 0 of 40 calls are stored; asking fake" in log
    assert re.search("ended: finished; 40 calls in .*, 1 errors", log)
    everything = log + one.report().read_text()
    everything += "".join(str(row) for row in one.source.files.responses.read_bytes().split(b"\x00"))
    assert "sk-abcdefghijklmnop" not in everything
    (told,) = one.status().configurations_changed
    assert told.startswith("fake ")
    assert "from 2 configurations" in one.report().read_text()


def test_a_pilot_is_spread_over_the_study_and_makes_the_cost_a_range(tmp_path):
    one = study(tmp_path, model=", price: {input: 1000, output: 1000}")
    before = one.plan()
    assert 0 < before.models[0]["least_cost"] < before.models[0]["most_cost"]
    after = one.plan(pilot=10)
    assert after.stored == 18, "ten over the study, and the ten longest texts: two are among both"
    assert after.models[0]["prompt_tokens"] == 400, "ten tokens each, as the model told of those of the pilot"
    assert after.models[0]["prompt_tokens"] != before.models[0]["prompt_tokens"]
    assert after.models[0]["likely_cost"] == pytest.approx(22 * 0.011)
    assert after.models[0]["least_cost"] == after.models[0]["most_cost"] == pytest.approx(22 * 0.011)
    drawn = {int(item) for item in one.annotations()["item"].unique()}
    assert len(drawn) == 18
    assert max(drawn) > 30


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_every_call_is_exported_with_what_was_read(tmp_path, ending):
    one = study(tmp_path, model=", broken: 3")
    one.run()
    path = tmp_path / f"calls.{ending}"
    assert one.export(path) == 40
    if ending == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert rows[0]["prompt"][0]["role"] == "user"
    elif ending == "csv":
        rows = list(csv.DictReader(path.open(newline="")))
        assert {row["thinking"] for row in rows} == {"'=1+1", ""}
    else:
        rows = pl.read_parquet(path).to_dicts()
        assert rows[0]["thinking"] == "=1+1"
    assert len(rows) == 40
    by_item = {row["item"]: row for row in rows}
    first, broken = by_item["2"], by_item["3"]
    assert first["output"] == "negative"
    assert "Number 2 is" in str(first["prompt"])
    assert (first["gold"], first["marked_label.label"]) == ("negative", "negative")
    assert str(first["marked_label.correct"]).lower() == "true"
    assert str(broken["marked_label.correct"]).lower() == "false"
    assert (broken["marked_label.status"], broken["finish"]) == ("error", "error")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_calls_written_a_few_at_a_time_are_those_written_at_once(tmp_path, ending, monkeypatch):
    items = [{"text": f"Text {at}", "truth": "yes" if at % 3 else "no"} for at in range(20)]
    study = asked(
        tmp_path / "study", items, lambda text, prompt: "Yes." if "1" in text else "no", ["yes", "no"],
        gold="truth", repeats=2, evaluators=["marked_label", "exact"],
    )  # fmt: skip
    assert study.export(tmp_path / f"whole.{ending}") == 40
    monkeypatch.setattr(call_export, "_CHUNK", 7)
    study.export(tmp_path / f"parts.{ending}")
    whole, parts = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("whole", "parts"))
    assert ending == "parquet" or whole == parts
    study.export(tmp_path / "calls.parquet")
    table = pl.read_parquet(tmp_path / "calls.parquet").sort("item", "repeat")
    exact = study.annotations().filter(pl.col("evaluator") == "exact").sort("item", "repeat")
    assert table["exact.label"].to_list() == exact["label"].cast(pl.String).to_list()
    assert table["exact.correct"].to_list() == table["exact.label"].eq_missing(table["gold"]).to_list()


def test_thinking_between_marks_is_exported_apart_and_the_output_as_it_came(tmp_path):
    said = "<think>Not negative, then.</think>positive"
    one = asked(tmp_path / "study", [{"text": "Day"}], lambda text, prompt: said)
    one.export(tmp_path / "calls.parquet")
    (row,) = pl.read_parquet(tmp_path / "calls.parquet").to_dicts()
    assert (row["output"], row["thinking"]) == (said, "Not negative, then.")
    with pytest.raises(QuaverError, match=r"calls\.xlsx") as caught:
        one.export(tmp_path / "calls.xlsx")
    assert caught.value.found == ".xlsx"
    with pytest.raises(StoreError):
        one.export(tmp_path / "no" / "folder" / "calls.csv")
