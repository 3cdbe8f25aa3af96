"""Plug-ins come in by entry points: a third party's, two of one name, and broken ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.studies import written

import quaver.measures
from quaver.comparison.paired_comparison import compare
from quaver.core import registry
from quaver.errors import QuaverError, UnknownName
from quaver.study.session import Study

PLUGIN = Path(__file__).parents[1] / "plugin"

STUDY = """\
task: {labels: [kind, unkind]}
items: {source: greetings, options: {many: 3}, text: "{{ greeting }}", id: n}
prompt: {instruction: Is this kind?}
variants:
  - {use: shouting, marks: 3}
models:
  - {name: parrot, use: echo, times: 2}
"""

ENTRIES = """\
[quaver.models]
echo = shouting:Echo
[quaver.variants]
shouting = shouting:shouting
[quaver.items]
greetings = shouting:greetings
[quaver.measures]
firstness = shouting:firstness
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package of this name with these entry points, until the test ends."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.syspath_prepend(str(folder))

    def add(name: str, entries: str) -> None:
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entries)
        registry._entries.cache_clear()

    yield add
    registry._entries.cache_clear()
    sys.modules.pop("shouting", None)


def test_a_third_partys_package_of_one_file_takes_part(install, tmp_path):
    install("quaver-shouting", ENTRIES)
    assert "echo" in registry.names("models")
    assert "shouting" not in sys.modules, "nothing is loaded before it is asked for"
    study = Study.open(written(tmp_path / "study", STUDY))
    assert study.run().done == 6
    frame = study.annotations()
    assert set(frame["loudness"]) == {"original", "loud"}
    assert frame["label"].to_list() == ["kind"] * 6
    (loud,) = [variant for variant in study.experiment.variants if variant.factors["loudness"] == "loud"]
    assert loud.instruction == "IS THIS KIND?!!!"
    assert study.plan().models[0]["counted"]


def test_a_third_partys_measure_is_shown_sized_and_compared_as_it_declares(install, tmp_path):
    install("quaver-shouting", ENTRIES)
    assert "greetings" not in dir(quaver.measures)
    study = Study.open(written(tmp_path / "study", STUDY + "measures: [firstness]\n"))
    study.run()
    (found,) = {one.value for one in study.measure("firstness", resamples=0)}
    assert found == 1.0
    assert quaver.measures.firstness(study.annotations())[0].reference == "Nobody (2026)"
    results = study.report().read_text(encoding="utf-8")
    stability = results[results.index('id="stability"') :]
    assert quaver.measures.firstness.presentation.title in stability
    assert "share of first labels" in stability.lower()
    by_loudness = compare(study, by="loudness", measures=["firstness"], fail_if=["firstness > 0.1"])
    assert by_loudness.held
    assert all(one.low is not None for one in by_loudness.differences)


def test_a_third_partys_chart_is_drawn_and_a_broken_one_loses_itself_alone(install, tmp_path):
    charts = "".join(f"{name} = shouting:{name}\n" for name in ("first_labels", "broken", "undrawable"))
    install("quaver-shouting", f"{ENTRIES}[quaver.charts]\n{charts}absent = nowhere:absent\n")
    study = Study.open(written(tmp_path / "study", STUDY + "measures: [firstness]\n"))
    study.run()
    page = study.report().read_text(encoding="utf-8")
    stability = page[page.index('id="stability"') : page.index('id="accuracy"')]
    assert 'id="figure-first-labels"' in stability
    assert 'id="figure-firstness"' not in page, "it covers the plain chart"
    lost = page[page.index('id="unmeasured"') :]
    for name, error in (("broken", "not today"), ("undrawable", "ZeroDivisionError"), ("absent", "nowhere")):
        assert f"<code>{name}</code>" in lost
        assert error in lost
    with pytest.warns(UserWarning, match="is not drawn") as said:
        assert "first-labels" in study.charts()
    assert len(said) == 3


def test_its_options_are_checked_like_quavers_own(install, tmp_path):
    install("quaver-shouting", ENTRIES)
    path = written(tmp_path / "study", STUDY.replace("marks: 3", "marcs: 3"))
    with pytest.raises(QuaverError) as caught:
        Study.open(path).plan()
    assert (caught.value.where, caught.value.found) == ("study.yaml:5: variants[0].marcs", "marcs")
    assert "'marks'" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("no_such_module:Thing", "No module named 'no_such_module'"),
        ("shouting:Thing", "has no attribute 'Thing'"),
        ("broken:Thing", "RuntimeError: not today"),
        ("unwritten:Thing", "SyntaxError"),
    ],
)
def test_a_plug_in_that_cannot_be_imported(install, tmp_path, target, found):
    (tmp_path / "site-packages" / "broken.py").write_text("raise RuntimeError('not today')\n")
    (tmp_path / "site-packages" / "unwritten.py").write_text("def (\n")
    install("half-done", f"[quaver.measures]\nhalf = {target}\n")
    with pytest.raises(QuaverError, match="'half' of half-done") as caught:
        registry.load("measures", "half", where="study.yaml:3: measures[0]")
    assert found in str(caught.value.found)
    assert str(caught.value).startswith("study.yaml:3: measures[0]: ")


def test_a_name_is_of_one_package(install):
    """Two that give it are named, Quaver's own is nobody's to take, and one found twice is one."""
    install("one-package", "[quaver.evaluators]\nshouting = shouting:shouting\n")
    install("other-package", "[quaver.evaluators]\nshouting = shouting:Echo\n")
    with pytest.raises(QuaverError, match="'shouting' among the evaluators") as caught:
        registry.load("evaluators", "shouting")
    assert set(str(caught.value.found).split(" and ")) == {"one-package", "other-package"}
    install("quaver-shouting", ENTRIES)
    install("quaver_shouting_again", ENTRIES)
    assert registry.load("models", "echo").__name__ == "Echo", "the other kinds are not touched"
    install("impostor", "[quaver.models]\nllamacpp = shouting:Echo\n")
    with pytest.raises(QuaverError, match="register 'llamacpp'") as caught:
        registry.load("models", "llamacpp")
    assert "impostor" in str(caught.value.found)


def test_everything_that_quaver_registers_can_be_loaded():
    kinds: list[registry.Kind] = ["items", "variants", "paraphrasers", "models", "evaluators", "measures"]
    for kind in kinds:
        for name in registry.names(kind):
            assert callable(registry.load(kind, name)), (kind, name)
    with pytest.raises(UnknownName) as caught:
        registry.load("models", "llamacp", where="study.yaml:9: models[0]")
    assert (caught.value.where, caught.value.found) == ("study.yaml:9: models[0]", "llamacp")
    assert "'llamacpp'" in str(caught.value.fix)
