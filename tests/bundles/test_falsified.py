"""Ways to falsify a bundle: each is found, or what it is about is named among what nobody can find out.

Checksums are remade throughout, as whoever falsifies a bundle can do; what changes a byte without that is
held in `test_packing`; one value at a time is changed in `test_every_value`.
"""

import json
import re
import shutil
import sqlite3
from contextlib import closing

import polars as pl
import pytest
from tests.damage import STUDY, annotate, items, repacked

import quaver
from quaver.bundles.derived_files import write_derived
from quaver.bundles.verification import verify
from quaver.collect.store.response_tables import CHECKED, add_checksums
from quaver.design.calls.lock_file import design_digest
from quaver.errors import StoreError
from quaver.study.analysis.annotation_frame import rescored
from quaver.study.imports.label_import import import_annotations
from quaver.study.sources.archive import Opened
from quaver.study.sources.bundle_source import Bundle

pytestmark = pytest.mark.long

TWICE = STUDY.replace('"Positive?"', '"Positive?", odd: "What is it?"').replace(
    "  - {name: fake, use: function}\n", "  - {name: good, use: function}\n  - {name: bad, use: function}\n"
)


def bad(text, prompt):
    return "negative"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study that was run with a model and a prompt that are not in it any more."""
    folder = tmp_path_factory.mktemp("honest") / "study"
    folder.mkdir()
    (folder / "items.csv").write_text(items(5))
    file = folder / "study.yaml"
    file.write_text(TWICE)
    functions = {"good": annotate, "bad": bad}
    quaver.Study.open(folder, functions=functions).run()
    dropped = TWICE.replace("  - {name: bad, use: function}\n", "").replace(', odd: "What is it?"', "")
    file.write_text(dropped)
    return quaver.Study.open(folder, functions={"good": annotate})


@pytest.fixture(scope="module")
def whole(study):
    return quaver.bundle(study, study.folder.parent / "whole.zip")[0]


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """A bundle of labels that two coders gave."""
    folder = tmp_path_factory.mktemp("labels")
    rows = "".join(f"{n},The {n}. text.,{'ab'[n % 2]},{'aab'[n % 3]},{c}\n" for n in range(6) for c in "xy")
    (folder / "codes.csv").write_text("id,text,label,gold,coder\n" + rows)
    return quaver.bundle(import_annotations(folder / "codes.csv")[0], folder / "labels.zip")[0]


# ------------------------------------------------------------------------------- ways of falsifying


def text(name, old, new):
    def change(folder):
        there = (folder / name).read_text()
        assert re.search(old, there), old
        (folder / name).write_text(re.sub(old, new, there, count=1))

    return change


def gone(name):
    return lambda folder: (folder / name).unlink()


def line(name, *, doubled=False):
    def change(folder):
        first, second, *rest = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join([first, *([second] * 2 * doubled), *rest]))

    return change


def document(name, edit):
    def change(folder):
        found = json.loads((folder / name).read_text())
        found.pop("checksum", None) if isinstance(found, dict) else None
        edit(found)
        (folder / name).write_text(json.dumps(found, indent=1))

    return change


def frame(edit):
    def change(folder):
        path = folder / "annotations.parquet"
        edit(pl.read_parquet(path)).write_parquet(path)

    return change


def first_row(name, value):
    def edit(found):
        column = found[name].cast(pl.String) if found[name].dtype == pl.Categorical else found[name]
        changed = [value, *column.to_list()[1:]]
        return found.with_columns(pl.Series(name, changed, dtype=column.dtype).cast(found[name].dtype))

    return frame(edit)


def store(*statements, summed=True):
    def change(folder):
        with closing(sqlite3.connect(folder / "responses.db", isolation_level=None)) as db:
            add_checksums(db)
            for statement in statements:
                db.execute(statement)
            if summed:
                db.executescript(CHECKED)

    return change


def remade(*changes):
    """Everything that follows from what was changed is made anew, by Quaver itself."""

    def change(folder):
        for one in changes:
            one(folder)
        lock("digest", value=design_digest(json.loads((folder / "study.lock.json").read_text())))(folder)
        files = {one.name: "" for one in folder.iterdir()}
        about = {"form": "quaver bundle 1", "study": "study", "texts": True, "files": files}
        source = Bundle(folder / "x.zip", Opened(about, (), ""), folder)
        if source.has_answers:
            rescored(source).collect().write_parquet(folder / "annotations.parquet")
        write_derived(source, folder)

    return change


SAID = store("UPDATE responses SET text = 'negative' WHERE id = (SELECT min(response) FROM calls)")
TOKENS = store("UPDATE responses SET prompt_tokens = 7, completion_tokens = 1")
GOLD = (
    document(
        "items.json",
        lambda items: (items[0].update(gold="positive"), items[0]["fields"].update(truth="positive")),
    ),
    text("items.csv", "all.,negative", "all.,positive"),
    document("study.lock.json", lambda lock: lock["items"]["gold"].update(positive=4, negative=1)),
)


def lock(*path, value):
    def edit(found):
        for part in path[:-1]:
            found = found[int(part)] if isinstance(found, list) else found[part]
        assert path[-1] in found
        found[path[-1]] = value

    return document("study.lock.json", edit)


OTHER_MEASURE = (
    text("study.yaml", "use: inter_pss", "use: intra_pss"),
    lock("study", "measures", "1", "use", value="intra_pss"),
)

WAYS = {
    # what follows from other files
    "the verdict in the report": text("report.html", "<h1>[^<]*</h1>", "<h1>You can use the labels.</h1>"),
    "a number in the report": text("report.html", r"\b\d\d%", "99%"),
    "an interval in the report": text("report.html", r"\d\.\d+ to \d\.\d+", "0.901 to 0.919"),
    "a chart of the report": text("report.html", r"(<svg.*?\bd=\"M)\d", r"\g<1>9"),
    "a word in a chart": text("report.html", r"<title>[^<]*</title><path", "<title>fine</title><path"),
    "the methods paragraph": text("report.html", "5 items", "500 items"),
    "the script of the report": text("report.html", '"use strict";', '"use strict";let a;'),
    "a sentence added to the report": text("report.html", "</main>", "<p>Approved.</p></main>"),
    "no report": gone("report.html"),
    "a value in estimates.csv": text("estimates.csv", r",0\.\d+", ",0.99"),
    "a count in estimates.csv": text("estimates.csv", r",5,item", ",500,item"),
    "a row of estimates.csv left out": line("estimates.csv"),
    "a row of estimates.csv doubled": line("estimates.csv", doubled=True),
    "no estimates.csv": gone("estimates.csv"),
    "a value in estimates.json": document("estimates.json", lambda found: found[0].update(value=0.99)),
    "an end of an interval": document("estimates.json", lambda found: found[0].update(low=0.98)),
    "the method of an estimate": document("estimates.json", lambda found: found[0].update(method="by hand")),
    "a warning of an estimate": document("estimates.json", lambda found: found[0].update(warnings=["x"])),
    "an estimate left out": document("estimates.json", lambda found: found.pop()),
    "the README's instructions": text("README.md", "hexdigest", "digest"),
    "what the README says was left out": text("README.md", "stored answers", "empty answers"),
    "what the README says of a measure": text("README.md", "`accuracy`", "`honesty`"),
    "no README": gone("README.md"),
    # annotations
    "an annotation left out": frame(lambda found: found.slice(1)),
    "an annotation doubled": frame(lambda found: pl.concat([found, found.head(1)])),
    "a column left out": frame(lambda found: found.drop("paraphrase")),
    # answers
    "an answer, its checksum as it was": store(SQL := "UPDATE responses SET text = 'x'", summed=False),
    "an answer said to be an error": store("UPDATE responses SET finish = 'error', error = 'x' WHERE id = 1"),
    "all answers": store(SQL),
    "a call left out": store("DELETE FROM calls WHERE response = (SELECT min(response) FROM calls)"),
    "an answer moved to another item": store("UPDATE calls SET item = 4 - item"),
    "an answer moved to another prompt": store("UPDATE calls SET condition = 1 - condition"),
    "repeats changed about": store("UPDATE calls SET repeat = 1 - repeat"),
    # items, study, design
    "an item left out": document("items.json", lambda items: items.pop()),
    "a row of the table left out": line("items.csv"),
    "the answers outside the study": (
        document("packed.json", lambda found: found.update(outside={})),
        "outside",
    ),
    # consistent from one end to the other
    "an answer, and all that follows": (remade(SAID), "answers"),
    "tokens, and all that follows": (remade(TOKENS), "reported"),
    "gold labels everywhere, and all that follows": (remade(*GOLD), "gold"),
    "another version of Quaver, and a report of one's own": (
        lambda folder: (
            document("packed.json", lambda found: found["made_with"].update(quaver="0.0.1"))(folder),
            text("report.html", "<h1>[^<]*</h1>", "<h1>You can use the labels.</h1>")(folder),
        ),
        "not compared",
    ),
    "other code of Quaver, and a report of one's own": (
        lambda folder: (
            document("packed.json", lambda found: found["made_with"].update(code="0"))(folder),
            text("report.html", "<h1>[^<]*</h1>", "<h1>You can use the labels.</h1>")(folder),
        ),
        "not compared",
    ),
    "other code of Quaver, and a number of one's own": lambda folder: (
        document("packed.json", lambda found: found["made_with"].update(code="0"))(folder),
        text("estimates.csv", r",0\.\d+", ",0.99")(folder),
    ),
    "a report that nothing makes": remade(
        lambda folder: shutil.copy(folder / "report.html", folder / "report-summary.html")
    ),
    "the answers of a dropped model taken out, and all that follows": (
        remade(
            store("DELETE FROM responses WHERE id NOT IN (SELECT response FROM calls)"),
            document("packed.json", lambda found: found.update(outside={})),
        ),
        "dropped",
    ),
    "a design of one's own, and all that follows": (remade(*OTHER_MEASURE), "design"),
    "another seed, and all that follows": remade(
        text("study.yaml", "repeats: 2", "repeats: 2\nseed: 5"), lock("study", "seed", value=5)
    ),
    "no study file": gone("study.yaml"),
}


def judged(path):
    """``found``, or else what ``verify`` names as not compared, or as what nobody can find out."""
    try:
        found = verify(path)
    except StoreError:
        return {"found"}
    said = {*found.unknown, *(["not compared"] if found.not_compared else [])}
    said |= {"outside"} if any("not part of this study" in one for one in found.departures) else set()
    return said if not found.differs else {"found"}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_found_or_named(way, whole, tmp_path):
    change, named = WAYS[way] if isinstance(WAYS[way], tuple) else (WAYS[way], "found")
    said = judged(repacked(whole, tmp_path, change))
    assert named in said, said


def test_the_digest_finds_what_else_nobody_could(whole, tmp_path):
    digest = verify(whole).digest
    assert not verify(whole, digest=f" {digest.upper()}").differs
    assert "digest" not in verify(whole, digest=digest).unknown
    forged = verify(repacked(whole, tmp_path, remade(SAID)), digest=digest)
    assert [one.split(":")[0] for one in forged.changed] == ["the archive"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (first_row("label", "b"), "found"),
        (text("imported.csv", "0,The 0. text.,a", "0,The 0. text.,b"), "found"),
        (
            remade(first_row("label", "b"), text("imported.csv", "0,The 0. text.,a", "0,The 0. text.,b")),
            "labels",
        ),
    ],
)
def test_labels_that_exist_already(change, named, labels, tmp_path):
    assert judged(labels) >= {"labels", "dropped"}
    assert named in judged(repacked(labels, tmp_path, change))


def test_a_published_digest_of_the_design_finds_another_design(study, whole, tmp_path):
    assert verify(whole).design == study.digest
    assert not verify(whole, design=study.digest).differs
    assert "design" not in verify(whole, design=study.digest).unknown
    other = repacked(whole, tmp_path, remade(*OTHER_MEASURE))
    (line,) = verify(other, design=study.digest).differing
    assert study.digest in line
