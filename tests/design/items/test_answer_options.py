"""Items that bring their own options: from columns, lists and objects, in any order, mapped back."""

import json

import polars as pl
import pytest
from tests.studies import resolved

from quaver.core.calls import Response
from quaver.design.calls.call_plan import Plan
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import ItemError, SpecError, UnknownName
from quaver.score.annotation import read
from quaver.score.evaluators.marked_answer import FirstCharacter

COLUMNS = ["a0", "a1", "a2"]
ROWS = [
    {"id": "x", "q": "Which is a fruit?", "a0": "chair", "a1": "apple", "a2": "car", "gold": 1},
    {"id": "y", "q": "Which is a colour?", "a0": "red", "a1": "dog", "a2": "two", "gold": 0},
]
LETTERS = [{"code": str(n), "name": name} for n, name in enumerate("ABC")]


def study(path, **more):
    return {
        "task": {"labels": LETTERS, "options": more.pop("options", COLUMNS)},
        "items": {"source": str(path), "id": "id", "gold": "gold", "text": "{{ q }}\n{{ options }}"}
        | more.pop("items", {}),
        "prompt": {
            "instruction": "Which one?",
            "layout": "{{ text }}\n{{ question }}",
            **more.pop("prompt", {}),
        },
        "models": [{"name": "f", "use": "function"}],
        **more,
    }


def jsonl(folder, rows):
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def texts(made):
    return [PromptWriter(variant, made.labels).text(made.items[0]) for variant in made.variants]


SHOWN = "Which is a fruit?\nA) chair\nB) apple\nC) car"


def test_options_from_columns(tmp_path):
    path = tmp_path / "items.csv"
    pl.DataFrame(ROWS).write_csv(path)
    made = resolved(study(path))
    assert texts(made) == [SHOWN]
    assert [item.gold for item in made.items] == ["1", "0"]
    rows = [row | {"gold": of_list(row)[row["gold"]]} for row in ROWS]
    made = resolved(study(jsonl(tmp_path, rows)))
    assert [item.gold for item in made.items] == ["1", "0"], "the option itself may be the gold label"
    with pytest.raises(ItemError, match="label set"):
        resolved(study(jsonl(tmp_path, [ROWS[0] | {"gold": "pear"}])))
    asked = study(path)
    del asked["task"]["options"]
    with pytest.raises(UnknownName, match="'options'"):
        resolved(asked)


def of_list(row):
    return [row[column] for column in COLUMNS]


@pytest.mark.parametrize(
    "made_of",
    [
        of_list,
        lambda row: dict(zip("ABC", of_list(row), strict=True)),
        lambda row: [{"label": "?", "text": text} for text in of_list(row)],
        lambda row: {"text": of_list(row), "label": ["A", "B", "C"]},
        lambda row: json.dumps(of_list(row)),
    ],
    ids=["list", "mapping", "objects", "columns", "JSON in a cell"],
)
def test_options_from_a_list(tmp_path, made_of):
    rows = [{"id": row["id"], "q": row["q"], "options": made_of(row), "gold": row["gold"]} for row in ROWS]
    assert texts(resolved(study(jsonl(tmp_path, rows), options="options"))) == [SHOWN]


def test_options_can_stand_anywhere_and_one_by_one(tmp_path):
    one_by_one = (
        "{% for option in options %}[{{ option.answer }}={{ option.text }}/{{ option.code }}]{% endfor %}"
    )
    made = resolved(
        study(
            jsonl(tmp_path, ROWS),
            items={"text": "{{ q }}"},
            prompt={"postfix": one_by_one},
            variants=[{"use": "option_order"}],
        )
    )
    writers = [PromptWriter(variant, made.labels) for variant in made.variants]
    found = [
        writer.write(made.items[0], writer.text(made.items[0])).messages[-1].content for writer in writers
    ]
    assert [text.rpartition("\n")[2] for text in found] == [
        "[A=chair/0][B=apple/1][C=car/2]",
        "[A=car/2][B=apple/1][C=chair/0]",
    ]


def test_orders_of_options_are_mapped_back(tmp_path):
    made = resolved(study(jsonl(tmp_path, ROWS), variants=[{"use": "option_order", "orders": "rotations"}]))
    assert texts(made)[1].splitlines()[1:] == ["A) apple", "B) car", "C) chair"]
    labels = [read(Response("A"), FirstCharacter(), made.labels, variant).label for variant in made.variants]
    assert labels == ["0", "1", "2"], "A is another option in every order"
    prompts = {
        (variant, item): prompt.text for variant, item, prompt in Plan(made, {"f": "x"}).order.prompts()
    }
    assert len(set(prompts.values())) == len(prompts) == 6
    assert prompts[1, 0] == texts(made)[1]


def test_letters_numbers_and_shots_go_with_options(tmp_path):
    (tmp_path / "tools").mkdir()
    example = {"id": "t", "q": "Which is a tool?", "a0": "saw", "a1": "sea", "a2": "sky", "label": "0"}
    asked = study(
        jsonl(tmp_path, ROWS),
        variants=[
            {"use": "label_names", "names": ["number"]},
            {"use": "option_order"},
            {"use": "shots", "k": 1},
        ],
    )
    table = {"source": str(jsonl(tmp_path / "tools", [example])), "gold": "label"}
    made = resolved(asked | {"items": asked["items"] | {"examples": table}})
    last = made.variants[-1]
    writer = PromptWriter(last, made.labels)
    turns = writer.write(made.items[0], writer.text(made.items[0])).messages
    assert turns[0].content.splitlines()[1:4] == ["1) sky", "2) sea", "3) saw"]
    assert turns[1].content == "3"
    assert turns[2].content.splitlines()[1:4] == ["1) car", "2) apple", "3) chair"]


@pytest.mark.parametrize(
    ("row", "options", "error", "problem"),
    [
        ({"a1": ""}, COLUMNS, ItemError, "item y has no option for the label '1'"),
        ({"a1": None}, COLUMNS, ItemError, "items.jsonl:2: a1: item y has no option"),
        ({}, ["a0", "a1", "a9"], UnknownName, "unknown column 'a9'"),
        ({}, COLUMNS[:2], SpecError, "there are 2 columns of options and 3 labels"),
        ({"o": ["one", "two"]}, "o", ItemError, "item y has 2 options"),
        ({"o": ["one", "", "three"]}, "o", ItemError, "item y has no option for the label '1'"),
        ({"o": "one, two, three"}, "o", ItemError, "item y has no list of options"),
        ({"o": None}, "o", ItemError, "item y has no list of options"),
    ],
)
def test_options_that_are_not_there(tmp_path, row, options, error, problem):
    rows = [ROWS[0] | {"o": ["x", "y", "z"]}, ROWS[1] | row]
    with pytest.raises(error, match=problem):
        resolved(study(jsonl(tmp_path, rows), options=options))
