"""The rules in the docs are the rules in the docstrings, word for word."""

import inspect
from pathlib import Path

import pytest

from quaver.core import registry
from quaver.score.parsing import label_forms, parsed_answer, statuses
from quaver.score.parsing.statuses import verbal_confidence

PAGE = Path(__file__).parents[2] / "docs" / "evaluators.md"


def words(text):
    return " ".join(text.replace("`", "").split())


@pytest.mark.parametrize("name", registry.names("evaluators"))
def test_every_rule_is_in_the_docs(name):
    rule = inspect.getdoc(registry.load("evaluators", name)) or ""
    page = PAGE.read_text(encoding="utf-8")
    if registry.load("evaluators", name).__module__.startswith("quaver."):
        assert f"## `{name}`" in page
        assert words(rule.partition("\nArgs:")[0]) in words(page)


@pytest.mark.parametrize("module", [parsed_answer, label_forms, statuses], ids=lambda module: module.__name__)
def test_so_are_the_rules_for_all_of_them(module):
    rules = (inspect.getdoc(module) or "").partition("\n\n")[2]
    text = words(PAGE.read_text(encoding="utf-8"))
    assert all(words(rule) in text for rule in rules.split("\n\n") if not rule.startswith("The rules"))


def test_and_that_of_verbal_confidence():
    rule = (inspect.getdoc(verbal_confidence) or "").partition("\n\n")[2].partition(">>>")[0]
    assert words(rule) in words(PAGE.read_text(encoding="utf-8"))
