"""Pictures and recordings in the viewer: served as they were sent, by a type that their bytes give."""

import json
import sqlite3
from contextlib import closing

import pytest
from tests.pictures import jpeg, png, wav
from tests.view.viewed import shown

import quaver
from quaver.view.guard import POLICY


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seen")
    (folder / "a.png").write_bytes(png())
    (folder / "b.jpg").write_bytes(jpeg())
    rows = [{"id": "a", "image": "a.png"}, {"id": "b", "image": ["b.jpg", "a.png"]}, {"id": "c", "image": ""}]
    (folder / "items.jsonl").write_text("\n".join(json.dumps(row | {"said": "Look"}) for row in rows))
    document = {
        "name": "seen",
        "task": {"labels": ["cat", "dog"]},
        "items": {"source": "items.jsonl", "id": "id", "images": "image", "text": "{{ said }}"},
        "prompt": {"instruction": "Which is it?"},
        "models": [{"name": "m", "use": "function"}],
        "repeats": 2,
    }
    (folder / "study.yaml").write_text(json.dumps(document))
    said = iter(["cat", "dog"] * 9)
    study = quaver.Study.open(folder / "study.yaml", functions={"m": lambda text, prompt, images: next(said)})
    study.run(watch=lambda _: None)
    study.report()
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def browser(path):
    return shown(path)


def test_an_answer_shows_its_pictures(browser):
    answer = browser.get("api/studies/seen/answer", params={"item": "b", "column": 0, "blind": 1}).json()
    media = answer["item"]["media"]
    assert [(one["name"], one["type"]) for one in media] == [("b.jpg", "image/jpeg"), ("a.png", "image/png")]
    assert answer["item"]["text"].startswith("[b.jpg, 0.0 kB]\n[a.png")
    for one, content in zip(media, (jpeg(), png()), strict=True):
        reply = browser.get(one["at"])
        assert (reply.content, reply.headers["content-type"]) == (content, one["type"])
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"] == POLICY
    bare = browser.get("api/studies/seen/answer", params={"item": "c", "column": 0}).json()
    assert bare["item"]["media"] == []


def test_only_what_a_study_keeps_is_served_and_only_as_a_picture(browser, path):
    for name in ("0" * 64, "..%2fstudy.yaml", "%27%20OR%201=1"):
        assert browser.get(f"api/studies/seen/media/{name}").status_code == 404
    with closing(sqlite3.connect(path.with_name("media.db"))) as db, db:
        db.execute("INSERT INTO media VALUES ('x', 'text/html', ?)", [b"<script>alert(1)</script>"])
    assert browser.get("api/studies/seen/media/x").status_code == 404


def test_a_prompt_shows_the_picture_that_was_sent(browser):
    answer = browser.get("api/studies/seen/answer", params={"item": "b", "column": 0}).json()
    *shown, asked = answer["prompt"]
    assert [(one["role"], one["content"]) for one in shown] == [
        ("media", f"image/jpeg, 4 × 5 pixels, {len(jpeg()) / 1000:.1f} kB"),
        ("media", f"image/png, 2 × 3 pixels, {len(png()) / 1000:.1f} kB"),
    ]
    assert [browser.get(one["shown"][0]["at"]).content for one in shown] == [jpeg(), png()]
    assert "shown" not in asked


def test_the_report_shows_the_pictures_of_items_whose_labels_move_and_those_in_prompts(path):
    page = path.with_name("report.html").read_text()
    assert page.count('src="data:image/png;base64,') >= 2
    assert 'src="data:image/jpeg;base64,' in page
    assert "sha256" not in page.partition("The prompts, as the model saw them")[2].partition("</details>")[0]


def test_the_report_plays_recordings(tmp_path):
    (tmp_path / "a.wav").write_bytes(wav())
    (tmp_path / "long.wav").write_bytes(wav(400_000))
    (tmp_path / "items.csv").write_text("id,sound\na,a.wav\nb,long.wav\n")
    document = {
        "task": {"labels": ["cat", "dog"]},
        "items": {"source": "items.csv", "id": "id", "audio": "sound"},
        "prompt": {"instruction": "Who cries?"},
        "models": [{"name": "m", "use": "function"}],
        "repeats": 2,
    }
    (tmp_path / "study.yaml").write_text(json.dumps(document))
    said = iter(["cat", "dog"] * 2)
    study = quaver.Study.open(
        tmp_path / "study.yaml", functions={"m": lambda text, prompt, audio: next(said)}
    )
    study.run(watch=lambda _: None)
    page = study.report().read_text()
    assert page.count('<audio controls preload="none" src="data:audio/wav;base64,') == 1
    assert "[long.wav, 400.0 kB]" in page  # named with its size alone
    assert "media-src data:" in page
    assert "<dt>Recordings</dt><dd>2</dd>" in page
