"""Errors: what they say, and that the tree is the one that is drawn."""

import pytest

from quaver import errors
from quaver.errors import QuaverError, SpecError, UnknownName, nearest


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
