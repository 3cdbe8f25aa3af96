"""The public names: all there, all documented, and none of them slow to come by."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import quaver
from quaver.core import registry


@pytest.mark.parametrize("name", quaver.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(quaver, name)
    assert name == "__version__" or inspect.getdoc(value)
    assert name in dir(quaver)


def test_every_measure_is_public() -> None:
    assert set(registry.names("measures")) <= set(quaver.__all__)
    for name in registry.names("measures"):
        assert getattr(quaver, name) is registry.load("measures", name)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'krippendorf'"):
        quaver.krippendorf  # noqa: B018


def test_importing_quaver_loads_no_heavy_library() -> None:
    code = "import sys, quaver; print(sorted({'polars', 'altair', 'numpy', 'xllamacpp'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
