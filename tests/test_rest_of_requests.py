"""What is left of a partly answered request is asked as the whole would have been: under its schema."""

import json
import sqlite3
from contextlib import closing

import polars as pl
import pytest
from tests.held_server import held_server
from tests.studies import ITEMS, written

from quaver.study.session import Study

STUDY = {
    "task": {"held": True, "fields": {"tone": {"labels": ["positive", "negative"], "gold": "truth"}}},
    "items": {"source": "items.csv", "id": "id", "text": "{{ text }}"},
    "prompt": {"instruction": "Is this positive or negative?"},
    "decoding": {"drawn": {"temperature": 0.7}},
    "repeats": 2,
    "measures": ["compliance"],
}


@pytest.fixture
def server():
    with held_server() as served:
        yield served


def study(folder, url, **changes):
    model = {"name": "m", "use": "openai_compatible", "preset": "vllm", "model": "tiny", "base_url": url}
    path = written(folder, json.dumps({**STUDY, "models": [model], **changes}), ITEMS)
    return Study.open(path, folder=folder / "answers")


def held_to_schema(held):
    """Whether every request was held to a schema."""
    asked = [body for body in held.bodies if "positive or negative" in body["messages"][-1]["content"]]
    return bool(asked) and all("response_format" in body for body in asked)


def all_follow_their_schema(of):
    frame = of.annotations()
    return frame.height > 0 and frame["status"].cast(pl.String).unique().to_list() == ["valid"]


def test_more_repeats(tmp_path, server):
    url, held = server
    study(tmp_path, url).run()
    held.bodies.clear()
    more = study(tmp_path, url, repeats=4)
    assert more.run().done == 3 * 2
    assert held_to_schema(held)
    assert all_follow_their_schema(more)


def test_failed_calls(tmp_path, server):
    url, held = server
    study(tmp_path, url).run()
    with closing(sqlite3.connect(tmp_path / "answers" / "responses.db")) as db, db:
        db.execute("UPDATE responses SET finish = 'error', text = '', error = 'down' WHERE id % 2 = 0")
    held.bodies.clear()
    again = study(tmp_path, url)
    assert again.run(retry_errors=True).done == 3
    assert held_to_schema(held)
    assert all_follow_their_schema(again)


def test_reuse(tmp_path, server):
    url, held = server
    study(tmp_path / "first", url).run()
    held.bodies.clear()
    later = study(tmp_path / "later", url, repeats=3, reuse=["../first/answers"])
    outcome = later.run()
    assert (outcome.reused, outcome.done) == (6, 3)
    assert held_to_schema(held)
    assert all_follow_their_schema(later)
