"""A data set of the Hugging Face hub as items."""

import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest
from tests.studies import resolved

from quaver.core import registry
from quaver.errors import ItemError
from quaver.study.session import Study


def test_the_rows_of_a_split_are_items(monkeypatch, tmp_path):
    """As the hub has ARC: options in an object, some questions with fewer of them."""
    asked = []
    rows = [
        {"id": f"q{n}", "question": "Which?", "choices": {"text": ["a", "b"][: 2 - n % 2]}, "answerKey": "A"}
        for n in range(4)
    ]

    def load(path, name, *, split, revision):
        asked.append((path, name, split, revision))
        return rows

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    study = {
        "task": {"labels": ["A", "B"], "options": "choices"},
        "items": {
            "source": "hf:allenai/ai2_arc",
            "options": {"name": "ARC-Challenge", "split": "test"},
            "where": {"choices": {"entries": 2}},
            "id": "id",
            "gold": "answerKey",
            "text": "{{ question }}\n{{ options }}",
        },
        "prompt": {"instruction": "Which option is right?"},
        "models": [{"name": "m", "use": "function"}],
    }
    found = resolved(study).items
    assert [(item.id, item.gold) for item in found] == [("q0", "A"), ("q2", "A")]
    assert asked == [("allenai/ai2_arc", "ARC-Challenge", "test", None)]


def test_a_folder_is_a_dataset(tmp_path):
    pytest.importorskip("datasets")
    (tmp_path / "validation.jsonl").write_text('{"question": "Which?", "answer": true}\n', encoding="utf-8")
    rows = registry.load("items", "hf")(path=str(tmp_path), split="validation")
    assert rows == [{"question": "Which?", "answer": True}]


@pytest.mark.parametrize("name", ["trec", "./trec"])
def test_a_folder_is_looked_for_beside_the_study(name, monkeypatch, tmp_path):
    asked = []

    def load(path, *_, **__):
        asked.append(path)
        return [{"text": "Who?"}]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    (tmp_path / "here" / "trec").mkdir(parents=True)
    study = f"""
        task: {{labels: [A, B]}}
        items: {{source: "hf:{name}", text: "{{{{ text }}}}"}}
        prompt: {{instruction: Which?}}
        models: [{{name: m, use: function}}]
    """
    path = tmp_path / "here" / "study.yaml"
    path.write_text(dedent(study), encoding="utf-8")
    assert Study.open(path).experiment.items[0].fields == {"text": "Who?"}
    assert [Path(one).resolve() for one in asked] == [tmp_path / "here" / "trec"]


def test_a_dataset_without_the_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ItemError, match="not installed") as caught:
        registry.load("items", "hf")(path="owner/name")
    assert caught.value.fix == "pip install datasets"
