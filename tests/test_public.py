"""The public names: all there, all documented, and none of them slow to import."""

import inspect
import subprocess
import sys

import pytest

import quaver
import quaver.agreement
from quaver import errors
from quaver.errors import QuaverError, SpecError, UnknownName, nearest


@pytest.mark.parametrize("name", quaver.__all__)
def test_every_name_is_there_and_documented(name):
    value = getattr(quaver, name)
    assert name == "__version__" or inspect.getdoc(value)
    assert name in dir(quaver)


def test_they_are_few():
    assert len(quaver.__all__) <= 32
    assert quaver.__all__ == sorted(quaver.__all__)


@pytest.mark.parametrize("name", quaver.agreement.__all__)
def test_every_coefficient_is_there_and_documented(name):
    assert inspect.getdoc(getattr(quaver.agreement, name))
    assert dir(quaver.agreement) == quaver.agreement.__all__


@pytest.mark.parametrize("package", [quaver, quaver.agreement])
def test_a_name_that_is_not_there(package):
    with pytest.raises(AttributeError, match="krippendorf"):
        package.krippendorf  # noqa: B018


def test_namespaces_need_no_import_of_their_own():
    code = "import quaver; print(quaver.agreement.krippendorff_alpha([[1, 1], [2, 2]]).value)"
    assert float(subprocess.check_output([sys.executable, "-c", code], text=True)) == 1


WAITING = {
    "quaver, quaver.agreement, quaver.measures, quaver.cli.main": {
        *("polars", "altair", "numpy", "pydantic", "scipy", "xllamacpp", "ray")
    },
    # The slow parts of SciPy take as long to load as all else that a run or a report needs. The environment
    # counts when llama.cpp's libgomp is loaded: nothing may load the engine before it is set.
    "quaver.study.study_report, quaver.study.collection.study_run, quaver.models.llamacpp": {
        *("scipy.optimize", "scipy.stats", "xllamacpp", "ray")
    },
}
"""Modules, and what importing them does not load."""


@pytest.mark.parametrize("modules", WAITING)
def test_importing_loads_no_library_that_may_wait(modules):
    code = f"import sys, {modules}; print(*sorted({WAITING[modules]} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == []


def test_a_verdict_loads_no_slow_part_of_scipy():
    """It is awaited after the last answer."""
    code = """
import sys
import polars as pl
from quaver.core.records import Label, LabelSet
from quaver.measures.evidence.verdict_evidence import verdict_evidence
rows = {"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab"), "gold": list("aabb")}
verdict_evidence(pl.DataFrame(rows), labels=LabelSet((Label("a", "a"), Label("b", "b"))))
print(*{"scipy.optimize", "scipy.spatial", "scipy.stats"} & set(sys.modules))"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == []


def test_an_error_says_where_what_and_what_to_do():
    error = SpecError("no", where="study.yaml:3: repeats", expected="1", found="0", fix="say 1")
    lines = [line.strip() for line in str(error).splitlines()]
    assert lines == ["study.yaml:3: repeats: no", "expected: 1", "found: 0", "to do: say 1"]
    assert str(QuaverError("no")) == "no"
    assert QuaverError("no")._render_traceback_() == ["QuaverError: no"]  # all that a notebook shows


def test_the_nearest_name_is_suggested_and_a_far_one_is_not():
    assert "'lamma'" in str(UnknownName("model", "lama", ["llamacpp", "lamma"]).fix)
    assert "llamacpp" not in str(UnknownName("model", "zzz", ["llamacpp"]).fix)
    assert str(UnknownName("model", "x", []).expected).startswith("no model")
    assert nearest("", ["a"]) is None


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "nearest"])
def test_every_error_stands_in_the_tree_and_is_a_quaver_error(name):
    kind = getattr(errors, name)
    assert issubclass(kind, QuaverError)
    assert name in str(errors.__doc__)


def test_what_a_user_typed_is_not_taken_for_a_pattern():
    error = UnknownName("column", "{x} %s [red]", ["{x}"], where="{where}")
    assert repr("{x} %s [red]") in error.problem
