"""Items that bring pictures: read in the folder of the table alone; a bad file costs one item."""

import base64
import json
import shutil
from pathlib import Path

import pytest
from tests.pictures import gif, jpeg, png, webp

from quaver import Study
from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.errors import ItemError, SpecError, UnknownName


def written(folder, rows, **items):
    """A study file over a table of pictures; rows map an id to what its cell names."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": name, "image": cell, "said": ""}) for name, cell in rows.items()]
    (folder / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    document = {
        "task": {"labels": ["cat", "dog"]},
        "items": {"source": "items.jsonl", "id": "id", "images": "image", **items},
        "prompt": {"instruction": "Which animal is it?"},
        "models": [{"name": "m", "use": "function"}],
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def opened(path, answer=lambda text, prompt, images: "cat"):
    return Study.open(path, functions={"m": answer})


def statuses(study):
    rows = study.annotations().select("item", "status", "reason").iter_rows()
    return {item: (status, reason) for item, status, reason in rows}


def test_a_function_receives_the_bytes_of_pictures_of_each_kind(tmp_path):
    made = {"a.png": png(), "b.jpg": jpeg(), "c.gif": gif(), "d.webp": webp()}
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    uri = "data:image/png;base64," + base64.b64encode(png(7, 7)).decode()
    path = written(tmp_path, {"one": "a.png", "all": "a.png\nb.jpg\nc.gif", "list": ["d.webp"], "data": uri})
    seen = {}

    def answer(text, prompt, images):
        seen[prompt, len(images), images[0]] = [*images]
        return "dog"

    study = opened(path, answer)
    study.run()
    assert {tuple(images) for images in seen.values()} == {
        (png(),),
        (png(), jpeg(), gif()),
        (webp(),),
        (png(7, 7),),
    }
    sides = {item.id: [(one.width, one.height) for one in item.media] for item in study.experiment.items}
    assert sides["all"] == [(2, 3), (4, 5), (6, 7)]
    assert (sides["list"], sides["data"]) == ([(8, 9)], [(7, 7)])
    assert {status for status, _ in statuses(study).values()} == {"valid"}


def hostile(folder):
    """Cells that name no picture that may be used, and what is said of each."""
    (folder / "empty.png").write_bytes(b"")
    (folder / "large.png").write_bytes(png() + b"\0" * 60_000_000)
    (folder / "text.png").write_bytes(b"PNG, honestly")
    (folder / "cut.png").write_bytes(png(50, 50)[:-20])
    (folder / "cut.jpg").write_bytes(jpeg()[:10])
    (folder / "script.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    )
    (folder / "both.png").write_bytes(png() + b"<script>alert(1)</script>")
    (folder / "vast.png").write_bytes(png()[:16] + b"\0\1\0\0\0\1\0\0" + png()[24:])
    outside = folder.parent / "secret.png"
    outside.write_bytes(png())
    (folder / "link.png").symlink_to(outside)
    (folder / "folder.png").mkdir()
    return {
        "empty": ("empty.png", "nothing instead of"),
        "large": ("large.png", "more than 33,554,432 bytes"),
        "wrong magic": ("text.png", "begins with b'PNG, hon'"),
        "cut": ("cut.png", "it is cut off"),
        "cut jpeg": ("cut.jpg", "it is cut off"),
        "script": ("script.svg", "begins with b'<svg"),
        "polyglot": ("both.png", "something else stands behind the picture"),
        "vast": ("vast.png", "65,536 × 65,536 pixels"),
        "above": ("../secret.png", "outside the folder"),
        "absolute": (str(outside), "outside the folder"),
        "symlink": ("link.png", "outside the folder"),
        "folder": ("folder.png", "no such file"),
        "missing": ("none.png", "no such file"),
        "address": ("https://example.org/cat.png", "nothing is fetched"),
        "file address": ("file:///etc/passwd", "nothing is fetched"),
        "not base64": ("data:image/png;base64,@@@@", "base64"),
        "no data": ("data:image/svg+xml,<svg/>", "not in Base64"),
    }


def test_a_file_that_cannot_be_used_costs_one_item(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    bad = hostile(folder)
    (folder / "cat.png").write_bytes(png())
    rows = {"good": "cat.png"} | {name: cell for name, (cell, _) in bad.items()}
    calls = []
    study = opened(written(folder, rows), lambda text, prompt, images: calls.append(images) or "cat")
    outcome = study.run()
    assert (outcome.done, outcome.errors, len(calls)) == (len(rows), len(bad), 1)
    found = statuses(study)
    assert found.pop("good")[0] == "valid"
    for name, (_, why) in bad.items():
        status, reason = found[name]
        assert status == "error"
        assert why in reason, name
    assert f"{len(bad)} items cannot be asked about" in " ".join(study.experiment.notes)
    assert study.run(retry_errors=True).done == len(bad)  # noted again, and nothing is called
    assert len(calls) == 1


def test_nothing_is_asked_twice_and_another_picture_is_another_question(tmp_path):
    (tmp_path / "a.png").write_bytes(png(shade=1))
    (tmp_path / "b.png").write_bytes(png(shade=2))
    path, calls = written(tmp_path, {"a": "a.png", "b": "b.png"}), []

    def answer(text, prompt, images):
        calls.append(images[0])
        return "cat"

    opened(path, answer).run()
    assert opened(path, answer).run().done == 0
    assert sorted(calls) == sorted([png(shade=1), png(shade=2)])
    (tmp_path / "b.png").rename(tmp_path / "renamed.png")
    written(tmp_path, {"a": "a.png", "b": "renamed.png"})
    assert opened(path, answer).run().done == 0  # the name decides nothing
    (tmp_path / "renamed.png").write_bytes(png(shade=3))
    again = opened(path, answer)
    assert again.run().done == 1
    assert calls[2:] == [png(shade=3)]
    assert "1 stored answer" in again.status().outside


def test_what_can_be_shown_to_nobody_is_one_error_before_anything_is_asked(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    path = written(tmp_path, {"a": "a.png"})
    with pytest.raises(SpecError, match="cannot take files of the type image/png"):
        opened(path, lambda text, prompt: "cat").run()
    with pytest.raises(UnknownName, match="picture"):
        opened(written(tmp_path, {"a": "a.png"}, images="picture")).run()
    with pytest.raises(ItemError, match="none of these files can be used"):
        opened(written(tmp_path, {"a": "b.png", "b": "c.png"})).run()


def test_a_picture_shows_beside_a_text_and_among_examples(tmp_path):
    for name in "abcdef":
        (tmp_path / f"{name}.png").write_bytes(png(shade=ord(name)))
    path = written(tmp_path, {name: f"{name}.png" for name in "abcdef"}, text="Named {{ id }}", gold="gold")
    rows = [
        {"id": name, "image": f"{name}.png", "gold": ("cat", "dog")[at % 2]}
        for at, name in enumerate("abcdef")
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    document = json.loads(path.read_text())
    document["items"]["sample"] = 2
    document["variants"] = [{"use": "shots", "k": [0, 2]}]
    path.write_text(json.dumps(document))
    seen = []

    def answer(text, prompt, messages, images):
        seen.append(([message["role"] for message in messages], images, text))
        return "cat"

    opened(path, answer).run()
    shots = [one for one in seen if len(one[1]) == 3]
    assert len(shots) == 2
    assert shots[0][0] == ["media", "user", "assistant", "media", "user", "assistant", "media", "user"]
    assert len({tuple(images) for _, images, _ in shots}) == 2
    assert {images[-1] for _, images, _ in seen} == {png(shade=ord(text[-1])) for *_, text in seen}
    document["variants"][0]["place"] = "message"
    path.write_text(json.dumps(document))
    with pytest.raises(SpecError, match="one text"):
        opened(path, answer).run()


def test_a_bundle_holds_the_pictures_and_one_without_texts_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "study"
    (home / "img").mkdir(parents=True)
    (home / "img" / "a.png").write_bytes(png())
    (home / "b.jpg").write_bytes(jpeg())
    study = opened(written(home, {"a": "img/a.png", "b": "b.jpg", "c": "none.png"}, text="{{ said }}"))
    study.run()
    packed, _ = bundle(study, tmp_path / "with.zip", tables=True)
    bare, _ = bundle(study, tmp_path / "without.zip", texts=False)
    shutil.rmtree(home)
    verified = verify(packed)
    assert not verified.differs
    assert "items and prompts, items.jsonl" in verified.compared
    again = Study.open(packed)
    items = again.experiment.items
    assert [one.content() for item in items for one in item.media if one.type] == [png(), jpeg()]
    assert not verify(bare).differs
    assert all(item.media == () for item in Study.open(bare).experiment.items)
    assert png() not in Path(bare).read_bytes()
