"""A second model is asked about the texts to which the first gives no label, and about no others."""

import polars as pl
import pytest
from tests.local_engines import JsonServer
from tests.study.labelling.test_labelling import by_hand, labelled, share, truth, written

import quaver
from quaver.errors import QuaverError

ASKED = []


def first(text):
    """Refuses a fifth of the texts in words, is cut short on none."""
    return "I cannot help with that." if share(text) < 0.2 else truth(text)


def second(text):
    ASKED.append(text)
    return "I cannot say." if share(text) < 0.05 else truth(text)


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ASKED.clear()
    return written(tmp_path)


def test_only_texts_without_a_label_are_asked_about_once_and_their_labels_are_marked(texts):
    found = labelled(texts, first, backfill=second, anyway=True)
    rows = {row["id"]: row for row in pl.read_csv(texts).to_dicts()}
    table = {row["item"]: row for row in found.table.to_dicts()}
    refused = {item for item, row in rows.items() if share(row["tweet"]) < 0.2}
    assert {*ASKED} == {rows[item]["tweet"] for item in refused}
    for item, row in table.items():
        text, by_hand = rows[item]["tweet"], bool(rows[item]["stance"])
        if by_hand:
            assert row["labelled_by"] == "a person"
        elif item not in refused:
            assert (row["label"], row["labelled_by"]) == (truth(text), "the model")
        elif share(text) < 0.05:
            assert row["label"] is None
            assert row["needs_person"]
        else:
            assert (row["label"], row["labelled_by"]) == (truth(text), "second")
            assert "not judged" in row["needs_person"]
    assert str(len(refused)) in dict(found.notes)["Second model"]
    asked = len(ASKED)
    again = labelled(texts, first, backfill=second, anyway=True)
    assert len(ASKED) == asked
    assert "second" in set(again.table["labelled_by"])
    with pytest.raises(QuaverError, match="provider"):
        labelled(texts, first, backfill="nobody/model", anyway=True)


def test_where_every_text_has_a_label_no_second_model_is_asked(texts):
    found = labelled(texts, backfill=second)
    assert not ASKED
    assert "Second model" not in dict(found.notes)


def test_the_study_file_may_name_the_second_model(texts):
    def reply(path, body):
        if body is None:
            return {"data": [{"id": "small"}]}
        ASKED.append(body["messages"][-1]["content"])
        message = {"role": "assistant", "content": "none"}
        return {"model": "small", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}

    folder = labelled(texts, first, anyway=True).study.folder.parent
    server = JsonServer(reply)
    entry = f"{{name: other, use: openai_compatible, model: small, base_url: {server.url}/v1}}"
    study = folder / "study.yaml"
    study.write_text(f"{study.read_text()}backfill: {entry}\n")
    try:
        found = quaver.label(texts, check=folder, model=first, anyway=True, yes=True)
    finally:
        server.close()
    filled = found.table.filter(labelled_by="other")
    refused = [text for text in pl.read_csv(texts)["tweet"] if share(text) < 0.2]
    assert {*filled["label"]} == {"none"}
    assert len({text for text in refused for prompt in ASKED if text in prompt}) == len(refused)
    assert "other was asked" in dict(found.notes)["Second model"]


def test_shares_are_corrected_with_the_labels_that_are_given(texts):
    """A label of which the first model gives none has the share that the second model and people see."""

    def evasive(text):
        return "I cannot help with that." if truth(text) == "none" else truth(text)

    found = labelled(texts, evasive, backfill=second, anyway=True, error=0.2)
    found = labelled(
        texts, evasive, backfill=second, anyway=True, error=0.2, returned=[by_hand(found.sheets[0])]
    )
    shares = {one.cell["label"]: one for one in found.study.estimates(["corrected_share"])}
    true = sum(truth(text) == "none" for text in pl.read_csv(texts)["tweet"]) / 300
    assert shares["none"].value == pytest.approx(true, abs=0.05)
