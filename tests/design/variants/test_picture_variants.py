"""The items' pictures as factors: changed by a process of its own, kept once, part of each call's key."""

import io
import json
import sqlite3
import struct
import zlib
from collections import Counter
from contextlib import closing, suppress
from itertools import product

import pytest
from PIL import Image
from tests.design.items.test_item_media import opened, statuses, written
from tests.pictures import png

from quaver import Study
from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.design.items import item_media
from quaver.errors import SpecError

CHANGED = [
    ("original", "JPEG", (40, 20)),
    ("size 50%", "JPEG", (20, 10)),
    ("crop 80%", "JPEG", (32, 16)),
    ("JPEG 30", "JPEG", (40, 20)),
]


def photograph(form="JPEG", mode="RGB", **how):
    """Noise of 40 × 20 pixels, red on the left."""
    noise = Image.effect_noise((40, 20), 90)
    bands = [noise, noise, noise, noise.point(lambda _: 120)][: len(Image.new(mode, (1, 1)).getbands())]
    image = Image.merge(mode, bands) if len(bands) > 1 else noise.convert(mode)
    written_to = io.BytesIO()
    image.save(written_to, form, **how)
    return written_to.getvalue()


def study_of(folder, files, variants=({"use": "pictures"},), **answer):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    path = written(folder, {name.partition(".")[0]: name for name in files})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"variants": [*variants]}))
    return opened(path, **answer)


def test_each_level_shows_the_picture_changed(tmp_path):
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "A camera"
    files = {"a.jpg": photograph(exif=exif, icc_profile=b"a profile", quality=90), "b.png": photograph("PNG")}
    study = study_of(tmp_path, files)
    study.run()
    jpeg, flat = study.experiment.items
    assert [variant.id for variant in study.experiment.variants] == [
        f"picture={name}" for name in ("original", "size 50%", "JPEG 30", "crop 80%")
    ]
    shown = {
        name: Image.open(io.BytesIO(jpeg.media[0].versions[name,].content())) for name, *_ in CHANGED[1:]
    }
    for name, form, sides in CHANGED[1:]:
        image = shown[name]
        assert (image.format, image.size) == (form, sides)
        assert (jpeg.media[0].versions[name,].width, image.info["icc_profile"]) == (sides[0], b"a profile")
        assert dict(image.getexif()) == {0x0112: 6}  # how it lies, and nothing of who took it
    sizes = [medium.size for medium in flat.media[0].every]
    assert sizes == [sizes[0], *(sizes[at] for at in (1, 2, 3))]
    assert {name: one.type for (name,), one in flat.media[0].versions.items()} == {
        "size 50%": "image/png",
        "crop 80%": "image/png",
        "JPEG 30": "image/jpeg",
    }
    before, cropped = (
        Image.open(io.BytesIO(one.content())) for one in (flat.media[0], flat.media[0].versions["crop 80%",])
    )
    assert cropped.tobytes() == before.crop((4, 2, 36, 18)).tobytes()


def test_pictures_of_every_kind_can_be_changed(tmp_path):
    files = {}
    for form, mode in product(["PNG", "JPEG", "GIF", "WEBP"], ["1", "L", "LA", "RGBA", "P", "CMYK"]):
        image, file = Image.open(io.BytesIO(photograph("PNG"))).convert("RGB"), io.BytesIO()
        with suppress(OSError, ValueError):  # there is no such file
            image.convert("L" if mode == "LA" else "RGB").convert(mode).save(file, form)
            files[f"{mode}-{form}.{form.lower()}"] = file.getvalue()
    study = study_of(tmp_path, files)
    assert (len(files) > 15, study.run().errors) == (True, 0)
    for item in study.experiment.items:
        assert [version.width for version in item.media[0].every] == [40, 20, 40, 32]


def test_a_changed_picture_is_made_once_and_decides_the_key(tmp_path, monkeypatch):
    calls = []
    answer = lambda text, prompt, images: calls.append(images[0]) or "cat"  # noqa: E731
    files = {"a.png": photograph("PNG")}
    study_of(tmp_path, files, answer=answer).run()
    assert len({*calls}) == 4
    monkeypatch.setattr(item_media.subprocess, "Popen", None)  # no process begins
    assert study_of(tmp_path, files, answer=answer).run().done == 0
    monkeypatch.undo()
    with closing(sqlite3.connect(tmp_path / "media.db")) as db, db:  # what is damaged is made again
        db.execute("UPDATE media SET content = ? WHERE sha256 LIKE '% size 50_'", [b"\xff{"])
    assert study_of(tmp_path, files, answer=answer).run().done == 0
    some = [{"use": "pictures", "size": [50, 25], "factor": "size"}]
    assert study_of(tmp_path, files, some, answer=answer).run().done == 1  # two were asked about before
    two = [*some, {"use": "pictures", "jpeg": 20, "factor": "jpeg"}]
    study = study_of(tmp_path, files, two, answer=answer)
    assert study.run().done == 3
    sides = Counter(
        (Image.open(io.BytesIO(one)).format, Image.open(io.BytesIO(one)).width) for one in calls[-3:]
    )
    assert sides == {("JPEG", 40): 1, ("JPEG", 20): 1, ("JPEG", 10): 1}
    (tmp_path / "a.png").write_bytes(photograph("PNG", "L"))
    assert opened(tmp_path / "study.yaml", answer).run().done == 6


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(side, rows=None):
    """A PNG of kilobytes that stands for gigabytes."""
    head, packed = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0), zlib.compressobj(1)
    body = b"".join(packed.compress(b"\0" * (4 * side + 1)) for _ in range(rows or side)) + packed.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def test_a_picture_that_cannot_be_changed_costs_one_item(tmp_path):
    garbage = png()[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0))
    deep = io.BytesIO()
    Image.new("I;16", (9, 9)).save(deep, "PNG")
    files = {
        "good.png": photograph("PNG"),
        "bomb.png": bomb(9_000),  # below the number of pixels from which on Pillow itself refuses
        "vast.png": bomb(15_000, 1),
        "garbage.png": garbage + chunk(b"IDAT", b"no pixels") + chunk(b"IEND", b""),
        "deep.png": deep.getvalue(),
        "late.png": photograph("PNG"),
    }
    study = study_of(tmp_path, files)
    outcome = study.run()
    assert (outcome.done, outcome.errors) == (24, 11)
    rows = study.annotations().select("item", "picture", "status", "reason").iter_rows()
    told = {(item, level): (status, reason) for item, level, status, reason in rows}
    for name in ("good", "late"):
        assert {told[name, level][0] for level, *_ in CHANGED} == {"valid"}
    for name, why in {"bomb": "memory", "vast": "Bomb", "garbage": "", "deep": "8 bits a channel"}.items():
        assert told[name, "original"][0] == "valid"  # it is sent as it is, which needs no decoder
        for level, *_ in CHANGED[1 : 2 if name == "bomb" else None]:
            status, reason = told[name, level]
            assert (status, reason.startswith(f"{name}.png, {level}: ")) == ("error", True)
            assert why in reason, reason


def test_a_process_that_ends_is_begun_anew(tmp_path):
    with item_media.FileEngine() as engine:
        assert engine.read(b"", "text", first="one")[1]
        assert engine.read(b"", "no such way") == (b"", "KeyError: 'no such way'")
        engine._process.kill()
        assert "more time or memory" in engine.read(png(), "picture", changes=["size 50%"])[1]
        made, problem = engine.read(png(8, 8), "picture", changes=["size 50%"])
        assert (problem, Image.open(io.BytesIO(made)).size) == ("", (4, 4))


def test_there_must_be_pictures_and_options_that_make_sense(tmp_path):
    path = written(tmp_path, {"a": "a.png"}, images=None, text="{{ id }}")
    document = json.loads(path.read_text()) | {"variants": [{"use": "pictures"}]}
    document["items"].pop("images")
    path.write_text(json.dumps(document))
    with pytest.raises(SpecError, match="no pictures to change"):
        opened(path, lambda text, prompt: "cat").run()
    for wrong in ({"size": 0}, {"crop": 100}, {"jpeg": [96]}, {"size": "small"}):
        with pytest.raises(SpecError, match="variants"):
            _ = study_of(tmp_path, {"a.png": png()}, [{"use": "pictures", **wrong}]).experiment


def test_a_bundle_holds_what_each_variant_showed(tmp_path):
    (tmp_path / "study").mkdir()
    study = study_of(tmp_path / "study", {"a.jpg": photograph(), "b.png": photograph("PNG")})
    study.run()
    packed, _ = bundle(study, tmp_path / "b.zip")
    verified = verify(packed)
    assert not verified.differs
    assert "the prompt of every answer" in verified.compared
    versions = [
        Study.open(packed).experiment.items[0].media[0].versions,
        study.experiment.items[0].media[0].versions,
    ]
    assert versions[0] == versions[1]
    assert statuses(study)
    bare, _ = bundle(study, tmp_path / "bare.zip", texts=False)
    assert not verify(bare).differs
