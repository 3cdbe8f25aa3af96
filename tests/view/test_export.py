"""What is shown can be taken away: as a table, and as one file that opens from disk."""

from __future__ import annotations

import io
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient
from tests.hostile import TEXTS
from tests.view.viewed import client, collected

from quaver.view.application import PAGE
from quaver.view.static_export import bundled, inert, one_file

EXPORT = "api/studies/tones/export"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client(collected(tmp_path_factory.mktemp("exported"), count=12))


def rows_of(content: bytes, form: str) -> list[dict[str, object]]:
    if form == "csv":
        return pl.read_csv(content, infer_schema=False).to_dicts()
    if form == "jsonl":
        return [json.loads(line) for line in content.splitlines()]
    return pl.read_parquet(io.BytesIO(content)).to_dicts()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_matching_answers_as_a_table(browser: TestClient, form: str) -> None:
    shown = browser.get("api/studies/tones/answers?q=label:pos&count=500&excerpt=5000").json()
    found = rows_of(browser.get(f"{EXPORT}?format={form}&q=label:pos").content, form)
    assert len(found) == shown["total"] == len(shown["answers"])
    for row, answer in zip(found, shown["answers"], strict=True):
        names = {"item": "item", "model": "model", "label": "label", "status": "status", "answer": "text"}
        assert {name: row[name] for name in names} == {name: answer[own] for name, own in names.items()}
        assert (row["words"], int(str(row["repeat"]))) == (answer["prompt"].split("=")[1], answer["repeat"])


def test_all_answers_of_the_rows_that_are_shown(browser: TestClient) -> None:
    items = {one["item"] for one in browser.get("api/studies/tones/rows?q=is:flip&sort=id").json()["rows"]}
    found = rows_of(browser.get(f"{EXPORT}?format=jsonl&q=is:flip&what=rows").content, "jsonl")
    assert {row["item"] for row in found} == items
    assert len(found) == 9 * len(items)


def test_no_other_format(browser: TestClient) -> None:
    assert browser.get(f"{EXPORT}?format=exe").json()["error"]["where"] == "format"


def test_one_file_has_what_the_page_would_ask_for(browser: TestClient) -> None:
    text = browser.get(f"{EXPORT}?format=html&q=side:a&sort=id&items=4").text
    data = json.loads(re.search(r'id="quaver-data">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    part = data["grids"]["tones"]
    rows = browser.get("api/studies/tones/rows?q=side:a&sort=id&count=4").json()["rows"]
    assert part["rows"] == rows
    cells = browser.get("api/studies/tones/cells?q=side:a&sort=id&count=4&width=9").content
    assert b64decode(part["cells"]) == cells
    assert len(data["answers"]["tones"]) == 4 * 9
    one = data["answers"]["tones"][f"{rows[0]['item']}\0{part['grid']['columns'][2]['column']}"]
    known = browser.get(f"api/studies/tones/answer?item={rows[0]['item']}&column=2").json()
    assert one["reading"] == known["reading"]
    assert one["response"]["text"] == known["response"]["text"]
    assert data["prompts"]["tones"][one["prompt"]] == known["prompt"]
    assert data["items"]["tones"][rows[0]["item"]] == known["item"]


def test_one_file_runs_its_own_script_and_nothing_else(browser: TestClient) -> None:
    text = browser.get(f"{EXPORT}?format=html").text
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL)
    assert [about for about, _ in scripts] == [' type="application/json" id="quaver-data"', ""]
    digest = b64encode(sha256(scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "connect-src" not in policy  # so that default-src 'none' holds
    assert not re.search(r'(?:src|href)="(?!data:)[^"#]', text[: text.index("quaver-data")])


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts_cannot_leave_the_data(text: str) -> None:
    written = inert({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not set("<>&") & set(written)
    assert written.isascii()
    page = one_file(PAGE, {"texts": [text]}, title=text)
    assert page.count("<script") == 2
    assert "<img" not in page.replace("\\u003cimg", "")[: page.index("quaver-data")]


def test_every_module_is_in_the_script_once_before_those_that_import_it() -> None:
    script = bundled(PAGE)
    names = re.findall(r'^modules\["([^"]+)"\] = ', script, re.MULTILINE)
    assert sorted(names) == sorted(path.name for path in PAGE.glob("*.js"))
    assert names[-1] == "start.js"
    for name in names:
        body = script.split(f'modules["{name}"] = ')[1].split("\nmodules[")[0]
        for used in re.findall(r'modules\["([^"]+)"\];', body):
            assert names.index(used) < names.index(name)
    assert not re.search(r"^\s*(import|export) ", script, re.MULTILINE)


def test_no_file_stays_behind(browser: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for form in ("csv", "jsonl", "parquet", "html"):
        assert browser.get(f"{EXPORT}?format={form}").content
    assert not list(tmp_path.iterdir())
