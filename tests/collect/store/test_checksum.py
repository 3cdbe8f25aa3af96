"""A byte that was flipped inside a stored row is noticed, and what was stored is never taken for damaged."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collect.fakes import answers, opened, request
from tests.collect.store.test_response_store import WHOLE

from quaver.collect.store.read_only import copy_store, copy_store_without
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import SUMMED, add_checksums
from quaver.collect.store.spill import receipt
from quaver.core.calls import Response, Token
from quaver.errors import StoreError

DAMAGED = f"""SELECT (SELECT count(*) FROM responses WHERE checksum IS NOT checksum({SUMMED})),
    (SELECT count(*) FROM prompts WHERE checksum IS NOT checksum_of_prompt(messages))"""


def damaged(path):
    """Responses and prompts whose checksum is not that of what they hold."""
    with closing(sqlite3.connect(path)) as db:
        add_checksums(db)
        return db.execute(DAMAGED).fetchone()


def stored(folder, *responses):
    store = opened(folder, items=len(responses))
    source = store.register("m", "fake", {})
    made = [receipt((request(item), [one]), source) for item, one in enumerate(responses)]
    store.write(made)
    store.close()
    return folder / "responses.db"


NUMBERS = st.none() | st.integers(0, 2**40) | st.floats(allow_nan=True, allow_infinity=True)


@given(
    text=st.text(),
    likely=st.floats(allow_nan=False, allow_infinity=False),
    latency=NUMBERS,
    tokens=NUMBERS,
    thinking=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_text_and_number_comes_back_and_is_not_damaged(
    tmp_path_factory, text, likely, latency, tokens, thinking
):
    told = (Token(text, likely, ((text, likely),)),)
    odd = WHOLE._replace(
        text=text, latency=latency, prompt_tokens=tokens, thinking_tokens=thinking, tokens=told
    )
    path = stored(tmp_path_factory.mktemp("store"), odd)
    assert damaged(path) == (0, 0)
    store = Store(path)
    (found,) = answers(store).values()
    assert (found.text, found.tokens) == (text, told)
    store.close()


@pytest.mark.parametrize("column", [name for name in SUMMED.split(", ") if name not in ("error", "raw")])
def test_a_changed_value_is_one_error_when_it_is_read(tmp_path, column):
    path = stored(tmp_path, WHOLE, WHOLE)
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE responses SET {column} = '1' || {column} WHERE id = 2")
    assert damaged(path) == (1, 0)
    with pytest.raises(StoreError, match="changed") as caught:
        answers(Store(path))
    assert "row 2" in (caught.value.found or "")
    assert "reuse" in str(caught.value.fix)


def test_a_flipped_byte_in_the_file_is_noticed(tmp_path):
    path = stored(tmp_path, Response("a long answer that says yes"), Response("another"))
    content = path.read_bytes()
    assert content.count(b"that says yes") == 1
    path.write_bytes(content.replace(b"that says yes", b"that says yet"))
    with pytest.raises(StoreError, match="changed"):
        answers(Store(path))


def test_an_answer_that_takes_an_errors_place_brings_its_checksum(tmp_path):
    path = stored(tmp_path, Response("", finish="error", error="503"))
    stored(tmp_path, Response("yes"))
    assert damaged(path) == (0, 0)
    assert answers(Store(path)) == {(0, 0, 0): Response("yes")}


def test_copies_have_checksums_of_what_they_hold(tmp_path):
    path = stored(tmp_path, WHOLE, Response("text 1"))
    copy_store(path, tmp_path / "whole.db")
    copy_store_without(path, tmp_path / "stripped.db", {"text 1"})
    assert damaged(tmp_path / "whole.db") == damaged(tmp_path / "stripped.db") == (0, 0)
    assert answers(Store(tmp_path / "stripped.db"))[0, 1, 0].text == ""
