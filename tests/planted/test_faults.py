"""The planted faults fit the code as it is; ``make mutants`` plants them."""

from __future__ import annotations

import ast
import tomllib
from functools import cache

import pytest
from tests.planted.run import PACKAGE, ROOT, faults, table


@cache
def _functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_and_its_tests_exist(fault):
    file, text = fault.place(PACKAGE)
    _ = tomllib.loads(text) if file.suffix == ".toml" else ast.parse(text)
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in _functions(file), test


def test_no_fault_is_planted_twice():
    planted = faults()
    assert len({one.name for one in planted}) == len({(one.within, one.old, one.new) for one in planted})
    assert len({one.name for one in planted}) == len(planted) >= 40


def test_the_docs_have_them_all():
    told = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert table() in told, "python -m tests.planted.run --table"
