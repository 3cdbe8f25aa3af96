"""A study in one archive: every number comes out anew, every change is found, no text stays that may not."""

import hashlib
import io
import itertools
import json
import re
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from tests.damage import repacked
from tests.studies import STUDY

import quaver
from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.collect.store.response_tables import SUMMED, add_checksums
from quaver.comparison.paired_comparison import compare
from quaver.core.records import Reading
from quaver.errors import QuaverError, StoreError
from quaver.score.evaluators.named_label import MarkedLabel
from quaver.study.sources import archive
from quaver.study.sources.archive import MANIFEST, extract, pack
from quaver.study.sources.bundle_source import FORM

TEXTS = [
    f"The {'mayor' if n % 2 else 'teacher'} of town {n} told us a long story about rivers." for n in range(12)
]
ITEMS = "id,party,text,truth\n" + "".join(
    f"i{n},{'red' if n % 3 else 'blue'},{text},{'positive' if n % 2 else 'negative'}\n"
    for n, text in enumerate(TEXTS)
)
VARIED = (
    STUDY.replace("  gold: truth\n", "  gold: truth\n  groups: [party]\n")
    + 'variants:\n  - {use: instructions, texts: {curt: "Positive?"}}\nrepeats: 2\n'
)


def quoting(text, prompt):
    """Answers, and now and then quotes the text that it was asked about."""
    label = "positive" if "mayor" in text else "negative"
    return f"{label}, since it says: {text}" if " 5 " in text or " 6 " in text else label


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The study that was run once; nothing changes it."""
    folder = tmp_path_factory.mktemp("made") / "study"
    folder.mkdir()
    (folder / "items.csv").write_text(ITEMS)
    (folder / "study.yaml").write_text(VARIED)
    opened = quaver.Study.open(folder, functions={"fake": quoting})
    opened.run()
    return opened


@pytest.fixture(scope="module")
def packed(made):
    """Its bundle with the texts and the one without, and their digests; nothing changes them."""
    home = made.folder.parent
    return {texts: bundle(made, home / f"{texts}.zip", texts=texts) for texts in (True, False)}


@pytest.fixture
def study(made, tmp_path):
    """A copy of the study, which a test may change."""
    folder = Path(shutil.copytree(made.folder, tmp_path / "study"))
    return quaver.Study.open(folder, functions={"fake": quoting})


@pytest.fixture
def whole(packed, tmp_path):
    """A copy of the bundle with the texts."""
    return Path(shutil.copyfile(packed[True][0], tmp_path / "s.zip"))


@pytest.fixture
def bare(packed, tmp_path):
    """A copy of the bundle without the texts."""
    return Path(shutil.copyfile(packed[False][0], tmp_path / "bare.zip"))


@pytest.mark.long
@pytest.mark.parametrize("texts", [True, False])
def test_every_number_comes_out_anew(made, packed, texts):
    study, (path, digest) = made, packed[texts]
    found = verify(path)
    assert not found.differs, found
    assert found.digest == digest
    assert found.estimates == len(study.estimates()) > 0
    assert found.withheld == (0 if texts else 2 * 2 * 2)  # two items, two paraphrases, two repeats
    assert found.annotations == 12 * 2 * 2 - found.withheld


def test_the_same_study_gives_the_same_bytes(study, bare, tmp_path):
    again, _ = bundle(study, tmp_path / "out" / "b.zip", texts=False)
    assert again.read_bytes() == bare.read_bytes()


@pytest.mark.long
def test_it_needs_neither_model_nor_folder(whole):
    code = f"import sys, quaver.cli.main as m; sys.argv = ['quaver', 'verify', {str(whole)!r}]; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    assert "0 differ" in done.stdout


def test_a_bundle_is_a_study(study, bare, tmp_path):
    path = bare
    again = quaver.Study.open(path)
    assert [str(one) for one in again.estimates()] == [str(one) for one in study.estimates()]
    assert compare(again, study).flips.is_empty()
    assert again.report().exists()
    with pytest.raises(StoreError) as caught:
        again.run()
    assert (caught.value.where, caught.value.found) == (str(path), "a bundle of a study")
    with pytest.raises(StoreError) as caught:
        bundle(again, tmp_path / "again.zip", texts=False)
    assert (caught.value.where, caught.value.found) == (str(path), "a bundle of a study")


def everything(path):
    """All bytes of all members, and all cells of the store and the frame."""
    found = io.BytesIO()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            found.write(archive.read(name))
            if name.endswith(".parquet"):
                found.write(pl.read_parquet(io.BytesIO(archive.read(name))).write_json().encode())
    return found.getvalue()


def test_texts_that_are_left_out_are_nowhere(whole, bare):
    assert all(text.encode() in everything(whole) for text in TEXTS)
    left = everything(bare).decode("utf-8", "replace")
    for n, text in enumerate(TEXTS):
        assert text not in left
        assert f"town {n} told" not in left
        assert json.dumps(text)[1:-1] not in left
    assert not re.search(r"story about rivers", left)
    assert "red" in left  # a group is no text


@pytest.mark.long
def test_what_the_study_file_quotes_goes_too(study, tmp_path):
    file = study.folder / "study.yaml"
    file.write_text(file.read_text().replace('"Positive?"', f'"Positive, unlike: {TEXTS[3]}?"'))
    again = quaver.Study.open(study.folder, functions={"fake": quoting})
    again.run()
    path, _ = bundle(again, tmp_path / "s.zip", texts=False)
    assert TEXTS[3].encode() not in everything(path)
    with zipfile.ZipFile(path) as archive:
        assert "study.yaml" not in archive.namelist()
    assert not verify(path).differs


def test_a_text_where_none_may_be_is_an_error(study, tmp_path):
    rows = ITEMS.replace("i4,", "the teacher of town 4 told us a long story,")
    (study.folder / "items.csv").write_text(rows)
    again = quaver.Study.open(study.folder, functions={"fake": quoting})
    again.run()
    with pytest.raises(QuaverError, match="still contain"):
        bundle(again, tmp_path / "s.zip", texts=False)
    assert not (tmp_path / "s.zip").exists()


def content(path, name):
    """What a member of an archive holds; nothing, if it cannot be read."""
    with zipfile.ZipFile(path) as archive:
        try:
            return archive.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            return None


@pytest.mark.long
def test_any_changed_byte_is_found(bare, tmp_path):
    path = bare
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        spans = {
            one.filename: (one.header_offset + 30 + len(one.filename), one.compress_size)
            for one in archive.infolist()
        }
        directory = archive.start_dir
    changed = tmp_path / "changed.zip"
    last = range(len(whole) - 100, len(whole), 2)  # the archive's own checksum, and how long it is
    for at in [*range(0, len(whole), max(1, len(whole) // 80)), *last, len(whole) - 72]:
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            found = verify(changed)
        except StoreError:
            continue  # not even an archive any more
        assert found.changed, at
        inside = [n for n, (start, size) in spans.items() if start + 40 <= at < start + size - 8]
        # A byte may say the same otherwise: deflate can name another place where the same bytes stand.
        if inside and inside[0] != MANIFEST and content(changed, inside[0]) != content(path, inside[0]):
            assert inside[0] in found.changed, (at, found.changed)
        # Bytes that hold none of a file's content are named, too, with the file whose they are.
        of = [name for name, (start, _) in spans.items() if start - 30 - len(name) <= at < directory]
        told = " ".join(found.changed)
        assert (of[-1] if of else "") in told or "checksum" in told, (at, told)
    changed.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(StoreError, match="changed: "):
        quaver.Study.open(changed)


@pytest.mark.parametrize("is_forged", [False, True])
def test_an_answer_that_was_changed_by_hand_is_found(is_forged, whole):
    def change(folder):
        with sqlite3.connect(folder / "responses.db") as db:
            last = "(SELECT max(id) FROM responses)"
            db.execute(f"UPDATE responses SET text = 'positive' WHERE id = {last}")
            if is_forged:
                add_checksums(db)
                db.execute(f"UPDATE responses SET checksum = checksum({SUMMED})")

    path = repacked(whole, whole.parent, change)
    if not is_forged:
        with pytest.raises(StoreError, match="checksum"):
            verify(path)
        return
    found = verify(path)
    assert found.differs
    assert not found.changed
    assert len(found.differing) == 1
    assert "label negative stands there, positive is read" in found.differing[0]


def test_a_file_that_was_replaced_is_named_though_the_archive_is_whole(whole, tmp_path):
    path, other = whole, tmp_path / "other.zip"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(other, "w") as copy:
        for one in archive.infolist():
            content = archive.read(one)
            is_replaced = one.filename == "estimates.json"
            copy.writestr(one, content.replace(b" ", b"\n", 1) if is_replaced else content)
    assert "estimates.json" in verify(other).changed


def test_an_estimate_that_was_changed_by_hand_is_found(made, whole):
    def change(folder):
        file = folder / "estimates.json"
        estimates = json.loads(file.read_text())
        estimates[0]["value"] = 0.123
        file.write_text(json.dumps(estimates))

    found = verify(repacked(whole, whole.parent, change))
    assert [line.split(" ")[0] for line in found.differing] == [made.estimates()[0].measure]


def test_a_file_of_another_kind_is_not_written_over(study, whole):
    for target in (study.folder / "study.yaml", study.folder):
        with pytest.raises(StoreError, match="not a bundle"):
            bundle(study, target)
    before = whole.read_bytes()
    assert bundle(study, whole)[0] == whole
    assert whole.read_bytes() == before


@pytest.mark.long
def test_names_that_people_give_are_packed(study, tmp_path):
    (study.folder / "items.csv").rename(study.folder / "Wähler (neu), 2.csv")
    text = (study.folder / "study.yaml").read_text().replace("items.csv", '"Wähler (neu), 2.csv"')
    (study.folder / "study.yaml").write_text(text, encoding="utf-8")
    named = quaver.Study.open(study.folder, functions={"fake": quoting})
    path, _ = bundle(named, tmp_path / "named")  # nor need its own name end in .zip
    assert not verify(path).differs
    opened = quaver.Study.open(path)
    assert "Wähler (neu), 2.csv" in zipfile.ZipFile(path).namelist()
    assert opened.report() == tmp_path / "named.report" / "report.html"
    with pytest.raises(StoreError) as caught:
        opened.run()
    assert caught.value.where == str(path)
    with pytest.raises(StoreError, match="cannot be packed"):
        pack(tmp_path / "x.zip", {"a:b": path}, {})


def test_links_and_doubles_are_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, "{}")
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(StoreError, match="refused"):
        verify(path)
    path = tmp_path / "doubles.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(MANIFEST, "{}")
    with pytest.raises(StoreError, match="not a bundle"):
        verify(path)


def test_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_ANYWAY", 2**20)
    zeros, path = bytes(2**22), tmp_path / "bomb.zip"
    digest = hashlib.sha256(zeros).hexdigest()
    manifest = {"form": FORM, "files": {"bomb": digest}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr(MANIFEST, json.dumps(manifest))
        bomb.writestr("bomb", zeros)
    with pytest.raises(StoreError, match="grows to 4,194"):
        verify(path)
    # One that says of itself that it is small is written no further than that.
    whole = path.read_bytes()
    size = struct.pack("<I", len(zeros))
    assert whole.count(size) == 2
    path.write_bytes(whole.replace(size, struct.pack("<I", 1000)))
    assert extract(path, tmp_path / "lying", FORM).changed == ("bomb",)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr(MANIFEST, json.dumps(manifest))
        bomb.writestr("bomb", zeros[: 2**19])
        bomb.writestr("beside", zeros[: 2**18])
    opened = extract(path, tmp_path / "beside", FORM)
    assert [one.split()[0] for one in opened.changed] == ["beside", "bomb"]
    assert "manifest" in opened.changed[0]
    assert sum(file.stat().st_size for file in (tmp_path / "lying").iterdir()) <= 1000
    assert not (tmp_path / "beside" / "beside").exists()


def test_what_has_no_room_is_not_begun(whole, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(StoreError, match="not enough space"):
        verify(whole)


@pytest.mark.long
@pytest.mark.parametrize("anyway", [2**30, 2**16])
def test_long_answers_that_repeat_themselves_are_packed(anyway, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_ANYWAY", anyway)  # what grows further is packed without compression
    monkeypatch.setattr(archive, "_RATIO", 20)
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(STUDY)
    long = "positive, as I said before. " * 70_000
    study = quaver.Study.open(tmp_path, functions={"fake": lambda text, prompt: long})
    study.run()
    path, digest = bundle(study, tmp_path / "s.zip")
    store = (tmp_path / "responses.db").stat().st_size
    assert store > 12 * len(long)
    assert (path.stat().st_size > store) is (anyway < 2**20)
    found = verify(path)
    assert not found.differs
    assert found.digest == digest


@pytest.mark.long
def test_what_does_not_verify_is_not_kept(study, whole, tmp_path, monkeypatch):
    path = whole
    before = path.read_bytes()
    calls = itertools.count()

    def moody(*_):
        label = "positive" if next(calls) % 4 < 2 else "negative"  # once for each of two paraphrases
        return lambda _: Reading(label, "valid")

    monkeypatch.setattr(MarkedLabel, "reader", moody)
    with pytest.raises(StoreError, match="not kept"):
        bundle(study, path)
    assert path.read_bytes() == before  # the bundle that was there stays
    with pytest.raises(StoreError, match="not kept"):
        bundle(study, tmp_path / "other.zip")
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["s.zip"]


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "a/../b", "a//b", "a/", "..", "C:\\evil", "a\\b", "a\nb"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path, name):
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, "{}")
        archive.writestr(name, "x")
    with pytest.raises(StoreError, match="refused"):
        verify(path)
    assert sorted(tmp_path.iterdir()) == [path]


BOTH = json.dumps({"form": FORM, "files": dict.fromkeys(("a", "a/b"), hashlib.sha256(b"x").hexdigest())})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *(
            (content, "not a bundle")
            for content in (b"", b"no archive", b"PK\x03\x04", bytes(range(64)), b"{}")
        ),
        *(({MANIFEST: text}, "not a bundle") for text in ("[]", "{}", '{"files": {}}', "{")),
        ({MANIFEST: '{"form": "quaver bundle 1", "files": 3}'}, "not a bundle"),
        ({MANIFEST: BOTH, "a": "x", "a/b": "x"}, "cannot be read"),  # a file that would be a folder, too
        (None, "no such bundle"),
    ],
)
def test_what_is_no_bundle_is_one_error(tmp_path, content, problem):
    path = tmp_path / "s.zip"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
    with pytest.raises(StoreError, match=problem):
        verify(path)


def test_a_name_with_a_point_stays_whole(study):
    folder = study.folder.rename(study.folder.with_name("votes.small"))
    path, _ = quaver.bundle(quaver.Study.open(folder, functions={"fake": quoting}))
    assert path == folder.resolve().with_name("votes.small.quaver.zip")


def test_items_that_bring_options_of_their_own_still_do_in_a_bundle(tmp_path):
    folder = tmp_path / "options"
    folder.mkdir()
    (folder / "items.csv").write_text("id,text,one,two\na,Is ice cold?,Yes.,No.\nb,Is fire cold?,Yes.,No.\n")
    asked = STUDY.replace("labels: [positive, negative]", "labels: [A, B]\n  options: [one, two]")
    asked = asked.replace("  gold: truth\n", "").replace('"{{ text }}"', '"{{ text }}\\n{{ options }}"')
    (folder / "study.yaml").write_text(asked)
    opened = quaver.Study.open(folder, functions={"fake": lambda text, prompt: "A"})
    opened.run()
    path, _ = bundle(opened, tmp_path / "s.zip")
    assert quaver.Study.open(path).experiment.labels == opened.experiment.labels
