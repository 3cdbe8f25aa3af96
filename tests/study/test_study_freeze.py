"""A design written down beforehand: what is as it was, what was changed, and what proves it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.gold_study import filled, labelled_study, truths
from tests.studies import written

from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.errors import StoreError
from quaver.study.freezing import freeze, frozen
from quaver.study.session import Study
from quaver.study.sources.archive import extract, pack
from quaver.study.sources.bundle_source import FORM
from quaver.study.study_freeze import NO_RULE, RULE

STUDY = """\
task:
  labels: [positive, negative]
items:
  source: items.csv
  id: id
  text: "{{ text }}"
  gold: truth
  groups: [party]
prompt:
  instruction: Is this positive or negative?
variants:
  - {use: instructions, texts: {curt: "Positive?"}}
models:
  - {name: fake, use: function}
conclusions:
  - {name: gap, formula: share(positive) ~ party, effect: "party[red] > party[blue]"}
"""
TEXTS = [
    f"The {'mayor' if n % 2 else 'teacher'} of town {n} told us a story about rivers." for n in range(12)
]
ROWS = [f"i{n},{'red' if n % 3 else 'blue'},{text}," for n, text in enumerate(TEXTS)]


def items(gold: str = "") -> str:
    return "id,party,text,truth\n" + "".join(f"{row}{gold}\n" for row in ROWS)


def label(text: str, prompt: str) -> str:
    return "positive" if "mayor" in text else "negative"


def opened(path: Path) -> Study:
    return Study.open(path, functions={"fake": label})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "study", STUDY, items())


def states(study: Study) -> dict[str, str]:
    assert frozen(study) is not None
    return {one.part: one.state for one in frozen(study).since_first}


def test_a_study_without_a_freeze_has_none(path: Path) -> None:
    assert frozen(opened(path)) is None


def test_a_design_is_kept_with_what_was_known(path: Path) -> None:
    made = freeze(opened(path))
    (entry,) = made.entries
    assert (entry.before.answers, entry.before.gold) == (0, 0)
    assert (made.rule, made.as_frozen, made.first_answer) == (RULE, True, None)
    assert len(entry.parts["items"]) == 12
    assert set(entry.parts["prompts"]) == {one.id for one in opened(path).experiment.variants}
    assert entry.parts["conclusions"]["gap"]["effect"] == "party[red] > party[blue]"


def test_a_study_without_conclusions_has_no_rule_of_its_own(tmp_path: Path) -> None:
    study = opened(written(tmp_path, STUDY.partition("conclusions:")[0], items()))
    assert freeze(study).rule == NO_RULE


def test_freezing_again_changes_nothing(path: Path) -> None:
    first = freeze(opened(path), rule="The share counts.")
    kept = (path.parent / "frozen.json").read_bytes()
    assert (
        freeze(opened(path)).digest == freeze(opened(path), rule="The share counts.").digest == first.digest
    )
    assert (path.parent / "frozen.json").read_bytes() == kept


def test_answers_and_gold_that_come_later_change_no_part(path: Path) -> None:
    freeze(opened(path))
    opened(path).run()
    (path.parent / "items.csv").write_text(items("positive"))
    later = frozen(opened(path))
    assert later is not None
    assert later.as_frozen
    assert later.first_answer is not None
    assert later.first_answer >= later.entries[0].at


def test_a_late_freeze_says_what_was_known(path: Path) -> None:
    (path.parent / "items.csv").write_text(items("positive"))
    opened(path).run()
    assert freeze(opened(path)).entries[0].before.answers == 24
    assert freeze(opened(path)).entries[0].before.gold == 12


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("Is this positive or negative?", "Positive or negative?", "prompts"),
        ('curt: "Positive?"', 'curt: "Positive?", new: "Negative?"', "prompts"),
        ("party[red] > party[blue]", "party[red] < party[blue]", "conclusions"),
        ("models:", "repeats: 2\nmodels:", "asking"),
        ("models:", "evaluators: [exact]\nmodels:", "evaluators"),
        ("models:", "measures: [accuracy]\nmodels:", "measures"),
        ("labels: [positive, negative]", "labels: [{code: positive, definition: glad}, negative]", "labels"),
    ],
)
def test_each_change_is_found_in_its_part(path: Path, old: str, new: str, part: str) -> None:
    freeze(opened(path))
    path.write_text(STUDY.replace(old, new))
    assert states(opened(path))[part] == "changed"
    with pytest.raises(StoreError) as raised:
        freeze(opened(path))
    assert raised.value.where == str(path.parent / "frozen.json")


def test_changed_items_are_named(path: Path) -> None:
    freeze(opened(path))
    other = items().replace("town 3", "village 3").replace("i5,red", "i5,blue").replace("i7,", "i99,")
    (path.parent / "items.csv").write_text(other)
    found = frozen(opened(path))
    assert found is not None
    parts = {one.part: one for one in found.since_first}
    assert set(parts["items"].changed) == {"i3", "i5"}
    assert (parts["items"].added, parts["items"].removed) == (["i99"], ["i7"])
    assert parts["covariates"].changed == ["i5"]


def test_a_reason_freezes_it_again_and_the_first_stays(path: Path) -> None:
    first = freeze(opened(path))
    path.write_text(STUDY.replace("Is this", "Is it"))
    again = freeze(opened(path), because="a misspelling")
    assert [one.because for one in again.entries] == ["", "a misspelling"]
    assert again.entries[1].previous == first.digest
    assert not again.as_frozen
    assert {row["part"]: row["state"] for row in again.rows()}["Prompts"] == "changed, and frozen again"
    assert again.rule == first.rule


def test_another_rule_needs_a_reason(path: Path) -> None:
    freeze(opened(path))
    with pytest.raises(StoreError, match="frozen"):
        freeze(opened(path), rule="Another.")
    freeze(opened(path), rule="Another.", because="a reviewer's wish")
    assert states(opened(path))["decision"] == "changed"


def test_a_file_that_was_edited_does_not_hold(path: Path) -> None:
    freeze(opened(path))
    file = path.parent / "frozen.json"
    edited = json.loads(file.read_text().replace(RULE[:20], "Whatever we find "))
    edited.pop("checksum")  # whoever changes the design on purpose does not leave it
    file.write_text(json.dumps(edited))
    found = frozen(opened(path))
    assert found is not None
    assert len(found.broken) == 1
    assert not found.as_frozen
    file.write_text("{}x")
    with pytest.raises(StoreError):
        _ = frozen(opened(path))


@pytest.mark.long
@pytest.mark.parametrize("texts", [True, False])
def test_a_bundle_proves_it_offline(path: Path, tmp_path: Path, texts: bool) -> None:
    digest = freeze(opened(path)).digest
    opened(path).run()
    packed, _ = bundle(opened(path), tmp_path / "s.zip", texts=texts)
    shutil.rmtree(path.parent)
    found = verify(packed, frozen=digest)
    assert found.holds, found
    assert found.frozen is not None
    assert found.frozen.as_frozen
    unseen = {one.part for one in found.frozen.since_first if one.state == "not checked"}
    assert unseen == (set() if texts else {"items"})
    assert not verify(packed, frozen="0" * 64).holds
    with pytest.raises(StoreError):
        freeze(Study.open(packed))


def test_a_bundle_shows_a_change_that_its_authors_made(path: Path, tmp_path: Path) -> None:
    digest = freeze(opened(path)).digest
    path.write_text(STUDY.replace("party[red] > party[blue]", "party[red] < party[blue]"))
    opened(path).run()
    packed, _ = bundle(opened(path), tmp_path / "s.zip")
    found = verify(packed, frozen=digest)
    assert found.holds  # nothing is hidden; what was changed is shown
    assert found.frozen is not None
    assert [one.part for one in found.frozen.since_first if one.state == "changed"] == ["conclusions"]


@pytest.mark.long
def test_a_bundle_whose_frozen_file_was_exchanged_is_found(path: Path, tmp_path: Path) -> None:
    published = freeze(opened(path)).digest
    opened(path).run()
    packed, _ = bundle(opened(path), tmp_path / "s.zip")
    home = tmp_path / "out"
    home.mkdir()
    extract(packed, home, FORM)
    (home / "manifest.json").unlink(missing_ok=True)
    document = json.loads((home / "frozen.json").read_text())
    document["frozen"][0]["parts"]["decision"]["rule"] = "Anything goes."
    (home / "frozen.json").write_text(json.dumps(document))
    forged = tmp_path / "forged.zip"
    pack(forged, {one.name: one for one in home.iterdir()}, {"form": FORM, "study": "study", "texts": True})
    assert not verify(forged).holds
    from quaver.design.frozen.freeze_record import digest  # whoever seals it anew cannot keep the digest

    bare = {name: value for name, value in document["frozen"][0].items() if name != "digest"}
    document["frozen"][0]["digest"] = digest(bare)
    (home / "frozen.json").write_text(json.dumps(document))
    pack(forged, {one.name: one for one in home.iterdir()}, {"form": FORM, "study": "study", "texts": True})
    assert [one.partition(":")[0] for one in verify(forged).differing] == ["report.html"]  # which shows it
    assert "frozen" in verify(forged).unknown
    assert any(one.startswith("frozen.json") for one in verify(forged, frozen=published).differing)


def test_gold_labels_that_came_back_are_counted(tmp_path: Path) -> None:
    study = labelled_study(tmp_path / "coded", items=40)
    drawn = study.gold.draw(n=20, coders=["ada"], form="csv", design="simple")
    assert freeze(study).entries[0].before.gold == 0
    study.gold.take(filled(drawn.files[0], truths(40)))
    again = freeze(study, because="a sharper rule", rule="Another.")
    assert [one.before.gold for one in again.entries] == [0, 20]
