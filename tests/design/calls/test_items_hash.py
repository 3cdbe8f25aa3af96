"""The hash of a study's items: of text alone it is taken a shorter way, which gives the same bytes."""

import json
from hashlib import blake2b
from types import SimpleNamespace

import pytest

from quaver.core.records import Item
from quaver.design.calls.experiment import Experiment

ROWS = [
    Item("ä1", {"b": 'x\n"ü\ud800', "a": "\x00é", "é": "𝄞"}, "g"),
    Item("2", {"a": 1, "b": None}, None),
    Item("3", {"text": "t", "id": "3"}, None),
    Item("4", {}, "a"),
    Item("5", {"z": {"k": 1.5}, "a": ["x"]}, "b"),
    Item("6", {"text": "u", "id": 6.0}, "b"),
]


@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1], ROWS[2:3], []])
def test_it_is_that_of_the_items_as_json(rows):
    state = blake2b(digest_size=16)
    for item in rows:
        row = json.dumps([item.id, dict(item.fields), item.gold], sort_keys=True, default=str)
        state.update(row.encode("utf-8", "surrogatepass") + b"\n")
    assert Experiment.items_hash.func(SimpleNamespace(items=rows)) == state.hexdigest()
