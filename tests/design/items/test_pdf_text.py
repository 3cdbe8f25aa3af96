"""PDF files: their text, read in a process with limits, is the item's; or they are sent as they are."""

import json
import resource
import sys

import pytest
from tests.models.served.test_shown_files import DIALECTS, study_of
from tests.pictures import keeping_server, pdf, shown

from quaver import Study
from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.design.items import item_media
from quaver.errors import SpecError


def opened(folder, rows, answer=lambda text, prompt: "cat", **items):
    lines = [json.dumps({"id": name, "file": cell}) for name, cell in rows.items()]
    (folder / "items.jsonl").write_text("\n".join(lines))
    document = {
        "task": {"labels": ["cat", "dog"]},
        "items": {"source": "items.jsonl", "id": "id", "pdf": "file"} | items,
        "prompt": {"instruction": "Which animal is it?"},
        "models": [{"name": "m", "use": "function"}],
    }
    (folder / "study.yaml").write_text(json.dumps(document))
    return Study.open(folder / "study.yaml", functions={"m": answer})


def test_the_text_of_the_pages_is_the_items_text(tmp_path, monkeypatch):
    (tmp_path / "a.pdf").write_bytes(pdf(["A cat sat.", "On a mat.", "It purred."]))
    (tmp_path / "b.pdf").write_bytes(pdf(["A dog barked."]))
    seen = []
    answer = lambda text, prompt: seen.append(text) or ("dog" if "dog" in text else "cat")  # noqa: E731
    study = opened(tmp_path, {"a": "a.pdf", "b": "b.pdf"}, answer)
    study.run()
    assert sorted(seen) == ["A cat sat.\n\nOn a mat.\n\nIt purred.", "A dog barked."]
    again = opened(tmp_path, {"a": "a.pdf", "b": "b.pdf"}, answer)
    assert again.run().done == 0
    with monkeypatch.context() as patched:  # the text is kept, and no file is read twice
        patched.setattr(item_media.subprocess, "Popen", None)
        assert opened(tmp_path, {"a": "a.pdf", "b": "b.pdf"}, answer).run().done == 0
    packed, _ = bundle(again, tmp_path / "b.zip")
    verified = verify(packed)
    assert not verified.differs
    assert "the prompt of every answer" in verified.compared
    pages = {"column": "file", "pages": "2-3"}
    opened(tmp_path, {"a": "a.pdf"}, answer, pdf=pages, text="{{ id }}: {{ pdf }}").run()
    assert seen[2:] == ["a: On a mat.\n\nIt purred."]


def test_a_file_that_cannot_be_read_costs_one_item(tmp_path, monkeypatch):
    monkeypatch.setattr(item_media, "_SECONDS", 100)
    bomb = pdf([], [b"BT /F1 12 Tf " + b"(x) Tj " * 30_000_000 + b"ET"])
    assert len(bomb) < 2_000_000
    rows = {
        "good": pdf(["A cat sat."]),
        "scanned": pdf([""]),
        "cut": pdf(["A cat sat."])[:60],
        "bomb": bomb,
        "picture": b"\x89PNG\r\n\x1a\n",
    }
    for name, content in rows.items():
        (tmp_path / f"{name}.pdf").write_bytes(content)
    study = opened(tmp_path, {name: f"{name}.pdf" for name in rows})
    outcome = study.run()
    assert (outcome.done, outcome.errors) == (5, 4)
    told = dict(study.annotations().select("item", "reason").iter_rows())
    assert told["good"] is None
    assert "holds no text" in told["scanned"]
    assert "image/png instead of pdf" in told["picture"]
    assert "more time or memory" in told["bomb"] or "Limit" in told["bomb"], told["bomb"]


@pytest.mark.parametrize("dialect", ["messages", "gemini"])
def test_a_file_is_sent_as_it_is_where_the_provider_takes_it(dialect, tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf(["A cat sat."]))
    how = {"images": None, "pdf": {"column": "image", "as": "pictures"}}
    with keeping_server() as (url, sent):
        study = study_of(tmp_path, DIALECTS[dialect][0](url), [{"image": "a.pdf"}], **how)
        assert study.run().errors == 0
        (part,) = shown(sent[0][1])
    assert "application/pdf" in json.dumps(part)
    assert dialect != "messages" or part["type"] == "document"


def test_what_cannot_be_sent_or_read_is_an_error_before(tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf(["A cat sat."]))
    with keeping_server() as (url, sent):
        how = {"images": None, "pdf": {"column": "image", "as": "pictures"}}
        with pytest.raises(SpecError, match="application/pdf"):
            study_of(tmp_path, DIALECTS["chat"][0](url), [{"image": "a.pdf"}], **how).run()
        assert not sent
    for wrong in ({"as": "text"}, {"column": "file", "as": "sound"}, {"column": "file", "pages": "one"}):
        with pytest.raises(SpecError, match="pdf"):
            opened(tmp_path, {"a": "a.pdf"}, pdf=wrong)


WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def test_three_hundred_pages_are_read_within_a_gigabyte(tmp_path):
    text = "The committee considered the report on cats and dogs in public parks. " * 30
    (tmp_path / "long.pdf").write_bytes(pdf([f"Page {at}. {text}" for at in range(300)]))
    lengths = []
    study = opened(tmp_path, {"a": "long.pdf"}, lambda text, prompt: lengths.append(len(text)) or "cat")
    before = [resource.getrusage(who).ru_maxrss for who in WHO]  # of all tests in this process
    assert study.run().errors == 0
    assert lengths[0] > 300 * 2000
    if sys.platform == "linux":
        for who, most in zip(WHO, before, strict=True):
            assert resource.getrusage(who).ru_maxrss < max(most + 1, 2**20)  # kilobytes
